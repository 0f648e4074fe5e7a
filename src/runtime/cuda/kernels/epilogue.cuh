// From int32 sums to stored results, up to 4 neighbouring channels of one row at a time: the formulas of docs/numerics.md. Appears
// once in a kernel, in a loop that is not unrolled, so that a curved activation costs its code once.
#pragma once

#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {

// The result of one sum: a byte, or the bits of a float.
INGOT_DEVICE uint32_t finish(const Epilogue& e, int32_t sum, int32_t channel, int64_t at) {
  float t = __fmul_rn(static_cast<float>(sum), e.multiplier[channel]);
  if (e.residual_stored == Stored::kF32) {
    t = __fadd_rn(t, static_cast<const float*>(e.residual)[at]);
  } else if (e.residual_stored != Stored::kNone) {
    const int32_t r = widen(static_cast<const uint8_t*>(e.residual)[at], e.residual_stored == Stored::kS8) - e.residual_zero;
    t = __fmaf_rn(static_cast<float>(r), e.channel_zero ? e.channel_residual[channel] : e.residual_multiplier, t);
  }
  if (e.curved) t = activate(e.function, t, e.alpha, e.beta);
  if (e.stored == Stored::kF32) {
    if (!e.curved) t = DeviceLane::min(e.high, DeviceLane::max(e.low, t));
    return __float_as_uint(t);
  }
  if (e.channel_zero) {
    if (e.curved) t = __fdiv_rn(t, e.channel_scale[channel]);
    return static_cast<uint32_t>(round_to_byte(t, e.channel_low[channel], e.channel_high[channel], e.channel_zero[channel])) & 255u;
  }
  if (e.curved) t = __fdiv_rn(t, e.scale);
  return static_cast<uint32_t>(round_to_byte(t, e.low, e.high, e.zero)) & 255u;
}

// Stores the results of `count` ≤ 4 channels from `channel` on, of output row `row`. All in one store where addresses allow it.
INGOT_DEVICE void finish_channels(const Epilogue& e, const int32_t (&sums)[4], int64_t row, int32_t channel, int32_t count) {
  const int64_t at = row * e.channels + channel;
  uint32_t results[4];
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    // A register array needs known indices; a rolled loop over 4 selects is cheaper than four copies of finish().
    const int32_t sum = i == 0 ? sums[0] : i == 1 ? sums[1] : i == 2 ? sums[2] : sums[3];
    const uint32_t result = finish(e, sum + e.bias[channel + i], channel + i, at + i);
    if (i == 0) results[0] = result;
    else if (i == 1) results[1] = result;
    else if (i == 2) results[2] = result;
    else results[3] = result;
  }
  if (e.stored == Stored::kF32) {
    float* out = static_cast<float*>(e.out) + at;
    if (count == 4 && (e.channels & 3) == 0 && (channel & 3) == 0)
      *reinterpret_cast<uint4*>(out) = make_uint4(results[0], results[1], results[2], results[3]);
    else
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (i < count) out[i] = __uint_as_float(results[i]);
  } else {
    uint8_t* out = static_cast<uint8_t*>(e.out) + at;
    if (count == 4 && (e.channels & 3) == 0 && (channel & 3) == 0)
      *reinterpret_cast<uint32_t*>(out) = results[0] | results[1] << 8 | results[2] << 16 | results[3] << 24;
    else
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (i < count) out[i] = static_cast<uint8_t>(results[i]);
  }
}

}  // namespace ingot::cuda
