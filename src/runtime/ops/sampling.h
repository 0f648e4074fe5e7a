// Reads of pictures at fractional places: GridSample at places given one by one, RoiAlign on a raster over each box.
#pragma once

#include <string_view>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class GridSampleMode : int64_t { kLinear, kNearest, kCubic, kCount };
enum class GridSamplePadding : int64_t { kZeros, kBorder, kReflection, kCount };
std::string_view to_string(GridSampleMode mode);
std::string_view to_string(GridSamplePadding padding);

// x [N,C,H,W] or [N,C,D,H,W], grid [N,h,w,2] or [N,d,h,w,3] of places from −1 to 1, the last dim of x first.
// align_corners: ±1 are the centres of the outermost pixels, else their edges. Cubic is for pictures only.
struct GridSampleParams {
  GridSampleMode mode = GridSampleMode::kLinear;
  GridSamplePadding padding = GridSamplePadding::kZeros;
  bool align_corners = false;
  INGOT_FIELDS(mode, padding, align_corners)
};
// x [N,C,H,W], boxes [R,4] (x1, y1, x2, y2), batch indices [R] → [R,C,height,width]. sampling_ratio 0: as many samples for
// each cell and direction as its size, rounded up. half_pixel: coordinates shift by half a pixel, boxes may be empty.
struct RoiAlignParams {
  bool max = false;  // the largest weighted neighbour instead of the average
  bool half_pixel = true;
  int64_t height = 1, width = 1, sampling_ratio = 0;
  double spatial_scale = 1;
  INGOT_FIELDS(max, half_pixel, height, width, sampling_ratio, spatial_scale)
};

Status infer_types(const GridSampleParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const GridSampleParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const RoiAlignParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const RoiAlignParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
