// Padding and output sizes of sliding windows.
#include "runtime/ops/window.h"

#include <algorithm>

namespace ingot {
namespace {

constexpr int64_t kLargestAttribute = INT32_MAX;  // products of two stay inside int64

Status check_list(const char* op, const char* name, const std::vector<int64_t>& values, size_t count, int64_t least) {
  if (values.empty()) return {};
  if (values.size() != count)
    return bad_operand(op, std::string("length of ") + name + ": got " + std::to_string(values.size()) + ", need " +
                               std::to_string(count));
  for (int64_t value : values)
    if (value < least || value > kLargestAttribute)
      return bad_operand(op, std::string(name) + " out of range: got " + std::to_string(value) + ", need " +
                                 std::to_string(least) + " to " + std::to_string(kLargestAttribute));
  return {};
}

}  // namespace

Status check_window_attributes(const char* op, int n, const std::vector<int64_t>& strides,
                               const std::vector<int64_t>& pads, const std::vector<int64_t>& dilations) {
  const size_t count = static_cast<size_t>(n);
  INGOT_TRY(check_list(op, "strides", strides, count, 1));
  INGOT_TRY(check_list(op, "pads", pads, 2 * count, 0));
  return check_list(op, "dilations", dilations, count, 1);
}

PadPair window_pads(AutoPad auto_pad, const std::vector<int64_t>& pads, int i, int n, const WindowAxis& axis) {
  if (auto_pad == AutoPad::kValid) return {};
  if (auto_pad == AutoPad::kNotSet) return {attribute(pads, i, 0), attribute(pads, i + n, 0)};
  const int64_t out = (axis.in + axis.stride - 1) / axis.stride;
  const int64_t total = std::max<int64_t>(0, (out - 1) * axis.stride + axis.extent() - axis.in);
  const int64_t less = total / 2, more = total - less;
  return auto_pad == AutoPad::kSameUpper ? PadPair{less, more} : PadPair{more, less};
}

Status window_output(const char* op, int i, bool ceil, WindowAxis& axis) {
  if (axis.kernel < 1 || axis.kernel > kLargestAttribute || axis.in > INT64_MAX / 4)
    return bad_operand(op, "kernel size of spatial dim " + std::to_string(i) + ": got " + std::to_string(axis.kernel) +
                               ", need 1 or more");
  const int64_t room = axis.in + axis.pad.begin + axis.pad.end - axis.extent();
  // With `ceil` a window may hang over even where it is the first.
  const bool overhangs = ceil && room < 0 && room > -axis.stride && axis.in + axis.pad.begin > 0;
  if (room < 0 && !overhangs)
    return bad_operand(op, "spatial dim " + std::to_string(i) + " smaller than the window: got " +
                               std::to_string(axis.in) + " + padding " + std::to_string(axis.pad.begin + axis.pad.end) +
                               ", need " + std::to_string(axis.extent()));
  axis.out = overhangs ? 1 : room / axis.stride + 1;
  if (ceil && !overhangs && room % axis.stride != 0 && axis.out * axis.stride < axis.in + axis.pad.begin) ++axis.out;
  return {};
}

Status check_output_size(const char* op, const Shape& shape) {
  if (checked_elements(shape.span())) return {};
  return bad_operand(op, "output too large or negative: got " + to_string(shape));
}

}  // namespace ingot
