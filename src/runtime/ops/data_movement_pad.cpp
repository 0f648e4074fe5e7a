// Pad: each dim is cropped first (negative pads), then what remains is extended: by a constant, by repeated reflection
// without the border, by its border, or as a ring.
#include <algorithm>
#include <cstring>

#include "runtime/ops/data_movement.h"
#include "runtime/ops/element.h"
#include "runtime/ops/quantize.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "pad";

// Per dim: indices crop … crop + kept − 1 of the input are kept and begin at index `before` of the output.
struct PadPlan {
  Shape shape, kept;
  std::array<int64_t, Shape::kMaxRank> crop{}, before{};
};

Status plan_dim(PadMode mode, int64_t dim, int64_t begin, int64_t end, int axis, PadPlan& plan) {
  const auto at = static_cast<size_t>(axis);
  // dim ≥ 0, so a crop by any amount does not overflow when taken from one side at a time.
  int64_t kept = dim;
  if (begin < 0) kept += begin;
  if (end < 0 && kept >= 0) kept += end;
  if (kept < 0)
    return refuse(kOp, "crop of dim " + std::to_string(axis), std::to_string(begin) + " and " + std::to_string(end),
                  "at most its size " + std::to_string(dim));
  const int64_t before = std::max<int64_t>(begin, 0), after = std::max<int64_t>(end, 0);
  int64_t size = 0;
  if (__builtin_add_overflow(kept, before, &size) || __builtin_add_overflow(size, after, &size))
    return refuse(kOp, "dim " + std::to_string(axis) + " of the result",
                  std::to_string(begin) + " and " + std::to_string(end), "less than 2^63 in all");
  if (mode != PadMode::kConstant && kept == 0 && size > 0)
    return refuse(kOp, "dim " + std::to_string(axis) + " is empty", "nothing to repeat", "1 element or more");
  plan.crop[at] = begin < 0 ? -begin : 0;
  plan.before[at] = before;
  plan.kept[axis] = kept;
  plan.shape[axis] = size;
  return {};
}

Status make_plan(PadMode mode, std::span<const OpInput> inputs, PadPlan& plan) {
  const Shape& from = inputs[0].shape;
  plan.shape = plan.kept = from;
  IndexList pads, axes;
  INGOT_TRY(read_index_list(kOp, "pads", inputs[1], 2 * Shape::kMaxRank, pads));
  const bool has_axes = has_input(inputs, 3);
  if (has_axes) INGOT_TRY(read_index_list(kOp, "axes", inputs[3], Shape::kMaxRank, axes));
  const int count = has_axes ? axes.count : from.rank;
  if (pads.count != 2 * count)
    return refuse(kOp, "number of pads", std::to_string(pads.count), std::to_string(2 * count) + ", two per axis");
  std::array<bool, Shape::kMaxRank> used{};
  for (int i = 0; i < count; ++i) {
    int axis = i;
    if (has_axes) INGOT_TRY(read_axis(kOp, axes[i], from.rank, axis));
    if (used[static_cast<size_t>(axis)])
      return refuse(kOp, "axis given twice", std::to_string(axes[i]), "each axis once");
    used[static_cast<size_t>(axis)] = true;
    INGOT_TRY(plan_dim(mode, from[axis], pads[i], pads[count + i], axis, plan));
  }
  return {};
}

// Where output index i of a dim reads from, for the modes that repeat the input.
int64_t source_index(PadMode mode, int64_t i, int64_t before, int64_t kept, int64_t crop) {
  int64_t k = i - before;
  if (mode == PadMode::kEdge) {
    k = std::clamp<int64_t>(k, 0, kept - 1);
  } else {
    const int64_t period = mode == PadMode::kWrap ? kept : std::max<int64_t>(2 * (kept - 1), 1);
    k %= period;
    if (k < 0) k += period;
    if (k >= kept) k = period - k;
  }
  return crop + k;
}

