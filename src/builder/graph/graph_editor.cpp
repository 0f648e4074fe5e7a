// GraphEditor: edits and type inference. Inference runs the ops' own type rules at each probe, and their reference code on
// small known values, so that shape arithmetic is known wherever it can be.
#include "builder/graph/graph_editor.h"

#include <algorithm>
#include <cstring>

namespace ingot {
namespace {

// Shape arithmetic is small; anything larger is data.
constexpr int64_t kMaxKnownElements = 256;

std::shared_ptr<const Blob> value_at(const Value& value, size_t probe) {
  if (value.constant) return value.constant;
  return value.probe_values.empty() ? nullptr : value.probe_values[probe];
}

Shape merge(std::span<const Shape> shapes) {
  Shape merged = shapes[0];
  for (const Shape& shape : shapes)
    for (int i = 0; i < merged.rank && i < shape.rank; ++i)
      if (merged[i] != shape[i]) merged[i] = Shape::kDynamic;
  return merged;
}

struct Inferred {
  DataType dtype = DataType::kF32;
  std::vector<Shape> shapes;
  std::vector<std::shared_ptr<const Blob>> values;  // empty: unknown
};

// The outputs' values at one probe by reference code, if the inputs' are known and all is small.
bool evaluate(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
              std::span<const OpOutput> outputs, std::vector<Blob>& results) {
  const bool is_shape = kind_of(params) == OpKind::kShape;
  if (is_control_flow(kind_of(params))) return false;
  // Q and DQ carry scales that the quantise stage wants to see, also on small constants.
  if (kind_of(params) == OpKind::kQuantizeLinear || kind_of(params) == OpKind::kDequantizeLinear) return false;
  int64_t elements = 0;
  for (const OpOutput& output : outputs) elements += output.shape.elements();
  if (elements > kMaxKnownElements) return false;
  std::vector<TensorType> types(inputs.size());
  std::vector<ConstTensorRef> refs(inputs.size());
  std::vector<std::shared_ptr<const Blob>> held(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone) continue;
    const Value& value = graph.value(inputs[i]);
    held[i] = value_at(value, probe);
    if (value.type.quant) return false;  // a quantised value's meaning is a pass's business
    if (!is_shape && (!held[i] || value.probe_shapes[probe].elements() > kMaxKnownElements * 16)) return false;
    types[i] = TensorType{value.type.dtype, value.probe_shapes[probe], Layout::kLinear, {}};
    refs[i] = {&types[i], held[i] ? held[i]->data() : nullptr};
  }
  std::vector<TensorType> output_types;
  for (const OpOutput& output : outputs) output_types.push_back({output.dtype, output.shape, Layout::kLinear, {}});
  std::vector<TensorRef> output_refs;
  results.clear();
  for (const TensorType& type : output_types) results.emplace_back(static_cast<size_t>(std::max<int64_t>(type.bytes(), 0)));
  for (size_t i = 0; i < output_types.size(); ++i) output_refs.push_back({&output_types[i], results[i].data()});
  return run_reference(params, refs, output_refs).ok();
}

bool same_everywhere(const Inferred& output) {
  for (size_t p = 1; p < output.shapes.size(); ++p)
    if (!(output.shapes[p] == output.shapes[0]) || *output.values[p] != *output.values[0]) return false;
  return true;
}

}  // namespace

namespace {

Status infer_from_bodies(const OpParams& params, std::span<const OpInput> inputs, size_t probe, std::span<const Graph> bodies,
                         std::span<OpOutput> outputs) {
  if (bodies.size() != body_count(kind_of(params)))
    return Status(StatusCode::kInternal, std::string(to_string(kind_of(params))) + " has the wrong number of bodies");
  std::vector<std::vector<OpOutput>> made;
  for (const Graph& body : bodies) {
    INGOT_TRY(check_body_arity(params, inputs.size(), outputs.size(), body.inputs().size(), body.outputs().size()));
    std::vector<OpInput> taken(body.inputs().size());
    INGOT_TRY(infer_body_inputs(params, inputs, taken));
    for (size_t i = 0; i < taken.size(); ++i) {
      const Value& value = body.value(body.inputs()[i]);
      if (value.type.dtype != taken[i].dtype || value.probe_shapes.size() <= probe || !(value.probe_shapes[probe] == taken[i].shape))
        return Status(StatusCode::kInternal, "input '" + value.name + "' of a body is not what its node is given");
    }
    made.emplace_back();
    for (ValueId output : body.outputs()) made.back().push_back({body.value(output).type.dtype, body.value(output).probe_shapes[probe]});
  }
  const std::vector<std::span<const OpOutput>> results(made.begin(), made.end());
  return infer_types(params, inputs, results, outputs);
}

}  // namespace

