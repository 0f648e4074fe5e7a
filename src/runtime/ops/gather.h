// Indexed reads. Indices are s32 or s64; negative ones count from the end; one out of range is an error of the run.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

struct GatherParams {  // x, indices → x.take(indices, axis)
  int64_t axis = 0;
  INGOT_FIELDS(axis)
};
struct GatherElementsParams {
  int64_t axis = 0;
  INGOT_FIELDS(axis)
};
struct GatherNDParams {  // x, indices [i…, n] → the slice of x that each row of n indices names, behind the batch dims
  int64_t batch_dims = 0;
  INGOT_FIELDS(batch_dims)
};

Status infer_types(const GatherParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const GatherParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const GatherElementsParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const GatherElementsParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const GatherNDParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const GatherNDParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
