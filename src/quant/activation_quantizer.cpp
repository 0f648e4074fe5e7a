// Scales are formed in double and rounded once.
#include "quant/activation_quantizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

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
    for (size_t i = 0; i < x.size(); ++i) clipped[i] = std::isnan(x[i]) ? 0.0f : std::min(std::max(x[i], low), high);
  if (!quantized.empty())
    for (size_t i = 0; i < x.size(); ++i)
      quantized[i] = dequantize_value(quantize_value(x[i], quant.scale, quant.zero_point, quant.lo, quant.hi),
                                      quant.scale, quant.zero_point);
}

}  // namespace ingot
