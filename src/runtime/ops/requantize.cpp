// Choice of the epilogue formula, folded clamp bounds, multiplier arrays.
#include "runtime/ops/requantize.h"

#include <string>

#include "runtime/ops/element.h"

namespace ingot {

void fill_multipliers(float s_x, std::span<const float> w_scales, float s_y, double alpha, std::span<float> out) {
  for (size_t c = 0; c < out.size(); ++c) out[c] = multiplier(s_x, w_scales[w_scales.size() == 1 ? 0 : c], s_y, alpha);
}

ClampBounds clamp_bounds(const Activation& activation, DataType type, float scale, int32_t zero_point) {
  const QuantRange range = quant_range(type);
  ClampBounds bounds{static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)};
  // Rounding is monotone, so clamping the rounded value at the rounded limits is clamping first.
  if (activation.function == UnaryFunction::kRelu) {
    bounds.lo = std::clamp(zero_point, bounds.lo, bounds.hi);
  } else if (activation.function == UnaryFunction::kClip) {
    const int32_t lo = quantize_value(static_cast<float>(activation.alpha), scale, zero_point, bounds.lo, bounds.hi);
    const int32_t hi = quantize_value(static_cast<float>(activation.beta), scale, zero_point, bounds.lo, bounds.hi);
    bounds = {std::min(lo, hi), hi};  // as in ONNX, low > high gives high
  }
  return bounds;
}

Expected<IntEpilogue> make_int_epilogue(const char* op, const Activation& activation, const TensorType* residual,
                                        const TensorType& output, int64_t channel) {
  const auto refuse = [&](const std::string& what) {
    return Status(StatusCode::kUnsupported, std::string(op) + ": " + what);
  };
  IntEpilogue e;
  e.activation = activation;
  if (!is_activation(activation.function))
    return refuse("function cannot be fused: got " + std::string(to_string(activation.function)) +
                  ", need an activation");
  const bool quantized = is_quantized(output);
  if (output.dtype == DataType::kS32) {
    if (residual || activation.function != UnaryFunction::kIdentity)
      return refuse("s32 output with residual or activation: need a float or quantised output");
    e.form = IntEpilogue::Form::kAccumulator;
    return e;
  }
  if (!quantized && output.dtype != DataType::kF32)
    return refuse("output of integer inputs: got " + to_string(output) +
                  ", need s32, f32, or u8/s8 with scale and zero point");
  if (is_per_channel(output) && (channel < 0 || output.quant->axis != 1))
    return refuse("output scales: got " + to_string(output) + ", need one for the tensor" +
                  (channel < 0 ? "" : ", or one per index of dim 1"));
  channel = std::max<int64_t>(channel, 0);
  if (residual) {
    if (is_per_channel(*residual)) return refuse("residual scales: got " + to_string(*residual) + ", need one for the tensor");
    if (is_quantized(*residual))
      e.residual = IntEpilogue::Residual::kQuantized;
    else if (residual->dtype == DataType::kF32)
      e.residual = IntEpilogue::Residual::kFloat;
    else
      return refuse("residual: got " + to_string(*residual) + ", need f32, or u8/s8 with scale and zero point");
  }
  if (quantized) {
    e.scale = scale_of(output, channel);
    e.zero_point = zero_point_of(output, channel);
    const bool clamp = is_clamp(activation.function) && e.residual != IntEpilogue::Residual::kFloat;
    e.form = clamp ? IntEpilogue::Form::kClamp : IntEpilogue::Form::kCurved;
    const ClampBounds bounds = clamp_bounds(clamp ? activation : Activation{}, output.dtype, e.scale, e.zero_point);
    e.lo = bounds.lo;
    e.hi = bounds.hi;
  }
  if (e.residual == IntEpilogue::Residual::kQuantized) {
    e.residual_multiplier = multiplier(scale_of(*residual), 1.0f, e.multiplier_scale());
    e.residual_zero_point = zero_point_of(*residual);
  }
  return e;
}

}  // namespace ingot
