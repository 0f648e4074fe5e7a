// Sliding windows over spatial dims, shared by convolution and pooling: attribute checks, padding, output sizes, and
// the geometry brought to exactly three spatial dims.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/conv.h"
#include "runtime/ops/op_io.h"

namespace ingot {

inline constexpr int kMaxSpatialDims = 3;

// One spatial dim of a window.
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  PadPair pad;
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
};
// Leading axes are trivial when there are fewer than three spatial dims.
struct Window {
  WindowAxis axis[kMaxSpatialDims];
};

inline int64_t attribute(const std::vector<int64_t>& values, int i, int64_t fallback) {
  return static_cast<size_t>(i) < values.size() ? values[static_cast<size_t>(i)] : fallback;
}

// Lengths and signs of the attributes of an op over n spatial dims.
Status check_window_attributes(const char* op, int n, const std::vector<int64_t>& strides,
                               const std::vector<int64_t>& pads, const std::vector<int64_t>& dilations);
// Pads in effect for an axis whose in, kernel, stride and dilation are set.
PadPair window_pads(AutoPad auto_pad, const std::vector<int64_t>& pads, int i, int n, const WindowAxis& axis);
// Output size of a window that must fit in the padded input; `ceil` lets the last one hang over unless it starts in
// padding.
Status window_output(const char* op, int i, bool ceil, WindowAxis& axis);
Status check_output_size(const char* op, const Shape& shape);

inline Status bad_operand(const char* op, const std::string& what) {
  return Status(StatusCode::kInvalidModel, std::string(op) + ": " + what);
}

}  // namespace ingot
