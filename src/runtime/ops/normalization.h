// Normalisations. BatchNorm: x, scale, shift, mean, variance (all [C]). LayerNorm: x, scale, bias (optional; shape of the
// dims from `axis` on), optional outputs mean and 1/σ; `rms` leaves the mean out (RMSNormalization).
// InstanceNorm: x, scale, bias; `groups` > 0 makes it GroupNorm over channel groups (scale and bias per channel).
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

struct BatchNormParams {
  double epsilon = 1e-5;
  INGOT_FIELDS(epsilon)
};
struct LayerNormParams {
  int64_t axis = -1;
  double epsilon = 1e-5;
  bool rms = false;
  INGOT_FIELDS(axis, epsilon, rms)
};
struct InstanceNormParams {
  double epsilon = 1e-5;
  int64_t groups = 0;
  INGOT_FIELDS(epsilon, groups)
};
// axis: dim along which it sums; `flatten` is the rule before opset 13: all dims from `axis` on together.
struct SoftmaxParams {
  int64_t axis = -1;
  bool log = false, flatten = false;
  INGOT_FIELDS(axis, log, flatten)
};
// Fused scaled dot-product attention: q [B,H,S,D], k [B,H,T,D] (k_transposed: [B,H,D,T]), v [B,H,T,D],
// additive mask broadcastable to [B,H,S,T] (optional). y = softmax(scale · q kᵀ + mask) v.
struct AttentionParams {
  double scale = 1;
  bool k_transposed = false;
  INGOT_FIELDS(scale, k_transposed)
};

Status infer_types(const BatchNormParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const BatchNormParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const LayerNormParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const LayerNormParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const InstanceNormParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const InstanceNormParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const SoftmaxParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const SoftmaxParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const AttentionParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const AttentionParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
