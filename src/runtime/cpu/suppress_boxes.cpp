// NonMaxSuppression with a heap: a pass over the scores of a class collects the boxes above the threshold, the heap gives them
// from the best on, and corners of those kept lie side by side. The result is the reference's, to the last box.
#include <algorithm>

#include "runtime/ops/type_rule.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

size_t boxes_at_most(const Problem& problem) { return static_cast<size_t>(std::max<int64_t>(problem.inputs[0].max_shape[1], 0)); }

class SuppressKernel final : public Kernel {
 public:
  explicit SuppressKernel(const Problem& problem)
      : center_point_box_(std::get<NonMaxSuppressionParams>(problem.params).center_point_box), most_(boxes_at_most(problem)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[1];
    const int64_t batches = shape[0], classes = shape[1], n = shape[2];
    const auto value = [&](size_t i) { return i < args.inputs.size() ? args.inputs[i] : nullptr; };
    const SuppressionLimits limits = read_suppression_limits(value(2), value(3), value(4));
    auto* kept = static_cast<BoxCorners*>(args.workspace);
    auto* heap = reinterpret_cast<int32_t*>(kept + most_);
    const int64_t room = args.output_shapes[0][0];
    auto* rows = static_cast<int64_t*>(args.outputs[0]);
    int64_t count = 0;
    for (int64_t pair = 0; pair < batches * classes; ++pair) {
      const float* scores = static_cast<const float*>(args.inputs[1]) + pair * n;
      const float* boxes = static_cast<const float*>(args.inputs[0]) + pair / classes * n * 4;
      int32_t* end = heap;
      if (limits.most_boxes > 0)
        for (int64_t i = 0; i < n; ++i)
          if (limits.has_score_threshold ? scores[i] > limits.score_threshold : scores[i] == scores[i]) *end++ = static_cast<int32_t>(i);
      // Of equal scores the earlier box is better.
      const auto worse = [scores](int32_t a, int32_t b) { return scores[a] < scores[b] || (scores[a] == scores[b] && a > b); };
      std::make_heap(heap, end, worse);
      int64_t selected = 0;
      while (end != heap && selected < limits.most_boxes) {
        std::pop_heap(heap, end, worse);
        const int32_t best = *--end;
        const BoxCorners box = box_corners(boxes + int64_t{best} * 4, center_point_box_);
        if (std::any_of(kept, kept + selected, [&](const BoxCorners& other) { return overlaps(box, other, limits.iou_threshold); })) continue;
        kept[selected++] = box;
        if (count < room) {
          rows[count * 3] = pair / classes;
          rows[count * 3 + 1] = pair % classes;
          rows[count * 3 + 2] = best;
        }
        ++count;
      }
    }
    args.produced_shapes[0] = Shape{count, 3};
    return {};
  }

 private:
  const bool center_point_box_;
  const size_t most_;
};

class SuppressTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.nonmaxsuppression.heap", 1, OpKind::kNonMaxSuppression};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (problem.inputs.size() < 2 || problem.outputs.size() != 1) return {"number of inputs or outputs"};
    const Operand &boxes = problem.inputs[0], &scores = problem.inputs[1];
    if (boxes.type.dtype != DataType::kF32 || scores.type.dtype != DataType::kF32) return {"element type is not f32"};
    if (boxes.max_shape.rank != 3 || scores.max_shape.rank != 3) return {"rank is not 3"};
    if (boxes.max_shape[1] > INT32_MAX) return {"2^31 boxes or more"};
    for (const Operand* operand : {&boxes, &scores, &problem.outputs[0]})
      if (operand->type.layout != Layout::kLinear) return {"layout is not row-major"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override { return boxes_at_most(problem) * (sizeof(BoxCorners) + sizeof(int32_t)); }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "packed constants: got " + std::to_string(blob.size()) + " bytes, need none");
    return std::unique_ptr<Kernel>(new SuppressKernel(problem));
  }
};

}  // namespace

std::span<const Tactic* const> suppress_boxes() {
  static const SuppressTactic tactic;
  static const Tactic* const list[] = {&tactic};
  return list;
}

}  // namespace ingot::cpu
