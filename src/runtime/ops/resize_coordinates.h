// Where Resize samples: output dims and scales from its inputs, and the input position behind each output index.
#pragma once

#include "runtime/ops/resize.h"
#include "runtime/ops/type_rule.h"

namespace ingot {

struct ResizeDim {
  int64_t in = 0, out = 0;
  float scale = 1, roi_start = 0, roi_end = 1;
  bool listed = false;  // named by `axes`; the others are copied
};
struct ResizePlan {
  int rank = 0;
  std::array<ResizeDim, Shape::kMaxRank> dims{};
  Shape shape;  // of the result
};
// with_roi: also reads the roi, which the shape of the result does not need.
Status make_resize_plan(const ResizeParams& params, std::span<const OpInput> inputs, bool with_roi, ResizePlan& plan);

// Position in the input behind output index i; false when it lies outside and the extrapolation value stands there.
bool resize_position(ResizeCoordinates coordinates, const ResizeDim& dim, int64_t i, float& position);
// Input index that nearest sampling takes for a position.
int64_t nearest_index(ResizeNearest rule, const ResizeDim& dim, float position);

}  // namespace ingot
