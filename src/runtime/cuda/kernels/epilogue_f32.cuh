// From float sums to stored floats: y = f(alpha·sum + bias + residual).
#pragma once

#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {

// Stores the result of one sum at out[at].
INGOT_DEVICE void finish(const EpilogueF32& e, float sum, int32_t column, int64_t at) {
  float t = e.multiplier == 1.0f ? sum : __fmul_rn(e.multiplier, sum);
  if (e.bias) t = __fadd_rn(t, e.bias[column]);
  if (e.residual) t = __fadd_rn(t, e.residual[at]);
  e.out[at] = e.function == static_cast<int32_t>(UnaryFunction::kIdentity) ? t : activate(e.function, t, e.alpha, e.beta);
}

// The results of `count` ≤ 4 channels from `channel` on, of dense output row `row`.
INGOT_DEVICE void finish_channels(const EpilogueF32& e, const float (&sums)[4], int64_t row, int32_t channel, int32_t count) {
  const int64_t at = row * e.channels + channel;
#pragma unroll 1
  for (int i = 0; i < count; ++i) finish(e, i == 0 ? sums[0] : i == 1 ? sums[1] : i == 2 ? sums[2] : sums[3], channel + i, at + i);
}

}  // namespace ingot::cuda
