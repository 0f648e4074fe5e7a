// Max pooling of boxes cut from pictures, each into a raster of cells of whole pixels.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// x [N,C,H,W], boxes [R,5] (batch index, x1, y1, x2, y2, ends included) → [R,C,height,width]; a cell without pixels is 0.
// Box corners are scaled, then rounded half away from 0. Formula: ONNX MaxRoiPool-1.
struct RoiPoolParams {
  int64_t height = 1, width = 1;
  double spatial_scale = 1;
  INGOT_FIELDS(height, width, spatial_scale)
};

Status infer_types(const RoiPoolParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const RoiPoolParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
