// What a Resize does to each dim: output sizes and scales from its inputs.
#pragma once

#include "runtime/ops/resize_taps.h"
#include "runtime/ops/type_rule.h"

namespace ingot {

struct ResizePlan {
  int rank = 0;
  std::array<ResizeDim, Shape::kMaxRank> dims{};
  Shape shape;  // of the result
};
// with_roi: also reads the roi, which the shape of the result does not need.
Status make_resize_plan(const ResizeParams& params, std::span<const OpInput> inputs, bool with_roi, ResizePlan& plan);

}  // namespace ingot
