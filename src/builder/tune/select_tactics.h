// Picks one tactic and one layout for every node so that the sum of kernel times and reformats between neighbours is small.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <vector>

#include "builder/tune/candidates.h"
#include "builder/tune/cost_model.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

struct NodeChoice {
  Candidate chosen;
  std::vector<Candidate> options;   // all of them with their times, as enumerated
  std::vector<Refusal> refusals;
};

struct ReformatChoice {
  const Tactic* tactic = nullptr;
  double microseconds = 0;
};

struct Selection {
  std::map<NodeId, NodeChoice> nodes;  // every live node but shape arithmetic
  // (value, target layout) → how its layout is changed, for the values that need it.
  std::map<std::pair<ValueId, Layout>, ReformatChoice> reformats;
  double total_microseconds = 0;
  uint64_t looks = 0;  // at values while searching: what the search cost, for tests of growth
  std::map<NodeId, std::vector<Selection>> bodies;  // of control flow, one for each body
};

// Nodes whose outputs are all shape arithmetic are left to the runtime's shape pass.
bool is_shape_node(const Graph& graph, const Node& node);

Expected<Selection> select_tactics(const Graph& graph, CostModel& costs, const DeviceInfo& device,
                                   const BuildOptions& options);

}  // namespace ingot
