// Arguments of the kernels that work along one axis; see kernel_params.h. Line l of `length` elements that lie `stride` apart starts
// at (l / stride)·length·stride + l % stride.
#pragma once

#include <cstdint>

namespace ingot::cuda {

struct ArgReduceParams {
  const void* x;
  int64_t* y;              // one for each line
  int64_t lines, length, stride;
  int32_t type;            // DataType
  int32_t largest, last;
};

struct TopKParams {
  const void* x;
  void* y;                 // lines of k, as far apart as x's
  int64_t* places;
  int64_t lines, length, stride, k;
  int32_t type, largest, element_bytes;
};

struct CumulateParams {
  const void* x;
  void* y;
  int64_t lines, length, stride;
  int32_t type;            // f32, s32 or s64
  int32_t product, exclusive, reverse;
};

}  // namespace ingot::cuda
