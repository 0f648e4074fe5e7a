// Sums in double: 10,000 batches of a large map are far beyond what float32 can add up.
#include "quant/bias_correction.h"

namespace ingot {

template <class Value>
void ChannelMean::accumulate(size_t size, int64_t inner, Value value) {
  const int64_t channels = static_cast<int64_t>(sums_.size());
  if (channels == 0 || inner <= 0) return;
  const int64_t outer = static_cast<int64_t>(size) / (channels * inner);
  size_t at = 0;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < inner; ++i) sum += value(at++);
      sums_[static_cast<size_t>(c)] += sum;
    }
  }
  positions_ += outer * inner;
}

void ChannelMean::add(std::span<const float> x, int64_t inner) {
  accumulate(x.size(), inner, [&](size_t i) { return static_cast<double>(x[i]); });
}

void ChannelMean::add_difference(std::span<const float> quantized, std::span<const float> reference, int64_t inner) {
  accumulate(quantized.size(), inner,
             [&](size_t i) { return static_cast<double>(quantized[i]) - static_cast<double>(reference[i]); });
}

std::vector<double> ChannelMean::mean() const {
  std::vector<double> result = sums_;
  if (positions_ > 0)
    for (double& value : result) value /= static_cast<double>(positions_);
  return result;
}

void correct_bias(std::span<float> bias, std::span<const double> shift) {
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = static_cast<float>(static_cast<double>(bias[c]) - shift[c]);
}

std::vector<double> shift_from_input_means(std::span<const float> weights, const QuantizedWeights& quantized,
                                           const WeightLayout& layout, int64_t groups, std::span<const double> mean_quantized,
                                           std::span<const double> mean_clipped) {
  std::vector<double> shift(static_cast<size_t>(layout.channels), 0.0);
  const int64_t per_group = layout.channels / groups;
  for (int64_t c = 0; c < layout.channels; ++c) {
    const int64_t base = layout.offset(c), first_input = c / per_group * layout.inputs;
    const double scale = quantized.scales[static_cast<size_t>(c)];
    for (int64_t i = 0; i < layout.inputs; ++i) {
      double w = 0, q = 0;
      for (int64_t tap = 0; tap < layout.taps; ++tap) {
        const size_t at = static_cast<size_t>(base + i * layout.input_stride + tap * layout.tap_stride);
        w += static_cast<double>(weights[at]);
        q += quantized.values[at];
      }
      const size_t input = static_cast<size_t>(first_input + i);
      shift[static_cast<size_t>(c)] += q * scale * mean_quantized[input] - w * mean_clipped[input];
    }
  }
  return shift;
}

}  // namespace ingot
