// What becomes of an int32 accumulator of a quantised op: the formulas of docs/numerics.md for one element, shared by
// reference code, scalar tails of kernels and tests.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ops/op_io.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/quantize.h"

namespace ingot {

#define INGOT_REQUANTIZE [[gnu::always_inline]] inline

// s_x·s_w·α / s_y, formed in double and rounded once. s_y = 1 gives the factor from accumulator to real value.
INGOT_REQUANTIZE float multiplier(float s_x, float s_w, float s_y, double alpha = 1) {
  return static_cast<float>(static_cast<double>(s_x) * static_cast<double>(s_w) * alpha / static_cast<double>(s_y));
}
// s_x / (s_y·n): from the sum of n values to their mean.
INGOT_REQUANTIZE float average_multiplier(float s_x, float s_y, int64_t n) {
  return static_cast<float>(static_cast<double>(s_x) / (static_cast<double>(s_y) * static_cast<double>(n)));
}
// out[c] = multiplier(s_x, s_w[c], s_y, alpha); w_scales holds one scale for all, or one for each out element.
void fill_multipliers(float s_x, std::span<const float> w_scales, float s_y, double alpha, std::span<float> out);

// y = clamp(rne(float(acc)·m) + z)
INGOT_REQUANTIZE int32_t requantize(int32_t acc, float m, int32_t z, int32_t lo, int32_t hi) {
  return round_clamp(static_cast<float>(acc) * m, z, lo, hi);
}
// y = clamp(rne(fma(float(r), m_r, float(acc)·m)) + z), r with its zero point taken off
INGOT_REQUANTIZE int32_t requantize_residual(int32_t acc, float m, int32_t r, float m_r, int32_t z, int32_t lo,
                                             int32_t hi) {
  return round_clamp(__builtin_fmaf(static_cast<float>(r), m_r, static_cast<float>(acc) * m), z, lo, hi);
}

// Bounds of an integer result with a clamp activation folded in; any other function leaves the type's own range.
struct ClampBounds {
  int32_t lo = 0, hi = 0;
};
ClampBounds clamp_bounds(const Activation& activation, DataType type, float scale, int32_t zero_point);

// The epilogue of one conv or matmul. Which formula holds is decided once, from the types.
struct IntEpilogue {
  enum class Form : uint8_t {
    kAccumulator,  // s32 output: y = acc
    kReal,         // float output: y = f(t)
    kClamp,        // u8/s8 output, f a clamp, residual absent or quantised: one multiplier, saturation does the clamp
    kCurved,       // u8/s8 output otherwise: y = clamp(rne(f(t) / s_y) + z_y)
  };
  // t = float(acc)·(s_x s_w), then + residual: fma(float(r − z_r), s_r, t) if quantised, t + r if float.
  enum class Residual : uint8_t { kNone, kQuantized, kFloat };
  Form form = Form::kReal;
  Residual residual = Residual::kNone;
  float residual_multiplier = 0;  // s_r / s_y for kClamp, else s_r
  int32_t residual_zero_point = 0;
  float scale = 1;  // s_y
  int32_t zero_point = 0, lo = 0, hi = 0;
  Activation activation;

  // The divisor in the accumulator's multiplier: multiplier(s_x, s_w, multiplier_scale()).
  float multiplier_scale() const { return form == Form::kClamp ? scale : 1.0f; }
};
// residual: null if absent. channel: which one, where the output may have a scale and zero point per channel (dim 1); −1: it
// may not. An error says which combination of types has no meaning.
Expected<IntEpilogue> make_int_epilogue(const char* op, const Activation& activation, const TensorType* residual,
                                        const TensorType& output, int64_t channel = -1);

// t for kReal and kCurved; q_residual is used if the residual is quantised, f_residual if it is float.
INGOT_REQUANTIZE float epilogue_real(const IntEpilogue& e, int32_t acc, float m, int32_t q_residual, float f_residual) {
  float t = static_cast<float>(acc) * m;
  if (e.residual == IntEpilogue::Residual::kQuantized)
    t = __builtin_fmaf(static_cast<float>(q_residual - e.residual_zero_point), e.residual_multiplier, t);
  else if (e.residual == IntEpilogue::Residual::kFloat)
    t += f_residual;
  return apply_activation(e.activation, t);
}
// The u8/s8 result, for kClamp and kCurved.
INGOT_REQUANTIZE int32_t epilogue_quantized(const IntEpilogue& e, int32_t acc, float m, int32_t q_residual,
                                            float f_residual) {
  if (e.form == IntEpilogue::Form::kClamp) {
    return e.residual == IntEpilogue::Residual::kNone
               ? requantize(acc, m, e.zero_point, e.lo, e.hi)
               : requantize_residual(acc, m, q_residual - e.residual_zero_point, e.residual_multiplier, e.zero_point,
                                     e.lo, e.hi);
  }
  return quantize_value(epilogue_real(e, acc, m, q_residual, f_residual), e.scale, e.zero_point, e.lo, e.hi);
}

// Element i of a result, whatever the form and the residual.
inline void store_epilogue(const IntEpilogue& e, int32_t sum, float m, const ConstTensorRef& residual, const TensorRef& y,
                           int64_t i) {
  int32_t q = 0;
  float f = 0;
  if (e.residual == IntEpilogue::Residual::kFloat)
    f = residual.as<float>()[i];
  else if (residual)
    q = residual.type->dtype == DataType::kU8 ? residual.as<uint8_t>()[i] : residual.as<int8_t>()[i];
  if (e.form == IntEpilogue::Form::kAccumulator)
    y.as<int32_t>()[i] = sum;
  else if (e.form == IntEpilogue::Form::kReal)
    y.as<float>()[i] = epilogue_real(e, sum, m, q, f);
  else
    y.as<uint8_t>()[i] = static_cast<uint8_t>(epilogue_quantized(e, sum, m, q, f));  // s8 has the same bits
}

#undef INGOT_REQUANTIZE

}  // namespace ingot
