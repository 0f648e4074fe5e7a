// Depthwise float convolution of channels_last tensors: a span of output pixels of one row, 16 channels at a time.
// Plain data only: ISA files include this.
#pragma once

#include "runtime/cpu/gemm_f32.h"

namespace ingot::cpu {

struct DepthwiseSpan {
  const float* const* lines;  // per kernel line (d, h): the first pixel's leftmost tap, which may lie outside; null: all padding
  int64_t line_count;
  int64_t kernel_w;
  int64_t tap_begin, tap_end;  // taps of a line that lie inside, the same for the whole span
  int64_t tap_step, pixel_step;  // floats from tap to tap, from one output pixel's input to the next's
  int64_t count;               // output pixels
  const float* weights;        // [block of 16 channels][line][tap][16]
  int64_t channels;
  int64_t out;                 // offset of the first pixel in out and residual; pixels are `channels` apart
  const FloatEpilogue* epilogue;
};
using DepthwiseFunction = void (*)(const DepthwiseSpan&);

struct DepthwiseKernels {
  DepthwiseFunction any;
  DepthwiseFunction dense[2][2];  // whole lines of neighbouring taps: [3 or 5 taps][stride 1 or 2]
};
extern const DepthwiseKernels kDepthwiseScalar, kDepthwiseAvx2, kDepthwiseAvx512;

inline const DepthwiseKernels& depthwise_kernels(const CpuFeatures& cpu) {
  if (cpu.avx512) return kDepthwiseAvx512;
  return cpu.level >= CpuLevel::kAvx2 ? kDepthwiseAvx2 : kDepthwiseScalar;
}

}  // namespace ingot::cpu
