// Convolutions and matrix products of bytes: igemm.cuh with int32 sums and the epilogue of docs/numerics.md.
#include "runtime/cuda/kernels/epilogue.cuh"
#include "runtime/cuda/kernels/igemm.cuh"

// igemm_s8_<rows>x<outputs>_<loader>_<type of x>; dynamic shared memory: stages · (rows + outputs) · 64 bytes.
#define INGOT_IGEMM(m, n, wm, wn, stages, loader, name, sign, type)                                                     \
  extern "C" __global__ void __launch_bounds__(32 * wm * wn, 512 / (32 * wm * wn)) igemm_s8_##m##x##n##_##name##_##type(                       \
      const __grid_constant__ ingot::cuda::IgemmParams p) {                                                             \
    ingot::cuda::igemm<ingot::cuda::Bytes<sign>, m, n, wm, wn, stages, ingot::cuda::Loader::loader>(p);                                     \
  }
#define INGOT_IGEMM_BOTH(m, n, wm, wn, stages, loader, name)       \
  INGOT_IGEMM(m, n, wm, wn, stages, loader, name, false, u8)       \
  INGOT_IGEMM(m, n, wm, wn, stages, loader, name, true, s8)

INGOT_IGEMM_BOTH(128, 128, 4, 2, 3, kDirect, direct)
INGOT_IGEMM_BOTH(128, 64, 4, 2, 3, kDirect, direct)
INGOT_IGEMM_BOTH(64, 64, 2, 2, 4, kDirect, direct)
INGOT_IGEMM_BOTH(128, 128, 4, 2, 3, kTaps, taps)
INGOT_IGEMM_BOTH(128, 64, 4, 2, 3, kTaps, taps)
INGOT_IGEMM_BOTH(64, 64, 2, 2, 4, kTaps, taps)
INGOT_IGEMM_BOTH(128, 64, 4, 2, 3, kPieces, pieces)
INGOT_IGEMM_BOTH(64, 64, 2, 2, 4, kPieces, pieces)
INGOT_IGEMM_BOTH(128, 64, 4, 2, 3, kBytes, bytes)
INGOT_IGEMM_BOTH(64, 64, 2, 2, 4, kBytes, bytes)
