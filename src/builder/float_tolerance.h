// The one home of float tolerances: docs/numerics.md has the table in words. Integer results have none. What tests alone hold to stands in
// tests/tolerance.h.
#pragma once

#include <cmath>

#include "runtime/chain_problem.h"
#include "runtime/ops/op.h"

namespace ingot {

struct Tolerance {
  double relative = 0, absolute = 0;
  // Whether `got` may stand for `want`. `terms` is the length K of the sum behind one element, `magnitude` the largest
  // product of inputs in it.
  bool allows(double got, double want, double terms = 1, double magnitude = 1) const {
    if (got == want || (std::isnan(got) && std::isnan(want))) return true;
    return std::fabs(got - want) <= relative * std::fabs(want) + absolute * std::sqrt(std::fmax(terms, 1)) * magnitude;
  }
};

// `type` is the widest float element type among an op's operands; f64 is held to the bounds of f32.
inline Tolerance tolerance_of(OpKind op, DataType type) {
  struct Row {
    Tolerance f32, f16, bf16;
  };
  // Halves: rounding both factors moves a product by up to 2⁻¹⁰ of itself in f16, by up to 2⁻⁷ in bf16. A sum of 16 terms and more is allowed
  // what one of its largest products may move it by.
  static constexpr Row kSums{{1e-5, 1e-6}, {2e-3, 2.5e-4}, {1.6e-2, 2e-3}};
  static constexpr Row kMeans{{2e-6, 5e-7}, {2e-3, 1e-4}, {1.6e-2, 1e-3}};
  static constexpr Row kNorms{{1e-5, 2e-6}, {2e-3, 2e-4}, {1.6e-2, 2e-3}};
  static constexpr Row kFunctions{{2e-6, 1e-6}, {2e-3, 1e-4}, {1.6e-2, 1e-3}};
  static constexpr Row kExact{};
  const Row* row = &kExact;
  switch (op) {
    case OpKind::kConv:
    case OpKind::kConvTranspose:
    case OpKind::kMatMul:
    case OpKind::kAttention:
    case OpKind::kRecurrent:
    case OpKind::kDeformConv:
    case OpKind::kLinearAttention:
    case OpKind::kDeterminant:
      row = &kSums;
      break;
    case OpKind::kPool:
    case OpKind::kReduce:
      row = &kMeans;
      break;
    case OpKind::kBatchNorm:
    case OpKind::kLayerNorm:
    case OpKind::kInstanceNorm:
    case OpKind::kSoftmax:
    case OpKind::kResize:
      row = &kNorms;
      break;
    case OpKind::kUnary:
    case OpKind::kBinary:
      row = &kFunctions;
      break;
    default:
      break;
  }
  return type == DataType::kF16 ? row->f16 : type == DataType::kBF16 ? row->bf16 : row->f32;
}
// With the op's own parameters: a maximum is exact.
inline Tolerance tolerance_of(const OpParams& params, DataType type) {
  if (const auto* pool = std::get_if<PoolParams>(&params); pool && pool->function == PoolFunction::kMax) return {};
  if (const auto* chain = std::get_if<PointwiseChainParams>(&params)) {
    if (chain->reduced_dims > 0) return tolerance_of(OpKind::kReduce, type);
    ChainProgram program;
    return parse_chain(chain->program, program).ok() && is_defined_to_the_bit(program) ? Tolerance{} : tolerance_of(OpKind::kUnary, type);
  }
  return tolerance_of(kind_of(params), type);
}

// How far a step of a finished engine may be from reference code, as a share of its tensor's largest magnitude: accumulation order over
// at most some ten thousand terms, and the rounding of operands to `arithmetic`. Kernels are held to the tighter table above by
// their tests, where it is known what each element is a sum of.
inline double step_tolerance(DataType arithmetic) { return arithmetic == DataType::kBF16 ? 3.2e-2 : arithmetic == DataType::kF16 ? 4e-3 : 5e-4; }

}  // namespace ingot
