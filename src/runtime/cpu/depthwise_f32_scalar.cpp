// depthwise_f32.h in plain C++, for CPUs without AVX2.
#include "runtime/cpu/lanes_scalar.h"

#include "runtime/cpu/depthwise_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct DepthwiseScalar : LanesScalar {
  // As the vector files: sums are the same to the bit on every machine.
  static F madd(const F& x, const F& w, const F& sum) { return fma(x, w, sum); }
};

}  // namespace

constinit const DepthwiseKernels kDepthwiseScalar = make_depthwise<DepthwiseScalar, 1>();

}  // namespace ingot::cpu
