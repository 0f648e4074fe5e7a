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

// Inlined everywhere, so that a copy compiled for one instruction set never serves another.
#define INGOT_ROUNDING [[gnu::always_inline]] inline

// Round half to even; the runtime's threads keep the default rounding mode.
INGOT_ROUNDING float round_half_even(float x) { return __builtin_nearbyintf(x); }
// clamp(rne(x) + z, lo, hi); NaN gives z. Safe for any float.
INGOT_ROUNDING int32_t round_clamp(float x, int32_t zero_point, int32_t lo, int32_t hi) {
  // ±2^33 is exact in float and outside any hi − z, so the sum below cannot overflow.
  const float bounded = x > 0x1p33f ? 0x1p33f : x < -0x1p33f ? -0x1p33f : x == x ? x : 0.0f;
  const int64_t q = static_cast<int64_t>(round_half_even(bounded)) + zero_point;
  return static_cast<int32_t>(q < lo ? lo : q > hi ? hi : q);
}
// q = clamp(rne(x / s) + z)
INGOT_ROUNDING int32_t quantize_value(float x, float scale, int32_t zero_point, int32_t lo, int32_t hi) {
  return round_clamp(x / scale, zero_point, lo, hi);
}
INGOT_ROUNDING float dequantize_value(int32_t q, float scale, int32_t zero_point) {
  return scale * static_cast<float>(static_cast<int64_t>(q) - zero_point);
}
#undef INGOT_ROUNDING

// Limits of a quantised element type: u8, s8, s16, u16, s4, u4, s2, u2, s32; {0, 0} for any other.
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
