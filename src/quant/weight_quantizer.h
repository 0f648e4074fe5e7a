// Float weights → s8 in [−127, 127], symmetric, one scale per output channel; bias → s32; and the overflow proof.
// Pair-limited (the default): |q₀ + q₁| ≤ 128 for every same-signed pair of input channels (2i, 2i+1) at one tap, so that a
// product sum of two full 8-bit activations (255 · 128 < 2¹⁵) never saturates in 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "ingot/types.h"

namespace ingot {

// Where weight (output channel c, input i, tap t) lies:
//   (c / per_group) · group_stride + (c mod per_group) · channel_stride + i · input_stride + t · tap_stride
struct WeightLayout {
  int64_t channels = 0, inputs = 0, taps = 1;
  int64_t channel_stride = 0, input_stride = 0, tap_stride = 0;
  int64_t per_group = 0, group_stride = 0;

  int64_t offset(int64_t channel) const {
    return channel / per_group * group_stride + channel % per_group * channel_stride;
  }
  int64_t elements() const { return channels * inputs * taps; }

  static WeightLayout conv(const Shape& shape);                              // [O, C/g, kernel…]
  static WeightLayout conv_transpose(const Shape& shape, int64_t groups);    // [C, O/g, kernel…]
  static WeightLayout matmul_kn(int64_t k, int64_t n);                       // [K, N]
  static WeightLayout matmul_nk(int64_t n, int64_t k);                       // [N, K]
};

struct WeightQuantOptions {
  // Largest |q₀ + q₁| of a same-signed pair; 0: no pair limit. A layer with one input per channel has no pairs.
  int32_t pair_limit = 128;
  // Empty, or the least scale of each channel (see bias_scale_floor).
  std::span<const float> min_scales = {};
};
// The pair limit for activations of that many levels above 0: 255 → 128, 191 → 171.
constexpr int32_t pair_limit_for_levels(int32_t levels) { return 32767 / levels; }

struct QuantizedWeights {
  std::vector<int8_t> values;         // laid out as the floats were
  std::vector<float> scales;          // per output channel
  std::vector<int32_t> sums;          // Σ q per output channel: what a zero point multiplies
  std::vector<int64_t> magnitudes;    // Σ |q| per output channel: for the overflow proof
};

// Pair-limited scales are the smallest float32 for which rne(w / scale) keeps both limits; plain ones are max|w| / 127.
// An all-zero channel takes its least scale, or 1. Fails on a weight that is not finite or sizes that do not match.
Expected<QuantizedWeights> quantize_weights(std::span<const float> weights, const WeightLayout& layout,
                                            const WeightQuantOptions& options = {});

// The smallest weight scale at which this bias stays within ±2³⁰ steps of s_x · s_w: a channel whose weights are zero or
// tiny beside its bias would overflow or lose it.
float bias_scale_floor(float bias, float input_scale);

// rne(bias / (s_x · s_w)) in double, saturated to int32; NaN gives 0. One input scale for all, or one per channel.
std::vector<int32_t> quantize_bias(std::span<const float> bias, std::span<const float> input_scales,
                                   std::span<const float> weight_scales);
inline std::vector<int32_t> quantize_bias(std::span<const float> bias, float input_scale, std::span<const float> weight_scales) {
  return quantize_bias(bias, std::span(&input_scale, 1), weight_scales);
}

// Per channel: Σ|w| · max|x − z| + |b| < 2³¹, hence int32 cannot overflow in whatever order it sums. `bias` may be empty.
std::vector<bool> prove_no_overflow(std::span<const int64_t> weight_magnitudes, std::span<const int32_t> bias,
                                    int32_t max_input_magnitude);

// Whether quantised weights keep the pair limit: imported models need not.
bool keeps_pair_limit(std::span<const int8_t> weights, const WeightLayout& layout, int32_t pair_limit = 128);

}  // namespace ingot
