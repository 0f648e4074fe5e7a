// Sliding windows over channels-last bytes: where the taps of an output pixel lie. Shared by convolution, depthwise
// convolution and pooling; one-dimensional problems have a height of 1.
#pragma once

#include <cstdint>

#include "runtime/ops/conv.h"

namespace ingot::cpu {

inline constexpr int kMaxWindowPixels = 8;

// What does not depend on a run's shapes.
struct TapWindow {
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t taps() const { return kernel_h * kernel_w; }
};
TapWindow tap_window_of(int spatial, std::span<const int64_t> kernel, const std::vector<int64_t>& strides,
                        const std::vector<int64_t>& dilations);

// One run. Pads are those at the begin.
struct TapImage {
  int64_t batch = 0, in_h = 1, in_w = 1, out_h = 1, out_w = 1, pad_h = 0, pad_w = 0;
  int64_t pixels() const { return batch * out_h * out_w; }
};
TapImage tap_image_of(const Shape& x, const Shape& y, PadPair pad_h, PadPair pad_w);

// table[tap · count + i] = address of that tap of output pixel `pixel` + i, or `padding` where it falls outside.
// count ≤ kMaxWindowPixels.
void find_taps(const TapWindow& window, const TapImage& image, int64_t pixel_bytes, const uint8_t* x, const uint8_t* padding,
               int64_t pixel, int64_t count, const uint8_t** table);

}  // namespace ingot::cpu
