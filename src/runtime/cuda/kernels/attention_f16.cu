// Attention in half precision on Tensor Cores. A warp keeps 16 queries and their sums in registers while tiles of 32 or 64 keys and values pass
// through shared memory, two in flight; the largest score so far is corrected as tiles pass (online softmax), so scores never leave
// registers. Sums, maxima and weights are f32; weights are rounded to halves for their product with v.
#include <cuda_fp16.h>

#include "runtime/cuda/attention_params.h"
#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

constexpr int kStages = 2, kThreads = 128;
constexpr float kLog2E = 1.4426950408889634f;

INGOT_DEVICE float power_of_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}
INGOT_DEVICE uint32_t two_halves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
// As load_matrices(), each matrix turned.
INGOT_DEVICE void load_turned_matrices(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
// Of a chunk of 8 halves in a tile with rows of kDepth: 8 neighbouring rows of a chunk lie in different banks.
template <int kDepth>
INGOT_DEVICE int chunk_offset(int row, int chunk) {
  return row * kDepth * 2 + ((chunk ^ (kDepth == 32 ? (row >> 1) & 3 : row & 7)) << 4);
}
// The largest, and the sum, over the four lanes that hold a row.
INGOT_DEVICE float most_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
INGOT_DEVICE float sum_of_row(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

// kDepth: halves of a row of q, k and v. kKeys: keys of a tile.
template <int kDepth, int kKeys>
INGOT_DEVICE void attention(const AttentionF16& p) {
  constexpr int kSteps = kDepth / 16, kChunks = kDepth / 8, kTileBytes = kKeys * kDepth * 2;
  extern __shared__ __align__(128) unsigned char shared[];  // kStages · (keys, values)
  const int tid = static_cast<int>(threadIdx.x), lane = tid & 31, warp = tid >> 5;
  const int64_t head = blockIdx.x / p.tiles;
  const int32_t query = static_cast<int32_t>(blockIdx.x % p.tiles) * 64 + warp * 16 + (lane >> 2);  // and query + 8
  const int64_t first_row = head * p.keys * kDepth;

  const auto load = [&](int tile) {
    unsigned char* to = shared + tile % kStages * 2 * kTileBytes;
#pragma unroll
    for (int i = 0; i < kKeys * kChunks / kThreads; ++i) {
      const int place = tid + i * kThreads, row = place / kChunks, chunk = place % kChunks, key = tile * kKeys + row;
      const bool valid = key < p.keys;
      const int64_t from = valid ? first_row + static_cast<int64_t>(key) * kDepth + chunk * 8 : 0;
      copy_async<16>(to + chunk_offset<kDepth>(row, chunk), static_cast<const __half*>(p.k) + from, valid);
      copy_async<16>(to + kTileBytes + chunk_offset<kDepth>(row, chunk), static_cast<const __half*>(p.v) + from, valid);
    }
  };

  // Rows of 16-bit pairs, as mma wants its first operand.
  uint32_t q[kSteps][4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int32_t row = query + 8 * half;
    const auto* from = static_cast<const uint32_t*>(p.q) + (head * p.queries + row) * (kDepth / 2) + (lane & 3);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      q[step][half] = row < p.queries ? from[step * 8] : 0u;
      q[step][half + 2] = row < p.queries ? from[step * 8 + 4] : 0u;
    }
  }
  const int64_t b = head / p.heads, h = head - b * p.heads;
  const float* mask = p.mask ? p.mask + b * p.mask_strides[0] + h * p.mask_strides[1] : nullptr;
  const float scale = p.scale * kLog2E;

  float sums[kDepth / 8][4] = {};
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {0.0f, 0.0f};
  const int tiles = (p.keys + kKeys - 1) / kKeys;
  if (tiles > 0) load(0);
  commit_copies();
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) load(tile + 1);
    commit_copies();
    wait_for_copies<1>();
    __syncthreads();
    const unsigned char* keys = shared + tile % kStages * 2 * kTileBytes;
    const unsigned char* values = keys + kTileBytes;

    float scores[kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (int j = 0; j < kKeys / 16; ++j) {
        uint32_t k[4];  // keys 0–7 of both halves of a step, then keys 8–15
        load_matrices(k, keys + chunk_offset<kDepth>(j * 16 + ((lane >> 4) << 3) + (lane & 7), step * 2 + ((lane >> 3) & 1)));
        multiply_add_half<false>(scores[2 * j], q[step], k[0], k[1]);
        multiply_add_half<false>(scores[2 * j + 1], q[step], k[2], k[3]);
      }

    const int32_t first_key = tile * kKeys + (lane & 3) * 2;  // of those whose scores this lane has
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[j][i] = first_key + j * 8 + (i & 1) < p.keys ? __fmul_rn(scores[j][i], scale) : -INFINITY;
    if (mask) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* row = mask + (query + 8 * half) * p.mask_strides[2] + first_key * p.mask_step;
        if (query + 8 * half >= p.queries) continue;
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (first_key + j * 8 + i < p.keys) scores[j][2 * half + i] = __fmaf_rn(row[(j * 8 + i) * p.mask_step], kLog2E, scores[j][2 * half + i]);
      }
    }
    float tops[2] = {most[0], most[1]};
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) tops[i >> 1] = fmaxf(tops[i >> 1], scores[j][i]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float top = most_of_row(tops[half]);
      const float shift = top == -INFINITY ? 0.0f : top;  // every key so far is masked: all weights are 0
      const float shrink = power_of_2(most[half] - shift);
      most[half] = top;
      total[half] *= shrink;
#pragma unroll
      for (int j = 0; j < kDepth / 8; ++j) {
        sums[j][2 * half] *= shrink;
        sums[j][2 * half + 1] *= shrink;
      }
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& weight = scores[j][2 * half + i];
          weight = power_of_2(weight - shift);
          total[half] += weight;
        }
    }
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {  // the scores' places are those of mma's first operand
      const uint32_t weights[4] = {two_halves(scores[2 * step][0], scores[2 * step][1]), two_halves(scores[2 * step][2], scores[2 * step][3]),
                                   two_halves(scores[2 * step + 1][0], scores[2 * step + 1][1]), two_halves(scores[2 * step + 1][2], scores[2 * step + 1][3])};
#pragma unroll
      for (int j = 0; j < kSteps; ++j) {
        uint32_t v[4];  // both halves of 16 keys for values 0–7, then 8–15
        load_turned_matrices(v, values + chunk_offset<kDepth>(step * 16 + (lane & 15), 2 * j + (lane >> 4)));
        multiply_add_half<false>(sums[2 * j], weights, v[0], v[1]);
        multiply_add_half<false>(sums[2 * j + 1], weights, v[2], v[3]);
      }
    }
    __syncthreads();  // all have read before the next tile but one overwrites
  }
  wait_for_copies<0>();

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int32_t row = query + 8 * half;
    const float all = sum_of_row(total[half]);
    if (row >= p.queries) continue;
    float* out = p.y + (head * p.queries + row) * p.values;
