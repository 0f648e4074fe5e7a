// Ops whose results are as long as the data says: NonZero, Compress, Unique. Their type rules give upper bounds with counted
// dims (op_io.h); their reference code counts first, reports the shape, and writes only if there is room.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// x → s64 [rank, n]: column k has the indices of the k-th element, row-major, that is not zero; a scalar counts as a list of
// one. NaN is not zero.
struct NonZeroParams { INGOT_FIELDS() };
// x, condition (bool [l]) → the slices along `axis` whose condition holds, or the elements of x where flat. Slices behind the
// end of the condition are left out.
struct CompressParams {
  bool flat = true;
  int64_t axis = 0;  // where not flat
  INGOT_FIELDS(flat, axis)
};
// x → the different slices along `axis` (elements where flat), in ascending or in first-seen order; then s64 lists: where each
// is first, which of them each slice of x is, how often each is there. All four outputs are always made. NaN equals itself and
// is larger than every number; slices compare element by element.
struct UniqueParams {
  bool sorted = true, flat = true;
  int64_t axis = 0;  // where not flat
  INGOT_FIELDS(sorted, flat, axis)
};

Status infer_types(const NonZeroParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const NonZeroParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const CompressParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const CompressParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const UniqueParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const UniqueParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
