// Moves DequantizeLinear behind ops that only move elements, so that they work on integers, and cancels DQ → Q pairs of equal
// parameters: exact, since quantising s·(q−z) by the same s and z gives q back.
#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool same_params(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.quant && b.quant && a.quant->axis < 0 && b.quant->axis < 0 &&
         a.quant->scales == b.quant->scales && a.quant->zero_points == b.quant->zero_points;
}

// The quantised value behind a DQ whose parameters are in its type; kNone otherwise.
ValueId quantized_source(const Graph& graph, ValueId value) {
  const Node* producer = graph.producer(value);
  if (!producer || producer->kind() != OpKind::kDequantizeLinear || producer->inputs.size() != 1) return kNone;
  const TensorType& type = graph.value(producer->inputs[0]).type;
  const bool eight_bits = type.dtype == DataType::kU8 || type.dtype == DataType::kS8;
  return eight_bits && type.quant && type.quant->axis < 0 ? producer->inputs[0] : kNone;
}

// All data operands of a moving node, as quantised values of equal parameters.
bool move_sources(const Graph& graph, const Node& node, std::vector<ValueId>& inputs) {
  inputs = node.inputs;
  const TensorType* first = nullptr;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data_operand(node, i)) continue;
    const ValueId source = node.inputs[i] == kNone ? kNone : quantized_source(graph, node.inputs[i]);
    if (source == kNone) return false;
    const TensorType& type = graph.value(source).type;
    if (first && !same_params(*first, type)) return false;
    first = &type;
    inputs[i] = source;
  }
  return first != nullptr;
}

}  // namespace

Status propagate_qdq(Graph& graph, const BuildOptions& options) {
  (void)options;
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    std::vector<ValueId> sources;
    if (possible_role(graph, node) == Int8Role::kMove && move_sources(graph, node, sources)) {
      const TensorType type = graph.value(sources[0]).type;
      std::vector<std::string> names;
      for (ValueId output : node.outputs) names.push_back(output == kNone ? "" : graph.value(output).name + ".q");
      INGOT_ASSIGN(const GraphEditor::Added moved, editor.add_node(node.name, node.params, sources, names));
      editor.absorb_origins(moved.node, id);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == kNone) continue;
        editor.set_storage(moved.outputs[i], type.dtype, type.quant);
        const std::string name = graph.value(node.outputs[i]).name;
        INGOT_ASSIGN(const ValueId dq, editor.add_op(name + ".dequantize", DequantizeLinearParams{}, {moved.outputs[i]}, name + ".dequantized"));
        editor.replace_uses(node.outputs[i], dq);
      }
      editor.remove_node(id);
    } else if (node.kind() == OpKind::kQuantizeLinear && node.inputs.size() == 1) {
      const ValueId source = quantized_source(graph, node.inputs[0]);
      if (source != kNone && same_params(graph.value(source).type, graph.value(node.outputs[0]).type) &&
          !graph.value(node.outputs[0]).is_output)
        editor.replace_uses(node.outputs[0], source);
    }
  }
  editor.remove_dead();
  return {};
}

}  // namespace ingot
