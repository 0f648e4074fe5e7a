// Problem, Tactic, Kernel: one way to compute one op, in five verbs — supports, workspace, prepare, load, run.
// Each later verb may trust the earlier ones.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingot/kernel.h"
#include "ingot/status.h"
#include "ingot/types.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/ops/op.h"

namespace ingot {

enum class Backend : uint8_t { kCpu, kCuda, kCount };
inline constexpr int kCudaCapabilities[] = {80, 86, 89, 90};  // what plans are made for; 80 is compute capability 8.0

// Makes machine code and PTX of a kernel's source; of a builder. The image is what Device::generated_function() takes.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  virtual Expected<Blob> compile(const std::string& source, int cuda_capability) const = 0;
};

struct DeviceInfo {
  std::string name;         // "cpu"; of a GPU its own name or its target
  std::string fingerprint;  // what timings depend on: model, instruction sets, threads
  CpuFeatures cpu;
  int threads = 1;          // threads a run will use
  Backend backend = Backend::kCpu;
  int cuda_capability = 0;
  int multiprocessors = 0;  // of a GPU that is here; 0: as many as its generation's best known has
  bool keeps_time = true;   // kernels can be timed on it: false for an interpreter
  bool allow_f16 = false;   // tactics may round float operands to half precision
  bool allow_bf16 = false;  // the same for bf16
  bool generated = false;   // tactics may bring kernels of their own: there is a compiler, or they are made already
  const KernelCompiler* compiler = nullptr;  // while a plan is made
};

// One input or output of a problem. type.shape has kDynamic where the profile lets a dim vary.
struct Operand {
  bool present = false;                // false: optional input left out
  TensorType type;                     // dtype, shape, layout, quant
  Shape max_shape;                     // the largest concrete shape of the profile; equals type.shape when static
  std::span<const std::byte> constant; // the value (row-major, linear) if it is a build-time constant; empty otherwise
  bool is_constant = false;            // true also where the bytes are no longer at hand (an engine being loaded)
};

struct Problem {
  const OpParams& params;
  std::span<const Operand> inputs, outputs;
  const DeviceInfo& device;
};

struct TacticInfo {
  std::string_view name;  // "<backend>.<op>.<algorithm>.<types>[.<layout>]"
  uint32_t version;       // raised when the blob or the semantics change
  OpKind op;
  std::string_view library = {};  // the library beyond C++'s own that it needs, as "onednn": then used only where a build
                                  // permits it by that name, and exempt from "allocates nothing"
  DataType arithmetic = DataType::kF32;  // what float operands are rounded to before they are multiplied
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // Allocates nothing, locks nothing, logs nothing.
  virtual Status run(const KernelArgs& args) noexcept = 0;
};

class Tactic {
 public:
  virtual ~Tactic() = default;
  virtual const TacticInfo& info() const = 0;
  // Pure; asked by the builder, and again when an engine loads (then without constant bytes).
  // One tactic serves all instruction sets: it picks the best that problem.device.cpu allows when it loads.
  virtual Support supports(const Problem& problem) const = 0;
  // Bytes of scratch for the largest shapes and problem.device.threads threads.
  virtual size_t workspace_bytes(const Problem& problem) const { (void)problem; return 0; }
  // Bit i set: constant input i is packed into the blob by prepare() and null at run time.
  virtual uint32_t packed_inputs(const Problem& problem) const { (void)problem; return 0; }
  // Build time: packs constants. The blob must not depend on this machine's instruction sets or on thread counts.
  virtual Expected<Blob> prepare(const Problem& problem) const { (void)problem; return Blob{}; }
  // The blob is 64-byte aligned and outlives the kernel. Its size and contents come from a file: check them.
  virtual Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const = 0;
  // Microseconds of a run with these shapes on problem.device, by a model, for builds on machines without it; negative: there is
  // no model. Pure arithmetic.
  virtual double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const {
    (void)problem, (void)inputs, (void)outputs;
    return -1;
  }
};

}  // namespace ingot
