// Arguments of the kernels that read pictures at fractional places; see kernel_params.h. f32; x and y in any layout by their strides.
#pragma once

#include <cstdint>

namespace ingot::cuda {

struct GridSampleF32 {     // one thread for each result, in the order [n][place][channel] or [n][channel][place]
  const float *x, *grid;
  float* y;
  int64_t elements, places;
  int32_t channels, dims, y_channels_last;
  int32_t padding, align_corners;  // GridSamplePadding
  int64_t size[3];         // of x: depth (1 for pictures), height, width
  int64_t x_image, x_channel, x_pixel;  // strides
};

struct RoiAlignF32 {       // one thread for each result
  const float *x, *boxes;
  const void* batches;
  float* y;
  int64_t elements, batch, height, width, x_image, x_channel, x_pixel;
  int32_t channels, y_channels_last, cells_high, cells_wide;
  int32_t wide_indices, max, half_pixel, sampling_ratio;
  double spatial_scale;
};

}  // namespace ingot::cuda
