// CostModel: what one tactic costs on one problem. Selection does not know whether a cost was measured or estimated.
#pragma once

#include <memory>

#include "builder/tune/candidates.h"
#include "builder/tune/timing_cache.h"
#include "ingot/status.h"

namespace ingot {

class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual Expected<double> microseconds(const OwnedProblem& problem, const Tactic& tactic) = 0;
};

// Deterministic: operations and bytes at assumed rates; of tactics that tie, the first of the list wins.
std::unique_ptr<CostModel> make_estimated_cost(const DeviceInfo& device);

// Runs the kernel on this machine, unless the cache knows. New timings go into the cache.
// After `budget_s` seconds (0: no limit) it answers by the estimate.
std::unique_ptr<CostModel> make_measured_cost(const DeviceInfo& device, TimingCache& cache, double budget_s);

}  // namespace ingot
