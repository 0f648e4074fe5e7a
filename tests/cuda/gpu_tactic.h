// A CUDA tactic on a test problem: operands in device memory, in the layouts that the problem asks for.
#pragma once

#include <vector>

#include "problem_data.h"
#include "runtime/cuda/device.h"

namespace ingot::cuda {

// Whether libcuda.so.1 is the stand-in.
bool on_stand_in();

class GpuTactic {
 public:
  // The blob is made and loaded as by an engine.
  static Expected<GpuTactic> load(const TestProblem& problem, const Tactic& tactic, const DeviceInfo& device);
  // Microseconds of one launch on a GPU, by events: the median of batches of launches, with caches warm. On the stand-in it launches
  // once, and the figure means nothing.
  Expected<double> microseconds(const ReferenceRun& reference);
  // One run; outputs row-major. Also checks that nothing was written behind an output.
  Expected<std::vector<std::vector<std::byte>>> run(const ReferenceRun& reference);

 private:
  // All that a launch needs; addresses of device memory.
  struct Launch {
    std::vector<DeviceMemory> memory;
    std::vector<const void*> inputs, host_inputs;
    std::vector<void*> outputs;
    DeviceMemory workspace;
    KernelArgs args;
  };
  Expected<std::unique_ptr<Launch>> upload(const ReferenceRun& reference, ThreadPool& pool);
  const TestProblem* problem_ = nullptr;
  Device* device_ = nullptr;
  uint32_t packed_ = 0;
  size_t workspace_bytes_ = 0;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace ingot::cuda
