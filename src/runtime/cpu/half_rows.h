// 16-bit floats to and from float32, many at a time. Results are those of runtime/ops/half.h, but for the payload of a NaN.
// Plain data only: ISA files include this.
#pragma once

#include <cstdint>

#include "runtime/cpu/cpu_features.h"

namespace ingot::cpu {

struct HalfRows {
  void (*widen_f16)(const uint16_t* x, float* y, int64_t n);
  void (*narrow_f16)(const float* x, uint16_t* y, int64_t n);
  void (*widen_bf16)(const uint16_t* x, float* y, int64_t n);
  void (*narrow_bf16)(const float* x, uint16_t* y, int64_t n);
};
extern const HalfRows kHalfRowsScalar, kHalfRowsAvx2;

inline const HalfRows& half_rows(const CpuFeatures& cpu) { return cpu.level >= CpuLevel::kAvx2 ? kHalfRowsAvx2 : kHalfRowsScalar; }

}  // namespace ingot::cpu
