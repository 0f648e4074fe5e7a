// Scales are formed in double and rounded once.
#include "quant/activation_quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

float clip(float x, float low, float high) { return std::isnan(x) ? 0.0f : std::min(std::max(x, low), high); }
float there_and_back(float x, const ActivationQuant& quant) {
  return dequantize_value(quantize_value(x, quant.scale, quant.zero_point, quant.lo, quant.hi), quant.scale, quant.zero_point);
}

double repaired(float x) { return std::isnan(x) ? 0.0 : std::clamp(static_cast<double>(x), -kLargest, kLargest); }

}  // namespace

ActivationQuant quantize_range_u8(const CalibrationRange& range, int32_t levels) {
  levels = std::clamp(levels, 1, 255);
  const double low = std::min(repaired(range.low), 0.0), high = std::max(repaired(range.high), 0.0);
  ActivationQuant quant;
  quant.hi = levels;
  if (low == 0 && high == 0) return quant;
  quant.scale = std::max(static_cast<float>((high - low) / levels), kMinScale);
  quant.zero_point = std::clamp(static_cast<int32_t>(std::nearbyint(-low / quant.scale)), 0, levels);
  return quant;
}

std::vector<ActivationQuant> quantize_channels_u8(const CalibrationRange& range) {
  std::vector<ActivationQuant> quants;
  if (range.channel_low.size() != range.channel_high.size()) return quants;
  const auto least = static_cast<float>(std::max(std::abs(repaired(range.low)), std::abs(repaired(range.high))) / 64);
  for (size_t c = 0; c < range.channel_low.size(); ++c) {
    CalibrationRange channel{std::min(range.channel_low[c], 0.0f), std::max(range.channel_high[c], 0.0f)};
    if (std::max(-channel.low, channel.high) < least) {
      if (-channel.low > channel.high) channel.low = -least;
      else channel.high = least;
    }
    quants.push_back(quantize_range_u8(channel));
  }
  return quants;
}

QuantParams channel_params(std::span<const ActivationQuant> channels) {
  QuantParams params;
  params.axis = 1;
  for (const ActivationQuant& channel : channels) {
    params.scales.push_back(channel.scale);
    params.zero_points.push_back(channel.zero_point);
  }
  return params;
}

ActivationQuant quantize_range_s8(const CalibrationRange& range) {
  const double largest = std::max(std::abs(repaired(range.low)), std::abs(repaired(range.high)));
  ActivationQuant quant{.dtype = DataType::kS8, .lo = -127, .hi = 127};
  if (largest > 0) quant.scale = std::max(static_cast<float>(largest / 127), kMinScale);
  return quant;
}

void fake_quantize(std::span<const float> x, const ActivationQuant& quant, std::span<float> clipped,
                   std::span<float> quantized) {
  const float low = quant.low(), high = quant.high();
  if (!clipped.empty())
    for (size_t i = 0; i < x.size(); ++i) clipped[i] = clip(x[i], low, high);
  if (!quantized.empty())
    for (size_t i = 0; i < x.size(); ++i) quantized[i] = there_and_back(x[i], quant);
}

void fake_quantize_channels(std::span<const float> x, std::span<const ActivationQuant> channels, int64_t inner,
                            std::span<float> clipped, std::span<float> quantized) {
  for (size_t i = 0, c = 0; i < x.size(); c = c + 1 == channels.size() ? 0 : c + 1) {
    const ActivationQuant& quant = channels[c];
    const float low = quant.low(), high = quant.high();
    for (const size_t end = i + static_cast<size_t>(inner); i < end; ++i) {
      clipped[i] = clip(x[i], low, high);
      quantized[i] = there_and_back(x[i], quant);
    }
  }
}

}  // namespace ingot
