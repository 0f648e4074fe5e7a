// Needs no memory: the next box to consider is found by a pass over the scores, and the boxes kept so far are read back from
// the output. Past the room that the output has, boxes can no longer be compared; the bound in the type rule leaves enough.
#include "runtime/ops/non_max_suppression.h"

#include <algorithm>

#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "non_max_suppression";

Status check_single(const OpInput& input, DataType type, std::string_view name) {
  if (!input.present) return {};
  if (input.dtype != type) return refuse(kOp, "type of the " + std::string(name), to_string(input.dtype), to_string(type));
  if (input.shape.elements() != 1)
    return refuse(kOp, "elements of the " + std::string(name), std::to_string(input.shape.elements()), "1");
  return {};
}

}  // namespace

BoxCorners box_corners(const float* box, bool center_point_box) {
  if (center_point_box) {
    const float half_width = box[2] / 2, half_height = box[3] / 2;
    return {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
  }
  return {std::min(box[1], box[3]), std::min(box[0], box[2]), std::max(box[1], box[3]), std::max(box[0], box[2])};
}

bool overlaps(const BoxCorners& a, const BoxCorners& b, float threshold) {
  const float width = std::min(a.x_high, b.x_high) - std::max(a.x_low, b.x_low);
  const float height = std::min(a.y_high, b.y_high) - std::max(a.y_low, b.y_low);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height;
  const float area_a = (a.x_high - a.x_low) * (a.y_high - a.y_low), area_b = (b.x_high - b.x_low) * (b.y_high - b.y_low);
  const float either = area_a + area_b - common;
  if (!(common > 0 && area_a > 0 && area_b > 0 && either > 0)) return false;
  return common / either > threshold;
}

SuppressionLimits read_suppression_limits(const void* most_boxes, const void* iou_threshold, const void* score_threshold) {
  SuppressionLimits limits;
  if (most_boxes) limits.most_boxes = std::max<int64_t>(*static_cast<const int64_t*>(most_boxes), 0);
  if (iou_threshold) limits.iou_threshold = *static_cast<const float*>(iou_threshold);
  limits.has_score_threshold = score_threshold != nullptr;
  if (score_threshold) limits.score_threshold = *static_cast<const float*>(score_threshold);
  return limits;
}

Status infer_types(const NonMaxSuppressionParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 2, 5, outputs));
  const Shape &boxes = inputs[0].shape, &scores = inputs[1].shape;
  for (size_t i = 0; i < 2; ++i)
    if (inputs[i].dtype != DataType::kF32)
      return refuse(kOp, i == 0 ? "type of the boxes" : "type of the scores", to_string(inputs[i].dtype), "f32", StatusCode::kUnsupported);
  if (boxes.rank != 3 || boxes[2] != 4) return refuse(kOp, "shape of the boxes", to_string(boxes), "batches x boxes x 4");
  if (scores.rank != 3 || scores[0] != boxes[0] || scores[2] != boxes[1])
    return refuse(kOp, "shape of the scores", to_string(scores), std::to_string(boxes[0]) + " batches x classes x " + std::to_string(boxes[1]) + " boxes");
  if (inputs.size() > 2) INGOT_TRY(check_single(inputs[2], DataType::kS64, "number of boxes"));
  if (inputs.size() > 3) INGOT_TRY(check_single(inputs[3], DataType::kF32, "IoU threshold"));
  if (inputs.size() > 4) INGOT_TRY(check_single(inputs[4], DataType::kF32, "score threshold"));
  int64_t per_class = boxes[1];
  if (!has_input(inputs, 2)) per_class = 0;
  else if (inputs[2].data) per_class = std::clamp<int64_t>(read_index(inputs[2], 0), 0, per_class);
  const auto rows = checked_elements(std::array<int64_t, 3>{scores[0], scores[1], per_class});
  if (!rows) return refuse(kOp, "rows of the result", "2^59 or more", "fewer", StatusCode::kUnsupported);
  INGOT_TRY(set_output(kOp, outputs[0], DataType::kS64, Shape{*rows, 3}));
  outputs[0].counted = 1;
  return {};
}

Status run_reference(const NonMaxSuppressionParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& shape = inputs[1].type->shape;
  const int64_t batches = shape[0], classes = shape[1], n = shape[2];
  const auto value = [&](size_t i) { return i < inputs.size() && inputs[i] ? inputs[i].data : nullptr; };
  const SuppressionLimits limits = read_suppression_limits(value(2), value(3), value(4));
  const int64_t room = outputs[0].type->shape[0];
  int64_t* rows = outputs[0].as<int64_t>();
  int64_t count = 0;
  for (int64_t b = 0; b < batches; ++b) {
    const float* boxes = inputs[0].as<float>() + b * n * 4;
    for (int64_t c = 0; c < classes; ++c) {
      const float* scores = inputs[1].as<float>() + (b * classes + c) * n;
      const int64_t first = count;
      int64_t last = -1;  // the box considered last
      while (count - first < limits.most_boxes) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; ++i) {
          if (limits.has_score_threshold ? !(scores[i] > limits.score_threshold) : scores[i] != scores[i]) continue;
          const bool after = last < 0 || scores[i] < scores[last] || (scores[i] == scores[last] && i > last);
          if (after && (best < 0 || scores[i] > scores[best])) best = i;
        }
        if (best < 0) break;
        last = best;
        const BoxCorners box = box_corners(boxes + best * 4, params.center_point_box);
        bool suppressed = false;
        for (int64_t k = first; k < std::min(count, room) && !suppressed; ++k)
          suppressed = overlaps(box, box_corners(boxes + rows[k * 3 + 2] * 4, params.center_point_box), limits.iou_threshold);
        if (suppressed) continue;
        if (count < room) rows[count * 3] = b, rows[count * 3 + 1] = c, rows[count * 3 + 2] = best;
        ++count;
      }
    }
  }
  bool fits = false;
  return report_shape(kOp, outputs[0], Shape{count, 3}, fits);
}

}  // namespace ingot
