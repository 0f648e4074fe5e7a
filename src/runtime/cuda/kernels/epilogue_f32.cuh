// From float sums to stored floats: y = f(alpha·sum + bias + residual).
#pragma once

#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {

// Stores the result of one sum at out[at].
INGOT_DEVICE void finish(const EpilogueF32& e, float sum, int32_t column, int64_t at) {
  float t = e.multiplier == 1.0f ? sum : __fmul_rn(e.multiplier, sum);
  if (e.bias) t = __fadd_rn(t, e.bias[column]);
  if (e.residual) t = __fadd_rn(t, e.residual[at]);
  const float y = exact::activation<DeviceLane>(static_cast<UnaryFunction>(e.function), t, e.alpha, e.beta);
  e.out[at] = t == t ? y : t;
}

}  // namespace ingot::cuda
