// depthwise_f32.h on AVX2 + FMA.
#include "runtime/cpu/lanes_avx2.h"

#include "runtime/cpu/depthwise_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct DepthwiseAvx2 : LanesAvx2 {
  [[gnu::always_inline]] static inline F madd(F x, F w, F sum) { return {_mm256_fmadd_ps(x.lo, w.lo, sum.lo), _mm256_fmadd_ps(x.hi, w.hi, sum.hi)}; }
};

}  // namespace

constinit const DepthwiseKernels kDepthwiseAvx2 = make_depthwise<DepthwiseAvx2, 4>();

}  // namespace ingot::cpu
