// GraphEditor: edits and type inference. Inference runs the ops' own type rules at each probe, and their reference code on
// small known values, so that shape arithmetic is known wherever it can be.
#include "builder/graph/graph_editor.h"

#include <algorithm>
#include <cstring>

#include "builder/graph/infer_dims.h"
#include "builder/graph/value_bounds.h"
#include "runtime/shape_pass.h"

namespace ingot {
namespace {

// Shape arithmetic is small; anything larger is data.
constexpr int64_t kMaxKnownElements = 256;
constexpr int64_t kMaxCountedElements = int64_t{1} << 22;

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
  uint32_t late = 0;
  std::vector<std::shared_ptr<const Blob>> values;  // empty: unknown
  std::vector<Value::Bounds> bounds;                // empty: none
};

// A node's operands at one probe, and what keeps their values alive.
struct Operands {
  std::vector<BoundedInput> inputs;
  std::vector<std::shared_ptr<const Blob>> held;
};

Operands operands_at(const Graph& graph, std::span<const ValueId> inputs, size_t probe) {
  Operands operands;
  for (ValueId id : inputs) {
    BoundedInput& input = operands.inputs.emplace_back();
    if (id == kNone) continue;
    const Value& value = graph.value(id);
    const std::shared_ptr<const Blob> known = value_at(value, probe);
    input.input = {value.type.dtype, value.probe_shapes[probe], known ? known->data() : nullptr, true};
    input.late = value.late_dims;
    operands.held.push_back(known);
    if (known || value.probe_bounds.empty()) continue;
    const Value::Bounds& bounds = value.probe_bounds[probe];
    input.least = bounds.least->data();
    input.most = bounds.most->data();
    operands.held.push_back(bounds.least);
    operands.held.push_back(bounds.most);
  }
  return operands;
}

// Tightens late dims to the user's limit; what has no bound even then, or one beyond all memory, is refused.
Status apply_limit(const Graph& graph, const std::string& tensor, BoundedOutput& output) {
  if (output.late == 0) return {};
  Shape& shape = output.shape;
  const std::string hint = "; give a limit, as by --limit '" + tensor + "=" + to_string(shape) + "' with numbers for ?";
  if (const auto limit = graph.limits().find(tensor); limit != graph.limits().end()) {
    if (limit->second.rank != shape.rank)
      return Status(StatusCode::kInvalidArgument, "limit of '" + tensor + "': number of dims: got " + to_string(limit->second) + ", need " + std::to_string(shape.rank));
    for (int d = 0; d < shape.rank; ++d)
      if ((output.late >> d & 1) && limit->second[d] >= 0) shape[d] = shape[d] < 0 ? limit->second[d] : std::min(shape[d], limit->second[d]);
  }
  for (int d = 0; d < shape.rank; ++d)
    if (shape[d] < 0)
      return Status(StatusCode::kUnsupported, "size of dim " + std::to_string(d) + " of '" + tensor + "' depends on data, and no upper bound of it is known" + hint);
  if (!checked_elements(shape.span()))
    return Status(StatusCode::kUnsupported, "size of '" + tensor + "' depends on data, and is known only to be at most " + to_string(shape) + hint);
  return {};
}

// What branches and states are at most, their bodies say, and limits inside these; a loop's stacked outputs grow outside.
bool may_limit(const OpParams& params, size_t output) {
  const auto* loop = std::get_if<LoopParams>(&params);
  return loop ? output >= static_cast<size_t>(loop->states) : !is_control_flow(kind_of(params));
}

// The outputs' values at one probe by reference code, if the inputs' are known and all is small.
bool evaluate(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
              std::span<BoundedOutput> outputs, std::vector<Blob>& results) {
  const bool is_shape = kind_of(params) == OpKind::kShape;
  if (is_control_flow(kind_of(params))) return false;
  // Q and DQ carry scales that the quantise stage wants to see, also on small constants.
  if (kind_of(params) == OpKind::kQuantizeLinear || kind_of(params) == OpKind::kDequantizeLinear) return false;
  int64_t elements = 0;
  bool counts = false;
  for (const BoundedOutput& output : outputs) {
    elements += output.shape.elements();
    counts = counts || output.late != 0;
  }
  // How much NonZero and its like find in a constant is known now, and worth knowing.
  for (ValueId id : inputs)
    if (counts && !graph.is_constant(id)) return false;
  if (elements > (counts ? kMaxCountedElements : kMaxKnownElements)) return false;
  std::vector<TensorType> types(inputs.size());
  std::vector<ConstTensorRef> refs(inputs.size());
  std::vector<std::shared_ptr<const Blob>> held(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone) continue;
    const Value& value = graph.value(inputs[i]);
    held[i] = value_at(value, probe);
    // What differs between probes is computed again when shapes are set, which only these ops can be.
    if (!value.constant && !is_shape_arithmetic(kind_of(params))) return false;
    if (value.type.quant) return false;  // a quantised value's meaning is a pass's business
    if (value.late_dims != 0) return false;  // before the run, the runtime knows no shape of it
    if (!is_shape && (!held[i] || (!counts && value.probe_shapes[probe].elements() > kMaxKnownElements * 16))) return false;
    types[i] = TensorType{value.type.dtype, value.probe_shapes[probe], Layout::kLinear, {}};
    refs[i] = {&types[i], held[i] ? held[i]->data() : nullptr};
  }
  std::vector<TensorType> output_types;
  for (const BoundedOutput& output : outputs) output_types.push_back({output.dtype, output.shape, Layout::kLinear, {}});
  std::vector<TensorRef> output_refs;
  results.clear();
  for (const TensorType& type : output_types) results.emplace_back(static_cast<size_t>(std::max<int64_t>(type.bytes(), 0)));
  std::vector<Shape> produced;
  for (const TensorType& type : output_types) produced.push_back(type.shape);
  for (size_t i = 0; i < output_types.size(); ++i) output_refs.push_back({&output_types[i], results[i].data(), &produced[i]});
  if (!run_reference(params, refs, output_refs).ok()) return false;
  for (size_t i = 0; counts && i < outputs.size(); ++i) {
    for (int d = 0; d < produced[i].rank; ++d)
      if (produced[i][d] > outputs[i].shape[d]) return false;  // beyond a limit
    outputs[i].shape = produced[i];
    outputs[i].late = 0;
    results[i].resize(static_cast<size_t>(produced[i].elements()) * element_bytes(outputs[i].dtype));
  }
  return true;
}

