// Convolutions and matrix products of halves, of either kind: igemm.cuh with float sums, and what brings float activations to halves for it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/cuda/kernels/epilogue_f32.cuh"
#include "runtime/cuda/kernels/igemm.cuh"
#include "runtime/cuda/kernels/pack.cuh"

namespace {
struct PackHalves {
  using Source = float;
  static constexpr int kEach = 8;
  static INGOT_DEVICE uint32_t element(float x) { return __half_as_ushort(__float2half_rn(x)); }
};
struct PackBrain {
  using Source = float;
  static constexpr int kEach = 8;
  static INGOT_DEVICE uint32_t element(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
};
}  // namespace

// igemm_<f16 or bf16>_<rows>x<outputs>_<loader>; dynamic shared memory: stages · (rows + outputs) · 64 bytes.
#define INGOT_IGEMM_OF(type, brain, m, n, wm, wn, stages, blocks, loader, name)                                       \
  extern "C" __global__ void __launch_bounds__(32 * wm * wn, blocks)                                                  \
      igemm_##type##_##m##x##n##_##name(const __grid_constant__ ingot::cuda::IgemmParamsF16 p) {                      \
    ingot::cuda::igemm<ingot::cuda::Halves<brain>, m, n, wm, wn, stages, ingot::cuda::Loader::loader>(p);             \
  }
#define INGOT_IGEMM(m, n, wm, wn, stages, blocks, loader, name)       \
  INGOT_IGEMM_OF(f16, false, m, n, wm, wn, stages, blocks, loader, name) \
  INGOT_IGEMM_OF(bf16, true, m, n, wm, wn, stages, blocks, loader, name)

INGOT_IGEMM(128, 128, 4, 2, 4, 2, kDirect, direct)
INGOT_IGEMM(128, 128, 4, 2, 4, 2, kTaps, taps)
INGOT_IGEMM(128, 64, 4, 2, 3, 2, kDirect, direct)
INGOT_IGEMM(128, 64, 4, 2, 3, 2, kTaps, taps)
INGOT_IGEMM(64, 64, 2, 2, 4, 4, kDirect, direct)
INGOT_IGEMM(64, 64, 2, 2, 4, 4, kTaps, taps)
INGOT_IGEMM(128, 32, 4, 1, 4, 4, kDirect, direct)
INGOT_IGEMM(128, 32, 4, 1, 4, 4, kTaps, taps)

extern "C" __global__ void __launch_bounds__(256) igemm_f16_sum(const __grid_constant__ ingot::cuda::IgemmParamsF16 p) {
  ingot::cuda::add_slices<ingot::cuda::Halves<false>>(p);
}
extern "C" __global__ void __launch_bounds__(256) pack_f16(const __grid_constant__ ingot::cuda::PackParams p) { ingot::cuda::pack<PackHalves>(p); }
extern "C" __global__ void __launch_bounds__(256) pack_bf16(const __grid_constant__ ingot::cuda::PackParams p) { ingot::cuda::pack<PackBrain>(p); }