#pragma unroll
    for (int j = 0; j < kDepth / 8; ++j) {
      const int32_t column = j * 8 + (lane & 3) * 2;
      const float low = __fdiv_rn(sums[j][2 * half], all), high = __fdiv_rn(sums[j][2 * half + 1], all);
      if ((p.values & 1) == 0 && (reinterpret_cast<uint64_t>(out) & 7) == 0) {
        if (column < p.values) *reinterpret_cast<float2*>(out + column) = make_float2(low, high);
      } else {
        if (column < p.values) out[column] = low;
        if (column + 1 < p.values) out[column + 1] = high;
      }
    }
  }
}

}  // namespace
}  // namespace ingot::cuda

// attention_f16_<halves of a row>; dynamic shared memory: 8 · keys of a tile · halves.
#define INGOT_ATTENTION(depth, keys)                                                                                               \
  extern "C" __global__ void __launch_bounds__(128) attention_f16_##depth(const __grid_constant__ ingot::cuda::AttentionF16 p) { \
    ingot::cuda::attention<depth, keys>(p);                                                                                      \
  }
INGOT_ATTENTION(32, 64)
INGOT_ATTENTION(64, 64)
INGOT_ATTENTION(128, 32)

extern "C" __global__ void __launch_bounds__(256) attention_halves(const __grid_constant__ ingot::cuda::AttentionHalves p) {
  using namespace ingot::cuda;
  const AttentionHalves::Part& part = p.parts[blockIdx.y];
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  // Neighbouring threads read neighbouring elements: four channels each, or (k turned) the same eight channels of neighbouring rows.
  const bool by_rows = part.channel_stride != 1;
  const int32_t each = by_rows ? 8 : 4, pieces = p.padded / each;
  const int64_t row = by_rows ? at % part.rows : at / pieces;
  const int32_t first = static_cast<int32_t>(by_rows ? at / part.rows : at - row * pieces) * each;
  if (row >= part.rows || first >= p.padded) return;
  const int64_t head = row / part.plane;
  const float* x = part.x + head * part.head_stride + (row - head * part.plane) * part.row_stride;
  auto* y = static_cast<__half*>(part.y) + row * p.padded + first;
  const auto pair = [&](int32_t c) {
    return two_halves(c < part.channels ? x[c * part.channel_stride] : 0.0f, c + 1 < part.channels ? x[(c + 1) * part.channel_stride] : 0.0f);
  };
  if (by_rows) {
    *reinterpret_cast<uint4*>(y) = make_uint4(pair(first), pair(first + 2), pair(first + 4), pair(first + 6));
  } else if (first + 4 <= part.channels && (reinterpret_cast<uint64_t>(x + first) & 15) == 0) {
    const float4 four = *reinterpret_cast<const float4*>(x + first);
    *reinterpret_cast<uint2*>(y) = make_uint2(two_halves(four.x, four.y), two_halves(four.z, four.w));
  } else {
    *reinterpret_cast<uint2*>(y) = make_uint2(pair(first), pair(first + 2));
  }
}
