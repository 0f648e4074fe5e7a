// The one home of float tolerances: docs/numerics.md has the table in words. Integer results have none.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

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

// A graph before and after the passes, relative to the value or to 1: f32 sums in another order.
inline constexpr double kAfterPasses = 1e-5;

// `type` is the widest float element type among an op's operands; f64 is held to the bounds of f32.
inline Tolerance tolerance_of(OpKind op, DataType type) {
  struct Row {
    Tolerance f32, f16, bf16;
  };
  static constexpr Row kSums{{1e-5, 1e-6}, {2e-3, 1e-4}, {1.6e-2, 1e-3}};
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

// Whole graphs, optimised against unoptimised. An output may differ by `relative` of its tensor's largest magnitude, or by
// `spread` times what evaluations with relative errors up to `noise` in every float sum move it; where these move it by more
// than the share `chaotic`, nothing can be said.
struct GraphTolerance {
  double relative = 1e-5, noise = 0x1p-20, spread = 6, chaotic = 0.02;
  uint64_t noise_runs = 6;
};
inline constexpr GraphTolerance kGraphTolerance;
// How far a pass may move a graph's results: each value relative to itself or 1, whichever is more, or relative to the
// largest magnitude of its output. Passes that change numbers on purpose name a class in their cases.
struct PassTolerance {
  double error;
  bool of_largest;
};
inline std::optional<PassTolerance> pass_tolerance(std::string_view name) {
  if (name == "exact") return PassTolerance{0, false};
  if (name == "float") return PassTolerance{1e-4, false};  // the order of sums, folded constants
  if (name == "half") return PassTolerance{1e-3, true};    // weights rounded to 11 bits
  if (name == "int8") return PassTolerance{4e-2, true};    // a few layers with 8-bit operands
  return std::nullopt;
}

// A whole network whose layers compute in halves, or that has float layers between 8-bit ones: relative to an output's largest magnitude.
inline constexpr double kHalfNetworkTolerance = 2e-2, kMixedNetworkTolerance = 4e-2;

// Boxes and scores of a detector, a few layers behind its inputs.
inline constexpr double kDetectionTolerance = 1e-5;

}  // namespace ingot
