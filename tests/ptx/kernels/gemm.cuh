// C[M,N] = A[M,K] B[N,K]^T in tiles of 64 x 64: three stages of asynchronous copies into swizzled shared memory, matrix loads, tensor core,
// results through shared memory. kBug plants one fault (0: none); planted_bugs_test.cpp says which, and what must find it.
#pragma once

#include "device.cuh"

constexpr int kStages = 3, kRowBytes = 64, kStageBytes = 128 * kRowBytes, kPitch = 80;

template <bool kInteger>
struct Types {
  using Sum = int;
  using Out = signed char;
};
template <>
struct Types<false> {
  using Sum = float;
  using Out = __half;
};

// 16-byte pieces of a row are exchanged so that eight rows at one place of K lie in different banks.
template <int kBug>
DEV int swizzled(int row, int piece) {
  if (kBug == 5) return row * kRowBytes + piece * 16;
  return row * kRowBytes + ((piece ^ (row >> 1 & 3)) << 4);
}

// M, N any (N a multiple of 16 bytes), K a multiple of 16 bytes. 128 threads; shared memory: kStages * kStageBytes.
template <bool kInteger, int kBug>
DEV void gemm(const unsigned char* a, const unsigned char* b, typename Types<kInteger>::Out* c, int m, int n, int k, const float* scale, const float* bias) {
  using Out = typename Types<kInteger>::Out;
  extern __shared__ __align__(128) unsigned char shared[];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, warp_m = warp >> 1, warp_n = warp & 1;
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  const int row_bytes = k * static_cast<int>(kInteger ? 1 : 2), steps = (row_bytes + kRowBytes - 1) / kRowBytes;

  if (kBug == 25 && m0 + warp_m * 32 >= m) return;

  const auto load = [&](int step, int stage) {
    unsigned char* to_a = shared + stage * kStageBytes;
    unsigned char* to_b = to_a + 64 * kRowBytes;
    if (kBug == 19 && tid >= 96) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int piece = tid + i * 128, row = piece >> 2, at = piece & 3, offset = step * kRowBytes + at * 16;
      bool in_a = m0 + row < m && offset < row_bytes, in_b = n0 + row < n && offset < row_bytes;
      if (kBug == 7) in_a = m0 + row <= m && offset < row_bytes;
      if (kBug == 8) in_b = n0 + row < n;
      const size_t skew = kBug == 20 ? 4 : 0;
      const int bytes_a = kBug == 6 ? 16 : in_a ? 16 : 0;
      copy_async(to_a + swizzled<kBug>(row, at), in_a ? a + static_cast<size_t>(m0 + row) * row_bytes + offset + skew : a, bytes_a);
      copy_async(to_b + swizzled<kBug>(row, kBug == 4 ? at ^ 1 : at), in_b ? b + static_cast<size_t>(n0 + row) * row_bytes + offset : b, kBug == 6 ? 16 : in_b ? 16 : 0);
    }
  };

  typename Types<kInteger>::Sum sums[2][4][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) {
    if (s < (kBug == 22 ? 1 : steps)) load(s, s);
    if (!(kBug == 3 && s == 1)) close_copies();
  }
  for (int step = 0; step < steps; ++step) {
    if (kBug != 26) wait_for_copies<kBug == 2 ? kStages - 1 : kStages - 2>();
    if (kBug == 17) {
      if (m0 + warp_m * 32 < m) __syncthreads();
    } else if (kBug != 1) {
      __syncthreads();
    }
    const int next = step + kStages - 1;
    if (next < steps) load(next, (kBug == 9 ? next - 1 : next) % kStages);
    close_copies();
    const unsigned char* from_a = shared + ((kBug == 24 ? step + 1 : step) % kStages) * kStageBytes;
    const unsigned char* from_b = from_a + 64 * kRowBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned fragment_a[2][4], fragment_b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) load_matrices(fragment_a[i], from_a + swizzled<kBug>(warp_m * 32 + i * 16 + (lane & 15), half * 2 + (lane >> 4)));
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int high = kBug == 10 ? lane >> 3 & 1 : lane >> 4, piece = kBug == 10 ? lane >> 4 : lane >> 3 & 1;
        load_matrices(fragment_b[j], from_b + swizzled<kBug>(warp_n * 32 + j * 16 + high * 8 + (lane & 7), half * 2 + piece));
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int first = (j & 1) * 2;
          if (kBug == 21) multiply(sums[i][j], fragment_a[i], fragment_b[j >> 1][first + 1], fragment_b[j >> 1][first]);
          else multiply(sums[i][j], fragment_a[i], fragment_b[j >> 1][first], fragment_b[j >> 1][first + 1]);
        }
      }
    }
  }
  wait_for_copies<0>();
  if (kBug != 14) __syncthreads();

  Out* tile = reinterpret_cast<Out*>(shared);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = warp_m * 32 + i * 16 + (kBug == 12 ? (e & 1) * 8 : (e >> 1) * 8) + (lane >> 2);
        const int column = warp_n * 32 + j * 8 + (lane & 3) * 2 + (kBug == 12 ? e >> 1 : e & 1);
        if constexpr (kInteger) {
          float y = 0;
          if (n0 + column < n || kBug == 23) {
            const int channel = kBug == 23 ? m0 + row : n0 + column;
            y = fmaxf(fmaf(static_cast<float>(sums[i][j][e]), scale[channel], bias[channel]), kBug == 13 ? -128.0f : 0.0f);
          }
          tile[row * kPitch + column] = static_cast<signed char>(min(127, __float2int_rn(y)));
        } else {
          tile[row * kPitch + column] = __float2half_rn(sums[i][j][e]);
        }
      }
    }
  }
  if (kBug != 15) __syncthreads();
  constexpr int kEach = 16 / static_cast<int>(sizeof(Out)), kPieces = 64 / kEach;
#pragma unroll
  for (int i = 0; i < 64 * kPieces / 128; ++i) {
    const int piece = tid + i * 128, row = piece / kPieces, column = piece % kPieces * kEach;
    const bool inside = m0 + row < m && (kBug == 11 || n0 + column < n);
    if (!inside) continue;
    const size_t at = static_cast<size_t>(m0 + row) * n + n0 + column + (kBug == 16 ? 4 : 0);
    *reinterpret_cast<int4*>(c + at) = *reinterpret_cast<const int4*>(tile + row * (kBug == 18 ? kPitch - 2 : kPitch) + column);
  }
}