Status infer_node(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
                  std::span<OpOutput> outputs, std::span<const Graph> bodies) {
  std::vector<OpInput> operands(inputs.size());
  std::vector<std::shared_ptr<const Blob>> held(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone) continue;
    const Value& value = graph.value(inputs[i]);
    held[i] = value_at(value, probe);
    operands[i] = {value.type.dtype, value.probe_shapes[probe], held[i] ? held[i]->data() : nullptr, true};
  }
  if (is_control_flow(kind_of(params))) return infer_from_bodies(params, operands, probe, bodies, outputs);
  return infer_types(params, operands, outputs);
}

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

ValueId GraphEditor::add_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes) {
  graph_.probe_count_ = std::max(graph_.probe_count_, probe_shapes.size());
  Value value;
  value.name = unique_name(std::move(name));
  value.is_input = true;
  probe_shapes.resize(graph_.probe_count_, probe_shapes.front());
  value.type = {dtype, merge(probe_shapes), Layout::kLinear, {}};
  value.probe_shapes = std::move(probe_shapes);
  graph_.values_.push_back(std::move(value));
  const auto id = static_cast<ValueId>(graph_.values_.size() - 1);
  graph_.inputs_.push_back(id);
  // Inputs added earlier, static ones, get as many probes.
  for (Value& other : graph_.values_) other.probe_shapes.resize(graph_.probe_count_, other.probe_shapes.front());
  return id;
}

ValueId GraphEditor::add_body_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes,
                                    std::vector<std::shared_ptr<const Blob>> known) {
  const ValueId id = add_input(std::move(name), dtype, std::move(probe_shapes));
  graph_.values_[id].probe_values = std::move(known);
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
  std::vector<Inferred> inferred(output_names.size());
  bool known = true;
  for (size_t probe = 0; probe < graph_.probe_count_; ++probe) {
    std::vector<OpOutput> outputs(output_names.size());
    if (Status status = infer_node(graph_, params, inputs, probe, outputs, bodies); !status.ok())
      return std::move(status).with_context("node '" + name + "'");
    std::vector<Blob> results;
    known = known && evaluate(graph_, params, inputs, probe, outputs, results);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (probe > 0 && inferred[i].shapes[0].rank != outputs[i].shape.rank)
        return Status(StatusCode::kUnsupported, "node '" + name + "': rank of an output depends on the input shapes: got " +
                                                    std::to_string(outputs[i].shape.rank) + " and " +
                                                    std::to_string(inferred[i].shapes[0].rank));
      inferred[i].dtype = outputs[i].dtype;
      inferred[i].shapes.push_back(outputs[i].shape);
      if (known) inferred[i].values.push_back(std::make_shared<const Blob>(std::move(results[i])));
    }
  }
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
    if (known) {
      if (same_everywhere(inferred[i])) value.constant = inferred[i].values[0];
      else value.probe_values = std::move(inferred[i].values);
    }
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
  target.type = std::move(type);
  target.constant = std::make_shared<const Blob>(std::move(bytes));
}

void GraphEditor::rename(ValueId value, std::string name) { graph_.values_[value].name = unique_name(std::move(name)); }

void GraphEditor::make_constant(ValueId value, std::shared_ptr<const Blob> bytes) {
  Value& target = graph_.values_[value];
  target.constant = std::move(bytes);
  target.probe_values.clear();
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
  for (const std::string& origin : from.origins)
    if (std::find(to.origins.begin(), to.origins.end(), origin) == to.origins.end()) to.origins.push_back(origin);
  to.notes.insert(to.notes.end(), from.notes.begin(), from.notes.end());
}

void GraphEditor::add_origin(NodeId node, std::string origin) {
  graph_.nodes_[node].origins.push_back(std::move(origin));
}

}  // namespace ingot
