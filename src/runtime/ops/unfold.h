// Ops that put windows back into the tensor they were taken from.
#pragma once

#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// x, indices (s64, as x; flat places in the whole result). Places that nobody names are 0; the last of equal indices wins.
struct MaxUnpoolParams {
  std::vector<int64_t> kernel, strides, pads;
  INGOT_FIELDS(kernel, strides, pads)
};
// x [N, C·∏block, L], image dims, block dims (both known before the run) → [N, C, image…]; overlapping values add up.
struct Col2ImParams {
  std::vector<int64_t> strides, pads, dilations;
  INGOT_FIELDS(strides, pads, dilations)
};

Status infer_types(const MaxUnpoolParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const MaxUnpoolParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const Col2ImParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const Col2ImParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
