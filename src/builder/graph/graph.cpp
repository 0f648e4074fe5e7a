// Graph: order and lookup.
#include "builder/graph/graph.h"

#include <algorithm>
#include <queue>

namespace ingot {

std::vector<NodeId> Graph::topological_order() const {
  std::vector<uint32_t> waiting(nodes_.size(), 0);
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (!nodes_[id].alive) continue;
    for (ValueId input : nodes_[id].inputs)
      if (input != kNone && values_[input].producer != kNone) ++waiting[id];
    if (waiting[id] == 0) ready.push(id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(id);
    for (ValueId output : nodes_[id].outputs)
      if (output != kNone)
        for (NodeId user : values_[output].users)
          if (--waiting[user] == 0) ready.push(user);
  }
  return order;
}

Shape Graph::largest_shape(ValueId id) const {
  const Value& value = values_[id];
  Shape largest = value.probe_shapes[0];
  for (int d = 0; d < largest.rank; ++d) {
    for (const Shape& shape : value.probe_shapes) largest[d] = std::max(largest[d], shape[d]);
    if (value.dims.empty() || (value.late_dims >> d & 1)) continue;
    for (int64_t size : symbols_->values(value.dims[static_cast<size_t>(d)])) largest[d] = std::max(largest[d], size);
  }
  return largest;
}

std::string Graph::formula_text(ValueId id) const {
  const Value& value = values_[id];
  std::string text(to_string(value.type.dtype));
  text += '[';
  for (int d = 0; d < value.type.shape.rank; ++d)
    text += (d ? ", " : "") + (value.dims.empty() ? std::to_string(value.type.shape[d]) : symbols_->text(value.dims[static_cast<size_t>(d)]));
  return text + ']';
}

void Graph::add_used_limits(std::set<std::string>& used) const {
  used.insert(used_limits_.begin(), used_limits_.end());
  for (const Node& node : nodes_)
    for (const Graph& body : node.bodies) body.add_used_limits(used);
}

std::vector<std::string> Graph::unused_limits() const {
  std::set<std::string> used;
  add_used_limits(used);
  std::vector<std::string> unused;
  for (const auto& [tensor, shape] : limits_)
    if (!used.contains(tensor)) unused.push_back(tensor);
  return unused;
}

ValueId Graph::find_value(std::string_view name) const {
  for (ValueId id = 0; id < values_.size(); ++id)
    if (values_[id].name == name) return id;
  return kNone;
}

}  // namespace ingot
