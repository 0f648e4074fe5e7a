// Which tactics can compute a node, in which layouts, and why the others cannot.
#pragma once

#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "runtime/tactic.h"

namespace ingot {

// A problem together with the operands it points to.
struct OwnedProblem {
  OpParams params;
  std::vector<Operand> inputs, outputs;
  std::vector<Shape> input_shapes, output_shapes;  // at the profile's opt: what is timed
  Problem view(const DeviceInfo& device) const { return {params, inputs, outputs, device}; }
};

// The layout a value really gets where its node works in `layout`: only data of rank ≥ 3 has a choice.
Layout layout_of(const Graph& graph, ValueId value, Layout layout);
OwnedProblem make_problem(const Graph& graph, const Node& node, Layout inputs, Layout outputs);
// The change of layout of one value.
OwnedProblem make_reformat(const Graph& graph, ValueId value, Layout from, Layout to);
// Names a problem for the timing cache: op, parameters, types, opt shapes.
std::string problem_key(const OwnedProblem& problem);

struct Candidate {
  const Tactic* tactic = nullptr;
  Layout inputs = Layout::kLinear, outputs = Layout::kLinear;
  double microseconds = 0;
};
struct Refusal {
  std::string tactic, reason;
};
struct NodeCandidates {
  std::vector<Candidate> options;   // never empty: reference code takes everything
  std::vector<Refusal> refusals;    // one for each tactic that refused in every layout
};

// Reference tactics are candidates only where nothing else is, or everywhere if `reference_only`. Those of a library need its
// name in `libraries`.
NodeCandidates enumerate_candidates(const Graph& graph, const Node& node, const DeviceInfo& device, bool reference_only,
                                    std::span<const std::string> libraries = {});

}  // namespace ingot
