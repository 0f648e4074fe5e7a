// Reference code of Unary.
#include <cstring>
#include <limits>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

template <class T>
T integer_function(const UnaryParams& p, T x) {
  using U = std::make_unsigned_t<T>;
  switch (p.function) {
    case UnaryFunction::kRelu:
      return x > 0 ? x : T{0};
    case UnaryFunction::kClip: {
      const T lo = saturate_cast<T>(p.alpha), hi = saturate_cast<T>(p.beta);
      return x > hi ? hi : x < lo ? std::min(lo, hi) : x;
    }
    case UnaryFunction::kAbs:
      return x > 0 || std::is_unsigned_v<T> ? x : static_cast<T>(U{0} - static_cast<U>(x));
    case UnaryFunction::kNeg:
      return static_cast<T>(U{0} - static_cast<U>(x));
    case UnaryFunction::kSign:
      return static_cast<T>((x > 0) - (x < 0));
    case UnaryFunction::kBitwiseNot:
      return static_cast<T>(~x);
    default:
      return x;
  }
}

template <class T>
void run_float(const Activation& f, bool to_bool, const void* x, void* y, int64_t count) {
  const T* in = static_cast<const T*>(x);
  for (int64_t i = 0; i < count; ++i) {
    const Arithmetic<T> v = load_element(in[i]);
    Arithmetic<T> r;
    if constexpr (std::is_same_v<T, double>)
      r = apply_activation_f64(f, v);
    else
      r = apply_activation(f, v);
    if (to_bool)
      static_cast<uint8_t*>(y)[i] = r != 0;
    else
      static_cast<T*>(y)[i] = store_float<T>(r);
  }
}

int32_t byte_at(DataType type, const void* data, int64_t i) {
  return type == DataType::kU8 ? static_cast<const uint8_t*>(data)[i] : static_cast<const int8_t*>(data)[i];
}

}  // namespace

void fill_unary_table(const UnaryParams& params, const TensorType& input, const TensorType& output,
                      std::span<uint8_t, 256> table) {
  const Activation f{params.function, params.alpha, params.beta};
  const QuantRange range = quant_range(output.dtype);
  for (int i = 0; i < 256; ++i) {
    const int32_t q = input.dtype == DataType::kU8 ? i : static_cast<int8_t>(i);
    const float x = dequantize_value(q, scale_of(input), zero_point_of(input));
    table[static_cast<size_t>(i)] =
        static_cast<uint8_t>(quantize_value(apply_activation(f, x), scale_of(output), zero_point_of(output),
                                            static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)));
  }
}

Status run_reference(const UnaryParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const TensorType &x = *inputs[0].type, &y = *outputs[0].type;
  const int64_t count = x.shape.elements();
  const Activation f{params.function, params.alpha, params.beta};
  const bool x_quantized = is_quantized(x), y_quantized = is_quantized(y);
  if (x_quantized && y_quantized) {
    uint8_t table[256];
    fill_unary_table(params, x, y, table);
    for (int64_t i = 0; i < count; ++i) outputs[0].as<uint8_t>()[i] = table[inputs[0].as<uint8_t>()[i]];
    return {};
  }
  if (x_quantized || y_quantized) {  // one side real: f between (de)quantisation
    if ((!x_quantized && x.dtype != DataType::kF32) || (!y_quantized && y.dtype != DataType::kF32))
      return Status(StatusCode::kUnsupported, std::string(to_string(params.function)) + ": types: got " + to_string(x) +
                                                  " to " + to_string(y) +
                                                  ", need f32 on the side that is not quantised");
    const QuantRange range = quant_range(y.dtype);
    for (int64_t i = 0; i < count; ++i) {
      const float v = x_quantized ? dequantize_value(byte_at(x.dtype, inputs[0].data, i), scale_of(x), zero_point_of(x))
                                  : inputs[0].as<float>()[i];
      const float r = apply_activation(f, v);
      if (!y_quantized)
        outputs[0].as<float>()[i] = r;
      else
        outputs[0].as<uint8_t>()[i] = static_cast<uint8_t>(quantize_value(
            r, scale_of(y), zero_point_of(y), static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)));
    }
    return {};
  }
  if (params.function == UnaryFunction::kIdentity) {
    if (count > 0) std::memcpy(outputs[0].data, inputs[0].data, static_cast<size_t>(count) * element_bytes(x.dtype));
    return {};
  }
  const bool to_bool = params.function == UnaryFunction::kIsNan || params.function == UnaryFunction::kIsInf;
  if (with_float_type(x.dtype,
                      [&](auto t) { run_float<decltype(t)>(f, to_bool, inputs[0].data, outputs[0].data, count); }))
    return {};
  if (x.dtype == DataType::kBool) {
    const bool invert = params.function == UnaryFunction::kNot;
    for (int64_t i = 0; i < count; ++i) outputs[0].as<uint8_t>()[i] = (inputs[0].as<uint8_t>()[i] != 0) != invert;
    return {};
  }
  const bool ran = with_integer_type(x.dtype, [&](auto t) {
    using T = decltype(t);
    for (int64_t i = 0; i < count; ++i) outputs[0].as<T>()[i] = integer_function(params, inputs[0].as<T>()[i]);
  });
  if (ran) return {};
  return Status(StatusCode::kUnsupported,
                std::string(to_string(params.function)) + ": element type: got " + std::string(to_string(x.dtype)));
}

}  // namespace ingot
