// Resize (ONNX Resize and Upsample): nearest, linear or cubic sampling over any dims.
// Inputs: x, roi (optional), scales (f32, optional), sizes (s64, optional); exactly one of the last two is present.
#pragma once

#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class ResizeMode : int64_t { kNearest, kLinear, kCubic };
enum class ResizeCoordinates : int64_t {
  kHalfPixel, kHalfPixelSymmetric, kPytorchHalfPixel, kAlignCorners, kAsymmetric, kTfHalfPixelForNearest, kTfCropAndResize
};
enum class ResizeNearest : int64_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
enum class ResizeAspect : int64_t { kStretch, kNotLarger, kNotSmaller };

struct ResizeParams {
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  ResizeNearest nearest = ResizeNearest::kRoundPreferFloor;
  ResizeAspect aspect = ResizeAspect::kStretch;
  double cubic_coefficient = -0.75, extrapolation_value = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<int64_t> axes;  // empty: all
  INGOT_FIELDS(mode, coordinates, nearest, aspect, cubic_coefficient, extrapolation_value, exclude_outside, antialias, axes)
};

Status infer_types(const ResizeParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ResizeParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
