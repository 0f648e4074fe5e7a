// GraphEditor: edits; what nodes make is inferred as they are added.
#include "builder/graph/graph_editor.h"

#include <algorithm>

#include "builder/graph/infer_outputs.h"

namespace ingot {
namespace {

Shape merge(std::span<const Shape> shapes) {
  Shape merged = shapes[0];
  for (const Shape& shape : shapes)
    for (int i = 0; i < merged.rank && i < shape.rank; ++i)
      if (merged[i] != shape[i]) merged[i] = Shape::kDynamic;
  return merged;
}

}  // namespace

std::string GraphEditor::unique_name(std::string name) {
  if (name.empty()) name = "value";
  auto [place, is_new] = graph_.names_.emplace(name, 0);
  if (is_new) return name;
  while (true) {
    std::string candidate = name + '.' + std::to_string(++place->second);
    if (graph_.names_.emplace(candidate, 0).second) return candidate;
    place = graph_.names_.find(name);
  }
}

void GraphEditor::add_use(ValueId value, NodeId node) {
  if (value != kNone) graph_.values_[value].users.push_back(node);
}

void GraphEditor::remove_use(ValueId value, NodeId node) {
  if (value == kNone) return;
  auto& users = graph_.values_[value].users;
  if (auto place = std::find(users.begin(), users.end(), node); place != users.end()) users.erase(place);
}

ValueId GraphEditor::add_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes, std::vector<DimId> dims) {
  const size_t probes_before = graph_.probe_count_;
  graph_.probe_count_ = std::max(probes_before, probe_shapes.size());
  Value value;
  value.name = unique_name(std::move(name));
  value.is_input = true;
  probe_shapes.resize(graph_.probe_count_, probe_shapes.front());
  value.type = {dtype, merge(probe_shapes), Layout::kLinear, {}};
  if (!value.type.shape.is_static()) value.dims = std::move(dims);
  for (int d = static_cast<int>(value.dims.size()); d < value.type.shape.rank && !value.type.shape.is_static(); ++d) {
    std::array<int64_t, SymbolicDims::kProbePoints> sizes{};
    std::string range;
    for (size_t p = 0; p < sizes.size(); ++p) sizes[p] = probe_shapes[std::min(p, probe_shapes.size() - 1)][d], range += (p ? ":" : "") + std::to_string(sizes[p]);
    value.dims.push_back(value.type.shape[d] == Shape::kDynamic ? graph_.symbols_->symbol(range, sizes) : graph_.symbols_->constant(sizes[0]));
  }
  value.probe_shapes = std::move(probe_shapes);
  graph_.values_.push_back(std::move(value));
  const auto id = static_cast<ValueId>(graph_.values_.size() - 1);
  graph_.inputs_.push_back(id);
  // Inputs added earlier, static ones, get as many probes.
  if (graph_.probe_count_ == probes_before) return id;
  for (Value& other : graph_.values_) other.probe_shapes.resize(graph_.probe_count_, other.probe_shapes.front());
  return id;
}

ValueId GraphEditor::add_body_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes, uint32_t late_dims,
                                    std::vector<DimId> dims) {
  Value value;
  value.name = unique_name(std::move(name));
  value.is_input = true;
  value.type = {dtype, merge(probe_shapes), Layout::kLinear, {}};
  value.late_dims = late_dims;
  for (int d = 0; d < value.type.shape.rank; ++d)
    if (late_dims >> d & 1) value.type.shape[d] = Shape::kDynamic;
  if (!value.type.shape.is_static()) value.dims = std::move(dims);
  value.dims.resize(value.type.shape.is_static() ? 0 : static_cast<size_t>(value.type.shape.rank), kNoDim);
  for (size_t d = 0; d < value.dims.size(); ++d) {
    if (value.dims[d] != kNoDim) continue;
    SymbolicDims::Points sizes;
    sizes.fill(SymbolicDims::kNoValue);
    std::array<int64_t, SymbolicDims::kProbePoints> at_probes{};
    for (size_t p = 0; p < at_probes.size(); ++p) sizes[p] = at_probes[p] = probe_shapes[std::min(p, probe_shapes.size() - 1)][static_cast<int>(d)];
    const std::string dim_name = value.name + '.' + std::to_string(d);
    if (late_dims >> d & 1) value.dims[d] = graph_.symbols_->late(dim_name, at_probes);
    else if (value.type.shape[static_cast<int>(d)] != Shape::kDynamic) value.dims[d] = graph_.symbols_->constant(at_probes[0]);
    else value.dims[d] = graph_.symbols_->unknown(dim_name, sizes);
  }
  value.probe_shapes = std::move(probe_shapes);
  graph_.values_.push_back(std::move(value));
  const auto id = static_cast<ValueId>(graph_.values_.size() - 1);
  graph_.inputs_.push_back(id);
  return id;
}

