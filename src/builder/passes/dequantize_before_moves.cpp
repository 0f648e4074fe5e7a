// Models whose operators are quantised themselves (QLinearConv …) pool, reshape and gather bare integers in between:
//   DQ(move(q)) → move(DQ(q))
// exact, since moving picks elements and looks at none but to compare them (max pool: scales are positive). So all that reads q
// means s·(q − z) by it, and absorb_quantization_parameters may take the scale; propagate_qdq brings the move back between integers.
#include <algorithm>
#include <optional>

#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool same_constant(const Graph& graph, ValueId a, ValueId b) {
  if (a == b) return true;
  if (!graph.is_constant(a) || !graph.is_constant(b)) return false;
  const Value &x = graph.value(a), &y = graph.value(b);
  return x.type.dtype == y.type.dtype && x.type.shape.elements() == y.type.shape.elements() && *x.constant == *y.constant;
}

// A DequantizeLinear of one constant scale.
bool is_plain(const Graph& graph, const Node& dq) {
  const auto* params = std::get_if<DequantizeLinearParams>(&dq.params);
  if (!params || params->block_size != 0 || dq.inputs.size() < 2) return false;
  const ValueId zero = graph.input(dq, 2);
  return graph.is_constant(dq.inputs[1]) && graph.value(dq.inputs[1]).type.shape.elements() == 1 && (zero == kNone || graph.is_constant(zero));
}

// What reads a moved value: DequantizeLinear of one scale and zero point, at least one; the first of them stands for all.
std::optional<NodeId> only_dequantizer(const Graph& graph, const Node& move) {
  std::optional<NodeId> first;
  for (ValueId output : move.outputs) {
    if (output == kNone) continue;
    if (graph.value(output).is_output) return std::nullopt;
    for (NodeId user : graph.value(output).users) {
      const Node& dq = graph.node(user);
      if (dq.kind() == OpKind::kShape) continue;
      if (!is_plain(graph, dq) || dq.inputs[0] != output) return std::nullopt;
      if (!first) first = user;
      const Node& other = graph.node(*first);
      if (!same_constant(graph, dq.inputs[1], other.inputs[1]) || !same_constant(graph, graph.input(dq, 2), graph.input(other, 2))) return std::nullopt;
    }
  }
  return first;
}

// x dequantised as `like` does it: by a node that is there already, or a new one.
Expected<ValueId> dequantized(GraphEditor& editor, ValueId x, NodeId like) {
  const Graph& graph = editor.graph();
  const Node dq = graph.node(like);
  for (NodeId user : graph.value(x).users) {
    const Node& known = graph.node(user);
    if (is_plain(graph, known) && known.inputs[0] == x && known.inputs.size() == dq.inputs.size() &&
        std::equal(known.inputs.begin() + 1, known.inputs.end(), dq.inputs.begin() + 1))
      return known.outputs[0];
  }
  std::vector<ValueId> inputs = dq.inputs;
  inputs[0] = x;
  const std::string name = graph.value(x).name;
  return editor.add_op(name + ".dequantize", dq.params, inputs, name + ".dequantized");
}

Status dequantize_before(GraphEditor& editor, NodeId id, NodeId like) {
  const Graph& graph = editor.graph();
  const Node move = graph.node(id);
  std::vector<ValueId> inputs = move.inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_data_operand(move, i)) {
      INGOT_ASSIGN(inputs[i], dequantized(editor, inputs[i], like));
    }
  std::vector<std::string> names;
  for (ValueId output : move.outputs) names.push_back(output == kNone ? "" : graph.value(output).name + ".real");
  INGOT_ASSIGN(const GraphEditor::Added moved, editor.add_node(move.name, move.params, inputs, names));
  editor.absorb_origins(moved.node, id);
  for (size_t i = 0; i < move.outputs.size(); ++i) {
    if (move.outputs[i] == kNone) continue;
    const std::vector<NodeId> users = graph.value(move.outputs[i]).users;
    for (NodeId user : users) {
      if (graph.node(user).kind() != OpKind::kDequantizeLinear) continue;
      editor.absorb_origins(moved.node, user);
      editor.replace_uses(graph.node(user).outputs[0], moved.outputs[i]);
      editor.remove_node(user);
    }
    editor.replace_uses(move.outputs[i], moved.outputs[i]);  // Shape
  }
  editor.remove_node(id);
  return {};
}

}  // namespace

Status dequantize_before_moves(Graph& graph, const BuildOptions&) {
  GraphEditor editor(graph);
  // Integers that come from a QuantizeLinear, through moves perhaps. Weights, tables and inputs of the network stay as they are.
  std::vector<bool> quantised(graph.value_count(), false);
  const std::vector<NodeId> order = graph.topological_order();
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    bool made = false;
    if (node.kind() == OpKind::kQuantizeLinear) {
      made = true;
    } else if (moves_elements(graph, node)) {
      for (size_t i = 0; i < node.inputs.size(); ++i) made = made || (is_data_operand(node, i) && node.inputs[i] != kNone && quantised[node.inputs[i]]);
    }
    for (ValueId output : node.outputs)
      if (output != kNone) quantised[output] = made && (graph.value(output).type.dtype == DataType::kU8 || graph.value(output).type.dtype == DataType::kS8);
  }
  // From the last to the first, so that chains of moves are crossed.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    const bool is_move = node.alive && node.kind() != OpKind::kQuantizeLinear && std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output != kNone && output < quantised.size() && quantised[output];
    });
    if (!is_move) continue;
    if (const auto like = only_dequantizer(graph, node)) INGOT_TRY(dequantize_before(editor, *it, *like));
  }
  editor.remove_dead();
  return {};
}

}  // namespace ingot