// Bounds of the outputs' values where those depend on data.
bool bound(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
           std::span<const BoundedOutput> outputs, std::vector<Inferred>& inferred) {
  for (ValueId id : inputs)
    if (id != kNone && kind_of(params) != OpKind::kShape && graph.value(id).probe_shapes[probe].elements() > kMaxKnownElements) return false;
  for (const BoundedOutput& output : outputs)
    if (output.late != 0 || output.shape.elements() > kMaxKnownElements) return false;
  std::vector<Blob> least, most;
  if (!bound_values(params, operands_at(graph, inputs, probe).inputs, outputs, least, most)) return false;
  for (size_t i = 0; i < outputs.size(); ++i)
    inferred[i].bounds.push_back({std::make_shared<const Blob>(std::move(least[i])), std::make_shared<const Blob>(std::move(most[i]))});
  return true;
}

// The constant that bounds turn out to leave, or null.
std::shared_ptr<const Blob> only_value(const Inferred& output) {
  if (output.bounds.empty() || output.late != 0) return nullptr;
  const auto& value = output.bounds[0].least;
  for (size_t p = 0; p < output.bounds.size(); ++p)
    if (*output.bounds[p].least != *value || *output.bounds[p].most != *value || !(output.shapes[p] == output.shapes[0])) return nullptr;
  return value;
}

