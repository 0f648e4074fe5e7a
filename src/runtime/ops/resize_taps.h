// Where Resize samples one dim and how it weighs what it finds: the same float32 operations on CPUs and GPUs, so that results are
// the same bits. Their order decides ties; it follows the ONNX formulas literally.
#pragma once

#include <cmath>

#include <cstdint>

#include "runtime/ops/resize.h"

namespace ingot {

#ifdef __CUDACC__
#define INGOT_RESIZE_ANYWHERE __host__ __device__ inline
#else
#define INGOT_RESIZE_ANYWHERE inline
#endif

struct ResizeDim {
  int64_t in = 0, out = 0;
  float scale = 1, roi_start = 0, roi_end = 1;
  bool listed = false;  // named by `axes`; the others are copied
};

// Position in the input behind output index i; false when it lies outside and the extrapolation value stands there.
INGOT_RESIZE_ANYWHERE bool resize_position(ResizeCoordinates coordinates, const ResizeDim& dim, int64_t i, float& position) {
  const auto x = static_cast<float>(i);
  const auto in = static_cast<float>(dim.in), out = static_cast<float>(dim.out);
  float p = 0;
  switch (coordinates) {
    case ResizeCoordinates::kHalfPixel: p = (x + 0.5f) / dim.scale - 0.5f; break;
    case ResizeCoordinates::kHalfPixelSymmetric: {
      const float adjustment = out / (dim.scale * in), center = in / 2;
      p = center * (1 - adjustment) + ((x + 0.5f) / dim.scale - 0.5f);
      break;
    }
    case ResizeCoordinates::kPytorchHalfPixel: p = dim.out > 1 ? (x + 0.5f) / dim.scale - 0.5f : 0.0f; break;
    case ResizeCoordinates::kAlignCorners: p = dim.out == 1 ? 0.0f : x * (in - 1) / (out - 1); break;
    case ResizeCoordinates::kAsymmetric: p = x / dim.scale; break;
    // As onnxruntime has it, a dim that keeps its size is not moved: its half pixel would mix neighbours.
    case ResizeCoordinates::kTfHalfPixelForNearest: p = dim.scale == 1 ? x : (x + 0.5f) / dim.scale; break;
    case ResizeCoordinates::kTfCropAndResize:
      p = dim.out > 1 ? dim.roi_start * (in - 1) + (x * (dim.roi_end - dim.roi_start) * (in - 1)) / (out - 1)
                      : 0.5f * (dim.roi_start + dim.roi_end) * (in - 1);
      if (!(p >= 0 && p <= in - 1)) return false;
      break;
  }
  // Far outside, every filter sees the border only; the bound keeps the conversion to integers defined.
  const float bound = 2 * in + 4;
  position = p > -bound ? (p < bound ? p : bound) : -bound;
  return true;
}

// Input index that nearest sampling takes for a position.
INGOT_RESIZE_ANYWHERE int64_t nearest_index(ResizeNearest rule, const ResizeDim& dim, float position) {
  const float below = floorf(position);
  float nearest = below;
  switch (rule) {
    case ResizeNearest::kRoundPreferFloor: nearest = position - below > 0.5f ? below + 1 : below; break;
    case ResizeNearest::kRoundPreferCeil: nearest = position - below >= 0.5f ? below + 1 : below; break;
    case ResizeNearest::kFloor: break;
    case ResizeNearest::kCeil: nearest = ceilf(position); break;
  }
  const auto index = static_cast<int64_t>(nearest);
  return index < 0 ? 0 : index < dim.in ? index : dim.in - 1;
}

// What linear and cubic sampling need of the op's parameters.
struct ResizeFilter {
  ResizeMode mode = ResizeMode::kLinear;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  float cubic_coefficient = -0.75f;
  bool exclude_outside = false, antialias = false;
};
INGOT_RESIZE_ANYWHERE ResizeFilter filter_of(const ResizeParams& params) {
  return {params.mode, params.coordinates, static_cast<float>(params.cubic_coefficient), params.exclude_outside, params.antialias};
}

// The elements first … last of a dim that make one output index, and their weights.
struct ResizeTaps {
  int64_t first = 0, last = 0, limit = 0;
  float position = 0, stretch = 1, total = 1, cubic_coefficient = 0;
  bool outside = false, skip_outside = false, linear = true;

  INGOT_RESIZE_ANYWHERE void set(const ResizeFilter& filter, const ResizeDim& dim, int64_t i) {
    outside = skip_outside = false;
    stretch = total = 1;
    if (!dim.listed) {
      first = last = limit = i;
      return;
    }
    if (!resize_position(filter.coordinates, dim, i, position)) {
      outside = true;
      return;
    }
    limit = dim.in - 1;
    linear = filter.mode == ResizeMode::kLinear;
    cubic_coefficient = filter.cubic_coefficient;
    if (filter.antialias && dim.scale < 1) stretch = dim.scale;
    const bool stretched = stretch < 1;
    // Off the border, linear is the border's element.
    if (linear && !stretched) {
      const auto end = static_cast<float>(limit);
      position = position < 0.0f ? 0.0f : position > end ? end : position;
    }
    const float support = (linear ? 1.0f : 2.0f) / stretch;
    first = static_cast<int64_t>(floorf(position - support)) + 1;
    last = stretched ? static_cast<int64_t>(ceilf(position + support)) - 1 : first + (linear ? 1 : 3);
    skip_outside = filter.exclude_outside && last >= 0 && first <= limit;
    if (stretched || skip_outside) {
      float sum = 0;
      for (int64_t k = first; k <= last; ++k) sum += raw_weight(k);
      if (sum != 0) total = sum;
    }
  }
  INGOT_RESIZE_ANYWHERE int64_t source(int64_t k) const { return k < 0 ? 0 : k < limit ? k : limit; }
  INGOT_RESIZE_ANYWHERE float weight(int64_t k) const { return raw_weight(k) / total; }
  INGOT_RESIZE_ANYWHERE float raw_weight(int64_t k) const {
    if (skip_outside && (k < 0 || k > limit)) return 0;
    const float t = fabsf(static_cast<float>(k) - position) * stretch, a = cubic_coefficient;
    if (linear) return t < 1 ? 1 - t : 0;
    if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  }
};
#undef INGOT_RESIZE_ANYWHERE

}  // namespace ingot