ValueId GraphEditor::add_body_input(const Value& outside) {
  const ValueId id = add_body_input(outside.name, outside.type.dtype, outside.probe_shapes, outside.late_dims, outside.dims);
  Value& value = graph_.values_[id];
  value.type.shape = outside.type.shape;
  value.dims = outside.dims;
  value.elements = outside.elements;
  value.probe_values = outside.probe_values;
  value.probe_bounds = outside.probe_bounds;
  return id;
}

ValueId GraphEditor::add_constant(std::string name, DataType dtype, Shape shape, std::shared_ptr<const Blob> bytes) {
  Value value;
  value.name = unique_name(std::move(name));
  value.type = {dtype, shape, Layout::kLinear, {}};
  value.probe_shapes.assign(graph_.probe_count_, shape);
  value.constant = std::move(bytes);
  graph_.values_.push_back(std::move(value));
  return static_cast<ValueId>(graph_.values_.size() - 1);
}

ValueId GraphEditor::add_constant(std::string name, TensorType type, Blob bytes) {
  const ValueId id = add_constant(std::move(name), type.dtype, type.shape, std::make_shared<const Blob>(std::move(bytes)));
  graph_.values_[id].type.quant = std::move(type.quant);
  return id;
}

Expected<GraphEditor::Added> GraphEditor::add_node(std::string name, OpParams params, std::vector<ValueId> inputs,
                                                   std::vector<std::string> output_names, std::vector<Graph> bodies) {
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  while (output_names.size() > 1 && output_names.back().empty()) output_names.pop_back();
  INGOT_ASSIGN(std::vector<InferredOutput> inferred, infer_outputs(graph_, name, params, inputs, bodies, output_names, graph_.used_limits_));
  Node node;
  node.name = std::move(name);
  node.params = std::move(params);
  node.inputs = std::move(inputs);
  node.bodies = std::move(bodies);
  const auto id = static_cast<NodeId>(graph_.nodes_.size());
  for (size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) {
      node.outputs.push_back(kNone);
      continue;
    }
    Value value;
    value.name = unique_name(std::move(output_names[i]));
    value.type = {inferred[i].dtype, merge(inferred[i].shapes), Layout::kLinear, {}};
    value.producer = id;
    value.output_index = static_cast<uint32_t>(i);
    value.constant = std::move(inferred[i].constant);
    value.probe_values = std::move(inferred[i].values);
    value.probe_bounds = std::move(inferred[i].bounds);
    value.late_dims = inferred[i].late;
    for (int d = 0; d < value.type.shape.rank; ++d) {
      const bool varies = !inferred[i].formulas.dims.empty() && !graph_.symbols_->constant_value(inferred[i].formulas.dims[static_cast<size_t>(d)]);
      if ((value.late_dims >> d & 1) || varies) value.type.shape[d] = Shape::kDynamic;
    }
    value.dims = std::move(inferred[i].formulas.dims);
    value.elements = std::move(inferred[i].formulas.elements);
    value.probe_shapes = std::move(inferred[i].shapes);
    graph_.values_.push_back(std::move(value));
    node.outputs.push_back(static_cast<ValueId>(graph_.values_.size() - 1));
  }
  for (ValueId input : node.inputs) add_use(input, id);
  node.origins.push_back(node.name);
  graph_.nodes_.push_back(std::move(node));
  // A value that turned out constant needs no producer.
  std::vector<ValueId> made = graph_.nodes_[id].outputs;
  for (ValueId output : made)
    if (output != kNone && graph_.values_[output].constant) make_constant(output, graph_.values_[output].constant);
  return Added{id, std::move(made)};
}

Expected<ValueId> GraphEditor::add_op(std::string name, OpParams params, std::vector<ValueId> inputs,
                                      std::string output_name) {
  INGOT_ASSIGN(const Added added, add_node(std::move(name), std::move(params), std::move(inputs), {std::move(output_name)}));
  return added.outputs[0];
}

void GraphEditor::mark_output(ValueId value) {
  graph_.values_[value].is_output = true;
  graph_.outputs_.push_back(value);
}

void GraphEditor::mark_output(ValueId value, std::string name) {
  if (graph_.values_[value].name != name) graph_.output_names_[graph_.values_[value].name] = std::move(name);
  mark_output(value);
}

void GraphEditor::clear_outputs() {
  for (ValueId output : graph_.outputs_) graph_.values_[output].is_output = false;
  graph_.outputs_.clear();
}

void GraphEditor::set_input(NodeId node, size_t index, ValueId value) {
  auto& inputs = graph_.nodes_[node].inputs;
  if (inputs.size() <= index) inputs.resize(index + 1, kNone);
  remove_use(inputs[index], node);
  inputs[index] = value;
  add_use(value, node);
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
}

void GraphEditor::set_params(NodeId node, OpParams params) { graph_.nodes_[node].params = std::move(params); }

void GraphEditor::trim_inputs(NodeId node, size_t count) {
  auto& inputs = graph_.nodes_[node].inputs;
  while (inputs.size() > count) {
    remove_use(inputs.back(), node);
    inputs.pop_back();
  }
}

