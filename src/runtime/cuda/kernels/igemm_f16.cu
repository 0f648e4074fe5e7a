// Convolutions and matrix products of halves: igemm.cuh with float sums, and what brings float activations to halves for it.
#include <cuda_fp16.h>

#include "runtime/cuda/kernels/epilogue_f32.cuh"
#include "runtime/cuda/kernels/igemm.cuh"

// igemm_f16_<rows>x<outputs>_<loader>; dynamic shared memory: stages · (rows + outputs) · 64 bytes.
#define INGOT_IGEMM(m, n, wm, wn, stages, loader, name)                                                               \
  extern "C" __global__ void __launch_bounds__(32 * wm * wn, 512 / (32 * wm * wn)) igemm_f16_##m##x##n##_##name(      \
      const __grid_constant__ ingot::cuda::IgemmParamsF16 p) {                                                        \
    ingot::cuda::igemm<ingot::cuda::Halves, m, n, wm, wn, stages, ingot::cuda::Loader::loader>(p);                    \
  }
INGOT_IGEMM(128, 64, 4, 2, 3, kDirect, direct)
INGOT_IGEMM(64, 64, 2, 2, 4, kDirect, direct)
INGOT_IGEMM(128, 64, 4, 2, 3, kTaps, taps)
INGOT_IGEMM(64, 64, 2, 2, 4, kTaps, taps)

extern "C" __global__ void __launch_bounds__(256) halves_f32(const __grid_constant__ ingot::cuda::HalvesParams p) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int32_t eights = p.padded / 8, per_row = p.groups * eights;
  const int64_t row = at / per_row, image = row / p.plane;
  const int32_t place = static_cast<int32_t>(at - row * per_row), group = place / eights, first = (place - group * eights) * 8;
  const float* x = p.x + image * p.image_stride + (row - image * p.plane) * p.row_stride + static_cast<int64_t>(group) * p.group_channels * p.channel_stride;
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int32_t c = first + 2 * i;
    const __half low = __float2half_rn(c < p.group_channels ? x[c * p.channel_stride] : 0.0f);
    const __half high = __float2half_rn(c + 1 < p.group_channels ? x[(c + 1) * p.channel_stride] : 0.0f);
    words[i] = static_cast<uint32_t>(__half_as_ushort(low)) | static_cast<uint32_t>(__half_as_ushort(high)) << 16;
  }
  static_cast<uint4*>(p.y)[at] = make_uint4(words[0], words[1], words[2], words[3]);
}
