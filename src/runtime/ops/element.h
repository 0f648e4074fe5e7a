// Typed access to elements for reference code: a number of any element type as float or double, and back.
// 4-bit types are stored one to a byte, value in the low bits (s4 sign-extended).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ingot/types.h"
#include "runtime/ops/half.h"

namespace ingot {

// The type that arithmetic on elements of type T is done in.
template <class T>
using Arithmetic = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
Arithmetic<T> load_element(T x) {
  if constexpr (std::is_same_v<T, Half>)
    return f16_to_f32(x.bits);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bf16_to_f32(x.bits);
  else
    return x;
}
// One rounding from any arithmetic float type to storage.
template <class T, class A>
T store_float(A x) {
  if constexpr (std::is_same_v<T, Half> && std::is_same_v<A, double>)
    return {f32_to_f16(f64_to_f32_odd(x))};
  else if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<A, double>)
    return {f32_to_bf16(f64_to_f32_odd(x))};
  else if constexpr (std::is_same_v<T, Half>)
    return {f32_to_f16(static_cast<float>(x))};
  else if constexpr (std::is_same_v<T, BFloat16>)
    return {f32_to_bf16(static_cast<float>(x))};
  else
    return static_cast<T>(x);
}

// Truncates towards zero and saturates; NaN gives 0.
template <class T>
T saturate_cast(double x) {
  if (!(x == x)) return T{};
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

// Calls f(T{}) with the storage type of a float element type; false for any other type.
template <class F>
bool with_float_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32:
      f(float{});
      return true;
    case DataType::kF64:
      f(double{});
      return true;
    case DataType::kF16:
      f(Half{});
      return true;
    case DataType::kBF16:
      f(BFloat16{});
      return true;
    default:
      return false;
  }
}
// The same for integer types; bool is none.
template <class F>
bool with_integer_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kS8:
    case DataType::kS4:
    case DataType::kS2:
      f(int8_t{});
      return true;
    case DataType::kU8:
    case DataType::kU4:
    case DataType::kU2:
      f(uint8_t{});
      return true;
    case DataType::kS16:
      f(int16_t{});
      return true;
    case DataType::kU16:
      f(uint16_t{});
      return true;
    case DataType::kS32:
      f(int32_t{});
      return true;
    case DataType::kU32:
      f(uint32_t{});
      return true;
    case DataType::kS64:
      f(int64_t{});
      return true;
    case DataType::kU64:
      f(uint64_t{});
      return true;
    default:
      return false;
  }
}

// Whether a tensor holds quantised values that an op must scale (u8 or s8 with QuantParams).
inline bool is_quantized(const TensorType& type) {
  return type.quant && !type.quant->scales.empty() && (type.dtype == DataType::kU8 || type.dtype == DataType::kS8);
}
inline bool is_byte(DataType type) { return type == DataType::kU8 || type == DataType::kS8; }

// Quantised with a scale and zero point for each index of a dim.
inline bool is_per_channel(const TensorType& type) { return is_quantized(type) && type.quant->axis >= 0; }

inline float scale_of(const TensorType& type, int64_t channel = 0) {
  if (!type.quant || type.quant->scales.empty()) return 1.0f;
  return type.quant->scales[type.quant->scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
}
inline int32_t zero_point_of(const TensorType& type, int64_t channel = 0) {
  if (!type.quant || type.quant->zero_points.empty()) return 0;
  return type.quant->zero_points[type.quant->zero_points.size() == 1 ? 0 : static_cast<size_t>(channel)];
}

}  // namespace ingot
