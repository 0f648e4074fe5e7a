// The runtime: loads an engine file and runs it in preallocated memory. Needs no builder and no protobuf.
//
//   auto engine  = ingot::Engine::load_file("net.engine", {.threads = 2});
//   auto context = engine->create_context();
//   float* x = static_cast<float*>(context->input_buffer("image").data);
//   ...fill x...
//   if (auto status = context->run(); !status.ok()) ...
//   const float* y = static_cast<const float*>(context->output_buffer("logits").data);
//
// An Engine is immutable and may be shared by any number of contexts; a context serves one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/status.h"
#include "ingot/types.h"

namespace ingot {

class StepObserver;
struct Plan;

struct RuntimeOptions {
  int threads = 1;            // threads that each context uses, the caller included
  std::string cpu_level = {}; // "", or at most: "scalar", "avx2", "avx_vnni", "avx512_vnni"
  bool verify_checksums = true;
  std::string backend = {};   // "": the best that the file has a plan for and this machine can run; or "cpu", "cuda"
  // Iterations that all loops of the model may make in one run together; more is an error, so that a model whose loop never
  // ends is found out.
  int64_t loop_limit = int64_t{1} << 22;
};

struct TensorInfo {
  std::string name;
  DataType dtype;
  Shape shape;                // kDynamic where it varies
  Shape min, opt, max;        // the built profile, of several: the smallest min, the first's opt, the largest max; for
                              // outputs only max (and min = opt = max)
  std::vector<std::string> dim_names = {};  // of an input whose dims vary: one for each, empty for fixed ones. Dims of one name are
                                       // equal in every run
};

struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
};

class ExecutionContext {
 public:
  ExecutionContext(ExecutionContext&&) noexcept;
  ExecutionContext& operator=(ExecutionContext&&) noexcept;
  ~ExecutionContext();

  // Uses the caller's memory for an input or output, row-major, large enough for the current shape; an output whose shape
  // depends on data (see shape()) needs room for TensorInfo::max. A GPU's context takes device memory too, and works in it
  // without a copy.
  Status bind(std::string_view tensor, void* data, size_t bytes);
  // The same for an output alone: where an input goes out again under its own name, bind() binds the input.
  Status bind_output(std::string_view tensor, void* data, size_t bytes);
  // Sets the shape of an input, inside the built profile; output shapes follow. Of several profiles, the first that holds the
  // shapes of all inputs serves: which, is seen at the next run() or shape() of an output, whose error says what is outside of
  // all. Allocates nothing.
  Status set_shape(std::string_view tensor, const Shape& shape);
  // The current concrete shape of an input or output. The shape of an output that depends on data (the boxes that were found,
  // say) is that of the last run; before it, and after set_shape(), its upper bound. Its elements lie row-major, without gaps.
  Expected<Shape> shape(std::string_view tensor) const;
  // Memory that the context owns for a tensor (made at the first call, sized for the profile's maximum); binds it.
  Buffer input_buffer(std::string_view tensor);
  Buffer output_buffer(std::string_view tensor);
  // Runs all steps. Allocates nothing. All inputs and outputs must be bound.
  Status run() noexcept;
  // On a GPU: starts a run on the caller's CUstream (null: the context's own) and returns. All inputs and outputs must be bound to
  // device memory. Neither waits nor allocates, but for the first time after a change of shapes or memory. On a CPU: run().
  Status enqueue(void* stream) noexcept;
  // Calls the observer after each step; null turns it off. For profilers and calibration.
  void set_observer(StepObserver* observer) noexcept;

  struct Impl;
  explicit ExecutionContext(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

class Engine {
 public:
  // Maps the file and verifies it before first use; a damaged or foreign file gives an error, never a crash.
  static Expected<Engine> load_file(const std::string& path, const RuntimeOptions& options = {});
  // As load_file, from memory that must outlive the engine and its contexts; 64-byte aligned.
  static Expected<Engine> load(std::span<const std::byte> file, const RuntimeOptions& options = {});

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  size_t profiles() const;                 // that the engine was built for: 1…16, in the order of preference
  std::vector<TensorInfo> inputs(size_t profile) const;  // in that profile alone
  size_t arena_bytes() const;              // memory of one context without its own I/O buffers
  size_t weight_bytes() const;             // constants and packed weights, shared by all contexts
  std::string_view report_json() const;    // the builder's decisions and reasons; may be empty
  std::string_view model_hash() const;
  // Whether some layers run on a library that allocates in each run: only where the build permitted it (--tactics).
  bool run_allocates() const;
  std::string_view target() const;         // of the plan that was loaded, as "cpu-x86-64" or "cuda-sm_80"
  std::string_view remark() const;         // why a better plan of the file was not taken; empty if there is nothing to say
  const Plan& plan(size_t profile = 0) const;  // for tools; see src/runtime/plan.h
  Expected<ExecutionContext> create_context() const;

  struct Impl;
  explicit Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

std::string_view version();  // "0.1.0"

}  // namespace ingot
