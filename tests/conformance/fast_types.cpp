// Bodies of fast_types.h: each node's problem, its f32 operands given another type, shown to every tactic of its op.
#include "fast_types.h"

#include <algorithm>

#include "builder/tune/candidates.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

constexpr DataType kAsked[] = {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kU8};

std::string name_of(DataType type) { return type == DataType::kU8 ? "int8" : std::string(to_string(type)); }

// u8 stands for 8-bit layers: weights are s8, the bias of a layer s32.
void retype(OwnedProblem& problem, DataType to) {
  const OpKind kind = kind_of(problem.params);
  const auto change = [&](Operand& operand, bool is_bias) {
    if (!operand.present || operand.type.dtype != DataType::kF32) return;
    operand.constant = {};
    operand.type.dtype = to;
    if (to != DataType::kU8) return;
    operand.type.quant = QuantParams{{0.5f}, {0}, -1, false};
    if (operand.is_constant) operand.type.dtype = DataType::kS8;
    if (is_bias) operand.type.dtype = DataType::kS32;
  };
  for (size_t i = 0; i < problem.inputs.size(); ++i) change(problem.inputs[i], i == 2 && (kind == OpKind::kConv || kind == OpKind::kMatMul));
  for (Operand& output : problem.outputs) change(output, false);
}

bool has_fast_tactic(const Graph& graph, const Node& node, DataType as, const DeviceInfo& device) {
  for (const Layout layout : {Layout::kLinear, Layout::kChannelsLast}) {
    OwnedProblem problem = make_problem(graph, node, layout, layout);
    if (as != DataType::kF32) retype(problem, as);
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(node.kind()))
      if (!tactic->info().name.ends_with(".reference") && tactic->info().library.empty() && tactic->supports(problem.view(device))) return true;
  }
  return false;
}

// What a node computes on; shape arithmetic and relabelling run no kernel.
bool is_work(const Graph& graph, const Node& node) {
  if (is_alias_op(node.kind())) return false;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id != kNone && !graph.is_constant(id) && !graph.is_shape_value(id); });
}

}  // namespace

std::vector<std::string> fast_types(const Graph& graph) {
  DeviceInfo device{"cpu", "", {CpuLevel::kAvx2, false}, 1};
  std::vector<const Node*> work;
  DataType own = DataType::kF32;
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (!is_work(graph, node)) continue;
    if (work.empty() && !node.inputs.empty() && node.inputs[0] != kNone) own = graph.value(node.inputs[0]).type.dtype;
    work.push_back(&node);
  }
  std::vector<std::string> types;
  const auto ask = [&](DataType as, const std::string& name) {
    if (!work.empty() && std::all_of(work.begin(), work.end(), [&](const Node* node) { return has_fast_tactic(graph, *node, as, device); })) types.push_back(name);
  };
  if (own != DataType::kF32) ask(DataType::kF32, own == DataType::kU8 || own == DataType::kS8 ? "int8" : std::string(to_string(own)));
  else
    for (DataType as : kAsked) ask(as, name_of(as));
  return types;
}

}  // namespace ingot