bool same_everywhere(const Inferred& output) {
  for (size_t p = 1; p < output.shapes.size(); ++p)
    if (!(output.shapes[p] == output.shapes[0]) || *output.values[p] != *output.values[0]) return false;
  return true;
}

double number_at(DataType dtype, const Blob& blob, int64_t i) {
  if (dtype == DataType::kF32) return static_cast<double>(reinterpret_cast<const float*>(blob.data())[i]);
  if (dtype == DataType::kF64) return reinterpret_cast<const double*>(blob.data())[i];
  return static_cast<double>(read_index({dtype, Shape{i + 1}, blob.data(), true}, i));
}

// A node's operands with the bounds between which each varies over all probes. False where those cannot be told.
bool operands_between(const Graph& graph, std::span<const ValueId> inputs, Operands& operands, bool& varies) {
  operands = operands_at(graph, inputs, 0);
  varies = false;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == kNone || graph.is_constant(inputs[k])) continue;
    const Value& value = graph.value(inputs[k]);
    const DataType dtype = value.type.dtype;
    if (value.probe_values.empty() || (!is_float(dtype) && !is_integer(dtype) && dtype != DataType::kBool)) return false;
    for (const Shape& shape : value.probe_shapes)
      if (!(shape == value.probe_shapes[0])) return false;
    varies = true;
    Blob least = *value.probe_values[0], most = least;
    const size_t size = element_bytes(dtype);
    for (const auto& at : value.probe_values)
      for (int64_t i = 0; i < value.probe_shapes[0].elements(); ++i) {
        const size_t offset = static_cast<size_t>(i) * size;
        if (number_at(dtype, *at, i) < number_at(dtype, least, i)) std::memcpy(least.data() + offset, at->data() + offset, size);
        if (number_at(dtype, *at, i) > number_at(dtype, most, i)) std::memcpy(most.data() + offset, at->data() + offset, size);
      }
    BoundedInput& input = operands.inputs[k];
    input.input.data = nullptr;
    operands.held.push_back(std::make_shared<const Blob>(std::move(least)));
    input.least = operands.held.back()->data();
    operands.held.push_back(std::make_shared<const Blob>(std::move(most)));
    input.most = operands.held.back()->data();
  }
  return true;
}

// Whether outputs that agree at every probe are the same for all shapes between, too. n mod 8 may be 0 at every probe and is
// not 0 everywhere: so they must follow from the ends between which each operand varies.
bool holds_between_probes(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs,
                          std::span<const Inferred> inferred) {
  if (graph.probe_count() == 1 || kind_of(params) == OpKind::kShape) return true;
  Operands operands;
  bool varies = false;
  if (!operands_between(graph, inputs, operands, varies)) return false;
  if (!varies) return true;
  std::vector<BoundedOutput> outputs;
  for (const Inferred& output : inferred) outputs.push_back({output.dtype, output.shapes[0], 0});
  std::vector<Blob> least, most;
  if (!bound_values(params, operands.inputs, outputs, least, most)) return false;
  for (size_t i = 0; i < inferred.size(); ++i)
    if (least[i] != *inferred[i].values[0] || most[i] != *inferred[i].values[0]) return false;
  return true;
}

// Whether all elements are, by their formulas; nullopt where one has none.
std::optional<bool> are_constant(const Graph& graph, std::span<const OutputFormulas> outputs) {
  bool constant = true;
  for (const OutputFormulas& output : outputs) {
    if (output.elements.empty()) return std::nullopt;
    for (DimId id : output.elements) constant = constant && graph.symbols().constant_value(id).has_value();
  }
  return constant;
}

