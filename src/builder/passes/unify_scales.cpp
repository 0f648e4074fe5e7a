// Calibrated values on both sides of an op that only moves bytes (pool, concat, transpose …) get one scale: that of the
// union of their ranges. propagate_qdq then moves the op between integers.
#include <algorithm>
#include <map>
#include <numeric>

#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "quant/activation_quantizer.h"

namespace ingot {
namespace {

class Groups {
 public:
  explicit Groups(size_t values) : parent_(values) { std::iota(parent_.begin(), parent_.end(), 0u); }
  ValueId find(ValueId value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  void join(ValueId a, ValueId b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<ValueId> parent_;
};

// Whether `q` is what a QuantizeLinear made with one calibrated scale.
bool is_calibrated(const Graph& graph, ValueId q) {
  const Node* producer = graph.producer(q);
  const auto& quant = graph.value(q).type.quant;
  return producer && producer->kind() == OpKind::kQuantizeLinear && producer->inputs.size() == 1 && quant && !quant->trained && quant->axis < 0;
}

// The quantised forms of what a node reads as data, and of what it makes.
std::vector<ValueId> quantized_neighbours(const Graph& graph, const Node& node) {
  std::vector<ValueId> found;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Node* dq = is_data_operand(node, i) ? graph.producer(node.inputs[i]) : nullptr;
    if (dq && dq->kind() == OpKind::kDequantizeLinear && is_calibrated(graph, dq->inputs[0])) found.push_back(dq->inputs[0]);
  }
  for (ValueId output : node.outputs) {
    if (output == kNone) continue;
    for (NodeId user : graph.value(output).users)
      if (graph.node(user).kind() == OpKind::kQuantizeLinear && is_calibrated(graph, graph.node(user).outputs[0])) found.push_back(graph.node(user).outputs[0]);
  }
  return found;
}

}  // namespace

Status unify_scales(Graph& graph, const BuildOptions& options) {
  if (!options.int8 || !options.calibration_table) return {};
  const auto& ranges = options.calibration_table->ranges;
  GraphEditor editor(graph);
  Groups groups(graph.value_count());
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (possible_role(graph, node) != Int8Role::kMove) continue;
    const std::vector<ValueId> neighbours = quantized_neighbours(graph, node);
    for (ValueId q : neighbours) groups.join(neighbours[0], q);
  }
  std::map<ValueId, std::vector<ValueId>> members;
  for (ValueId q = 0; q < graph.value_count(); ++q)
    if (is_calibrated(graph, q)) members[groups.find(q)].push_back(q);
  for (const auto& [group, values] : members) {
    if (values.size() < 2) continue;
    CalibrationRange merged;
    for (ValueId q : values) {
      const auto range = ranges.find(graph.value(graph.producer(q)->inputs[0]).name);
      if (range == ranges.end()) continue;
      merged.low = std::min(merged.low, range->second.low);
      merged.high = std::max(merged.high, range->second.high);
    }
    for (ValueId q : values) editor.set_storage(q, DataType::kU8, quantize_range_u8(merged).params());
  }
  return {};
}

}  // namespace ingot
