// The field lists of all ops, read by name: text, hash, comparison and files are made from them here.
#include "runtime/ops/op.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <type_traits>

namespace ingot {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(OpKind::kCount)> kOpNames = {
#define INGOT_OP(name) #name,
#include "runtime/ops/ops.inc"
#undef INGOT_OP
};

// Calls f with the concrete parameters.
template <class F>
auto dispatch(const OpParams& params, F&& f) {
  return std::visit([&](const auto& p) { return f(p); }, params);
}

template <class P>
constexpr bool kIsOp = !std::is_same_v<std::decay_t<P>, NoOpParams>;

// Enums that have names are stored by name, so that files survive a new enumerator in the middle.
template <class T>
constexpr bool kHasNames = false;
template <class T>
  requires requires(T value) { to_string(value); T::kCount; }
constexpr bool kHasNames<T> = true;

template <class T>
FieldValue to_field_value(const T& value) {
  if constexpr (kHasNames<T>) return std::string(to_string(value));
  else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) return static_cast<int64_t>(value);
  else return value;
}

template <class T>
bool from_field_value(const FieldValue& value, T& out) {
  if constexpr (kHasNames<T>) {
    const auto* name = std::get_if<std::string>(&value);
    for (int64_t i = 0; name && i < static_cast<int64_t>(T::kCount); ++i)
      if (to_string(static_cast<T>(i)) == *name) return out = static_cast<T>(i), true;
    return false;
  } else if constexpr (std::is_enum_v<T>) {
    const auto* number = std::get_if<int64_t>(&value);
    if (!number || *number < 0 || *number > 1000) return false;
    out = static_cast<T>(*number);
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto* number = std::get_if<int64_t>(&value);
    if (!number || (*number != 0 && *number != 1)) return false;
    out = *number == 1;
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) out = static_cast<double>(*whole);
    else if (const auto* number = std::get_if<double>(&value)) out = *number;
    else return false;
  } else {
    if (const auto* same = std::get_if<T>(&value)) {
      out = *same;
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      const auto* whole = std::get_if<std::vector<int64_t>>(&value);
      if (!whole) return false;
      out.assign(whole->begin(), whole->end());
    } else {
      return false;
    }
  }
  return true;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string result(text);
  if (std::isfinite(value) && result.find_first_of(".e") == std::string::npos) result += ".0";
  return result;
}

std::string value_text(const FieldValue& value) {
  return std::visit([](const auto& v) -> std::string {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, int64_t>) return std::to_string(v);
    else if constexpr (std::is_same_v<T, double>) return number_text(v);
    else if constexpr (std::is_same_v<T, std::string>) return '"' + v + '"';
    else {
      std::string list = "[";
      for (size_t i = 0; i < v.size(); ++i) {
        if (i) list += ',';
        if constexpr (std::is_same_v<T, std::vector<double>>) list += number_text(v[i]);
        else list += std::to_string(v[i]);
      }
      return list + "]";
    }
  }, value);
}

}  // namespace

std::string_view to_string(OpKind kind) {
  return kind < OpKind::kCount ? kOpNames[static_cast<size_t>(kind)] : std::string_view("none");
}

std::optional<OpKind> parse_op_kind(std::string_view name) {
  for (size_t i = 0; i < kOpNames.size(); ++i)
    if (kOpNames[i] == name) return static_cast<OpKind>(i);
  return std::nullopt;
}

OpParams default_params(OpKind kind) {
  switch (kind) {
#define INGOT_OP(name) case OpKind::k##name: return name##Params{};
#include "runtime/ops/ops.inc"
#undef INGOT_OP
    default: return NoOpParams{};
  }
}

std::vector<Field> fields_of(const OpParams& params) {
  std::vector<Field> fields;
  dispatch(params, [&](const auto& p) {
    if constexpr (kIsOp<decltype(p)>)
      std::decay_t<decltype(p)>::visit_fields(p, [&](const char* name, const auto& value) {
        fields.push_back({name, to_field_value(value)});
      });
  });
  return fields;
}

