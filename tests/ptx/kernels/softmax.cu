// Softmax of rows, one block a row: maxima and sums by shuffles within warps and through shared memory between them. kBug plants a fault.
#include "device.cuh"

template <bool kMax, int kBug>
DEV float across_warp(float x) {
  const unsigned mask = kBug == 3 ? 0x0000ffffu : 0xffffffffu;
#pragma unroll
  for (int offset = kBug == 6 ? 8 : 16; offset; offset >>= 1) {
    const float y = __shfl_xor_sync(mask, x, offset);
    x = kMax ? fmaxf(x, y) : x + y;
  }
  return x;
}

template <bool kMax, int kBug>
DEV float across_block(float x, float* parts) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  if (kBug == 9 && lane >= 20 && warp == 1) return x;
  x = across_warp<kMax, kBug>(x);
  if (kBug != 2) __syncthreads();  // the last use of `parts` is over
  if (lane == 0 || kBug == 10) parts[warp] = kBug == 10 ? x + static_cast<float>(lane) : x;
  if (kBug != 1) __syncthreads();
  const bool mine = kBug == 7 ? true : lane < warps;
  x = mine ? parts[lane] : (kMax ? -3.4e38f : 0.0f);
  if (kBug == 4) {
    if (lane < warps) x = across_warp<kMax, 0>(x);
    return __shfl_sync(0xffffffffu, x, 0);
  }
  return across_warp<kMax, kBug>(x);
}

// rows x columns floats; blockDim.x a multiple of 32.
template <int kBug>
DEV void softmax(const float* in, float* out, int columns) {
  __shared__ float parts[32];
  const float* row = in + static_cast<size_t>(blockIdx.x) * columns;
  float* to = out + static_cast<size_t>(blockIdx.x) * columns;
  const int end = kBug == 5 ? columns + 1 : columns;
  float most = -3.4e38f;
  if (kBug == 8) {
    for (int c = threadIdx.x * 4; c + 3 < columns; c += blockDim.x * 4) {
      const float4 x = *reinterpret_cast<const float4*>(row + c);
      most = fmaxf(fmaxf(most, fmaxf(x.x, x.y)), fmaxf(x.z, x.w));
    }
  } else {
    for (int c = threadIdx.x; c < end; c += blockDim.x) most = fmaxf(most, row[c]);
  }
  most = across_block<true, kBug>(most, parts);
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += __expf(row[c] - most);
  sum = across_block<false, kBug>(sum, parts);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) to[kBug == 11 ? c + 1 : c] = __expf(row[c] - most) / sum;
}

#define VARIANT(bug) \
  extern "C" __global__ void __launch_bounds__(256) softmax_##bug(const float* in, float* out, int columns) { softmax<bug>(in, out, columns); }
VARIANT(0) VARIANT(1) VARIANT(2) VARIANT(3) VARIANT(4) VARIANT(5) VARIANT(6) VARIANT(7) VARIANT(8) VARIANT(9) VARIANT(10) VARIANT(11)
