// Bodies of ingot/types.h.
#include "ingot/types.h"

#include <charconv>
#include <cstdio>

namespace ingot {
namespace {

struct DataTypeRow {
  std::string_view name;
  size_t bytes;
};
constexpr DataTypeRow kDataTypes[kDataTypeCount] = {
    {"f32", 4}, {"f16", 2}, {"bf16", 2}, {"f64", 8}, {"s8", 1},  {"u8", 1}, {"s16", 2}, {"u16", 2},   {"s32", 4},
    {"u32", 4}, {"s64", 8}, {"u64", 8},  {"bool", 1}, {"s4", 1}, {"u4", 1}, {"f8e4m3", 1}, {"f8e5m2", 1},
    {"f8e4m3fnuz", 1}, {"f8e5m2fnuz", 1}, {"f8e8m0", 1}, {"f4e2m1", 1}, {"s2", 1}, {"u2", 1}};

}  // namespace

std::string_view to_string(DataType type) { return kDataTypes[static_cast<size_t>(type)].name; }

std::optional<DataType> parse_data_type(std::string_view name) {
  for (int i = 0; i < kDataTypeCount; ++i)
    if (kDataTypes[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

size_t element_bytes(DataType type) { return kDataTypes[static_cast<size_t>(type)].bytes; }

int packed_bits(DataType type) {
  switch (type) {
    case DataType::kS4: case DataType::kU4: case DataType::kF4E2M1: return 4;
    case DataType::kS2: case DataType::kU2: return 2;
    default: return static_cast<int>(element_bytes(type)) * 8;
  }
}

bool is_float(DataType type) {
  switch (type) {
    case DataType::kF32: case DataType::kF16: case DataType::kBF16: case DataType::kF64:
    case DataType::kF8E4M3: case DataType::kF8E5M2: case DataType::kF8E4M3Fnuz: case DataType::kF8E5M2Fnuz:
    case DataType::kF8E8M0: case DataType::kF4E2M1: return true;
    default: return false;
  }
}

bool is_integer(DataType type) { return !is_float(type) && type != DataType::kBool; }

std::string_view to_string(Layout layout) { return layout == Layout::kLinear ? "linear" : "channels_last"; }

Shape::Shape(std::initializer_list<int64_t> list) : Shape(of({list.begin(), list.size()})) {}

Shape Shape::of(std::span<const int64_t> list) {
  Shape shape;
  shape.rank = static_cast<int>(list.size());
  for (size_t i = 0; i < list.size() && i < static_cast<size_t>(kMaxRank); ++i) shape.dims[i] = list[i];
  return shape;
}

bool Shape::is_static() const {
  for (int64_t dim : span())
    if (dim < 0) return false;
  return true;
}

int64_t Shape::elements() const {
  int64_t count = 1;
  for (int64_t dim : span()) {
    if (dim < 0) return kDynamic;
    count *= dim;
  }
  return count;
}

bool Shape::operator==(const Shape& other) const {
  if (rank != other.rank) return false;
  for (int i = 0; i < rank; ++i)
    if (dims[static_cast<size_t>(i)] != other.dims[static_cast<size_t>(i)]) return false;
  return true;
}

std::string to_string(const Shape& shape) {
  if (shape.rank == 0) return "scalar";
  std::string text;
  for (int i = 0; i < shape.rank; ++i) {
    if (i) text += 'x';
    text += shape[i] == Shape::kDynamic ? "?" : std::to_string(shape[i]);
  }
  return text;
}

std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  if (text == "scalar") return shape;
  while (true) {
    if (shape.rank == Shape::kMaxRank) return std::nullopt;
    int64_t dim = 0;
    const size_t end = std::min(text.find_first_of("x,"), text.size());
    const std::string_view word = text.substr(0, end);
    if (word == "?") {
      dim = Shape::kDynamic;
    } else {
      const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), dim);
      if (error != std::errc() || last != word.data() + word.size() || dim < 0) return std::nullopt;
    }
    shape.dims[static_cast<size_t>(shape.rank++)] = dim;
    if (end == text.size()) return shape;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> checked_elements(std::span<const int64_t> dims) {
  // The product of the non-zero dims is bounded too, so that strides computed from a zero-size shape cannot overflow.
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, dim, &count) || count > INT64_MAX / 16) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

int64_t TensorType::bytes() const {
  const int64_t count = shape.elements();
  return count < 0 ? -1 : count * static_cast<int64_t>(element_bytes(dtype));
}

std::string to_string(const TensorType& type) {
  std::string text(to_string(type.dtype));
  text += '[' + to_string(type.shape) + ']';
  if (type.layout != Layout::kLinear) text += ' ' + std::string(to_string(type.layout));
  if (type.quant && !type.quant->scales.empty()) {
    char number[64];
    std::snprintf(number, sizeof number, " s=%.6g z=%d", static_cast<double>(type.quant->scales[0]),
                  type.quant->zero_points.empty() ? 0 : type.quant->zero_points[0]);
    text += number;
    if (type.quant->axis >= 0) text += " per dim " + std::to_string(type.quant->axis);
  }
  return text;
}

}  // namespace ingot
