// Range of an activation → scale and zero point: u8 with 0 exactly representable, or symmetric s8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingot/calibrator.h"
#include "ingot/types.h"

namespace ingot {

// q = clamp(rne(x / scale) + zero_point, lo, hi)
struct ActivationQuant {
  DataType dtype = DataType::kU8;
  float scale = 1;
  int32_t zero_point = 0;
  int32_t lo = 0, hi = 255;

  QuantParams params() const { return {{scale}, {zero_point}, -1, false}; }
  int32_t max_magnitude() const { return hi - zero_point > zero_point - lo ? hi - zero_point : zero_point - lo; }  // of q − z
  float low() const { return scale * static_cast<float>(lo - zero_point); }  // the reals at both ends
  float high() const { return scale * static_cast<float>(hi - zero_point); }
  bool operator==(const ActivationQuant&) const = default;
};

// Below this a scale's products and quotients would leave float32.
inline constexpr float kMinScale = 0x1p-100f;

// Asymmetric, q in [0, levels], 1 ≤ levels ≤ 255; z = 0 where nothing is negative. A range that is empty, not finite or
// does not hold 0 is repaired to the nearest that does; [0, 0] gives scale 1.
ActivationQuant quantize_range_u8(const CalibrationRange& range, int32_t levels = 255);
// By the observed ends of each channel; a channel that stays below 1/64 of the tensor's largest magnitude is widened to that,
// so that hardly used ones keep scales of a sane size. Empty if the range has no channels.
std::vector<ActivationQuant> quantize_channels_u8(const CalibrationRange& range);
QuantParams channel_params(std::span<const ActivationQuant> channels);  // along dim 1
// Symmetric, q in [−127, 127], z = 0.
ActivationQuant quantize_range_s8(const CalibrationRange& range);

// The two views of an activation that bias correction compares: what the range keeps, and what the integers keep of that.
// `clipped` and `quantized` are as long as x, or empty if not wanted.
void fake_quantize(std::span<const float> x, const ActivationQuant& quant, std::span<float> clipped,
                   std::span<float> quantized);
// The same for [outer, channels, inner], each channel by its own scale; both views are wanted.
void fake_quantize_channels(std::span<const float> x, std::span<const ActivationQuant> channels, int64_t inner,
                            std::span<float> clipped, std::span<float> quantized);

}  // namespace ingot
