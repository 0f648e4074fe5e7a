// From the place of an element in a dense tensor to those of operands: Walk of indexed_params.h. Division of 64-bit numbers costs some 70
// instructions, so tensors that allow it are walked in 32 bits.
#pragma once

#include "runtime/cuda/indexed_params.h"
#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {

INGOT_DEVICE int64_t quotient(bool is_small, int64_t a, int64_t b) {
  return is_small ? static_cast<uint32_t>(a) / static_cast<uint32_t>(b) : a / b;
}

template <class Index, int N>
INGOT_DEVICE void walk_in(const Walk<N>& walk, Index at, int64_t (&offsets)[N]) {
#pragma unroll 1
  for (int d = walk.rank - 1; d >= 0; --d) {
    const Index dim = static_cast<Index>(walk.dims[d]), next = at / dim, place = at - next * dim;
#pragma unroll
    for (int i = 0; i < N; ++i) offsets[i] += static_cast<int64_t>(place) * walk.strides[i][d];
    at = next;
  }
}
template <int N>
INGOT_DEVICE void offsets_of(const Walk<N>& walk, int64_t at, int64_t (&offsets)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) offsets[i] = 0;
  if (walk.is_small) walk_in(walk, static_cast<uint32_t>(at), offsets);
  else walk_in(walk, at, offsets);
}

}  // namespace ingot::cuda
