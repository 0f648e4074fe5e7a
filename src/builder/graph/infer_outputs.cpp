// Type rules at each probe, and reference code on small known values, so that shape arithmetic is known wherever it can be.
#include "builder/graph/infer_outputs.h"

#include <algorithm>
#include <cstring>

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

using Inferred = InferredOutput;

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

Expected<std::vector<InferredOutput>> infer_outputs(const Graph& graph, const std::string& name, const OpParams& params,
                                                    std::span<const ValueId> inputs, std::span<const Graph> bodies,
                                                    std::span<const std::string> output_names, std::set<std::string>& used_limits) {
  std::vector<Inferred> inferred(output_names.size());
  bool known = true, bounded = true;
  for (size_t probe = 0; probe < graph.probe_count(); ++probe) {
    std::vector<BoundedOutput> outputs(output_names.size());
    Status status = infer_node(graph, params, inputs, probe, outputs, bodies);
    for (size_t i = 0; status.ok() && i < outputs.size(); ++i)
      if (may_limit(params, i)) status = apply_limit(graph, output_names[i], outputs[i]);
    if (!status.ok()) return std::move(status).with_context("node '" + name + "'");
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].late != 0 && graph.limits().contains(output_names[i])) used_limits.insert(output_names[i]);
    std::vector<Blob> results;
    known = known && evaluate(graph, params, inputs, probe, outputs, results);
    bounded = bounded && !known && bound(graph, params, inputs, probe, outputs, inferred);
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
  if (!known)
    for (Inferred& output : inferred) output.values.clear();
  std::vector<OutputFacts> facts;
  for (size_t i = 0; i < inferred.size(); ++i)
    facts.push_back({output_names[i].empty() ? name : output_names[i], inferred[i].dtype, inferred[i].shapes, inferred[i].late, inferred[i].values});
  std::vector<OutputFormulas> formulas = infer_formulas(graph, graph.symbols(), params, inputs, bodies, facts);
  // A node keeps all its outputs or none: how many it has may be part of what it means, as for Split.
  const bool constant = known && std::all_of(inferred.begin(), inferred.end(), same_everywhere) &&
                        are_constant(graph, formulas).value_or(holds_between_probes(graph, params, inputs, inferred));
  if (known && !constant && bound_remainder(graph, params, inputs, inferred)) known = false, bounded = true;
  for (size_t i = 0; i < inferred.size(); ++i) {
    Inferred& output = inferred[i];
    output.formulas = std::move(formulas[i]);
    // Sizes that the probes happen to agree in, and formulas don't, are no constant's.
    const bool fixed = std::all_of(output.formulas.dims.begin(), output.formulas.dims.end(),
                                   [&](DimId dim) { return graph.symbols().constant_value(dim).has_value(); });
    if (fixed && known && constant) output.constant = output.values[0];
    else if (fixed && !known && bounded) output.constant = only_value(output);
    if (!known || output.constant) output.values.clear();
    if (known || !bounded || output.constant) output.bounds.clear();
    if (output.constant) output.formulas.elements.clear();
  }
  return inferred;
}

}  // namespace ingot
