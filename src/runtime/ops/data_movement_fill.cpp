// Ops that make a tensor from a few numbers: ConstantOfShape and Range.
#include <cmath>
#include <cstring>

#include "runtime/ops/data_movement.h"
#include "runtime/ops/element.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

template <class T>
void store(std::array<std::byte, 8>& element, T value) {
  std::memcpy(element.data(), &value, sizeof value);
}

// Bytes of the value as an element of `type`; integers keep their low bits.
bool value_element(const ConstantOfShapeParams& params, DataType type, std::array<std::byte, 8>& element) {
  element.fill(std::byte{0});
  const auto number = static_cast<float>(params.value);
  switch (type) {
    case DataType::kF32: store(element, number); return true;
    case DataType::kF64: store(element, params.value); return true;
    case DataType::kF16: store(element, f32_to_f16(number)); return true;
    case DataType::kBF16: store(element, f32_to_bf16(number)); return true;
    case DataType::kF8E4M3: case DataType::kF8E5M2: case DataType::kF8E4M3Fnuz: case DataType::kF8E5M2Fnuz:
    case DataType::kF4E2M1: return params.value == 0;
    case DataType::kF8E8M0: return false;  // has no 0
    case DataType::kBool: store(element, static_cast<uint8_t>(params.integer_value != 0)); return true;
    default: {
      // Little-endian: the low bytes come first.
      store(element, params.integer_value);
      return true;
    }
  }
}

Status refuse_range_type(DataType type) {
  return refuse("range", "element type", to_string(type), "a float, s16, s32 or s64", StatusCode::kUnsupported);
}

// ceil((limit − start) / delta) elements, none when it is not positive.
template <class T>
Status count_range(const OpInput& start, const OpInput& limit, const OpInput& delta, int64_t& count) {
  using A = Arithmetic<T>;
  const auto value = [](const OpInput& input) { return load_element(*static_cast<const T*>(input.data)); };
  const A first = value(start), last = value(limit), step = value(delta);
  if (step == 0) return refuse("range", "delta", "0", "any other number");
  if constexpr (std::is_floating_point_v<A>) {
    const double steps = std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(step));
    if (!(std::fabs(steps) < 0x1p59))
      return refuse("range", "number of elements", std::to_string(steps), "fewer than 2^59");
    count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  } else {
    const auto span = static_cast<__int128>(last) - first;
    const __int128 steps = span / step + ((span % step != 0 && (span < 0) == (step < 0)) ? 1 : 0);
    if (steps > INT64_MAX) return refuse("range", "number of elements", "2^63 or more", "fewer than 2^59");
    count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  }
  return {};
}

template <class T>
void write_range(T start, T delta, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    using A = Arithmetic<T>;
    if constexpr (std::is_floating_point_v<A>) out[i] = store_float<T>(load_element(start) + static_cast<A>(i) * load_element(delta));
    else out[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
  }
}

// Calls f with a zero of the C++ type behind `type`.
template <class F>
Status with_range_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32: return f(float{});
    case DataType::kF64: return f(double{});
    case DataType::kF16: return f(Half{});
    case DataType::kBF16: return f(BFloat16{});
    case DataType::kS16: return f(int16_t{});
    case DataType::kS32: return f(int32_t{});
    case DataType::kS64: return f(int64_t{});
    default: return refuse_range_type(type);
  }
}

}  // namespace

Status infer_types(const ConstantOfShapeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "constant_of_shape";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  if (params.dtype < 0 || params.dtype >= kDataTypeCount)
    return refuse(kOp, "element type", std::to_string(params.dtype), "0 to " + std::to_string(kDataTypeCount - 1));
  const auto dtype = static_cast<DataType>(params.dtype);
  std::array<std::byte, 8> element;
  if (!value_element(params, dtype, element))
    return refuse(kOp, "value of an 8-bit float", std::to_string(params.value), "0", StatusCode::kUnsupported);
  IndexList dims;
  INGOT_TRY(read_index_list(kOp, "shape", inputs[0], Shape::kMaxRank, dims));
  Shape to;
  for (int i = 0; i < dims.count; ++i) {
    if (dims[i] < 0) return refuse(kOp, "negative dim in shape", std::to_string(dims[i]), "0 or more");
    INGOT_TRY(append_dim(kOp, to, dims[i]));
  }
  return set_output(kOp, outputs[0], dtype, to);
}

Status run_reference(const ConstantOfShapeParams& params, std::span<const ConstTensorRef>,
                     std::span<const TensorRef> outputs) {
  const TensorType& type = *outputs[0].type;
  std::array<std::byte, 8> element;
  if (!value_element(params, type.dtype, element))
    return refuse("constant_of_shape", "value of an 8-bit float", std::to_string(params.value), "0",
                  StatusCode::kUnsupported);
  fill_elements(outputs[0].data, type.shape.elements(), element_bytes(type.dtype), element.data());
  return {};
}

Status infer_types(const RangeParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "range";
  constexpr std::string_view kNames[] = {"start", "limit", "delta"};
  INGOT_TRY(check_arity(kOp, inputs, 3, 3, outputs));
  for (size_t i = 0; i < 3; ++i) {
    if (inputs[i].dtype != inputs[0].dtype)
      return refuse(kOp, "type of " + std::string(kNames[i]), to_string(inputs[i].dtype), to_string(inputs[0].dtype));
    if (inputs[i].shape.elements() != 1)
      return refuse(kOp, "elements of " + std::string(kNames[i]), std::to_string(inputs[i].shape.elements()), "1");
    if (inputs[i].data == nullptr) return refuse_unknown_value(kOp, kNames[i]);
  }
  int64_t count = 0;
  INGOT_TRY(with_range_type(inputs[0].dtype, [&]<class T>(T) {
    return count_range<T>(inputs[0], inputs[1], inputs[2], count);
  }));
  return set_output(kOp, outputs[0], inputs[0].dtype, Shape{count});
}

Status run_reference(const RangeParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("range", params, inputs, outputs));
  return with_range_type(inputs[0].type->dtype, [&]<class T>(T) -> Status {
    write_range<T>(*inputs[0].as<T>(), *inputs[2].as<T>(), outputs[0].type->shape[0], outputs[0].as<T>());
    return {};
  });
}

}  // namespace ingot
