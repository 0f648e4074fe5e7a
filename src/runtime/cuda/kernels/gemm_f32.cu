// Matrix products and convolutions of f32 on the plain cores. A block of 256 threads computes 64 × 64 results, a thread 4 × 4 of them, over
// steps of 16 of k that pass through two shared buffers: one is filled from registers while the other is multiplied. Sums are
// fused multiply-adds in ascending k. Results pass through shared memory, so that they are stored along whichever dim is dense.
#include "runtime/cuda/kernels/epilogue_f32.cuh"

namespace ingot::cuda {
namespace {

constexpr int kTile = 64, kStep = 16, kPitch = kTile + 4, kEach = kTile * kStep / 256, kOutPitch = kTile + 1;

struct Place {
  int32_t tap_y, tap_x, tap, channel;
};
// Where k lies in the window; a matrix has one tap.
template <bool kWindow>
INGOT_DEVICE Place place_of(const GemmF32& p, int32_t k) {
  if constexpr (!kWindow) return {0, 0, 0, k};
  const int32_t tap = k / p.group_channels, ky = tap / p.image.kernel_w;
  return {ky * p.image.dilation_h, (tap - ky * p.image.kernel_w) * p.image.dilation_w, tap, k - tap * p.group_channels};
}

// kWindow: a is read through a window. kKFast: neighbours along k are neighbours in a, else neighbouring rows are.
template <bool kWindow, bool kKFast>
INGOT_DEVICE void gemm(const GemmF32& p) {
  constexpr int kRows = kKFast ? kEach : 1, kPlaces = kKFast ? 1 : kEach;
  __shared__ __align__(16) float shared[2][2][kStep][kPitch];
  static_assert(kTile * kOutPitch <= 2 * 2 * kStep * kPitch, "results must fit the buffers");
  const int tid = static_cast<int>(threadIdx.x);
  const int64_t matrix = blockIdx.x / p.row_tiles, first_row = (blockIdx.x - matrix * p.row_tiles) * kTile;
  const int32_t first_column = static_cast<int32_t>(blockIdx.y) * kTile;
  const float *a = p.a, *b = p.b;
  int64_t rest = matrix;
  for (int d = p.batch_rank - 1; d >= 0; --d) {
    const int64_t next = rest / p.batch_dims[d], i = rest - next * p.batch_dims[d];
    a += i * p.a_batch[d];
    b += i * p.b_batch[d];
    rest = next;
  }

  // The rows whose elements of a this thread fetches.
  const int my_row = kKFast ? tid / kStep : tid % kTile, my_k = kKFast ? tid % kStep : tid / kTile;
  constexpr int kRowStep = 256 / kStep, kKStep = 256 / kTile;
  const float* origin[kRows];
  int32_t top[kRows], left[kRows];
  bool has_row[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int64_t row = first_row + my_row + i * kRowStep;
    has_row[i] = row < p.rows;
    top[i] = left[i] = 0;
    if constexpr (kWindow) {
      const int32_t plane = p.image.out_h * p.image.out_w;
      const int64_t n = row / plane;
      const int32_t pixel = static_cast<int32_t>(row - n * plane), out_y = pixel / p.image.out_w;
      origin[i] = a + n * p.a_image;
      top[i] = out_y * p.image.stride_h - p.image.pad_h;
      left[i] = (pixel - out_y * p.image.out_w) * p.image.stride_w - p.image.pad_w;
    } else {
      origin[i] = a + row * p.a_row;
    }
  }
  const bool columns_fast = p.b_column == 1;
  const int my_column = columns_fast ? tid % kTile : tid / kStep, column_step = columns_fast ? 0 : kRowStep;
  const int my_b_k = columns_fast ? tid / kTile : tid % kStep, b_k_step = columns_fast ? kKStep : 0;

  float of_a[kEach], of_b[kEach];
  const auto fetch = [&](int32_t k0) {
#pragma unroll
    for (int j = 0; j < kPlaces; ++j) {
      const int32_t k = k0 + my_k + j * kKStep;
      const Place place = place_of<kWindow>(p, k);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int32_t y = top[i] + place.tap_y, x = left[i] + place.tap_x;
        bool inside = k < p.k && has_row[i];
        if constexpr (kWindow)
          inside = inside && static_cast<uint32_t>(y) < static_cast<uint32_t>(p.image.in_h) && static_cast<uint32_t>(x) < static_cast<uint32_t>(p.image.in_w);
        const int64_t pixel = kWindow ? (static_cast<int64_t>(y) * p.image.in_w + x) * p.a_row : 0;
        of_a[i + j] = inside ? origin[i][pixel + place.channel * p.a_channel] : 0.0f;
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t k = k0 + my_b_k + i * b_k_step, column = first_column + my_column + i * column_step;
      const Place place = place_of<kWindow>(p, k);
      of_b[i] = k < p.k && column < p.columns ? b[place.tap * p.b_tap + place.channel * p.b_channel + column * p.b_column] : 0.0f;
    }
  };
  const auto keep = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      shared[buffer][0][my_k + (kKFast ? 0 : i * kKStep)][my_row + (kKFast ? i * kRowStep : 0)] = of_a[i];
      shared[buffer][1][my_b_k + i * b_k_step][my_column + i * column_step] = of_b[i];
    }
  };

