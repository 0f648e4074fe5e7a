// The 8-bit product with requantised results, right (0) and with each fault.
#include "gemm.cuh"

#define VARIANT(bug)                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(128) gemm_s8_##bug(const unsigned char* a, const unsigned char* b, signed char* c, int m, int n, int k, \
                                                                  const float* scale, const float* bias) {                               \
    gemm<true, bug>(a, b, c, m, n, k, scale, bias);                                                                                      \
  }
VARIANT(0) VARIANT(1) VARIANT(2) VARIANT(3) VARIANT(4) VARIANT(5) VARIANT(6) VARIANT(7) VARIANT(8) VARIANT(9) VARIANT(10) VARIANT(11)
VARIANT(12) VARIANT(13) VARIANT(14) VARIANT(15) VARIANT(16) VARIANT(17) VARIANT(18) VARIANT(19) VARIANT(20) VARIANT(21) VARIANT(22)
VARIANT(23) VARIANT(24) VARIANT(25) VARIANT(26)