// A remainder of a dim that varies says nothing of those between the probes, nor do dims made of it: they count as if they
// depended on data, and so has it bounds instead of values. False for all else.
bool bound_remainder(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, std::vector<Inferred>& inferred) {
  if (graph.probe_count() == 1) return false;
  OpParams modulo = params;
  std::vector<ValueId> operands_of(inputs.begin(), inputs.end());
  if (auto spelled = spelled_remainder(graph, params, inputs)) modulo = BinaryParams{BinaryFunction::kMod, {}}, operands_of = *spelled;
  if (!is_remainder(modulo)) return false;
  Operands operands;
  bool varies = false;
  if (!operands_between(graph, operands_of, operands, varies) || !varies) return false;
  const BoundedOutput output{inferred[0].dtype, inferred[0].shapes[0], 0};
  std::vector<Blob> least, most;
  if (!bound_values(modulo, operands.inputs, {&output, 1}, least, most)) return false;
  const Value::Bounds bounds{std::make_shared<const Blob>(std::move(least[0])), std::make_shared<const Blob>(std::move(most[0]))};
  inferred[0].bounds.assign(graph.probe_count(), bounds);
  return true;
}

}  // namespace

namespace {

Status infer_from_bodies(const OpParams& params, std::span<const BoundedInput> inputs, size_t probe, std::span<const Graph> bodies,
                         std::span<BoundedOutput> outputs) {
  if (bodies.size() != body_count(kind_of(params)))
    return Status(StatusCode::kInternal, std::string(to_string(kind_of(params))) + " has the wrong number of bodies");
  std::vector<std::vector<BoundedInput>> taken;
  std::vector<std::vector<BoundedOutput>> made;
  for (const Graph& body : bodies) {
    INGOT_TRY(check_body_arity(params, inputs.size(), outputs.size(), body.inputs().size(), body.outputs().size()));
    taken.emplace_back();
    for (ValueId input : body.inputs()) {
      const Value& value = body.value(input);
      taken.back().push_back({{value.type.dtype, value.probe_shapes[probe], nullptr, true}, value.late_dims, nullptr, nullptr});
    }
    made.emplace_back();
    for (ValueId output : body.outputs()) {
      const Value& value = body.value(output);
      made.back().push_back({value.type.dtype, value.probe_shapes[probe], value.late_dims});
    }
  }
  std::vector<BodyBounds> bounds;
  for (size_t i = 0; i < bodies.size(); ++i) bounds.push_back({taken[i], made[i]});
  return infer_bounds(params, inputs, bounds, outputs);
}

}  // namespace

Status infer_node(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
                  std::span<BoundedOutput> outputs, std::span<const Graph> bodies) {
  const Operands operands = operands_at(graph, inputs, probe);
  if (is_control_flow(kind_of(params))) return infer_from_bodies(params, operands.inputs, probe, bodies, outputs);
  return infer_bounds(params, operands.inputs, outputs);
}

