// The one rounding rule (docs/numerics.md), and QuantizeLinear / DequantizeLinear.
// As graph ops their scale and zero point are inputs 1 and 2 (zero point optional: u8 zero), as in ONNX; once the builder
// knows them they live in the QuantParams of the quantised value and the extra inputs are dropped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// Round half to even, independent of the rounding mode the caller runs in.
inline float round_half_even(float x) { return __builtin_nearbyintf(x); }
// rne + clamp of a float to [lo, hi] − z, then + z; NaN gives z. Safe for any float.
inline int32_t round_clamp(float x, int32_t zero_point, int32_t lo, int32_t hi) {
  if (!(x == x)) return std::clamp(zero_point, lo, hi);
  const float low = static_cast<float>(lo - zero_point), high = static_cast<float>(hi - zero_point);
  return static_cast<int32_t>(round_half_even(std::min(std::max(x, low), high))) + zero_point;
}
// q = clamp(rne(x / s) + z)
inline int32_t quantize_value(float x, float scale, int32_t zero_point, int32_t lo, int32_t hi) {
  return round_clamp(x / scale, zero_point, lo, hi);
}
inline float dequantize_value(int32_t q, float scale, int32_t zero_point) {
  return scale * static_cast<float>(q - zero_point);
}
// Limits of a quantised element type: u8, s8, s16, u16, s4, u4, s32.
struct QuantRange { int64_t lo, hi; };
QuantRange quant_range(DataType type);

struct QuantizeLinearParams {
  int64_t axis = 1, block_size = 0;
  bool saturate = true;
  INGOT_FIELDS(axis, block_size, saturate)
};
struct DequantizeLinearParams {
  int64_t axis = 1, block_size = 0;
  INGOT_FIELDS(axis, block_size)
};

Status infer_types(const QuantizeLinearParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const QuantizeLinearParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const DequantizeLinearParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const DequantizeLinearParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
