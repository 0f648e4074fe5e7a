// depthwise_f32.h in plain C++, for CPUs without AVX2.
#include "runtime/cpu/lanes_scalar.h"

#include "runtime/cpu/depthwise_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct DepthwiseScalar : LanesScalar {
  // Without hardware for it a fused product would be a library call.
  static F madd(const F& x, const F& w, const F& sum) { return add(sum, mul(x, w)); }
};

}  // namespace

constinit const DepthwiseKernels kDepthwiseScalar = make_depthwise<DepthwiseScalar, 1>();

}  // namespace ingot::cpu
