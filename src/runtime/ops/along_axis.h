// Ops that treat the elements along one axis as a sequence, and Trilu, which looks at the last two.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// x, k (one s64 or s32, known before the run) → the k best values and their s64 places, both outputs always made.
// Equal values keep the order of their places; NaN counts as larger than every number. Always sorted, best first.
struct TopKParams {
  int64_t axis = -1;
  bool largest = true;
  INGOT_FIELDS(axis, largest)
};
// x, axis (one s32 or s64) → running sums, or products. Integers wrap.
struct CumulateParams {
  bool product = false, exclusive = false, reverse = false;
  INGOT_FIELDS(product, exclusive, reverse)
};
// x, lengths [batch]: the first lengths[b] elements of sequence b, backwards; the rest as it is.
struct ReverseSequenceParams {
  int64_t batch_axis = 1, time_axis = 0;
  INGOT_FIELDS(batch_axis, time_axis)
};
// indices, depth (one number, known before the run), values [off, on]; an index outside ±depth sets nothing.
struct OneHotParams {
  int64_t axis = -1;
  INGOT_FIELDS(axis)
};
// x, k (optional, one s64): keeps what is on or above (below) diagonal k, zero elsewhere.
struct TriluParams {
  bool upper = true;
  INGOT_FIELDS(upper)
};

Status infer_types(const TopKParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const TopKParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const CumulateParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const CumulateParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const ReverseSequenceParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ReverseSequenceParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const OneHotParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const OneHotParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const TriluParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const TriluParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
