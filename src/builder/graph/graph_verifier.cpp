// Links first, then order, then types: each check may trust the one before.
#include "builder/graph/graph_verifier.h"

#include <algorithm>
#include <utility>

#include "builder/graph/graph_editor.h"
#include "builder/graph/infer_outputs.h"
#include "runtime/shape_pass.h"

namespace ingot {
namespace {

Status broken(const std::string& where, const std::string& what) {
  return Status(StatusCode::kInternal, "graph, " + where + ": " + what);
}
std::string node_words(const Graph& graph, NodeId id) { return "node '" + graph.node(id).name + "'"; }
std::string value_words(const Graph& graph, ValueId id) { return "value '" + graph.value(id).name + "'"; }

Status verify_links(const Graph& graph) {
  std::vector<std::pair<ValueId, NodeId>> uses, recorded;
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (!node.alive) continue;
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      if (input >= graph.value_count()) return broken(node_words(graph, id), "input does not exist");
      const Value& value = graph.value(input);
      if (value.producer == kNone && !value.constant && !value.is_input)
        return broken(node_words(graph, id), "input '" + value.name + "' has no producer");
      uses.emplace_back(input, id);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      if (node.outputs[i] >= graph.value_count()) return broken(node_words(graph, id), "output does not exist");
      const Value& value = graph.value(node.outputs[i]);
      if (value.producer != id || value.output_index != i)
        return broken(node_words(graph, id), "output '" + value.name + "' names another producer");
    }
  }
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    for (NodeId user : value.users) recorded.emplace_back(id, user);
    if (value.probe_shapes.size() != graph.probe_count())
      return broken(value_words(graph, id), "wrong number of probes: got " + std::to_string(value.probe_shapes.size()) +
                                                ", need " + std::to_string(graph.probe_count()));
    if (!value.probe_values.empty() && value.probe_values.size() != graph.probe_count())
      return broken(value_words(graph, id), "known at some probes only");
    if (value.constant && static_cast<int64_t>(value.constant->size()) != value.type.bytes())
      return broken(value_words(graph, id), "size of the constant: got " + std::to_string(value.constant->size()) +
                                                " bytes, need " + std::to_string(value.type.bytes()));
    if (value.producer == kNone) continue;
    if (value.constant || value.is_input) return broken(value_words(graph, id), "an input or constant has a producer");
    if (value.producer >= graph.node_count() || !graph.node(value.producer).alive)
      return broken(value_words(graph, id), "its producer is removed");
    const auto& outputs = graph.node(value.producer).outputs;
    if (value.output_index >= outputs.size() || outputs[value.output_index] != id)
      return broken(value_words(graph, id), "its producer makes another value");
  }
  std::sort(uses.begin(), uses.end());
  std::sort(recorded.begin(), recorded.end());
  if (uses == recorded) return Status();
  const auto place = std::mismatch(uses.begin(), uses.end(), recorded.begin(), recorded.end());
  const ValueId at = place.first != uses.end() ? place.first->first : place.second->first;
  return broken(value_words(graph, at), "its users are not those that use it");
}

Status verify_ends(const Graph& graph) {
  size_t marked = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) marked += graph.value(id).is_output;
  for (ValueId id : graph.outputs()) {
    if (id >= graph.value_count()) return broken("outputs", "one does not exist");
    const Value& value = graph.value(id);
    if (!value.is_output) return broken(value_words(graph, id), "a graph output that is not marked");
    if (value.producer == kNone && !value.constant && !value.is_input)
      return broken(value_words(graph, id), "a graph output without producer");
  }
  if (marked > graph.outputs().size()) return broken("outputs", "more values marked than there are");
  for (ValueId id : graph.inputs())
    if (id >= graph.value_count() || !graph.value(id).is_input) return broken("inputs", "one is not marked");
  return Status();
}

// What is known before a run is computed by the runtime's shape pass, which does not have every op.
Status verify_shape_arithmetic(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (ValueId output : node.outputs)
    if (output != kNone && graph.is_shape_value(output) && !is_shape_arithmetic(node.kind()))
      return broken(node_words(graph, id), "makes a shape value: got " + std::string(to_string(node.kind())) + ", need an op of shape arithmetic");
  return Status();
}

Status verify_types(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (const Graph& body : node.bodies) {
    if (body.probe_count() != graph.probe_count()) return broken(node_words(graph, id), "a body has another number of probes");
    if (Status status = verify_graph(body); !status.ok()) return std::move(status).with_context("graph, body of " + node_words(graph, id));
  }
  bool quantised = false;
  for (const auto& side : {node.inputs, node.outputs})
    for (ValueId value : side) quantised = quantised || (value != kNone && graph.value(value).type.quant);
  std::vector<BoundedOutput> outputs(node.outputs.size());
  for (size_t probe = 0; probe < graph.probe_count(); ++probe) {
    if (Status status = infer_node(graph, node.params, node.inputs, probe, outputs, node.bodies); !status.ok())
      return std::move(status).with_context("graph, " + node_words(graph, id));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      const Value& value = graph.value(node.outputs[i]);
      bool fits = value.probe_shapes[probe].rank == outputs[i].shape.rank;
      for (int d = 0; fits && d < outputs[i].shape.rank; ++d) {
        const int64_t have = value.probe_shapes[probe][d], most = outputs[i].shape[d];
        // A late dim may be held to a limit.
        fits = outputs[i].late >> d & 1 ? (value.late_dims >> d & 1) != 0 && (most < 0 || have <= most) : have == most;
      }
      if (!fits)
        return broken(node_words(graph, id), "shape of '" + value.name + "': got " + to_string(value.probe_shapes[probe]) +
                                                 ", need " + to_string(outputs[i].shape));
      if (!quantised && value.type.dtype != outputs[i].dtype)
        return broken(node_words(graph, id), "element type of '" + value.name + "': got " +
                                                 std::string(to_string(value.type.dtype)) + ", need " +
                                                 std::string(to_string(outputs[i].dtype)));
    }
  }
  return Status();
}

}  // namespace

Status verify_graph(const Graph& graph) {
  INGOT_TRY(verify_links(graph));
  INGOT_TRY(verify_ends(graph));
  const std::vector<NodeId> order = graph.topological_order();
  size_t alive = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id) alive += graph.node(id).alive;
  if (order.size() != alive)
    return broken("order", "nodes form a cycle: got " + std::to_string(order.size()) + " that can be ordered, need " + std::to_string(alive));
  for (NodeId id : order) {
    INGOT_TRY(verify_types(graph, id));
    INGOT_TRY(verify_shape_arithmetic(graph, id));
  }
  return Status();
}

}  // namespace ingot
