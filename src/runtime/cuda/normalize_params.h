// Arguments of the kernels that normalise f32 along channels; see kernel_params.h.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// Instance and group norm: of each image, statistics over `group` neighbouring channels and all pixels.
struct GroupNormF32 {
  const float *x, *scale, *bias;  // scale and bias per channel
  float* y;
  int64_t pixels;
  int32_t channels, group, together, units;  // together: groups of one block; units: blocks of one image
  int32_t channels_last;
  double epsilon;
};

struct BatchNormF32 {             // one thread for each result
  const float *x, *scale, *shift, *mean, *variance;
  float* y;
  int64_t elements, pixels;
  int32_t channels, channels_last;
  double epsilon;
};

// Softmax over lines that lie side by side, one thread for each: see RowsF32.
struct LinesF32 {
  const float* x;
  float* y;
  int64_t lines, length, stride;
  int32_t log;
};

}  // namespace ingot::cuda
