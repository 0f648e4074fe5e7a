// Engines made without a file, for the builder: it times and verifies the same kernels that the runtime runs.
#pragma once

#include <memory>

#include "ingot/runtime.h"
#include "runtime/plan.h"
#include "runtime/tactic.h"

namespace ingot {

// A plan together with the memory its blob spans point to; of an engine with several profiles, one plan for each.
struct OwnedPlan {
  Plan plan;
  std::vector<std::shared_ptr<const void>> owners;
  std::string report_json;
  std::vector<Plan> more = {};  // the same network for further profiles; in a run the first that holds the shapes serves
};

// Validates the plans and loads their kernels.
Expected<Engine> make_engine(OwnedPlan plan, const RuntimeOptions& options);

// The device that kernels see under these options.
DeviceInfo cpu_device(const RuntimeOptions& options);

}  // namespace ingot
