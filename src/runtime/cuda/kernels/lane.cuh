// The lane over which runtime/ops/exact_math.h computes with the same bits as on a CPU.
#pragma once

#include "runtime/ops/exact_math.h"

#define INGOT_DEVICE __device__ __forceinline__

namespace ingot::cuda {

struct DeviceLane {
  using F = float;
  using I = int32_t;
  using M = bool;
  static INGOT_DEVICE F set(float x) { return x; }
  static INGOT_DEVICE I set_i(int32_t x) { return x; }
  static INGOT_DEVICE F add(F a, F b) { return __fadd_rn(a, b); }
  static INGOT_DEVICE F sub(F a, F b) { return __fsub_rn(a, b); }
  static INGOT_DEVICE F mul(F a, F b) { return __fmul_rn(a, b); }
  static INGOT_DEVICE F div(F a, F b) { return __fdiv_rn(a, b); }
  static INGOT_DEVICE F fma(F a, F b, F c) { return __fmaf_rn(a, b, c); }
  static INGOT_DEVICE F min(F a, F b) { return a < b ? a : b; }
  static INGOT_DEVICE F max(F a, F b) { return a > b ? a : b; }
  static INGOT_DEVICE M lt(F a, F b) { return a < b; }
  static INGOT_DEVICE F select(M m, F a, F b) { return m ? a : b; }
  static INGOT_DEVICE I bits(F x) { return __float_as_int(x); }
  static INGOT_DEVICE F from_bits(I x) { return __int_as_float(x); }
  static INGOT_DEVICE I iadd(I a, I b) { return static_cast<I>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
  static INGOT_DEVICE I isub(I a, I b) { return static_cast<I>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
  static INGOT_DEVICE I iand(I a, I b) { return a & b; }
  static INGOT_DEVICE I ior(I a, I b) { return a | b; }
  template <int n>
  static INGOT_DEVICE I shl(I a) {
    return static_cast<I>(static_cast<uint32_t>(a) << n);
  }
  template <int n>
  static INGOT_DEVICE I sra(I a) {
    return a >> n;
  }
};

}  // namespace ingot::cuda
