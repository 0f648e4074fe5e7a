// Indexed writes: a copy of x in which the places that the indices name are replaced, or combined with the updates. Indices are
// s32 or s64 and count from either end; one out of range is an error of the run. Repeated indices apply in order.
#pragma once

#include <string_view>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class ScatterReduction : int64_t { kReplace, kAdd, kMul, kMin, kMax, kCount };
std::string_view to_string(ScatterReduction reduction);

struct ScatterElementsParams {  // x, indices, updates (as indices): single elements along an axis
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kReplace;
  INGOT_FIELDS(axis, reduction)
};
struct ScatterNDParams {  // x, indices [i…, n], updates [i…, x.dims[n…]]: whole slices
  ScatterReduction reduction = ScatterReduction::kReplace;
  INGOT_FIELDS(reduction)
};

Status infer_types(const ScatterElementsParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ScatterElementsParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const ScatterNDParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ScatterNDParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
