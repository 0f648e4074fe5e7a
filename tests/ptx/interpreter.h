// Runs a kernel on the CPU, 32 lanes a step, and says what it did wrong. Lanes that part meet again at the lowest
// program counter. Blocks run on several threads; results are the same each time (kernels with atomics run block after
// block).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/device_memory.h"
#include "ptx/program.h"

namespace ingot::ptx {

enum class FailureKind : uint8_t {
  kOutOfBounds,
  kMisaligned,
  kUnwrittenGlobal,
  kRace,
  kInFlight,
  kUnwrittenShared,
  kDivergence,
  kDeadlock,
  kTrap,
  kUndefined,
  kEndless,
  kBudget,
};
const char* name_of(FailureKind kind);

struct Failure {
  FailureKind kind;
  std::string message;  // "<kernel>: <what>: block (0,0,0) thread 5: ptx line 12: add.s32 …: gemm.cu:20"
  int ptx_line = 0;
  std::string source;  // "gemm.cu:20 (inlined at gemm.cu:63)", empty without -lineinfo
};

struct Counters {
  uint64_t thread_instructions = 0, warp_instructions = 0, mma = 0, ldmatrix = 0, cp_async = 0, barriers = 0,
           shuffles = 0, atomics = 0;
  uint64_t shared_requests = 0, bank_conflicts = 0;  // conflicts: passes beyond those that the data needs
  uint64_t global_requests = 0, global_sectors = 0;  // sectors of 32 bytes
  uint64_t local_requests = 0, divergent_branches = 0;
  void add(const Counters& other);
};

struct Options {
  uint64_t seed = 1;  // of the order in which warps take turns
  int threads = 0;    // 0: as many as the machine has
  bool check_unwritten_global = true;
  bool check_unwritten_shared = true;  // CUTLASS reads rows past the matrix that it never wrote, and drops what comes of them
  int max_failures = 8;
  uint64_t max_steps = 400'000'000;  // warp instructions of one block; more is endless
};

struct LaunchShape {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;
};

struct Report {
  std::vector<Failure> failures;  // in the order of blocks
  Counters counters;
  std::vector<uint64_t> conflicts;  // per instruction of the kernel
  std::vector<uint8_t> reached;     // per instruction: whether some lane ran it
  bool clean() const { return failures.empty(); }
  std::string text() const;  // failures, one a line
};

Report run(const Module& module, const Kernel& kernel, const LaunchShape& shape, const void* parameters,
           DeviceMemory& memory, const Options& options = {});

// What a kernel may cost; what is broken becomes a kBudget failure that names the worst line.
struct Budget {
  int64_t bank_conflicts = -1, global_sectors = -1, warp_instructions = -1,
          local_requests = -1;                     // at most; -1: not held
  int64_t mma = -1, ldmatrix = -1, cp_async = -1;  // exactly
};
void hold(const Budget& budget, const Module& module, const Kernel& kernel, Report& report);

}  // namespace ingot::ptx
