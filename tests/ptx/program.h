// What PTX text becomes before it runs: compact instructions whose operands are places in a warp's register file.
// Immediates, addresses of variables and special registers have places too, so that a lane loop sees nothing but
// arrays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ptx_types.h"

namespace ingot::ptx {

struct Warp;
struct Instruction;
using Exec = void (*)(Warp&, const Instruction&, uint32_t lanes);

constexpr uint32_t kNoRegister = ~0u, kAllLanes = ~0u;

// What the warp loop does with an instruction; all but kPlain may change which lanes run next.
enum class Flow : uint8_t { kPlain, kBranch, kBranchIndexed, kExit, kTrap, kMaskedSync, kWholeWarp, kBarrier };
enum class BarrierKind : uint8_t { kSync, kArrive, kPopc, kAnd, kOr };

struct Instruction {
  Exec exec = nullptr;
  uint32_t r[19];  // register file offsets in bytes, in operand order; kNoRegister where absent or '_'
  uint32_t guard = kNoRegister;
  uint32_t target = 0;  // of a branch: index of an instruction; kBranchIndexed: index into Kernel::branch_tables
  int64_t displacement = 0, displacement2 = 0;  // of the memory operands
  int64_t imm = 0;                              // meaning depends on exec
  uint32_t wide = 0;                            // bit k: operand k is a 64-bit register
  int32_t line = 0, source = -1;
  Flow flow = Flow::kPlain;
  Space space = Space::kGeneric;
  Type type = Type::kNone;
  uint8_t vector = 1;        // elements of a vector access; matrices of ldmatrix
  uint8_t mask_operand = 0;  // kMaskedSync: which operand is the member mask
  uint8_t flags = 0;         // meaning depends on exec
  bool guard_not = false, ftz = false, sat = false, predicate_not = false;
};

// A place in the sources: where the code is written, and where that was inlined into the kernel.
struct SourcePlace {
  int file = 0, line = 0, outer_file = 0, outer_line = 0;
};

enum class SpecialRegister : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kLanemaskEq,
  kLanemaskLt,
  kLanemaskLe,
  kLanemaskGt,
  kLanemaskGe,
  kSmid,
  kNsmid,
  kDynamicSize,
  kTotalSize,
  kDynamicBase,
};

struct Parameter {
  std::string name;
  uint32_t offset = 0, size = 0;
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<std::string> text;  // of each instruction
  std::vector<Parameter> parameters;
  std::vector<std::vector<uint32_t>> branch_tables;
  std::vector<SourcePlace> sources;
  struct Constant {
    uint32_t place;
    bool wide;
    uint64_t value;
  };
  struct Special {
    uint32_t place;
    bool wide;
    SpecialRegister which;
  };
  std::vector<Constant> constants;
  std::vector<Special> specials;
  uint32_t register_bytes = 0;
  uint32_t parameter_bytes = 0;
  uint32_t local_bytes = 0;    // per thread
  uint32_t static_shared = 0;  // the dynamic part begins behind it, at
  uint32_t dynamic_base = 0;
  uint32_t max_threads = 0, required[3] = {0, 0, 0}, min_blocks = 0;
  int registers_32 = 0;      // declared, as a rough measure only
  bool has_atomics = false;  // blocks then run one after the other, so that float sums are the same each time
};

class DeviceMemory;

struct ModuleVariable {
  uint64_t address = 0;
  uint64_t size = 0;
  bool constant = false;
};

struct Module {
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::map<std::string, ModuleVariable, std::less<>> variables;
  std::map<int, std::string> files;
  int version = 0, target = 0;                                                       // as 90 for 9.0, 80 for sm_80
  std::string describe(const Kernel& kernel, const Instruction& instruction) const;  // "line 12: add.s32 …; gemm.cu:20"
};

// PTX text that this interpreter does not know or that is not PTX.
struct PtxError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ingot::ptx
