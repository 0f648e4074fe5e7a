// Body of resize_coordinates.h.
#include "runtime/ops/resize_coordinates.h"

#include <cmath>

#include "runtime/ops/half.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "resize";

// The elements of a float input; an empty or absent one is a list of none.
struct FloatList {
  int count = 0;
  std::array<float, 2 * Shape::kMaxRank> values{};
};

Status read_floats(std::string_view name, const OpInput& input, FloatList& list) {
  const int64_t count = input.shape.elements();
  if (count < 0 || count > static_cast<int64_t>(list.values.size()))
    return refuse(kOp, "too many " + std::string(name), std::to_string(count), "at most 16", StatusCode::kUnsupported);
  if (count > 0 && input.data == nullptr) return refuse_unknown_value(kOp, name);
  list.count = static_cast<int>(count);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    float& value = list.values[i];
    switch (input.dtype) {
      case DataType::kF32: value = static_cast<const float*>(input.data)[i]; break;
      case DataType::kF64: value = static_cast<float>(static_cast<const double*>(input.data)[i]); break;
      case DataType::kF16: value = f16_to_f32(static_cast<const uint16_t*>(input.data)[i]); break;
      case DataType::kBF16: value = bf16_to_f32(static_cast<const uint16_t*>(input.data)[i]); break;
      default: return refuse(kOp, std::string(name) + " of the wrong type", to_string(input.dtype), "f32");
    }
  }
  return {};
}

bool is_given(std::span<const OpInput> inputs, size_t i) {
  return has_input(inputs, i) && inputs[i].shape.elements() != 0;
}

// Output size of a dim; the product is a float32, as scales are.
Status scaled_size(int axis, ResizeDim& dim, float rounding) {
  if (!(dim.scale > 0) || std::isinf(dim.scale))
    return refuse(kOp, "scale of dim " + std::to_string(axis), std::to_string(dim.scale), "a positive number");
  const float size = std::floor(static_cast<float>(dim.in) * dim.scale + rounding);
  if (!(size < 0x1p59f))
    return refuse(kOp, "dim " + std::to_string(axis) + " of the result", std::to_string(size), "less than 2^59");
  dim.out = static_cast<int64_t>(size);
  return {};
}

using DimNumbers = std::array<int, Shape::kMaxRank>;

Status apply_sizes(ResizeAspect aspect, const IndexList& sizes, const DimNumbers& numbers, int count,
                   ResizePlan& plan) {
  for (int i = 0; i < count; ++i) {
    const int axis = numbers[static_cast<size_t>(i)];
    ResizeDim& dim = plan.dims[static_cast<size_t>(axis)];
    if (sizes[i] < 0) return refuse(kOp, "size of dim " + std::to_string(axis), std::to_string(sizes[i]), "0 or more");
    if (dim.in == 0 && sizes[i] > 0)
      return refuse(kOp, "dim " + std::to_string(axis) + " is empty", "size " + std::to_string(sizes[i]), "size 0");
    dim.out = sizes[i];
    dim.scale = dim.in == 0 ? 1 : static_cast<float>(dim.out) / static_cast<float>(dim.in);
  }
  if (aspect == ResizeAspect::kStretch || count == 0) return {};
  float common = plan.dims[static_cast<size_t>(numbers[0])].scale;
  for (int i = 1; i < count; ++i) {
    const float scale = plan.dims[static_cast<size_t>(numbers[static_cast<size_t>(i)])].scale;
    common = aspect == ResizeAspect::kNotLarger ? std::min(common, scale) : std::max(common, scale);
  }
  for (int i = 0; i < count; ++i) {
    const int axis = numbers[static_cast<size_t>(i)];
    ResizeDim& dim = plan.dims[static_cast<size_t>(axis)];
    dim.scale = common;
    INGOT_TRY(scaled_size(axis, dim, 0.5f));
  }
  return {};
}

}  // namespace

Status make_resize_plan(const ResizeParams& params, std::span<const OpInput> inputs, bool with_roi, ResizePlan& plan) {
  const Shape& from = inputs[0].shape;
  plan.rank = from.rank;
  for (int i = 0; i < from.rank; ++i) {
    ResizeDim& dim = plan.dims[static_cast<size_t>(i)];
    dim.in = dim.out = from[i];
  }
  DimNumbers numbers{};
  int count = from.rank;
  if (params.axes.empty()) {
    for (int i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = i;
  } else {
    if (params.axes.size() > static_cast<size_t>(from.rank))
      return refuse(kOp, "number of axes", std::to_string(params.axes.size()),
                    "at most rank " + std::to_string(from.rank));
    count = static_cast<int>(params.axes.size());
    for (size_t i = 0; i < params.axes.size(); ++i) INGOT_TRY(read_axis(kOp, params.axes[i], from.rank, numbers[i]));
  }
  for (int i = 0; i < count; ++i) {
    ResizeDim& dim = plan.dims[static_cast<size_t>(numbers[static_cast<size_t>(i)])];
    if (dim.listed)
      return refuse(kOp, "axis given twice", std::to_string(numbers[static_cast<size_t>(i)]), "each axis once");
    dim.listed = true;
  }

  const bool has_scales = is_given(inputs, 2), has_sizes = is_given(inputs, 3);
  if (has_scales == has_sizes && count > 0)
    return refuse(kOp, "scales and sizes", has_scales ? "both" : "neither", "exactly one of them");
  const auto check_count = [&](std::string_view name, int got) -> Status {
    if (got == count) return {};
    return refuse(kOp, "number of " + std::string(name), std::to_string(got), std::to_string(count));
  };
  if (has_scales) {
    FloatList scales;
    INGOT_TRY(read_floats("scales", inputs[2], scales));
    INGOT_TRY(check_count("scales", scales.count));
    for (int i = 0; i < count; ++i) {
      const int axis = numbers[static_cast<size_t>(i)];
      ResizeDim& dim = plan.dims[static_cast<size_t>(axis)];
      dim.scale = scales.values[static_cast<size_t>(i)];
      INGOT_TRY(scaled_size(axis, dim, 0));
    }
  } else if (has_sizes) {
    IndexList sizes;
    INGOT_TRY(read_index_list(kOp, "sizes", inputs[3], Shape::kMaxRank, sizes));
    INGOT_TRY(check_count("sizes", sizes.count));
    INGOT_TRY(apply_sizes(params.aspect, sizes, numbers, count, plan));
  }
  if (with_roi && params.coordinates == ResizeCoordinates::kTfCropAndResize) {
    if (!is_given(inputs, 1)) return refuse(kOp, "roi for tf_crop_and_resize", "nothing", "two numbers per axis");
    FloatList roi;
    INGOT_TRY(read_floats("roi", inputs[1], roi));
    if (roi.count != 2 * count)
      return refuse(kOp, "numbers in roi", std::to_string(roi.count), std::to_string(2 * count));
    for (int i = 0; i < count; ++i) {
      ResizeDim& dim = plan.dims[static_cast<size_t>(numbers[static_cast<size_t>(i)])];
      dim.roi_start = roi.values[static_cast<size_t>(i)];
      dim.roi_end = roi.values[static_cast<size_t>(count + i)];
    }
  }
  plan.shape.rank = plan.rank;
  for (int i = 0; i < plan.rank; ++i) plan.shape[i] = plan.dims[static_cast<size_t>(i)].out;
  return {};
}

}  // namespace ingot
