// depthwise_f32.h on AVX-512.
#include "runtime/cpu/lanes_avx512.h"

#include "runtime/cpu/depthwise_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct DepthwiseAvx512 : LanesAvx512 {
  [[gnu::always_inline]] static inline F madd(F x, F w, F sum) { return _mm512_fmadd_ps(x, w, sum); }
};

}  // namespace

constinit const DepthwiseKernels kDepthwiseAvx512 = make_depthwise<DepthwiseAvx512, 8>();

}  // namespace ingot::cpu
