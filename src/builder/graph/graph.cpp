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

void Graph::share_limit(const std::string& name, const std::string& tensor, int first_dim) {
  const auto limit = limits_.find(name);
  if (name.empty() || limit == limits_.end() || limit->second.rank < first_dim) return;
  const auto given = shared_limits_.find(name);
  const std::string origin = given == shared_limits_.end() ? name : given->second;
  Shape shape;
  for (int d = first_dim; d < limit->second.rank; ++d) shape[shape.rank++] = limit->second[d];
  if (limits_.emplace(tensor, shape).second) shared_limits_.emplace(tensor, origin);  // its own limit stands
}

void Graph::note_used_limit(const std::string& tensor) {
  const auto given = shared_limits_.find(tensor);
  used_limits_.insert(given == shared_limits_.end() ? tensor : given->second);
}

std::vector<std::string> Graph::unused_limits() const {
  std::set<std::string> used;
  add_used_limits(used);
  std::vector<std::string> unused;
  for (const auto& [tensor, shape] : limits_)
    if (!used.contains(tensor) && !shared_limits_.contains(tensor)) unused.push_back(tensor);
  return unused;
}

const std::string& Graph::output_name(ValueId output) const {
  const auto renamed = output_names_.find(values_[output].name);
  return renamed == output_names_.end() ? values_[output].name : renamed->second;
}

ValueId Graph::find_value(std::string_view name) const {
  for (ValueId id = 0; id < values_.size(); ++id)
    if (values_[id].name == name) return id;
  return kNone;
}

}  // namespace ingot
