// Arguments of the kernel that reduces any type; see kernel_params.h.
#pragma once

#include "runtime/cuda/indexed_params.h"

namespace ingot::cuda {

struct ReduceTyped {       // a block for 32 results
  const void* x;
  void* y;
  int64_t results, set_size;
  int32_t function, type;  // ReduceFunction; DataType: f32, s32, s64, and quantised u8 and s8
  Walk<1> kept;            // of y, with x's strides
  int32_t reduced_rank;
  int64_t reduced_dims[kWalkDims], reduced_strides[kWalkDims];
  int32_t x_zero, y_zero;  // bytes: y = clamp(rne(float(a) · factor)) + y_zero
  float factor, low, high;
};

}  // namespace ingot::cuda
