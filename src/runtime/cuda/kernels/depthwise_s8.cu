// Depthwise convolution on bytes, channels-last: a thread computes 4 channels of one output pixel, so that a warp reads whole lines.
// x may have a zero point per channel; a tap in the padding adds z − z = 0 and is left out.
#include "runtime/cuda/kernels/epilogue.cuh"

namespace ingot::cuda {
namespace {

// kVector: channels are a multiple of 4, and four are loaded at once.
template <bool kVector>
INGOT_DEVICE void depthwise(const DepthwiseParams& p) {
  const Image& image = p.image;
  const int32_t channels = p.epilogue.channels, quads = (channels + 3) / 4;
  const int64_t rows = static_cast<int64_t>(image.batch) * image.out_h * image.out_w;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= rows * quads) return;
  const int64_t row = index / quads;
  const int32_t channel = static_cast<int32_t>(index - row * quads) * 4, count = min(4, channels - channel);
  const int32_t plane = image.out_h * image.out_w;
  const int64_t n = row / plane;
  const int32_t pixel = static_cast<int32_t>(row - n * plane), out_y = pixel / image.out_w;
  const int32_t top = out_y * image.stride_h - image.pad_h, left = (pixel - out_y * image.out_w) * image.stride_w - image.pad_w;
  int32_t zeros[4], sums[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 4; ++i) zeros[i] = p.zeros[min(channel + i, channels - 1)];
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = top + ky * image.dilation_h;
    if (static_cast<uint32_t>(y) >= static_cast<uint32_t>(image.in_h)) continue;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t column = left + kx * image.dilation_w;
      if (static_cast<uint32_t>(column) >= static_cast<uint32_t>(image.in_w)) continue;
      const uint8_t* x = p.x + ((n * image.in_h + y) * image.in_w + column) * channels + channel;
      const int8_t* w = p.weights + static_cast<int64_t>(ky * image.kernel_w + kx) * channels + channel;
      uint32_t values = 0, factors = 0;
      if constexpr (kVector) {
        values = *reinterpret_cast<const uint32_t*>(x);
        factors = *reinterpret_cast<const uint32_t*>(w);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i >= count) continue;
          values |= static_cast<uint32_t>(x[i]) << 8 * i;
          factors |= static_cast<uint32_t>(static_cast<uint8_t>(w[i])) << 8 * i;
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[i] += (widen(values >> 8 * i, p.is_signed) - zeros[i]) * widen(factors >> 8 * i, true);
    }
  }
  finish_channels(p.epilogue, sums, row, channel, count);
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) depthwise_s8_vector(const __grid_constant__ ingot::cuda::DepthwiseParams p) {
  ingot::cuda::depthwise<true>(p);
}
extern "C" __global__ void __launch_bounds__(256) depthwise_s8_bytes(const __grid_constant__ ingot::cuda::DepthwiseParams p) {
  ingot::cuda::depthwise<false>(p);
}
