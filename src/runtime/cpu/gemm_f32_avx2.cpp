// gemm_f32.h on AVX2 + FMA: two registers are one block of 16 channels.
#include "runtime/cpu/lanes_avx2.h"

#include "runtime/cpu/gemm_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct Avx2 : LanesAvx2 {
  [[gnu::always_inline]] static inline F madd(F x, F w, F sum) { return {_mm256_fmadd_ps(x.lo, w.lo, sum.lo), _mm256_fmadd_ps(x.hi, w.hi, sum.hi)}; }
};

constexpr FloatKernels make() {
  FloatKernels k{};
  add_tiles<Avx2, 1, 6>(k);
  add_tiles<Avx2, 2, 3>(k);
  add_tiles<Avx2, 3, 1>(k);
  add_tiles<Avx2, 4, 1>(k);
  add_rows<Avx2>(k);
  return k;
}

}  // namespace

constinit const FloatKernels kFloatAvx2 = make();

}  // namespace ingot::cpu
