// Arguments of the attention kernels in half precision; see kernel_params.h.
#pragma once

#include <cstdint>

namespace ingot::cuda {

// q, k and v to halves, one grid row each: dense rows of `padded` halves, zeros behind a row's last channel. A thread makes 4, or 8 where
// channels are not the dense dim.
struct AttentionHalves {
  struct Part {
    const float* x;
    void* y;
    int64_t rows, plane;   // rows of one head
    int64_t head_stride, row_stride, channel_stride;  // of x
    int32_t channels;
  } parts[3];
  int32_t padded;
};

// y = softmax(scale · q kᵀ + mask) v over halves with float sums; one block for 64 queries of a head.
struct AttentionF16 {
  const void *q, *k, *v;   // [B·H][rows][padded]
  const float* mask;
  float* y;                // [B·H][queries][values]
  int64_t mask_strides[3]; // of b, h, s; 0 where broadcast
  int32_t mask_step;       // from key to key: 1, or 0
  int32_t heads, queries, keys, values, tiles;  // tiles of 64 queries in a head
  float scale;
};

}  // namespace ingot::cuda
