// Reductions over some dims. Input x, axes (s64, optional; its value must be known); without axes all dims are reduced,
// or, with noop_with_empty_axes, every element is a set of its own. ArgReduce gives the s64 index of the extreme value along
// one axis; NaN wins. Floats accumulate in float64; integer sums and products wrap in 64 bits, means truncate. A set without
// elements gives the identity of the function: −∞ or the lowest integer for max, NaN for a float mean, 0 for an integer one.
// Quantised u8/s8, one scale on both sides: sum, mean, max and min are
//   y = clamp(rne(float(a) · m) + z_y),  a = Σ (x−z_x) or the extreme x−z_x,  m = s_x/s_y, or s_x/(s_y n) for mean
// and the other functions are left to floats.
#pragma once

#include <string_view>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class ReduceFunction : int64_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare, kCount };
std::string_view to_string(ReduceFunction function);

struct ReduceParams {
  ReduceFunction function = ReduceFunction::kSum;
  bool keepdims = true, noop_with_empty_axes = false;
  INGOT_FIELDS(function, keepdims, noop_with_empty_axes)
};
struct ArgReduceParams {
  bool largest = true, keepdims = true, select_last_index = false;
  int64_t axis = 0;
  INGOT_FIELDS(largest, keepdims, select_last_index, axis)
};

Status infer_types(const ReduceParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ReduceParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
// One result of Reduce, element i of y, whose set comes piece by piece: next(context, at, count) gives the address of elements
// [at, at + count), count ≤ most. Plain numbers and bool, in the order of the set.
using SetPiece = const void* (*)(void* context, int64_t at, int64_t count);
Status reduce_in_pieces(ReduceFunction function, DataType type, int64_t set_size, int64_t most, SetPiece next, void* context, void* y, int64_t i);
Status infer_types(const ArgReduceParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ArgReduceParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
