// The half-precision product, right (0) and with those faults that look different for it.
#include "gemm.cuh"

#define VARIANT(bug)                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(128) gemm_f16_##bug(const unsigned char* a, const unsigned char* b, __half* c, int m, int n, int k) { \
    gemm<false, bug>(a, b, c, m, n, k, nullptr, nullptr);                                                                               \
  }
VARIANT(0) VARIANT(1) VARIANT(2) VARIANT(4) VARIANT(5) VARIANT(9) VARIANT(10) VARIANT(12) VARIANT(14) VARIANT(15) VARIANT(16) VARIANT(21)
