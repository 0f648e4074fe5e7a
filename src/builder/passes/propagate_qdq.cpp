// Moves DequantizeLinear behind ops that only move elements, so that they work on integers, and cancels DQ → Q pairs of equal
// parameters: exact, since quantising s·(q−z) by the same s and z gives q back. Of other parameters the pair becomes one
// QuantizeLinear of integers, a table. Parts of a Concat that have other scales than its result are quantised to that before they
// are joined, which is the same rounding of the same values.
#include <algorithm>

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

// The Concat in front of a QuantizeLinear, if some of its parts are integers already and nothing else reads it.
NodeId concat_to_quantize(const Graph& graph, const Node& quantize) {
  const ValueId joined = quantize.inputs[0];
  const Node* concat = graph.producer(joined);
  const TensorType& type = graph.value(quantize.outputs[0]).type;
  if (!concat || concat->kind() != OpKind::kConcat || !graph.has_single_use(joined) || !type.quant || type.quant->axis >= 0) return kNone;
  if (type.dtype != DataType::kU8 && type.dtype != DataType::kS8) return kNone;
  const bool any = std::any_of(concat->inputs.begin(), concat->inputs.end(), [&](ValueId part) { return quantized_source(graph, part) != kNone; });
  return any && moves_elements(graph, *concat) ? graph.value(joined).producer : kNone;
}

// Q(Concat(a, b)) → Concat(Q(a), Q(b)); where a is DQ(q), Q(q).
Status quantize_parts(GraphEditor& editor, NodeId quantize, NodeId concat) {
  const Graph& graph = editor.graph();
  const Node join = graph.node(concat);
  const TensorType type = graph.value(graph.node(quantize).outputs[0]).type;
  std::vector<ValueId> parts;
  for (ValueId part : join.inputs) {
    const ValueId source = quantized_source(graph, part);
    if (source != kNone && same_params(graph.value(source).type, type)) {
      parts.push_back(source);
      continue;
    }
    const std::string name = graph.value(part).name;
    INGOT_ASSIGN(const ValueId made, editor.add_op(name + ".quantize", QuantizeLinearParams{}, {source == kNone ? part : source}, name + ".quantized"));
    editor.set_storage(made, type.dtype, type.quant);
    parts.push_back(made);
  }
  INGOT_ASSIGN(const GraphEditor::Added joined, editor.add_node(join.name, join.params, parts, {graph.value(join.outputs[0]).name + ".q"}));
  editor.absorb_origins(joined.node, concat);
  editor.absorb_origins(joined.node, quantize);
  editor.take_output(joined.node, 0, graph.node(quantize).outputs[0]);
  editor.remove_node(quantize);
  editor.remove_node(concat);
  return {};
}

}  // namespace

Status propagate_qdq(Graph& graph, const BuildOptions& options) {
  (void)options;
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    std::vector<ValueId> sources;
    if (moves_elements(graph, node) && move_sources(graph, node, sources)) {
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
          !graph.value(node.outputs[0]).is_output) {
        editor.replace_uses(node.outputs[0], source);
      } else if (source != kNone && graph.value(node.outputs[0]).type.quant->axis < 0) {
        editor.set_input(id, 0, source);
      } else if (const NodeId concat = concat_to_quantize(graph, node); concat != kNone) {
        INGOT_TRY(quantize_parts(editor, id, concat));
      }
    }
  }
  editor.remove_dead();
  return {};
}

}  // namespace ingot
