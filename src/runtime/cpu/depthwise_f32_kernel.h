// The inner loops of depthwise_f32.h for one instruction set. For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/depthwise_f32.h"
#include "runtime/cpu/gemm_f32_kernel.h"

namespace ingot::cpu {
namespace {

// kPixels output pixels × one block of `n` channels. kTaps = 0: taps and steps are those of the span.
template <class Isa, int kPixels, int kTaps, int kStride>
void depthwise_tile(const DepthwiseSpan& s, int64_t pixel, int64_t channel, int64_t n) {
  using F = typename Isa::F;
  F sum[kPixels];
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) sum[p] = Isa::set(0.0f);
  const float* weights = s.weights + channel * s.line_count * s.kernel_w;
  const int64_t from = pixel * s.pixel_step + channel;
  for (int64_t line = 0; line < s.line_count; ++line, weights += s.kernel_w * kFloatBlock) {
    if (!s.lines[line]) continue;
    const float* x = s.lines[line] + from;
    if constexpr (kTaps > 0) {
      const int64_t step = s.tap_step;
#pragma GCC unroll 16
      for (int t = 0; t < kTaps; ++t) {
        const F w = Isa::load(weights + t * kFloatBlock);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) sum[p] = Isa::madd(Isa::load(x + (p * kStride + t) * step), w, sum[p]);
      }
    } else {
      for (int64_t t = s.tap_begin; t < s.tap_end; ++t) {
        const F w = Isa::load(weights + t * kFloatBlock);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p)
          sum[p] = Isa::madd(load_some<Isa>(x + p * s.pixel_step + t * s.tap_step, n), w, sum[p]);
      }
    }
  }
  const FloatEpilogue& e = *s.epilogue;
  const int64_t at = s.out + pixel * s.channels + channel;
  if (e.curved || n < kFloatBlock) {
    alignas(64) float sums[kPixels * kFloatBlock];
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) Isa::store(sums + p * kFloatBlock, sum[p]);
    for (int p = 0; p < kPixels; ++p) finish<Isa>(Isa::load(sums + p * kFloatBlock), at + p * s.channels, channel, n, e);
    return;
  }
  if (e.bias) {
    const F bias = Isa::load(e.bias + channel);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[p] = Isa::add(sum[p], bias);
  }
  if (e.residual) {
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[p] = Isa::add(sum[p], Isa::load(e.residual + at + p * s.channels));
  }
  const F low = Isa::set(e.low), high = Isa::set(e.high);
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) Isa::store(e.out + at + p * s.channels, Isa::min(high, Isa::max(low, sum[p])));
}

template <class Isa, int kPixels, int kTaps, int kStride>
void depthwise_span(const DepthwiseSpan& s) {
  const int64_t whole = s.channels / kFloatBlock * kFloatBlock;
  int64_t pixel = 0;
  for (; pixel + kPixels <= s.count; pixel += kPixels) {
    for (int64_t c = 0; c < whole; c += kFloatBlock) depthwise_tile<Isa, kPixels, kTaps, kStride>(s, pixel, c, kFloatBlock);
    if (whole < s.channels) depthwise_tile<Isa, kPixels, 0, 1>(s, pixel, whole, s.channels - whole);
  }
  for (; pixel < s.count; ++pixel) {
    for (int64_t c = 0; c < whole; c += kFloatBlock) depthwise_tile<Isa, 1, kTaps, kStride>(s, pixel, c, kFloatBlock);
    if (whole < s.channels) depthwise_tile<Isa, 1, 0, 1>(s, pixel, whole, s.channels - whole);
  }
}

template <class Isa, int kPixels>
constexpr DepthwiseKernels make_depthwise() {
  return {depthwise_span<Isa, kPixels, 0, 1>,
          {{depthwise_span<Isa, kPixels, 3, 1>, depthwise_span<Isa, kPixels, 3, 2>},
           {depthwise_span<Isa, kPixels, 5, 1>, depthwise_span<Isa, kPixels, 5, 2>}}};
}

}  // namespace
}  // namespace ingot::cpu
