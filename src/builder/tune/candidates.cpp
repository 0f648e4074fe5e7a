// Asks every registered tactic of the op, for each pair of input and output layouts.
#include "builder/tune/candidates.h"

#include <algorithm>

#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};

Operand make_operand(const Graph& graph, ValueId id, Layout layout) {
  Operand operand;
  if (id == kNone) return operand;
  const Value& value = graph.value(id);
  operand.present = true;
  operand.type = value.type;
  operand.type.layout = layout_of(graph, id, layout);
  operand.max_shape = graph.largest_shape(id);
  if (value.constant) {
    operand.constant = *value.constant;
    operand.is_constant = true;
  }
  return operand;
}

bool is_reference(const Tactic& tactic) { return tactic.info().name.ends_with(".reference"); }

}  // namespace

Layout layout_of(const Graph& graph, ValueId value, Layout layout) {
  if (value == kNone || graph.value(value).type.shape.rank < 3 || graph.is_constant(value) || graph.is_shape_value(value))
    return Layout::kLinear;
  return layout;
}

OwnedProblem make_problem(const Graph& graph, const Node& node, Layout inputs, Layout outputs) {
  OwnedProblem problem;
  problem.params = node.params;
  for (ValueId id : node.inputs) {
    problem.inputs.push_back(make_operand(graph, id, inputs));
    problem.input_shapes.push_back(id == kNone ? Shape() : graph.shape_at(id, kProbeOpt));
  }
  for (ValueId id : node.outputs) {
    problem.outputs.push_back(make_operand(graph, id, outputs));
    problem.output_shapes.push_back(id == kNone ? Shape() : graph.shape_at(id, kProbeOpt));
  }
  return problem;
}

OwnedProblem make_reformat(const Graph& graph, ValueId value, Layout from, Layout to) {
  OwnedProblem problem;
  problem.params = IdentityParams{};
  problem.inputs.push_back(make_operand(graph, value, from));
  problem.outputs.push_back(make_operand(graph, value, to));
  problem.input_shapes = problem.output_shapes = {graph.shape_at(value, kProbeOpt)};
  return problem;
}

std::string problem_key(const OwnedProblem& problem) {
  std::string key(to_string(kind_of(problem.params)));
  key += to_string(problem.params);
  const auto add = [&](const Operand& operand, const Shape& shape) {
    key += '|';
    if (!operand.present) return;
    key += to_string(operand.type.dtype);
    key += '[' + to_string(shape) + ']';
    if (!operand.type.shape.is_static()) key += '<' + to_string(operand.max_shape);
    if (operand.type.layout == Layout::kChannelsLast) key += "cl";
    if (operand.type.quant) key += 'q';
    if (operand.type.quant && operand.type.quant->axis >= 0 && !operand.is_constant) key += 'c';  // a scale per channel
    if (operand.is_constant) key += 'c';
  };
  for (size_t i = 0; i < problem.inputs.size(); ++i) add(problem.inputs[i], problem.input_shapes[i]);
  key += "->";
  for (size_t i = 0; i < problem.outputs.size(); ++i) add(problem.outputs[i], problem.output_shapes[i]);
  return key;
}

NodeCandidates enumerate_candidates(const Graph& graph, const Node& node, const DeviceInfo& device, bool reference_only,
                                    std::span<const std::string> libraries) {
  NodeCandidates found;
  const Tactic* reference = nullptr;
  std::vector<std::pair<Layout, Layout>> layouts;
  const auto has_choice = [&](std::span<const ValueId> values) {
    for (ValueId value : values)
      if (layout_of(graph, value, Layout::kChannelsLast) != Layout::kLinear) return true;
    return false;
  };
  const bool inputs_choose = has_choice(node.inputs), outputs_choose = has_choice(node.outputs);
  for (Layout in : kLayouts)
    for (Layout out : kLayouts)
      if ((inputs_choose || in == Layout::kLinear) && (outputs_choose || out == Layout::kLinear)) layouts.push_back({in, out});

  for (const Tactic* tactic : TacticRegistry::builtin().for_op(node.kind(), device.backend)) {
    if (is_reference(*tactic)) {
      reference = tactic;
      continue;
    }
    if (reference_only) continue;
    const std::string_view library = tactic->info().library;
    if (!library.empty() && std::find(libraries.begin(), libraries.end(), library) == libraries.end()) {
      found.refusals.push_back({std::string(tactic->info().name), "its runs allocate: needs --tactics " + std::string(library)});
      continue;
    }
    const char* refusal = nullptr;
    bool taken = false;
    for (const auto& [in, out] : layouts) {
      const OwnedProblem problem = make_problem(graph, node, in, out);
      const Support support = tactic->supports(problem.view(device));
      if (support) {
        found.options.push_back({tactic, in, out, 0});
        taken = true;
      } else {
        refusal = support.refusal;
      }
    }
    if (!taken && refusal) found.refusals.push_back({std::string(tactic->info().name), refusal});
  }
  if (found.options.empty() && reference) found.options.push_back({reference, Layout::kLinear, Layout::kLinear, 0});
  return found;
}

}  // namespace ingot
