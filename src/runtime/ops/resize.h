// Resize (ONNX Resize and Upsample): nearest, linear or cubic sampling over any dims.
// Inputs: x, roi (optional), scales (f32, optional), sizes (s64, optional); exactly one of the last two is present and not
// empty. Only the coordinates kTfCropAndResize read roi.
//
// Coordinates are computed in float32: p = position(i) in the input for output index i of a dim. Nearest moves bytes.
// Linear and cubic weigh the elements k near p by w(k) = f((k − p) · min(scale, 1)) (scale only with antialias), normalised
// where the filter is cut or stretched, and sum dim after dim, the last dim innermost, k ascending, taps of weight 0 left out:
//   y = Σ_a w(a) · (Σ_b w(b) · x[a, b])      in float32 (float64 for f64), from 0, one product then one sum
// An element beyond the border is the border's, or has weight 0 with exclude_outside. Integers round to nearest even and
// saturate. Quantised u8/s8: x is s_x · float(q − z_x), and y is stored as clamp(rne(y / s_y) + z_y).
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
