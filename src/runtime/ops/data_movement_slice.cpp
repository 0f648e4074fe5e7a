// Slice: basic indexing with steps of either sign. As in ONNX and unlike numpy, a negative step starts at the first element
// where its start lies before it.
#include <algorithm>

#include "runtime/ops/data_movement.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "slice";

struct SlicePlan {
  Shape shape;
  std::array<int64_t, Shape::kMaxRank> starts{}, steps{};
};

// The indices start, start + step, … of a dim that a slice keeps.
void cut_dim(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t& first, int64_t& count) {
  // Adding dim to a negative bound cannot overflow, not even to INT64_MIN, which then clamps to the lowest bound.
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  count = 0;
  first = 0;
  if (dim == 0) return;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::clamp<int64_t>(end, 0, dim);
    if (end > start) count = (end - start - 1) / step + 1;
  } else {
    start = std::clamp<int64_t>(start, 0, dim - 1);
    end = std::clamp<int64_t>(end, -1, dim - 1);
    if (end < start) count = (end - start + 1) / step + 1;  // non-positive by negative: never INT64_MIN / −1
  }
  if (count > 0) first = start;
}

Status make_plan(std::span<const OpInput> inputs, SlicePlan& plan) {
  const Shape& from = inputs[0].shape;
  plan.shape = from;
  plan.steps.fill(1);
  IndexList starts, ends, axes, steps;
  INGOT_TRY(read_index_list(kOp, "starts", inputs[1], Shape::kMaxRank, starts));
  INGOT_TRY(read_index_list(kOp, "ends", inputs[2], Shape::kMaxRank, ends));
  const bool has_axes = has_input(inputs, 3), has_steps = has_input(inputs, 4);
  if (has_axes) INGOT_TRY(read_index_list(kOp, "axes", inputs[3], Shape::kMaxRank, axes));
  if (has_steps) INGOT_TRY(read_index_list(kOp, "steps", inputs[4], Shape::kMaxRank, steps));
  if (starts.count > from.rank)
    return refuse(kOp, "number of starts", std::to_string(starts.count), "at most rank " + std::to_string(from.rank));
  const auto same_length = [&](std::string_view name, const IndexList& list) -> Status {
    if (list.count == starts.count) return {};
    return refuse(kOp, "number of " + std::string(name), std::to_string(list.count),
                  std::to_string(starts.count) + ", as starts");
  };
  INGOT_TRY(same_length("ends", ends));
  if (has_axes) INGOT_TRY(same_length("axes", axes));
  if (has_steps) INGOT_TRY(same_length("steps", steps));
  std::array<bool, Shape::kMaxRank> used{};
  for (int i = 0; i < starts.count; ++i) {
    int axis = i;
    if (has_axes) INGOT_TRY(read_axis(kOp, axes[i], from.rank, axis));
    const auto at = static_cast<size_t>(axis);
    if (used[at]) return refuse(kOp, "axis given twice", std::to_string(axes[i]), "each axis once");
    used[at] = true;
    const int64_t step = has_steps ? steps[i] : 1;
    if (step == 0) return refuse(kOp, "step", "0", "any other number");
    cut_dim(from[axis], starts[i], ends[i], step, plan.starts[at], plan.shape[axis]);
    // The step of a single place is never taken, and may be too large to multiply.
    plan.steps[at] = plan.shape[axis] > 1 ? step : 1;
  }
  return {};
}

}  // namespace

Status infer_types(const SliceParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 3, 5, outputs));
  SlicePlan plan;
  INGOT_TRY(make_plan(inputs, plan));
  return set_output(kOp, outputs[0], inputs[0].dtype, plan.shape);
}

Status run_reference(const SliceParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  std::array<OpInput, 5> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = as_input(inputs[i]);
  SlicePlan plan;
  INGOT_TRY(make_plan(std::span(values).first(inputs.size()), plan));
  if (plan.shape.elements() == 0) return {};
  const Strides source = row_major_strides(inputs[0].type->shape), target = row_major_strides(plan.shape);
  int64_t offset = 0;
  StridedCopy view;
  for (int i = 0; i < plan.shape.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    offset += plan.starts[at] * source[at];
    view.add_dim(plan.shape[i], plan.steps[at] * source[at], target[at]);
  }
  const size_t bytes = element_bytes(inputs[0].type->dtype);
  copy_strided(view, bytes, static_cast<const std::byte*>(inputs[0].data) + static_cast<size_t>(offset) * bytes,
               outputs[0].data);
  return {};
}

}  // namespace ingot
