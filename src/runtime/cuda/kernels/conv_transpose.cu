// Transposed convolution of f32 on the plain cores: a thread visits the taps that reach its result. Neighbours in memory are neighbouring
// threads, so weights (or, row-major, pixels) are read side by side.
#include "runtime/cuda/conv_transpose_params.h"
#include "runtime/cuda/kernels/epilogue_f32.cuh"

namespace ingot::cuda {
namespace {

// The pixel of x whose tap `k` reaches output coordinate `at`, which has the padding added; −1 if there is none.
INGOT_DEVICE int32_t pixel_of(int32_t at, int32_t k, int32_t dilation, int32_t stride, int32_t size) {
  const int32_t from = at - k * dilation;
  if (from < 0 || from % stride != 0) return -1;
  return from / stride < size ? from / stride : -1;
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) conv_transpose_f32(const __grid_constant__ ingot::cuda::ConvTransposeF32 p) {
  using namespace ingot::cuda;
  const Image& image = p.image;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int64_t pixels = static_cast<int64_t>(image.out_h) * image.out_w, n = at / (pixels * p.outputs), inner = at - n * pixels * p.outputs;
  const int32_t output = static_cast<int32_t>(p.y_channels_last ? inner % p.outputs : inner / pixels);
  const int64_t pixel = p.y_channels_last ? inner / p.outputs : inner % pixels;
  const int32_t out_y = static_cast<int32_t>(pixel / image.out_w), out_x = static_cast<int32_t>(pixel - static_cast<int64_t>(out_y) * image.out_w);
  const int32_t group = output / p.group_outputs, first = group * p.group_channels;
  const int64_t plane = static_cast<int64_t>(image.in_h) * image.in_w, x_pixel = p.x_channels_last ? p.channels : 1, x_channel = p.x_channels_last ? 1 : plane;
  const float* x = p.x + n * plane * p.channels + first * x_channel;
  const float* w = p.weights + group * p.w_group + (output - group * p.group_outputs) * p.w_output;
  float sum = 0;
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = pixel_of(out_y + image.pad_h, ky, image.dilation_h, image.stride_h, image.in_h);
    if (y < 0) continue;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t column = pixel_of(out_x + image.pad_w, kx, image.dilation_w, image.stride_w, image.in_w);
      if (column < 0) continue;
      const float* from = x + (static_cast<int64_t>(y) * image.in_w + column) * x_pixel;
      const float* tap = w + (ky * image.kernel_w + kx) * p.w_tap;
      for (int32_t c = 0; c < p.group_channels; ++c) sum = __fmaf_rn(from[c * x_channel], tap[c * p.w_channel], sum);
    }
  }
  finish(p.epilogue, sum, output, at);
}
