// NonMaxSuppression: of boxes that overlap too much, only the one with the best score is kept, per batch and class.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// boxes [batches, n, 4], scores [batches, classes, n], then optional single numbers: the most boxes per class (s64, default 0),
// IoU threshold (f32, default 0), score threshold (f32, default none) → s64 [k, 3]: batch, class and box of those selected, by
// batch, class and falling score; of equal scores the earlier box comes first. A box must score above the threshold, and is
// suppressed where its intersection over union with one selected before is above the IoU threshold.
// Boxes are two opposite corners y1 x1 y2 x2 in any order, or centre x y and width height.
struct NonMaxSuppressionParams {
  bool center_point_box = false;
  INGOT_FIELDS(center_point_box)
};

Status infer_types(const NonMaxSuppressionParams&, std::span<const OpInput>, std::span<OpOutput>);
// At most batches · classes · min(most boxes, n) rows. Time n · (boxes considered) per class.
Status run_reference(const NonMaxSuppressionParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

// One box by its corners, low before high.
struct BoxCorners {
  float x_low = 0, y_low = 0, x_high = 0, y_high = 0;
};
BoxCorners box_corners(const float* box, bool center_point_box);
// Whether the intersection over union, in f32, is above the threshold. Boxes without area overlap nothing.
bool overlaps(const BoxCorners& a, const BoxCorners& b, float threshold);
// The optional inputs of a run.
struct SuppressionLimits {
  int64_t most_boxes = 0;
  float iou_threshold = 0, score_threshold = 0;
  bool has_score_threshold = false;
};
SuppressionLimits read_suppression_limits(const void* most_boxes, const void* iou_threshold, const void* score_threshold);

}  // namespace ingot
