// What an Engine holds: validated plans, one for each profile, their kernels and pointers to their constants. Immutable, shared by contexts.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/arena.h"
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
  std::vector<LoadedPlan> loaded;       // per profile
  bool run_allocates = false;           // some tactic is of a library
  std::unique_ptr<DeviceConstants> on_device;  // null on the CPU
  std::string remark;
  uint64_t shared_workspace_bytes = 0;  // behind the plans' arena, for all steps of all bodies: one runs at a time

  size_t profiles() const { return 1 + owned.more.size(); }
  const Plan& plan(size_t profile = 0) const { return profile == 0 ? owned.plan : owned.more[profile - 1]; }
  const ProfileEntry* range_of(size_t profile, uint32_t slot) const;
  // Of the arena that all plans share, one at a time.
  uint64_t plan_arena_bytes() const {
    uint64_t most = owned.plan.arena_bytes;
    for (const Plan& more : owned.more) most = std::max(most, more.arena_bytes);
    return align_up(most);
  }
};

}  // namespace ingot
