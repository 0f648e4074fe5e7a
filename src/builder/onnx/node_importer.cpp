// Bodies of node_importer.h.
#include "builder/onnx/node_importer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/onnx/inline_functions.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

double half_at(const std::byte* bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double bfloat16_at(const std::byte* bytes) {
  uint32_t bits = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&bits) + 2, bytes, 2);
  return static_cast<double>(load<float>(reinterpret_cast<const std::byte*>(&bits)));
}

template <class T>
void store(std::byte* bytes, T value) { std::memcpy(bytes, &value, sizeof(T)); }

void store_element(DataType dtype, std::byte* bytes, double value) {
  switch (dtype) {
    case DataType::kF32: return store(bytes, static_cast<float>(value));
    case DataType::kF64: return store(bytes, value);
    case DataType::kS16: case DataType::kU16: return store(bytes, static_cast<uint16_t>(static_cast<int32_t>(value)));
    case DataType::kS32: return store(bytes, static_cast<int32_t>(value));
    case DataType::kU32: return store(bytes, static_cast<uint32_t>(value));
    case DataType::kS64: return store(bytes, static_cast<int64_t>(value));
    case DataType::kU64: return store(bytes, static_cast<uint64_t>(value));
    default: return store(bytes, static_cast<uint8_t>(static_cast<int32_t>(value)));
  }
}

}  // namespace

ElementNumber element_number(DataType dtype, const std::byte* bytes) {
  const auto whole = [](auto value) { return ElementNumber{static_cast<double>(value), static_cast<int64_t>(value)}; };
  switch (dtype) {
    case DataType::kF32: return {static_cast<double>(load<float>(bytes)), 0};
    case DataType::kF64: return {load<double>(bytes), 0};
    case DataType::kF16: return {half_at(bytes), 0};
    case DataType::kBF16: return {bfloat16_at(bytes), 0};
    case DataType::kF8E4M3: case DataType::kF8E5M2: case DataType::kF8E4M3Fnuz: case DataType::kF8E5M2Fnuz:
    case DataType::kF8E8M0: case DataType::kF4E2M1: return {NAN, 0};
    case DataType::kS8: case DataType::kS4: case DataType::kS2: return whole(load<int8_t>(bytes));
    case DataType::kS16: return whole(load<int16_t>(bytes));
    case DataType::kU16: return whole(load<uint16_t>(bytes));
    case DataType::kS32: return whole(load<int32_t>(bytes));
    case DataType::kU32: return whole(load<uint32_t>(bytes));
    case DataType::kS64: return whole(load<int64_t>(bytes));
    case DataType::kU64: return whole(load<uint64_t>(bytes));
    default: return whole(load<uint8_t>(bytes));
  }
}

NodeImporter::NodeImporter(ImportScope& scope, const onnx::NodeProto& proto, std::string name, int64_t version,
                           std::vector<ValueId> inputs)
    : scope_(scope),
      proto_(proto),
      name_(std::move(name)),
      version_(version),
      inputs_(std::move(inputs)),
      outputs_(static_cast<size_t>(proto.output_size()), kNone),
      attribute_seen_(static_cast<size_t>(proto.attribute_size()), false),
      input_seen_(inputs_.size(), false) {
  for (int i = 0; i < proto.attribute_size(); ++i) attribute_seen_[static_cast<size_t>(i)] = proto.attribute(i).name() == kFunctionMark;
}

ValueId NodeImporter::required(size_t i) {
  const ValueId id = input(i);
  if (id == kNone) invalid("input " + std::to_string(i) + " is missing");
  return id;
}

std::vector<ValueId> NodeImporter::all_inputs() {
  if (inputs_.empty()) invalid("has no inputs: need at least 1");
  for (size_t i = 0; i < inputs_.size(); ++i) required(i);
  return inputs_;
}