bool Graph::is_late(const Node& node) const {
  for (const auto& list : {node.inputs, node.outputs})
    for (ValueId id : list)
      if (id != kNone && values_[id].late_dims != 0) return true;
  if (!node.bodies.empty()) return false;
  std::vector<OpInput> inputs;
  const Operands operands = operands_at(*this, node.inputs, 0);
  for (const BoundedInput& operand : operands.inputs) inputs.push_back(operand.input);
  std::vector<OpOutput> outputs(node.outputs.size());
  return infer_types(node.params, inputs, outputs).code() == StatusCode::kUnsupported;
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

ValueId GraphEditor::add_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes, std::span<const std::string> dim_names) {
  const size_t probes_before = graph_.probe_count_;
  graph_.probe_count_ = std::max(probes_before, probe_shapes.size());
  Value value;
  value.name = unique_name(std::move(name));
  value.is_input = true;
  probe_shapes.resize(graph_.probe_count_, probe_shapes.front());
  value.type = {dtype, merge(probe_shapes), Layout::kLinear, {}};
  for (int d = 0; d < value.type.shape.rank && !value.type.shape.is_static(); ++d) {
    std::array<int64_t, SymbolicDims::kProbePoints> sizes{};
    std::string range;
    for (size_t p = 0; p < sizes.size(); ++p) sizes[p] = probe_shapes[std::min(p, probe_shapes.size() - 1)][d], range += (p ? ":" : "") + std::to_string(sizes[p]);
    const bool varies = value.type.shape[d] == Shape::kDynamic;
    const std::string& dim_name = static_cast<size_t>(d) < dim_names.size() ? dim_names[static_cast<size_t>(d)] : range;
    value.dims.push_back(varies ? graph_.symbols_->symbol(dim_name, sizes) : graph_.symbols_->constant(sizes[0]));
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
  std::vector<Inferred> inferred(output_names.size());
  bool known = true, bounded = true;
  for (size_t probe = 0; probe < graph_.probe_count_; ++probe) {
    std::vector<BoundedOutput> outputs(output_names.size());
    Status status = infer_node(graph_, params, inputs, probe, outputs, bodies);
    for (size_t i = 0; status.ok() && i < outputs.size(); ++i)
      if (may_limit(params, i)) status = apply_limit(graph_, output_names[i], outputs[i]);
    if (!status.ok()) return std::move(status).with_context("node '" + name + "'");
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].late != 0 && graph_.limits_.contains(output_names[i])) graph_.note_used_limit(output_names[i]);
    std::vector<Blob> results;
    known = known && evaluate(graph_, params, inputs, probe, outputs, results);
    bounded = bounded && !known && bound(graph_, params, inputs, probe, outputs, inferred);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (probe > 0 && inferred[i].shapes[0].rank != outputs[i].shape.rank)
        return Status(StatusCode::kUnsupported, "node '" + name + "': rank of an output depends on the input shapes: got " +
                                                    std::to_string(outputs[i].shape.rank) + " and " +
                                                    std::to_string(inferred[i].shapes[0].rank));
      inferred[i].dtype = outputs[i].dtype;
      inferred[i].late |= outputs[i].late;
      inferred[i].shapes.push_back(outputs[i].shape);
      if (known) inferred[i].values.push_back(std::make_shared<const Blob>(std::move(results[i])));
    }
  }
  Node node;
  node.name = std::move(name);
  node.params = std::move(params);
  node.inputs = std::move(inputs);
  node.bodies = std::move(bodies);
  // A node keeps all its outputs or none: how many it has may be part of what it means, as for Split.
  std::vector<OutputFacts> facts;
  for (size_t i = 0; i < inferred.size(); ++i)
    facts.push_back({output_names[i].empty() ? node.name : output_names[i], inferred[i].dtype, inferred[i].shapes, inferred[i].late, inferred[i].values});
  std::vector<OutputFormulas> formulas = infer_formulas(graph_, *graph_.symbols_, node.params, node.inputs, node.bodies, facts);
  const bool constant = known && std::all_of(inferred.begin(), inferred.end(), same_everywhere) &&
                        are_constant(graph_, formulas).value_or(holds_between_probes(graph_, node.params, node.inputs, inferred));
  if (known && !constant && bound_remainder(graph_, node.params, node.inputs, inferred)) known = false, bounded = true;
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
      if (constant) value.constant = inferred[i].values[0];
      else value.probe_values = std::move(inferred[i].values);
    } else if (bounded) {
      value.constant = only_value(inferred[i]);
      if (!value.constant) value.probe_bounds = std::move(inferred[i].bounds);
    }
    value.late_dims = inferred[i].late;
    for (int d = 0; d < value.type.shape.rank; ++d) {
      const bool varies = !formulas[i].dims.empty() && !graph_.symbols_->constant_value(formulas[i].dims[static_cast<size_t>(d)]);
      if ((value.late_dims >> d & 1) || varies) value.type.shape[d] = Shape::kDynamic;
    }
    value.dims = std::move(formulas[i].dims);
    if (!value.constant) value.elements = std::move(formulas[i].elements);
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