void GraphEditor::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  const std::vector<NodeId> users = std::move(graph_.values_[from].users);
  graph_.values_[from].users.clear();
  for (NodeId user : users)
    for (ValueId& input : graph_.nodes_[user].inputs)
      if (input == from) {
        input = to;
        add_use(to, user);
      }
  Value& old = graph_.values_[from];
  if (!old.is_output) return;
  Value& replacement = graph_.values_[to];
  for (ValueId& output : graph_.outputs_)
    if (output == from) output = to;
  old.is_output = false;
  // A graph output keeps its name, unless the replacement has a public name of its own.
  if (!replacement.is_output && !replacement.is_input) std::swap(old.name, replacement.name);
  replacement.is_output = true;
}

void GraphEditor::take_output(NodeId node, size_t index, ValueId value) {
  auto& outputs = graph_.nodes_[node].outputs;
  Value& taken = graph_.values_[value];
  if (taken.producer != kNone) {
    for (ValueId& output : graph_.nodes_[taken.producer].outputs)
      if (output == value) output = kNone;
  }
  if (outputs.size() <= index) outputs.resize(index + 1, kNone);
  if (outputs[index] != kNone) graph_.values_[outputs[index]].producer = kNone;
  outputs[index] = value;
  taken.producer = node;
  taken.output_index = static_cast<uint32_t>(index);
}

void GraphEditor::remove_node(NodeId node) {
  Node& dead = graph_.nodes_[node];
  for (ValueId input : dead.inputs) remove_use(input, node);
  dead.inputs.clear();
  for (ValueId output : dead.outputs)
    if (output != kNone) graph_.values_[output].producer = kNone;
  dead.outputs.clear();
  dead.bodies.clear();
  dead.alive = false;
}

void GraphEditor::remove_input(ValueId input) {
  std::erase(graph_.inputs_, input);
  graph_.values_[input].is_input = false;
}

void GraphEditor::remove_capture(NodeId node, size_t input) {
  Node& target = graph_.nodes_[node];
  const auto* loop = std::get_if<LoopParams>(&target.params);
  const size_t in_body = loop ? input - loop->first_capture() + loop->body_first_capture() : input - 1;
  for (Graph& body : target.bodies) GraphEditor(body).remove_input(body.inputs()[in_body]);
  remove_use(target.inputs[input], node);
  target.inputs.erase(target.inputs.begin() + static_cast<std::ptrdiff_t>(input));
}

void GraphEditor::remove_dead() {
  const std::vector<NodeId> order = graph_.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const auto& outputs = graph_.nodes_[*id].outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return output != kNone && (!graph_.values_[output].users.empty() || graph_.values_[output].is_output);
    });
    if (!used) remove_node(*id);
  }
  for (Value& value : graph_.values_)
    if (value.constant && value.users.empty() && !value.is_output) value.constant.reset();
}

void GraphEditor::set_storage(ValueId value, DataType dtype, std::optional<QuantParams> quant) {
  graph_.values_[value].type.dtype = dtype;
  graph_.values_[value].type.quant = std::move(quant);
}

void GraphEditor::set_constant(ValueId value, TensorType type, Blob bytes) {
  Value& target = graph_.values_[value];
  target.probe_shapes.assign(graph_.probe_count_, type.shape);
  target.dims.clear();
  target.type = std::move(type);
  target.constant = std::make_shared<const Blob>(std::move(bytes));
}

void GraphEditor::rename(ValueId value, std::string name) { graph_.values_[value].name = unique_name(std::move(name)); }

void GraphEditor::make_constant(ValueId value, std::shared_ptr<const Blob> bytes) {
  Value& target = graph_.values_[value];
  target.constant = std::move(bytes);
  target.probe_values.clear();
  target.probe_bounds.clear();
  target.elements.clear();
  const NodeId producer = target.producer;
  target.producer = kNone;
  if (producer == kNone) return;
  auto& outputs = graph_.nodes_[producer].outputs;
  for (ValueId& output : outputs)
    if (output == value) output = kNone;
  if (std::all_of(outputs.begin(), outputs.end(), [](ValueId output) { return output == kNone; })) remove_node(producer);
}

void GraphEditor::add_note(NodeId node, std::string note) { graph_.nodes_[node].notes.push_back(std::move(note)); }

void GraphEditor::absorb_origins(NodeId node, NodeId other) {
  Node& to = graph_.nodes_[node];
  const Node& from = graph_.nodes_[other];
  // One by one where they are few; what stands for thousands of nodes must not be searched thousands of times.
  if (from.origins.size() * to.origins.size() <= 1024) {
    for (const std::string& origin : from.origins)
      if (std::find(to.origins.begin(), to.origins.end(), origin) == to.origins.end()) to.origins.push_back(origin);
  } else {
    to.origins.insert(to.origins.end(), from.origins.begin(), from.origins.end());
  }
  to.notes.insert(to.notes.end(), from.notes.begin(), from.notes.end());
}

void GraphEditor::add_origin(NodeId node, std::string origin) {
  graph_.nodes_[node].origins.push_back(std::move(origin));
}

}  // namespace ingot
