// The smallest scale that keeps all limits is found by bisection over float32 bit patterns: w / s falls as s grows, so does
// its rounding, hence the scales that keep the limits are exactly those from some smallest one up.
#include "quant/weight_quantizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "quant/activation_quantizer.h"
#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

constexpr int32_t kLimit = 127;

// Magnitudes of a same-signed pair; a weight without such a partner has b = 0.
struct Pair {
  float a, b;
};

int32_t rounded(float magnitude, float scale) { return round_clamp(magnitude / scale, 0, -1024, 1024); }

bool keeps_limits(std::span<const Pair> pairs, float scale, int32_t pair_limit) {
  for (const Pair& pair : pairs) {
    const int32_t a = rounded(pair.a, scale), b = rounded(pair.b, scale);
    if (a > kLimit || b > kLimit || a + b > pair_limit) return false;
  }
  return true;
}

// Collects the pairs of one channel.
void collect_pairs(std::span<const float> weights, const WeightLayout& layout, int64_t channel, std::vector<Pair>& pairs) {
  pairs.clear();
  const float* base = weights.data() + layout.offset(channel);
  for (int64_t tap = 0; tap < layout.taps; ++tap) {
    for (int64_t i = 0; i < layout.inputs; i += 2) {
      const float a = base[i * layout.input_stride + tap * layout.tap_stride];
      const float b = i + 1 < layout.inputs ? base[(i + 1) * layout.input_stride + tap * layout.tap_stride] : 0.0f;
      if ((a < 0) == (b < 0)) {
        pairs.push_back({std::abs(a), std::abs(b)});
      } else {
        pairs.push_back({std::abs(a), 0});
        pairs.push_back({std::abs(b), 0});
      }
    }
  }
}

float smallest_scale(std::vector<Pair>& pairs, int32_t pair_limit) {
  // Below `low` some limit breaks whatever the rounding, since it moves each value by half a step at most; from `high` up
  // every limit holds. Only pairs that could break between the two take part in the bisection.
  const auto need = [&](const Pair& p, double slack) {
    const double sum = static_cast<double>(p.a) + static_cast<double>(p.b);
    return std::max(std::max(p.a, p.b) / (kLimit + slack), sum / (pair_limit + 2 * slack));
  };
  double least = 0, enough = 0;
  for (const Pair& pair : pairs) {
    least = std::max(least, need(pair, 0.5));
    enough = std::max(enough, need(pair, -0.5));
  }
  std::erase_if(pairs, [&](const Pair& pair) { return need(pair, -0.5) < least * (1 - 1e-6); });
  uint32_t low = std::bit_cast<uint32_t>(static_cast<float>(least * (1 - 1e-6)));
  uint32_t high = std::bit_cast<uint32_t>(static_cast<float>(enough * (1 + 1e-6)));
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (keeps_limits(pairs, std::bit_cast<float>(middle), pair_limit)) high = middle; else low = middle + 1;
  }
  return std::bit_cast<float>(high);
}

WeightLayout ungrouped(WeightLayout layout) {
  layout.per_group = std::max<int64_t>(layout.channels, 1);
  return layout;
}

int64_t kernel_taps(const Shape& shape) {
  int64_t taps = 1;
  for (int i = 2; i < shape.rank; ++i) taps *= shape[i];
  return taps;
}

Status size_error(std::string what, size_t got, int64_t need) {
  return {StatusCode::kInvalidArgument,
          "quantize_weights: wrong number of " + what + ": got " + std::to_string(got) + ", need " + std::to_string(need)};
}

}  // namespace

WeightLayout WeightLayout::conv(const Shape& shape) {
  const int64_t taps = kernel_taps(shape);
  return ungrouped({.channels = shape[0], .inputs = shape[1], .taps = taps,
                    .channel_stride = shape[1] * taps, .input_stride = taps, .tap_stride = 1});
}

WeightLayout WeightLayout::conv_transpose(const Shape& shape, int64_t groups) {
  const int64_t taps = kernel_taps(shape), inputs = shape[0] / groups;
  return {.channels = shape[1] * groups, .inputs = inputs, .taps = taps,
          .channel_stride = taps, .input_stride = shape[1] * taps, .tap_stride = 1,
          .per_group = std::max<int64_t>(shape[1], 1), .group_stride = inputs * shape[1] * taps};
}

WeightLayout WeightLayout::matmul_kn(int64_t k, int64_t n) {
  return ungrouped({.channels = n, .inputs = k, .channel_stride = 1, .input_stride = n});
}

WeightLayout WeightLayout::matmul_nk(int64_t n, int64_t k) {
  return ungrouped({.channels = n, .inputs = k, .channel_stride = k, .input_stride = 1});
}