// The element that constant padding writes: zero, or the zero point of a quantised tensor, or input `value`.
Status padding_element(std::span<const ConstTensorRef> inputs, std::array<std::byte, 8>& element) {
  element.fill(std::byte{0});
  const TensorType& type = *inputs[0].type;
  const bool quantised = is_quantized(type);
  const int32_t zero_point = quantised ? zero_point_of(type) : 0;
  const auto store_byte = [&](int32_t q) { element[0] = static_cast<std::byte>(static_cast<uint8_t>(q)); };
  if (!has_input(inputs, 2)) {
    if (quantised) store_byte(zero_point);
    return {};
  }
  const ConstTensorRef& value = inputs[2];
  if (value.type->dtype == type.dtype) {
    std::memcpy(element.data(), value.data, element_bytes(type.dtype));
  } else if (quantised && value.type->dtype == DataType::kF32) {
    const bool is_signed = type.dtype == DataType::kS8;
    store_byte(quantize_value(*value.as<float>(), scale_of(type), zero_point, is_signed ? -128 : 0,
                              is_signed ? 127 : 255));
  } else {
    return refuse(kOp, "type of the value", to_string(value.type->dtype), to_string(type.dtype),
                  StatusCode::kInvalidArgument);
  }
  return {};
}

void pad_constant(const PadPlan& plan, const Shape& from, size_t bytes, const std::byte* value, const void* source,
                  void* target) {
  fill_elements(target, plan.shape.elements(), bytes, value);
  if (plan.kept.elements() == 0) return;
  const Strides source_strides = row_major_strides(from), target_strides = row_major_strides(plan.shape);
  StridedCopy view;
  int64_t source_at = 0, target_at = 0;
  for (int i = 0; i < from.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    view.add_dim(plan.kept[i], source_strides[at], target_strides[at]);
    source_at += plan.crop[at] * source_strides[at];
    target_at += plan.before[at] * target_strides[at];
  }
  copy_strided(view, bytes, static_cast<const std::byte*>(source) + static_cast<size_t>(source_at) * bytes,
               static_cast<std::byte*>(target) + static_cast<size_t>(target_at) * bytes);
}

void pad_repeating(PadMode mode, const PadPlan& plan, const Shape& from, size_t bytes, const void* source,
                   void* target) {
  if (plan.shape.elements() == 0) return;
  const Strides strides = row_major_strides(from);
  const int rank = from.rank;
  const auto* in = static_cast<const std::byte*>(source);
  auto* out = static_cast<std::byte*>(target);
  std::array<int64_t, Shape::kMaxRank> index{};
  const auto place = [&](int d, int64_t i) {
    const auto at = static_cast<size_t>(d);
    return source_index(mode, i, plan.before[at], plan.kept[at], plan.crop[at]) * strides[at];
  };
  while (true) {
    int64_t row = 0;
    for (int d = 0; d + 1 < rank; ++d) row += place(d, index[static_cast<size_t>(d)]);
    const int64_t inner = rank > 0 ? plan.shape[rank - 1] : 1;
    for (int64_t i = 0; i < inner; ++i, out += bytes) {
      const int64_t at = rank > 0 ? row + place(rank - 1, i) : 0;
      std::memcpy(out, in + static_cast<size_t>(at) * bytes, bytes);
    }
    int d = rank - 2;
    for (; d >= 0; --d) {
      if (++index[static_cast<size_t>(d)] < plan.shape[d]) break;
      index[static_cast<size_t>(d)] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace

Status infer_types(const PadParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 2, 4, outputs));
  if (has_input(inputs, 2)) {
    const OpInput& value = inputs[2];
    if (value.shape.elements() != 1)
      return refuse(kOp, "elements of the value", std::to_string(value.shape.elements()), "1");
    if (value.dtype != inputs[0].dtype && !(value.dtype == DataType::kF32 && is_byte(inputs[0].dtype)))
      return refuse(kOp, "type of the value", to_string(value.dtype), to_string(inputs[0].dtype));
  }
  PadPlan plan;
  INGOT_TRY(make_plan(params.mode, inputs, plan));
  return set_output(kOp, outputs[0], inputs[0].dtype, plan.shape);
}

Status run_reference(const PadParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  std::array<OpInput, 4> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = as_input(inputs[i]);
  PadPlan plan;
  INGOT_TRY(make_plan(params.mode, std::span(values).first(inputs.size()), plan));
  const Shape& from = inputs[0].type->shape;
  const size_t bytes = element_bytes(inputs[0].type->dtype);
  if (params.mode == PadMode::kConstant) {
    std::array<std::byte, 8> element;
    INGOT_TRY(padding_element(inputs, element));
    pad_constant(plan, from, bytes, element.data(), inputs[0].data, outputs[0].data);
  } else {
    pad_repeating(params.mode, plan, from, bytes, inputs[0].data, outputs[0].data);
  }
  return {};
}

}  // namespace ingot
