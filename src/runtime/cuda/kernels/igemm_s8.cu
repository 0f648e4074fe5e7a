// Convolutions and matrix products of bytes: igemm.cuh with int32 sums and the epilogue of docs/numerics.md.
#include "runtime/cuda/kernels/epilogue.cuh"
#include "runtime/cuda/kernels/igemm.cuh"
#include "runtime/cuda/kernels/pack.cuh"

namespace {
struct PackBytes {
  using Source = uint8_t;
  static constexpr int kEach = 16;
  static INGOT_DEVICE uint32_t element(uint8_t x) { return x; }
};
}  // namespace

// igemm_s8_<rows>x<outputs>_<loader>; dynamic shared memory: stages · (rows + outputs) · 64 bytes.
#define INGOT_IGEMM(m, n, wm, wn, stages, blocks, loader, name)                                                       \
  extern "C" __global__ void __launch_bounds__(32 * wm * wn, blocks)                                                  \
      igemm_s8_##m##x##n##_##name(const __grid_constant__ ingot::cuda::IgemmParams p) {                               \
    ingot::cuda::igemm<ingot::cuda::Bytes, m, n, wm, wn, stages, ingot::cuda::Loader::loader>(p);                     \
  }

INGOT_IGEMM(128, 256, 2, 4, 3, 1, kDirect, direct)
INGOT_IGEMM(128, 256, 2, 4, 3, 1, kTaps, taps)
INGOT_IGEMM(128, 128, 4, 2, 3, 2, kDirect, direct)
INGOT_IGEMM(128, 128, 4, 2, 3, 2, kTaps, taps)
INGOT_IGEMM(128, 64, 4, 2, 3, 2, kDirect, direct)
INGOT_IGEMM(128, 64, 4, 2, 3, 2, kTaps, taps)
INGOT_IGEMM(64, 64, 2, 2, 4, 4, kDirect, direct)
INGOT_IGEMM(64, 64, 2, 2, 4, 4, kTaps, taps)
INGOT_IGEMM(64, 64, 2, 2, 4, 4, kPieces, pieces)
INGOT_IGEMM(128, 32, 4, 1, 4, 4, kDirect, direct)
INGOT_IGEMM(128, 32, 4, 1, 4, 4, kTaps, taps)
INGOT_IGEMM(128, 32, 4, 1, 4, 4, kPieces, pieces)

extern "C" __global__ void __launch_bounds__(256) igemm_s8_sum(const __grid_constant__ ingot::cuda::IgemmParams p) {
  ingot::cuda::add_slices<ingot::cuda::Bytes>(p);
}
extern "C" __global__ void __launch_bounds__(256) pack_s8(const __grid_constant__ ingot::cuda::PackParams p) { ingot::cuda::pack<PackBytes>(p); }
