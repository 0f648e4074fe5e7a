// Bias correction without clipping: b −= mean(W_q x_q − W clip(x)) per output channel.
// Rounding weights and activations shifts the mean of a layer's output; the clipping of activations does too, but that shift
// carries meaning in transformers and stays. Two ways to the mean: from both outputs, or, where no padding makes positions
// differ, from the means of both inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quant/weight_quantizer.h"

namespace ingot {

// Streams tensors [outer, channels, inner] and keeps the mean per channel, in double.
class ChannelMean {
 public:
  explicit ChannelMean(int64_t channels) : sums_(static_cast<size_t>(channels), 0.0) {}
  // x.size() = outer · channels · inner for some whole outer. Rows of a matmul: inner = 1.
  void add(std::span<const float> x, int64_t inner);
  // The mean of quantised − reference.
  void add_difference(std::span<const float> quantized, std::span<const float> reference, int64_t inner);
  int64_t positions() const { return positions_; }  // values seen per channel
  std::vector<double> mean() const;                 // zeros before anything is added

 private:
  template <class Value>
  void accumulate(size_t size, int64_t inner, Value value);
  std::vector<double> sums_;
  int64_t positions_ = 0;
};

// bias[c] −= shift[c]
void correct_bias(std::span<float> bias, std::span<const double> shift);

// mean(W_q x_q − W clip(x)) per output channel from input means, each [groups · inputs] (the mean is taken to be the same at
// every tap: exact for matmul and 1×1 layers, nearly so for large images without padding).
std::vector<double> shift_from_input_means(std::span<const float> weights, const QuantizedWeights& quantized,
                                           const WeightLayout& layout, int64_t groups, std::span<const double> mean_quantized,
                                           std::span<const double> mean_clipped);

}  // namespace ingot
