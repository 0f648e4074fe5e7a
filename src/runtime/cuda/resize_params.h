// Arguments of the resize kernels; see kernel_params.h.
#pragma once

#include <cstdint>

#include "runtime/ops/resize_taps.h"

namespace ingot::cuda {

inline constexpr int kResizeDims = 5;  // at most that many are sampled between elements

// One thread for each result. Dims whose index stays as it is ("kept") are merged; the others are "sampled".
struct ResizeParams {
  const void* x;
  void* y;
  int64_t elements;
  ResizeFilter filter;
  ResizeNearest nearest;
  int32_t kept, sampled;
  int64_t kept_dims[8], kept_x_strides[8], kept_y_strides[8];
  ResizeDim dims[kResizeDims];  // in the order of the model: the last one is summed innermost
  int64_t x_strides[kResizeDims], y_strides[kResizeDims];
  int32_t element_bytes;        // nearest: 1, 2, 4 or 8
  uint64_t outside;             // nearest: the element where the position is outside
  float extrapolation;          // linear and cubic
  int32_t is_byte, is_signed;   // linear and cubic: quantised, else f32
  float x_scale, y_scale, low, high;
  int32_t x_zero, y_zero;
};

}  // namespace ingot::cuda
