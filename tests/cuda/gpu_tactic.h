// A CUDA tactic on a test problem: operands in device memory, in the layouts that the problem asks for.
#pragma once

#include <vector>

#include "problem_data.h"
#include "runtime/cuda/device.h"

namespace ingot::cuda {

class GpuTactic {
 public:
  // The blob is made and loaded as by an engine.
  static Expected<GpuTactic> load(const TestProblem& problem, const Tactic& tactic, const DeviceInfo& device);
  // One run; outputs row-major. Also checks that nothing was written behind an output.
  Expected<std::vector<std::vector<std::byte>>> run(const ReferenceRun& reference);

 private:
  const TestProblem* problem_ = nullptr;
  Device* device_ = nullptr;
  uint32_t packed_ = 0;
  size_t workspace_bytes_ = 0;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace ingot::cuda
