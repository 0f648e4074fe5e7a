// Elements as numbers: the C++ type behind each DataType, and conversions to and from the type that op code computes in.
// Stores round to nearest even; integers saturate and NaN becomes 0.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/ops/half.h"
#include "runtime/ops/op_io.h"

namespace ingot {

inline float load_number(float x) { return x; }
inline double load_number(double x) { return x; }
inline float load_number(Half x) { return f16_to_f32(x.bits); }
inline float load_number(BFloat16 x) { return bf16_to_f32(x.bits); }
template <class T>
  requires std::is_integral_v<T>
T load_number(T x) { return x; }

template <class T>
constexpr bool kIsInteger = std::is_integral_v<T>;

// Nearest T to a value that may be out of range.
template <class T>
T store_number(double x) {
  if constexpr (std::is_same_v<T, double>) return x;
  else if constexpr (std::is_same_v<T, float>) return static_cast<float>(x);
  else if constexpr (std::is_same_v<T, Half>) return {f32_to_f16(f64_to_f32_odd(x))};
  else if constexpr (std::is_same_v<T, BFloat16>) return {f32_to_bf16(f64_to_f32_odd(x))};
  else {
    if (!(x == x)) return 0;
    // The limits as doubles may lie one above what T holds.
    const double rounded = __builtin_nearbyint(x);
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  }
}

// Calls f with a zero of the element's C++ type (bool as uint8_t); types without arithmetic here go to `otherwise`.
template <class F, class G>
Status with_number_type(DataType type, F&& f, G&& otherwise) {
  switch (type) {
    case DataType::kF32: return f(float{});
    case DataType::kF64: return f(double{});
    case DataType::kF16: return f(Half{});
    case DataType::kBF16: return f(BFloat16{});
    case DataType::kS8: case DataType::kS4: return f(int8_t{});
    case DataType::kU8: case DataType::kU4: case DataType::kBool: return f(uint8_t{});
    case DataType::kS16: return f(int16_t{});
    case DataType::kU16: return f(uint16_t{});
    case DataType::kS32: return f(int32_t{});
    case DataType::kU32: return f(uint32_t{});
    case DataType::kS64: return f(int64_t{});
    case DataType::kU64: return f(uint64_t{});
    case DataType::kF8E4M3: case DataType::kF8E5M2: break;
  }
  return otherwise();
}

// Scale and zero point of a u8 or s8 tensor quantised as a whole.
struct ByteQuant {
  float scale = 1;
  int32_t zero_point = 0, lo = 0, hi = 255;
};
inline bool read_byte_quant(const TensorType& type, ByteQuant& quant) {
  if (type.dtype != DataType::kU8 && type.dtype != DataType::kS8) return false;
  if (!type.quant || type.quant->axis >= 0 || type.quant->scales.size() != 1) return false;
  quant.scale = type.quant->scales[0];
  quant.zero_point = type.quant->zero_points.empty() ? 0 : type.quant->zero_points[0];
  quant.lo = type.dtype == DataType::kU8 ? 0 : -128;
  quant.hi = type.dtype == DataType::kU8 ? 255 : 127;
  return true;
}

}  // namespace ingot