Expected<OpParams> params_from_fields(OpKind kind, std::span<const Field> fields) {
  OpParams params = default_params(kind);
  std::string problem;
  size_t used = 0;
  std::visit([&](auto& p) {
    using P = std::decay_t<decltype(p)>;
    if constexpr (kIsOp<P>)
      P::visit_fields(p, [&](const char* name, auto& target) {
        for (const Field& field : fields) {
          if (field.name != name) continue;
          ++used;
          if (!from_field_value(field.value, target)) problem = "field '" + field.name + "' has the wrong type or value";
        }
      });
  }, params);
  if (problem.empty() && used != fields.size()) problem = "unknown or repeated field";
  if (!problem.empty())
    return Status(StatusCode::kInvalidArgument, std::string(to_string(kind)) + " parameters: " + problem);
  return params;
}

std::string to_string(const OpParams& params) {
  const std::vector<Field> fields = fields_of(params), defaults = fields_of(default_params(kind_of(params)));
  std::string text;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == defaults[i]) continue;
    if (!text.empty()) text += ", ";
    text += fields[i].name + '=' + value_text(fields[i].value);
  }
  return text.empty() ? text : '{' + text + '}';
}

bool equal(const OpParams& a, const OpParams& b) { return a.index() == b.index() && fields_of(a) == fields_of(b); }

uint64_t hash_of(const OpParams& params) {
  // FNV-1a over the text: stable everywhere, and parameters are small.
  uint64_t hash = 1469598103934665603ull;
  for (char c : std::string(to_string(kind_of(params))) + to_string(params))
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

Status infer_types(const OpParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  return std::visit([&](const auto& p) -> Status {
    if constexpr (kIsOp<decltype(p)>) return infer_types(p, inputs, outputs);
    else return Status(StatusCode::kInternal, "type rule: no op");
  }, params);
}

Status run_reference(const OpParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return std::visit([&](const auto& p) -> Status {
    if constexpr (kIsOp<decltype(p)>) return run_reference(p, inputs, outputs);
    else return Status(StatusCode::kInternal, "reference code: no op");
  }, params);
}

bool is_alias_op(OpKind kind) {
  return kind == OpKind::kIdentity || kind == OpKind::kReshape || kind == OpKind::kFlatten || kind == OpKind::kSqueeze ||
         kind == OpKind::kUnsqueeze;
}

bool is_control_flow(OpKind kind) { return kind == OpKind::kIf || kind == OpKind::kLoop; }
size_t body_count(OpKind kind) { return kind == OpKind::kIf ? 2 : kind == OpKind::kLoop ? 1 : 0; }

namespace {

template <class F>
Status with_control_flow(const OpParams& params, F&& f) {
  if (const auto* p = std::get_if<IfParams>(&params)) return f(*p);
  if (const auto* p = std::get_if<LoopParams>(&params)) return f(*p);
  return Status(StatusCode::kInternal, "an op without bodies");
}

}  // namespace

Status check_body_arity(const OpParams& params, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs) {
  return with_control_flow(params, [&](const auto& p) { return check_body_arity(p, inputs, outputs, body_inputs, body_outputs); });
}

Status infer_body_inputs(const OpParams& params, std::span<const OpInput> inputs, std::span<OpInput> body_inputs) {
  return with_control_flow(params, [&](const auto& p) { return infer_body_inputs(p, inputs, body_inputs); });
}

Status infer_types(const OpParams& params, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs) {
  return with_control_flow(params, [&](const auto& p) { return infer_types(p, inputs, bodies, outputs); });
}

int64_t read_index(const OpInput& input, int64_t i) {
  const auto at = [&]<class T>(T) { return static_cast<int64_t>(static_cast<const T*>(input.data)[i]); };
  switch (input.dtype) {
    case DataType::kS64: return at(int64_t{});
    case DataType::kU64: return at(uint64_t{});
    case DataType::kS32: return at(int32_t{});
    case DataType::kU32: return at(uint32_t{});
    case DataType::kS16: return at(int16_t{});
    case DataType::kU16: return at(uint16_t{});
    case DataType::kS8: return at(int8_t{});
    case DataType::kU8: case DataType::kBool: return at(uint8_t{});
    case DataType::kF32: return at(float{});
    case DataType::kF64: return at(double{});
    default: return 0;
  }
}

}  // namespace ingot
