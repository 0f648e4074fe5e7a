// The last stage: a graph with chosen tactics becomes a Plan — steps in order, reformats between them, constants packed,
// memory placed.
#pragma once

#include <atomic>

#include "builder/graph/graph.h"
#include "builder/tune/select_tactics.h"
#include "runtime/engine.h"

namespace ingot {

struct EmittedPlan {
  OwnedPlan owned;
  std::vector<NodeId> step_nodes;   // the node of each step; kNone for reformats and copies
  uint64_t peak_live_bytes = 0;
  std::vector<EmittedPlan> bodies;  // as in plan.bodies; their plans and owners have gone into that of the whole
};

// `stop` may interrupt the packing of weights; null: nothing does.
Expected<EmittedPlan> emit_plan(const Graph& graph, const Selection& selection, const DeviceInfo& device,
                                const std::atomic<bool>* stop = nullptr);

}  // namespace ingot
