// Resampling: nearest moves elements of any type; linear and cubic weigh neighbours of f32 or quantised bytes, in the order and the
// float32 operations of runtime/ops/resize_taps.h, so that results are the reference's to the bit. One thread for each result.
#include "runtime/cuda/kernels/walk.cuh"
#include "runtime/cuda/resize_params.h"

namespace ingot::cuda {
namespace {

INGOT_DEVICE int64_t index_along(const ResizeParams& p, int64_t at, int64_t stride, int64_t dim) {
  const bool is_small = p.elements <= INT32_MAX;
  const int64_t row = quotient(is_small, at, stride);
  return row - quotient(is_small, row, dim) * dim;
}

INGOT_DEVICE int64_t kept_offset(const ResizeParams& p, int64_t at) {
  int64_t offset = 0;
#pragma unroll 1
  for (int d = 0; d < p.kept; ++d) offset += index_along(p, at, p.kept_y_strides[d], p.kept_dims[d]) * p.kept_x_strides[d];
  return offset;
}

template <class T>
INGOT_DEVICE void sample_nearest(const ResizeParams& p, int64_t at) {
  int64_t from = kept_offset(p, at);
  bool outside = false;
#pragma unroll 1
  for (int d = 0; d < p.sampled; ++d) {
    float position = 0;
    if (resize_position(p.filter.coordinates, p.dims[d], index_along(p, at, p.y_strides[d], p.dims[d].out), position))
      from += nearest_index(p.nearest, p.dims[d], position) * p.x_strides[d];
    else
      outside = true;
  }
  static_cast<T*>(p.y)[at] = outside ? static_cast<T>(p.outside) : static_cast<const T*>(p.x)[from];
}

INGOT_DEVICE float load(const ResizeParams& p, int64_t at) {
  if (!p.is_byte) return static_cast<const float*>(p.x)[at];
  return __fmul_rn(p.x_scale, static_cast<float>(widen(static_cast<const uint8_t*>(p.x)[at], p.is_signed) - p.x_zero));
}

// Σ over the taps of dims kAt … kCount − 1, the last one innermost; taps of weight 0 are left out.
template <int kAt, int kCount>
INGOT_DEVICE float weigh(const ResizeParams& p, const ResizeTaps (&taps)[kCount], int64_t offset) {
  if constexpr (kAt == kCount) {
    return load(p, offset);
  } else {
    if (taps[kAt].first == taps[kAt].last) return weigh<kAt + 1, kCount>(p, taps, offset + taps[kAt].first * p.x_strides[kAt]);
    float sum = 0;
#pragma unroll 1
    for (int64_t k = taps[kAt].first; k <= taps[kAt].last; ++k) {
      const float weight = taps[kAt].weight(k);
      if (weight != 0) sum = __fadd_rn(sum, __fmul_rn(weight, weigh<kAt + 1, kCount>(p, taps, offset + taps[kAt].source(k) * p.x_strides[kAt])));
    }
    return sum;
  }
}

template <int kCount>
INGOT_DEVICE void sample_between(const ResizeParams& p, int64_t at) {
  ResizeTaps taps[kCount];
  bool outside = false;
#pragma unroll
  for (int d = 0; d < kCount; ++d) {
    taps[d].set(p.filter, p.dims[d], index_along(p, at, p.y_strides[d], p.dims[d].out));
    outside = outside || taps[d].outside;
  }
  const float value = outside ? p.extrapolation : weigh<0, kCount>(p, taps, kept_offset(p, at));
  if (p.is_byte)
    static_cast<uint8_t*>(p.y)[at] = static_cast<uint8_t>(round_to_byte(__fdiv_rn(value, p.y_scale), p.low, p.high, p.y_zero));
  else
    static_cast<float*>(p.y)[at] = value;
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) resize_nearest(const __grid_constant__ ingot::cuda::ResizeParams p) {
  using namespace ingot::cuda;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  switch (p.element_bytes) {
    case 1: return sample_nearest<uint8_t>(p, at);
    case 2: return sample_nearest<uint16_t>(p, at);
    case 4: return sample_nearest<uint32_t>(p, at);
    default: return sample_nearest<uint64_t>(p, at);
  }
}

// resize_between_<sampled dims>
#define INGOT_RESIZE(count)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(256) resize_between_##count(const __grid_constant__ ingot::cuda::ResizeParams p) {         \
    const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;                                                      \
    if (at < p.elements) ingot::cuda::sample_between<count>(p, at);                                                                      \
  }
INGOT_RESIZE(1)
INGOT_RESIZE(2)
INGOT_RESIZE(3)
INGOT_RESIZE(4)
INGOT_RESIZE(5)
