// Float work on rows of numbers: functions, pairs, softmax, norms, sums. One table for each instruction set; all give the
// same bits, since every sum is made of 16 partial sums whatever the register width.
// Plain data only: ISA files include this.
#pragma once

#include <cstdint>

#include "runtime/cpu/cpu_features.h"
#include "runtime/ops/pointwise.h"

namespace ingot::cpu {

struct RowActivation {
  UnaryFunction function = UnaryFunction::kIdentity;
  float alpha = 0, beta = 0;
};

struct RowKernels {
  void (*unary)(const RowActivation& f, const float* x, float* y, int64_t n);
  // Steps are 0 or 1.
  void (*binary)(BinaryFunction f, const RowActivation& activation, const float* a, int64_t a_step, const float* b,
                 int64_t b_step, float* y, int64_t n);
  // y = c ? a : b. Steps are 0 or 1.
  void (*select)(const uint8_t* c, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n);
  // y = exp(x − max x) / Σ, or its logarithm.
  void (*softmax)(const float* x, float* y, int64_t n, bool log);
  // y = (x − mean) / √(var + ε) · scale + bias; bias may be null, rms leaves the mean out.
  void (*layer_norm)(const float* x, const float* scale, const float* bias, float* y, int64_t n, float epsilon, bool rms);
  float (*sum)(const float* x, int64_t n);
  float (*largest)(const float* x, int64_t n);
  void (*add_to)(float* sums, const float* x, int64_t n);
  void (*raise_to)(float* tops, const float* x, int64_t n);  // elementwise maximum; NaN wins
  void (*scale)(float* x, float factor, int64_t n);
};
extern const RowKernels kRowsScalar, kRowsAvx2, kRowsAvx512;

inline const RowKernels& row_kernels(const CpuFeatures& cpu) {
  if (cpu.avx512) return kRowsAvx512;
  return cpu.level >= CpuLevel::kAvx2 ? kRowsAvx2 : kRowsScalar;
}
// Whether unary() and binary() know a function.
bool rows_know(UnaryFunction function);
bool rows_know(BinaryFunction function);

}  // namespace ingot::cpu
