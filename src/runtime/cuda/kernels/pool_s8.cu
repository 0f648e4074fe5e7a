// Max and average pooling on bytes, channels-last: a thread computes one channel of one output pixel.
//   max: the largest of the taps inside;  average: clamp(rne(float(Σ (x − z))·m) + z_y), m = float(s_x / (s_y · n))
#include "runtime/cuda/kernels/device.cuh"

extern "C" __global__ void __launch_bounds__(256) pool_s8(const __grid_constant__ ingot::cuda::PoolParams8 p) {
  using namespace ingot::cuda;
  const Image& image = p.image;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t rows = static_cast<int64_t>(image.batch) * image.out_h * image.out_w;
  if (index >= rows * p.channels) return;
  const int64_t row = index / p.channels;
  const int32_t channel = static_cast<int32_t>(index - row * p.channels), plane = image.out_h * image.out_w;
  const int64_t n = row / plane;
  const int32_t pixel = static_cast<int32_t>(row - n * plane), out_y = pixel / image.out_w;
  const int32_t top = out_y * image.stride_h - image.pad_h, left = (pixel - out_y * image.out_w) * image.stride_w - image.pad_w;
  int32_t sum = 0, most = p.is_signed ? -128 : 0;
  int64_t count = 0;
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = top + ky * image.dilation_h;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t column = left + kx * image.dilation_w;
      const bool inside = static_cast<uint32_t>(y) < static_cast<uint32_t>(image.in_h) &&
                          static_cast<uint32_t>(column) < static_cast<uint32_t>(image.in_w);
      // A window that hangs over the padding (ceil_mode) counts only what lies within it.
      const bool padded = y < image.in_h + p.pad_end_h && column < image.in_w + p.pad_end_w;
      count += inside || (p.count_padding && padded);
      if (!inside) continue;
      const int32_t value = widen(p.x[((n * image.in_h + y) * image.in_w + column) * p.channels + channel], p.is_signed);
      sum += value - p.x_zero;
      most = max(most, value);
    }
  }
  const int64_t at = row * p.channels + channel;
  if (p.is_max) {
    static_cast<uint8_t*>(p.out)[at] = static_cast<uint8_t>(most);
    return;
  }
  const float m = static_cast<float>(__ddiv_rn(p.x_scale, __dmul_rn(p.y_scale, static_cast<double>(count))));
  const float t = count == 0 ? 0.0f : __fmul_rn(static_cast<float>(sum), m);
  if (p.stored == Stored::kF32)
    static_cast<float*>(p.out)[at] = t;
  else
    static_cast<uint8_t*>(p.out)[at] = static_cast<uint8_t>(round_to_byte(t, p.low, p.high, p.zero));
}