const onnx::AttributeProto* NodeImporter::find(std::string_view name) const {
  for (const auto& attribute : proto_.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

const onnx::AttributeProto* NodeImporter::attribute(std::string_view name) {
  const onnx::AttributeProto* found = nullptr;
  for (int i = 0; i < proto_.attribute_size(); ++i) {
    if (proto_.attribute(i).name() != name) continue;
    if (found) invalid("attribute " + quoted(name) + " is there twice");
    found = &proto_.attribute(i);
    attribute_seen_[static_cast<size_t>(i)] = true;
  }
  if (found && !found->ref_attr_name().empty())
    invalid("attribute " + quoted(name) + " refers to a function's attribute outside a function");
  return found;
}

void NodeImporter::ignore(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) attribute(name);
}

// Old writers leave the type field out; then the value field itself must be there.
const onnx::AttributeProto* NodeImporter::expect(std::string_view name, onnx::AttributeProto::AttributeType type,
                                                 bool has_field) {
  const onnx::AttributeProto* found = find(name);
  if (found->has_type() ? found->type() == type : has_field) return attribute(name);
  invalid("attribute " + quoted(name) + " has a wrong type: need " + onnx::AttributeProto::AttributeType_Name(type));
  return nullptr;
}

int64_t NodeImporter::integer(std::string_view name, int64_t fallback) {
  const auto* found = find(name);
  if (!found) return fallback;
  found = expect(name, onnx::AttributeProto::INT, found->has_i());
  return found ? found->i() : fallback;
}

bool NodeImporter::flag(std::string_view name, bool fallback) {
  const int64_t value = integer(name, fallback);
  if (value != 0 && value != 1) invalid("attribute " + quoted(name) + " is wrong: got " + std::to_string(value) + ", need 0 or 1");
  return value != 0;
}

double NodeImporter::number(std::string_view name, double fallback) {
  const auto* found = find(name);
  if (!found) return fallback;
  found = expect(name, onnx::AttributeProto::FLOAT, found->has_f());
  return found ? static_cast<double>(found->f()) : fallback;
}

std::string NodeImporter::text(std::string_view name, std::string_view fallback) {
  const auto* found = find(name);
  if (!found) return std::string(fallback);
  found = expect(name, onnx::AttributeProto::STRING, found->has_s());
  return found ? found->s() : std::string(fallback);
}

std::vector<int64_t> NodeImporter::integers(std::string_view name) {
  const auto* found = find(name);
  if (!found) return {};
  found = expect(name, onnx::AttributeProto::INTS, found->ints_size() > 0);
  return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end()) : std::vector<int64_t>();
}

std::vector<double> NodeImporter::numbers(std::string_view name) {
  const auto* found = find(name);
  if (!found) return {};
  found = expect(name, onnx::AttributeProto::FLOATS, found->floats_size() > 0);
  return found ? std::vector<double>(found->floats().begin(), found->floats().end()) : std::vector<double>();
}

size_t NodeImporter::choice(std::string_view name, std::string_view fallback,
                            std::initializer_list<std::string_view> choices) {
  const std::string value = text(name, fallback);
  std::string known;
  size_t index = 0;
  for (std::string_view candidate : choices) {
    if (candidate == value) return index;
    known += (index++ ? ", " : "") + std::string(candidate);
  }
  unsupported("attribute " + quoted(name) + " is not supported: got " + quoted(value) + ", need one of " + known);
  return 0;
}

const TensorType& NodeImporter::type(ValueId id) const {
  static const TensorType kNothing;
  return id == kNone || is_aggregate(id) ? kNothing : graph().value(id).type;
}

std::optional<std::vector<double>> NodeImporter::constant_numbers(ValueId id, int64_t most) const {
  if (id == kNone || !graph().is_constant(id)) return std::nullopt;
  const Value& value = graph().value(id);
  const int64_t count = value.type.shape.elements();
  if (count > most) return std::nullopt;
  const size_t size = element_bytes(value.type.dtype);
  std::vector<double> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = element_number(value.type.dtype, value.constant->data() + i * size).real;
  return numbers;
}

std::optional<double> NodeImporter::constant_scalar(ValueId id) const {
  const auto numbers = constant_numbers(id, 1);
  return numbers && numbers->size() == 1 ? std::optional<double>((*numbers)[0]) : std::nullopt;
}