  float sums[4][4] = {};
  const int tx = tid % 16 * 4, ty = tid / 16 * 4;
  const int32_t steps = (p.k + kStep - 1) / kStep;
  if (steps > 0) {
    fetch(0);
    keep(0);
  }
  __syncthreads();
  for (int32_t step = 0; step < steps; ++step) {
    const int now = step & 1;
    if (step + 1 < steps) fetch((step + 1) * kStep);
#pragma unroll
    for (int k = 0; k < kStep; ++k) {
      const float4 rows = *reinterpret_cast<const float4*>(&shared[now][0][k][ty]);
      const float4 columns = *reinterpret_cast<const float4*>(&shared[now][1][k][tx]);
      const float r[4] = {rows.x, rows.y, rows.z, rows.w}, c[4] = {columns.x, columns.y, columns.z, columns.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = __fmaf_rn(r[i], c[j], sums[i][j]);
    }
    if (step + 1 < steps) keep(now ^ 1);
    __syncthreads();
  }

  float* exchange = &shared[0][0][0][0];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) exchange[(ty + i) * kOutPitch + tx + j] = sums[i][j];
  __syncthreads();
  const bool rows_dense = p.out_column != 1;
#pragma unroll 1
  for (int i = tid; i < kTile * kTile; i += 256) {
    const int r = rows_dense ? i % kTile : i / kTile, c = rows_dense ? i / kTile : i % kTile;
    const int64_t row = first_row + r;
    const int32_t column = first_column + c;
    if (row >= p.rows || column >= p.columns) continue;
    const int64_t image = row / p.out_plane;
    finish(p.epilogue, exchange[r * kOutPitch + c], static_cast<int32_t>(matrix) * p.bias_batch + column,
           matrix * p.out_batch + image * p.out_image + (row - image * p.out_plane) * p.out_row + column * p.out_column);
  }
}

}  // namespace
}  // namespace ingot::cuda

#define INGOT_GEMM(name, window, k_fast)                                                                               \
  extern "C" __global__ void __launch_bounds__(256, 2) gemm_f32_##name(const __grid_constant__ ingot::cuda::GemmF32 p) { \
    ingot::cuda::gemm<window, k_fast>(p);                                                                              \
  }
INGOT_GEMM(rows, false, true)
INGOT_GEMM(columns, false, false)
INGOT_GEMM(window_last, true, true)
INGOT_GEMM(window_linear, true, false)

// Depthwise on channels-last tensors whose channels are a multiple of 4: a thread computes 4 channels of one output pixel, from copies of 16
// bytes. weights: [tap][channel].
extern "C" __global__ void __launch_bounds__(256) depthwise_f32_vector(const __grid_constant__ ingot::cuda::DepthwiseF32 p) {
  using namespace ingot::cuda;
  const Image& image = p.image;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int32_t quads = p.channels / 4;
  const int64_t row = at / quads, plane = static_cast<int64_t>(image.out_h) * image.out_w, n = row / plane;
  const int32_t channel = static_cast<int32_t>(at - row * quads) * 4, pixel = static_cast<int32_t>(row - n * plane), out_y = pixel / image.out_w;
  const int32_t top = out_y * image.stride_h - image.pad_h, left = (pixel - out_y * image.out_w) * image.stride_w - image.pad_w;
  const float* x = p.x + n * image.in_h * image.in_w * p.channels + channel;
  float sums[4] = {};
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = top + ky * image.dilation_h;
    if (static_cast<uint32_t>(y) >= static_cast<uint32_t>(image.in_h)) continue;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t column = left + kx * image.dilation_w;
      if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(image.in_w)) continue;
      const float4 value = *reinterpret_cast<const float4*>(x + (static_cast<int64_t>(y) * image.in_w + column) * p.channels);
      const float4 weight = *reinterpret_cast<const float4*>(p.weights + static_cast<int64_t>(ky * image.kernel_w + kx) * p.channels + channel);
      sums[0] = __fmaf_rn(value.x, weight.x, sums[0]);
      sums[1] = __fmaf_rn(value.y, weight.y, sums[1]);
      sums[2] = __fmaf_rn(value.z, weight.z, sums[2]);
      sums[3] = __fmaf_rn(value.w, weight.w, sums[3]);
    }
  }
  finish_channels(p.epilogue, sums, row, channel, 4);
}

// Depthwise: neighbouring threads compute neighbours in memory.
extern "C" __global__ void __launch_bounds__(256) depthwise_f32(const __grid_constant__ ingot::cuda::DepthwiseF32 p) {
  using namespace ingot::cuda;
  const Image& image = p.image;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int64_t pixels = static_cast<int64_t>(image.out_h) * image.out_w, n = at / (pixels * p.channels), inner = at - n * pixels * p.channels;
  const int32_t channel = static_cast<int32_t>(p.y_channels_last ? inner % p.channels : inner / pixels);
  const int64_t pixel = p.y_channels_last ? inner / p.channels : inner % pixels;
  const int32_t out_y = static_cast<int32_t>(pixel / image.out_w), out_x = static_cast<int32_t>(pixel - static_cast<int64_t>(out_y) * image.out_w);
  const int32_t top = out_y * image.stride_h - image.pad_h, left = out_x * image.stride_w - image.pad_w;
  const int64_t plane = static_cast<int64_t>(image.in_h) * image.in_w, step = p.x_channels_last ? p.channels : 1;
  const float* x = p.x + n * plane * p.channels + (p.x_channels_last ? channel : channel * plane);
  const float* w = p.weights + static_cast<int64_t>(channel) * image.kernel_h * image.kernel_w;
  float sum = 0;
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = top + ky * image.dilation_h;
    if (static_cast<uint32_t>(y) >= static_cast<uint32_t>(image.in_h)) continue;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t column = left + kx * image.dilation_w;
      if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(image.in_w)) continue;
      sum = __fmaf_rn(x[(static_cast<int64_t>(y) * image.in_w + column) * step], w[ky * image.kernel_w + kx], sum);
    }
  }
  finish(p.epilogue, sum, channel, at);
}
