// Type checks and epilogue numbers of 8-bit layers.
#include "runtime/s8_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"

namespace ingot {
namespace {

bool usable_scale(float scale) { return std::isfinite(scale) && scale > 0; }

bool usable_params(const TensorType& type) {
  const QuantRange range = quant_range(type.dtype);
  const auto& [scales, zeros, axis, trained] = *type.quant;
  return scales.size() == zeros.size() && std::all_of(scales.begin(), scales.end(), usable_scale) &&
         std::all_of(zeros.begin(), zeros.end(), [&](int32_t zero) { return zero >= range.lo && zero <= range.hi; });
}

}  // namespace

bool is_per_tensor_byte(const TensorType& type) {
  return is_quantized(type) && type.quant->axis < 0 && type.quant->scales.size() == 1 && usable_params(type);
}

bool is_per_channel_byte(const TensorType& type) {
  return is_quantized(type) && type.quant->axis == 1 && type.shape.rank > 1 &&
         static_cast<int64_t>(type.quant->scales.size()) == type.shape[1] && usable_params(type);
}

int32_t unsigned_zero(const TensorType& x, int64_t channel) {
  return zero_point_of(x, channel) + (x.dtype == DataType::kS8 ? 128 : 0);
}

const Operand* optional_operand(std::span<const Operand> operands, size_t i) {
  return i < operands.size() && operands[i].present ? &operands[i] : nullptr;
}

const char* refuse_s8_layer(const Problem& problem, int weight_axis, const Activation& activation, ChannelScales may) {
  if (problem.inputs.size() < 2 || !problem.inputs[1].present || problem.outputs.size() != 1) return "needs x, w and one output";
  const TensorType& x = problem.inputs[0].type;
  const TensorType& w = problem.inputs[1].type;
  const TensorType& y = problem.outputs[0].type;
  if (!is_byte(x.dtype)) return "activations are not u8 or s8";
  if (!is_per_tensor_byte(x) && !(may.input && is_per_channel_byte(x))) return "activations need one scale and zero point";
  if (!problem.inputs[1].is_constant) return "weights are not constant";
  if (w.dtype != DataType::kS8) return "weights are not s8";
  if (!w.quant || w.quant->scales.empty()) return "weights have no scales";
  if (w.shape.rank <= weight_axis) return "weights have too few dims";
  if (w.quant->scales.size() != 1 &&
      (w.quant->axis != weight_axis || w.quant->scales.size() != static_cast<size_t>(w.shape[weight_axis])))
    return "weight scales are neither one nor one per output channel";
  if (std::any_of(w.quant->zero_points.begin(), w.quant->zero_points.end(), [](int32_t z) { return z != 0; }))
    return "weights have a zero point";
  if (!std::all_of(w.quant->scales.begin(), w.quant->scales.end(), usable_scale)) return "a weight scale is not positive and finite";
  if (const Operand* bias = optional_operand(problem.inputs, 2)) {
    if (!bias->is_constant || bias->type.dtype != DataType::kS32) return "bias is not a constant s32";
    if (bias->type.shape.elements() != w.shape[weight_axis]) return "bias is not one value per output channel";
  }
  if (const Operand* residual = optional_operand(problem.inputs, 3)) {
    if (residual->type.dtype != DataType::kF32 && !is_per_tensor_byte(residual->type))
      return "residual is neither f32 nor u8/s8 with one scale";
    if (!(residual->type.shape == y.shape) || residual->type.layout != y.layout) return "residual and output differ in shape or layout";
  }
  if (y.dtype == DataType::kF32 ? y.quant.has_value() : !is_per_tensor_byte(y) && !(may.output && is_per_channel_byte(y)))
    return "output is neither f32 nor u8/s8 with one scale";
  if (!is_activation(activation.function)) return "activation cannot be fused";
  // Beyond this a product with an int32 could leave float's range.
  const auto largest = [](const std::vector<float>& scales) { return *std::max_element(scales.begin(), scales.end()); };
  const float out_scale = y.dtype == DataType::kF32 ? 1.0f : *std::min_element(y.quant->scales.begin(), y.quant->scales.end());
  if (!(multiplier(largest(x.quant->scales), largest(w.quant->scales), std::min(out_scale, 1.0f)) < 1e20f)) return "scales of inputs and output are too far apart";
  return nullptr;
}

const char* refuse_s8_conv(const Problem& problem) {
  const auto& params = std::get<ConvParams>(problem.params);
  if (const char* refusal = refuse_s8_layer(problem, 0, params.activation, {.output = true})) return refusal;
  const TensorType& x = problem.inputs[0].type;
  const TensorType& w = problem.inputs[1].type;
  if (x.shape.rank != 3 && x.shape.rank != 4) return "not one or two spatial dims";
  if (w.shape.rank != x.shape.rank) return "weights and input differ in rank";
  if (x.layout != Layout::kChannelsLast || problem.outputs[0].type.layout != Layout::kChannelsLast)
    return "tensors are not channels_last";
  if (!w.shape.is_static() || w.shape.elements() == 0) return "weights are empty";
  if (params.groups < 1 || w.shape[0] % params.groups != 0) return "output channels are not a multiple of groups";
  if (x.shape[1] != w.shape[1] * params.groups) return "input channels differ from the weights'";
  if (w.shape[1] == 1 && w.shape[0] == params.groups) return "depthwise: too few products for a matrix kernel";
  for (int64_t pad : params.pads)
    if (pad < 0) return "negative padding";
  return nullptr;
}

const char* refuse_s8_depthwise(const Problem& problem) {
  const auto& params = std::get<ConvParams>(problem.params);
  if (const char* refusal = refuse_s8_layer(problem, 0, params.activation, {true, true})) return refusal;
  const TensorType& x = problem.inputs[0].type;
  const Shape& w = problem.inputs[1].type.shape;
  if (x.shape.rank != 3 && x.shape.rank != 4) return "not one or two spatial dims";
  if (w.rank != x.shape.rank || !w.is_static() || w.elements() == 0) return "weights are empty or of another rank";
  if (w[1] != 1 || params.groups != w[0] || x.shape[1] != w[0]) return "not depthwise: groups, inputs and outputs differ";
  if (x.layout != Layout::kChannelsLast || problem.outputs[0].type.layout != Layout::kChannelsLast)
    return "tensors are not channels_last";
  for (int64_t pad : params.pads)
    if (pad < 0) return "negative padding";
  return nullptr;
}

const char* refuse_s8_pool(const Problem& problem) {
  const auto& params = std::get<PoolParams>(problem.params);
  const TensorType& x = problem.inputs[0].type;
  const TensorType& y = problem.outputs[0].type;
  if (!is_byte(x.dtype)) return "input is not u8 or s8";
  if (x.shape.rank != 3 && x.shape.rank != 4) return "not one or two spatial dims";
  if (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast) return "tensors are not channels_last";
  if (x.shape[1] < 1) return "number of channels varies or is zero";
  if (problem.outputs.size() > 1 && problem.outputs[1].present) return "indices are wanted";
  for (int64_t pad : params.pads)
    if (pad < 0) return "negative padding";
  if (params.function == PoolFunction::kMax) {
    if (y.dtype != x.dtype || y.quant != x.quant) return "a maximum keeps type and scale, and the output's differ";
    return nullptr;
  }
  if (params.function != PoolFunction::kAverage) return "neither max nor average";
  if (!is_per_tensor_byte(x)) return "input needs one scale and zero point";
  if (y.dtype != DataType::kF32 && !is_per_tensor_byte(y)) return "output is neither f32 nor u8/s8 with one scale";
  if (!(scale_of(x) / (is_quantized(y) ? scale_of(y) : 1.0f) < 1e20f)) return "scales of input and output are too far apart";
  int64_t window = 1;
  for (int d = 2; d < x.shape.rank; ++d)
    window *= params.global ? problem.inputs[0].max_shape[d] : params.kernel[static_cast<size_t>(d) - 2];
  if (window > (int64_t{1} << 22)) return "window of more than 2^22 positions";
  return nullptr;
}

const char* refuse_s8_table(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  if (!is_byte(x.dtype) || !is_byte(y.dtype)) return "input and output are not both u8 or s8";
  if (!is_per_tensor_byte(x) || !is_per_tensor_byte(y)) return "input and output need one scale and zero point each";
  if (x.layout != y.layout) return "layouts differ";
  return nullptr;
}

ResultLimits result_limits(const TensorType& y, const Activation& activation) {
  ResultLimits limits;
  if (!is_byte(y.dtype)) {
    limits.low = -std::numeric_limits<float>::infinity();
    limits.high = std::numeric_limits<float>::infinity();
    if (activation.function == UnaryFunction::kRelu) limits.low = 0;
    if (activation.function == UnaryFunction::kClip) {
      limits.low = static_cast<float>(activation.alpha);
      limits.high = static_cast<float>(activation.beta);
    }
    return limits;
  }
  limits.scale = scale_of(y);
  limits.zero = zero_point_of(y);
  const ClampBounds bounds = clamp_bounds(activation, y.dtype, limits.scale, limits.zero);
  limits.low = static_cast<float>(bounds.lo - limits.zero);
  limits.high = static_cast<float>(bounds.hi - limits.zero);
  return limits;
}

Expected<LayerEpilogue> make_layer_epilogue(const char* op, const Problem& problem, const Activation& activation, double alpha,
                                            int64_t channels) {
  const TensorType& y = problem.outputs[0].type;
  const Operand* residual = optional_operand(problem.inputs, 3);
  const TensorType* residual_type = residual ? &residual->type : nullptr;
  const bool per_channel = is_per_channel(y);
  INGOT_ASSIGN(const IntEpilogue e, make_int_epilogue(op, activation, residual_type, y, per_channel ? 0 : -1));
  LayerEpilogue layer;
  layer.result = result_limits(y, activation);
  layer.curved = e.form == IntEpilogue::Form::kCurved || !is_clamp(activation.function);
  if (layer.curved && is_byte(y.dtype)) {
    const QuantRange range = quant_range(y.dtype);
    layer.result.low = static_cast<float>(range.lo - e.zero_point);
    layer.result.high = static_cast<float>(range.hi - e.zero_point);
  }
  if (residual) {
    layer.residual_zero = e.residual_zero_point;
    layer.residual_multiplier = e.residual_multiplier;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const float s_x = scale_of(problem.inputs[0].type, c), s_w = scale_of(problem.inputs[1].type, c);
    float s_y = e.multiplier_scale();
    if (per_channel) {
      INGOT_ASSIGN(const IntEpilogue own, make_int_epilogue(op, activation, residual_type, y, c));
      s_y = own.multiplier_scale();
      layer.scale.push_back(own.scale);
      layer.zero.push_back(own.zero_point);
      layer.low.push_back(static_cast<float>(own.lo - own.zero_point));
      layer.high.push_back(static_cast<float>(own.hi - own.zero_point));
      layer.residual.push_back(own.residual_multiplier);
    }
    layer.multipliers.push_back(multiplier(s_x, s_w, s_y, alpha));
  }
  return layer;
}

}  // namespace ingot