int64_t NodeImporter::axis(int64_t axis, int rank, bool beyond) {
  const int64_t last = beyond ? rank : rank - 1;
  if (axis < -rank || axis > last) {
    invalid("axis is out of range: got " + std::to_string(axis) + ", need " + std::to_string(-rank) + " to " +
            std::to_string(last));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

std::string NodeImporter::fresh_name(std::string_view role) {
  const std::string base = (outputs_.empty() || proto_.output(0).empty() ? name_ : proto_.output(0)) + "/";
  std::string candidate = base + std::string(role);
  if (role.empty()) candidate = base + std::to_string(++made_up_);
  while (!scope_.tensor_names.insert(candidate).second) candidate = base + std::string(role) + std::to_string(++made_up_);
  return candidate;
}

ValueId NodeImporter::add(OpParams params, std::vector<ValueId> inputs) {
  if (!ok()) return kNone;
  auto added = scope_.editor.add_op(name_, std::move(params), std::move(inputs), fresh_name(""));
  if (!added.ok()) {
    take(added.take_status());
    return kNone;
  }
  made_.push_back(*added);
  return *added;
}

std::vector<ValueId> NodeImporter::add_all(OpParams params, std::vector<ValueId> inputs, size_t outputs) {
  return add_control_flow(std::move(params), std::move(inputs), {}, outputs);
}

std::vector<ValueId> NodeImporter::add_control_flow(OpParams params, std::vector<ValueId> inputs, std::vector<Graph> bodies, size_t outputs,
                                                    bool named) {
  std::vector<ValueId> values(outputs, kNone);
  if (!ok()) return values;
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(named && has_output(i) ? proto_.output(static_cast<int>(i)) : fresh_name(""));
  auto added = scope_.editor.add_node(name_, std::move(params), std::move(inputs), std::move(names), std::move(bodies));
  if (!added.ok()) {
    take(added.take_status());
    return values;
  }
  made_.insert(made_.end(), added->outputs.begin(), added->outputs.end());
  return added->outputs;
}

ValueId NodeImporter::cast(ValueId x, DataType to) {
  return !ok() || dtype(x) == to ? x : add(CastParams{static_cast<int64_t>(to), true}, {x});
}

ValueId NodeImporter::reshape(ValueId x, const std::vector<int64_t>& dims) {
  return add(ReshapeParams{}, {x, integers_constant("shape", dims)});
}

ValueId NodeImporter::unsqueeze(ValueId x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : add(UnsqueezeParams{}, {x, integers_constant("axes", axes)});
}

ValueId NodeImporter::squeeze(ValueId x, const std::vector<int64_t>& axes) {
  return axes.empty() ? x : add(SqueezeParams{}, {x, integers_constant("axes", axes)});
}

ValueId NodeImporter::slice(ValueId x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  return add(SliceParams{}, {x, integers_constant("start", {start}), integers_constant("end", {end}),
                             integers_constant("axis", {axis}), step == 1 ? kNone : integers_constant("step", {step})});
}

ValueId NodeImporter::reduce(ReduceFunction function, ValueId x, const std::vector<int64_t>& axes, bool keepdims) {
  return axes.empty() ? x : add(ReduceParams{function, keepdims, false}, {x, integers_constant("axes", axes)});
}

ValueId NodeImporter::concat(std::vector<ValueId> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : add(ConcatParams{axis}, std::move(parts));
}

void NodeImporter::result(OpParams params, std::vector<ValueId> inputs) {
  if (!ok()) return;
  std::vector<std::string> names(proto_.output().begin(), proto_.output().end());
  while (!names.empty() && names.back().empty()) names.pop_back();
  for (std::string& name : names)  // an op makes all outputs up to the last one that is used
    if (name.empty()) name = fresh_name("");
  auto added = scope_.editor.add_node(name_, std::move(params), std::move(inputs), names);
  if (!added.ok()) return take(added.take_status());
  outputs_ = std::move(added->outputs);
  outputs_.resize(static_cast<size_t>(proto_.output_size()), kNone);
}

void NodeImporter::result_of(OpParams params, std::vector<ValueId> inputs, size_t outputs) {
  if (!ok()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; ++i) names.push_back(has_output(i) ? proto_.output(static_cast<int>(i)) : fresh_name(""));
  auto added = scope_.editor.add_node(name_, std::move(params), std::move(inputs), std::move(names));
  if (!added.ok()) return take(added.take_status());
  for (size_t i = 0; i < outputs; ++i)
    if (has_output(i)) outputs_[i] = added->outputs[i];
}

void NodeImporter::alias(ValueId value, size_t output) {
  if (!ok() || !has_output(output)) return;
  if (const Aggregate* given = aggregate(value)) return result_aggregate(Aggregate(*given), output);
  const std::string& name = proto_.output(static_cast<int>(output));
  if (value != kNone && graph().value(value).name == name) {
    outputs_[output] = value;
    return;
  }
  // What has a limit under this name is held to it by an op that makes it under this name.
  const bool limited = value != kNone && graph().value(value).late_dims != 0 && graph().limits().contains(name);
  if (const auto place = std::find(made_.begin(), made_.end(), value); place != made_.end() && !limited) {
    scope_.editor.rename(value, name);
    made_.erase(place);
    outputs_[output] = value;
    return;
  }
  if (!limited && !scope_.graph_outputs.contains(name)) {
    outputs_[output] = value;
    return;
  }
  // A graph output must exist under its own name.
  auto added = scope_.editor.add_op(name_, IdentityParams{}, {value}, name);
  if (!added.ok()) return take(added.take_status());
  outputs_[output] = *added;
}

void NodeImporter::results(const std::vector<ValueId>& values) {
  for (size_t i = 0; i < values.size() && i < outputs_.size(); ++i) alias(values[i], i);
}

void NodeImporter::result_constant(TensorContent content) {
  if (!ok() || !has_output(0)) return;
  outputs_[0] = scope_.editor.add_constant(proto_.output(0), std::move(content.type), std::move(content.bytes));
}

void NodeImporter::result_aggregate(Aggregate aggregate, size_t output) {
  if (!ok() || !has_output(output)) return;
  if (scope_.graph_outputs.contains(proto_.output(static_cast<int>(output))))
    return unsupported("a sequence or optional value cannot leave the model: need a tensor");
  outputs_[output] = kFirstAggregate + static_cast<ValueId>(scope_.aggregates.size());
  scope_.aggregates.push_back(std::move(aggregate));
}

std::vector<ValueId> NodeImporter::inline_body(std::string_view attribute_name, const std::vector<ValueId>& inputs) {
  const auto* found = attribute(attribute_name);
  if (!ok()) return {};
  if (!found || !found->has_g()) {
    invalid("attribute " + quoted(attribute_name) + " is missing: need a graph");
    return {};
  }
  std::vector<ValueId> nothing(static_cast<size_t>(found->g().output_size()), kNone);
  if (found->g().input_size() != static_cast<int>(inputs.size())) {
    invalid("graph " + quoted(attribute_name) + " has a wrong number of inputs: got " + std::to_string(found->g().input_size()) + ", need " +
            std::to_string(inputs.size()));
    return nothing;
  }
  auto outputs = scope_.import_body(found->g(), inputs);
  if (!outputs.ok()) {
    take(outputs.take_status());
    return nothing;
  }
  if (std::find(outputs->begin(), outputs->end(), kNone) != outputs->end()) unsupported("graph " + quoted(attribute_name) + " cannot be imported");
  return *outputs;
}

ValueId NodeImporter::integers_constant(std::string_view role, const std::vector<int64_t>& values) {
  if (!ok()) return kNone;
  return scope_.editor.add_constant_of<int64_t>(fresh_name(role), DataType::kS64, Shape{static_cast<int64_t>(values.size())},
                                                values);
}

ValueId NodeImporter::floats_constant(std::string_view role, const std::vector<float>& values) {
  if (!ok()) return kNone;
  return scope_.editor.add_constant_of<float>(fresh_name(role), DataType::kF32, Shape{static_cast<int64_t>(values.size())},
                                              values);
}

ValueId NodeImporter::scalar_constant(std::string_view role, DataType dtype, double value) {
  return filled_constant(role, dtype, Shape{}, value);
}

ValueId NodeImporter::filled_constant(std::string_view role, DataType dtype, Shape shape, double value) {
  if (!ok()) return kNone;
  // Narrow floats are rounded by Cast, so that there is one rounding rule.
  if (is_float(dtype) && element_bytes(dtype) < 4)
    return add(CastParams{static_cast<int64_t>(dtype), true}, {filled_constant(role, DataType::kF32, shape, value)});
  const size_t size = element_bytes(dtype);
  Blob bytes(static_cast<size_t>(shape.elements()) * size);
  for (size_t at = 0; at < bytes.size(); at += size) store_element(dtype, bytes.data() + at, value);
  return scope_.editor.add_constant(fresh_name(role), TensorType{dtype, shape, Layout::kLinear, {}}, std::move(bytes));
}

void NodeImporter::fail(StatusCode code, std::string reason) {
  if (ok()) status_ = Status(code, std::move(reason));
}

// The importer's caller names the node, so the editor's "node 'x': " is taken off.
void NodeImporter::take(Status status) {
  std::string_view message = status.message();
  const std::string prefix = "node '" + name_ + "': ";
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  fail(status.code(), std::string(message));
}

Status NodeImporter::finish() {
  if (!ok()) return std::move(status_);
  if (version_ < 6) ignore({"consumed_inputs"});  // a hint for memory that old opsets gave
  for (int i = 0; i < proto_.attribute_size(); ++i)
    if (!attribute_seen_[static_cast<size_t>(i)])
      return Status(StatusCode::kUnsupported, "attribute " + quoted(proto_.attribute(i).name()) + " is not supported");
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] != kNone && !input_seen_[i])
      return Status(StatusCode::kInvalidModel, "input " + std::to_string(i) + " (" + quoted(proto_.input(static_cast<int>(i))) +
                                                   ") is one that the operator does not have");
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (has_output(i) && outputs_[i] == kNone)
      return Status(StatusCode::kUnsupported, "output " + std::to_string(i) + " (" +
                                                  quoted(proto_.output(static_cast<int>(i))) + ") is not supported");
  return {};
}

}  // namespace ingot
