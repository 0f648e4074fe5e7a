// What an Engine holds: a validated plan, its kernels and pointers to its constants. Immutable, shared by contexts.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_backend.h"
#include "runtime/engine.h"
#include "runtime/tactic.h"

namespace ingot {

struct LoadedStep {
  std::unique_ptr<Kernel> kernel;    // null for shape steps and control flow
  bool late = false;
  bool alias = false;                // output and input are the same memory: nothing to run
  bool shared_workspace = false;     // needs more than the plan reserved (more threads than it was built for)
};

// A plan, or a body of one, with what was loaded for it.
struct LoadedPlan {
  const Plan* plan = nullptr;
  std::vector<LoadedStep> steps;
  std::vector<const void*> constants;   // per slot; null if it is none or is packed everywhere
  std::vector<LoadedPlan> bodies;       // as in the plan
};

struct Engine::Impl {
  OwnedPlan owned;
  RuntimeOptions options;
  DeviceInfo device;
  LoadedPlan loaded;
  bool run_allocates = false;           // some tactic is of a library
  std::unique_ptr<DeviceConstants> on_device;  // null on the CPU
  std::string remark;
  uint64_t shared_workspace_bytes = 0;  // behind the plan's arena, for all steps of all bodies: one runs at a time

  const Plan& plan() const { return owned.plan; }
  const ProfileEntry* profile_of(uint32_t slot) const;
};

}  // namespace ingot