Expected<QuantizedWeights> quantize_weights(std::span<const float> weights, const WeightLayout& layout,
                                            const WeightQuantOptions& options) {
  if (static_cast<int64_t>(weights.size()) != layout.elements()) return size_error("weights", weights.size(), layout.elements());
  if (!options.min_scales.empty() && static_cast<int64_t>(options.min_scales.size()) != layout.channels)
    return size_error("least scales", options.min_scales.size(), layout.channels);

  const size_t channels = static_cast<size_t>(layout.channels);
  QuantizedWeights result;
  result.values.resize(weights.size());
  result.scales.resize(channels);
  result.sums.resize(channels);
  result.magnitudes.resize(channels);
  std::vector<Pair> pairs;
  for (int64_t channel = 0; channel < layout.channels; ++channel) {
    const float* base = weights.data() + layout.offset(channel);
    int8_t* out = result.values.data() + layout.offset(channel);
    const auto each = [&](auto&& visit) {
      for (int64_t i = 0; i < layout.inputs; ++i)
        for (int64_t tap = 0; tap < layout.taps; ++tap) visit(i * layout.input_stride + tap * layout.tap_stride);
    };
    float largest = 0;
    bool finite = true;
    each([&](int64_t at) {
      finite = finite && std::isfinite(base[at]);
      largest = std::max(largest, std::abs(base[at]));
    });
    if (!finite)
      return Status(StatusCode::kInvalidModel, "quantize_weights: channel " + std::to_string(channel) +
                                                   ": weight is not finite: got inf or nan, need a number");

    float scale = 0;
    if (largest > 0 && options.pair_limit > 0 && layout.inputs > 1) {
      collect_pairs(weights, layout, channel, pairs);
      scale = smallest_scale(pairs, options.pair_limit);
    } else {
      scale = static_cast<float>(static_cast<double>(largest) / kLimit);
    }
    const float floor = options.min_scales.empty() ? 0.0f : options.min_scales[static_cast<size_t>(channel)];
    if (largest == 0 && !(floor > 0)) scale = 1;
    scale = std::max({scale, floor, kMinScale});

    int64_t sum = 0, magnitude = 0;
    each([&](int64_t at) {
      const int32_t q = quantize_value(base[at], scale, 0, -kLimit, kLimit);
      out[at] = static_cast<int8_t>(q);
      sum += q;
      magnitude += std::abs(q);
    });
    result.scales[static_cast<size_t>(channel)] = scale;
    result.sums[static_cast<size_t>(channel)] = static_cast<int32_t>(
        std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
    result.magnitudes[static_cast<size_t>(channel)] = magnitude;
  }
  return result;
}

float bias_scale_floor(float bias, float input_scale) {
  const double floor = std::abs(static_cast<double>(bias)) / static_cast<double>(input_scale) * 0x1p-30;
  if (!(floor > 0) || !std::isfinite(floor)) return 0;
  return std::nextafter(static_cast<float>(floor), std::numeric_limits<float>::infinity());
}

std::vector<int32_t> quantize_bias(std::span<const float> bias, std::span<const float> input_scales,
                                   std::span<const float> weight_scales) {
  std::vector<int32_t> result(bias.size());
  for (size_t c = 0; c < bias.size(); ++c) {
    const double steps = static_cast<double>(bias[c]) /
                         (static_cast<double>(input_scales[input_scales.size() == 1 ? 0 : c]) * static_cast<double>(weight_scales[c]));
    if (!std::isnan(steps)) result[c] = static_cast<int32_t>(std::clamp(std::nearbyint(steps), -0x1p31, 0x1p31 - 1));
  }
  return result;
}

std::vector<bool> prove_no_overflow(std::span<const int64_t> weight_magnitudes, std::span<const int32_t> bias,
                                    int32_t max_input_magnitude) {
  std::vector<bool> proved(weight_magnitudes.size());
  for (size_t c = 0; c < weight_magnitudes.size(); ++c) {
    const int64_t b = bias.empty() ? 0 : std::abs(static_cast<int64_t>(bias[c]));
    int64_t bound = 0;
    proved[c] = !__builtin_mul_overflow(weight_magnitudes[c], static_cast<int64_t>(max_input_magnitude), &bound) &&
                bound < (int64_t{1} << 31) - b;
  }
  return proved;
}

bool keeps_pair_limit(std::span<const int8_t> weights, const WeightLayout& layout, int32_t pair_limit) {
  for (int64_t channel = 0; channel < layout.channels; ++channel) {
    const int8_t* base = weights.data() + layout.offset(channel);
    for (int64_t tap = 0; tap < layout.taps; ++tap) {
      for (int64_t i = 0; i + 1 < layout.inputs; i += 2) {
        const int32_t a = base[i * layout.input_stride + tap * layout.tap_stride];
        const int32_t b = base[(i + 1) * layout.input_stride + tap * layout.tap_stride];
        if ((a < 0) == (b < 0) && std::abs(a + b) > pair_limit) return false;
      }
    }
  }
  return true;
}

}  // namespace ingot
