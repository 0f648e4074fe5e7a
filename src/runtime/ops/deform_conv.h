// Deformable convolution: each tap reads its picture at a place of its own, moved by an offset and weighted by a mask.
#pragma once

#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// x [N,C,d…], w [M,C/groups,k…], offset [N,offset_groups·∏k·n,o…] (for each tap its n coordinates), bias [M] (optional),
// mask [N,offset_groups·∏k,o…] (optional) → [N,M,o…]; n = 1 to 3 spatial dims. Places between pixels are interpolated
// linearly, pixels outside are 0. Formula: ONNX DeformConv-19.
struct DeformConvParams {
  std::vector<int64_t> strides, pads, dilations;
  int64_t groups = 1, offset_groups = 1;
  INGOT_FIELDS(strides, pads, dilations, groups, offset_groups)
};

Status infer_types(const DeformConvParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const DeformConvParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
