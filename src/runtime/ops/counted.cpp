// NonZero, Compress and Unique. Unique needs no memory of its own: it sorts the slices' numbers in its third output, then
// turns them, in place, into the number of each slice's group.
#include "runtime/ops/counted.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/element.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

// Calls f with a zero of the type behind `type`, bool included; false for types that are storage only.
template <class F>
bool with_number_type(DataType type, F&& f) {
  if (type == DataType::kBool) return f(uint8_t{}), true;
  if (is_small_float(type)) return false;
  return with_float_type(type, f) || with_integer_type(type, f);
}

Status check_number(std::string_view op, DataType type) {
  if (!is_small_float(type)) return {};
  return refuse(op, "element type", to_string(type), "a number of 16 bits or more, an integer or bool", StatusCode::kUnsupported);
}

// x as [outer, count, inner]: `count` slices that are chosen among.
struct AxisSplit {
  int64_t outer = 1, count = 1, inner = 1;
  int axis = 0;
};

Status read_split(std::string_view op, const Shape& shape, bool flat, int64_t axis, AxisSplit& split) {
  split = {};
  if (flat) {
    split.count = shape.elements();
    return {};
  }
  INGOT_TRY(read_axis(op, axis, shape.rank, split.axis));
  for (int i = 0; i < split.axis; ++i) split.outer *= shape[i];
  split.count = shape[split.axis];
  for (int i = split.axis + 1; i < shape.rank; ++i) split.inner *= shape[i];
  return {};
}

Shape with_count(const Shape& shape, bool flat, const AxisSplit& split, int64_t count) {
  if (flat) return Shape{count};
  Shape result = shape;
  result[split.axis] = count;
  return result;
}

}  // namespace

Status infer_types(const NonZeroParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity("nonzero", inputs, 1, 1, outputs));
  INGOT_TRY(check_number("nonzero", inputs[0].dtype));
  const Shape& x = inputs[0].shape;
  INGOT_TRY(set_output("nonzero", outputs[0], DataType::kS64, Shape{std::max(x.rank, 1), x.elements()}));
  outputs[0].counted = 1u << 1;
  return {};
}

Status run_reference(const NonZeroParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const Shape& shape = inputs[0].type->shape;
  const int64_t elements = shape.elements();
  const int rank = std::max(shape.rank, 1);
  const Strides strides = row_major_strides(shape);
  Status status;
  with_number_type(inputs[0].type->dtype, [&]<class T>(T) {
    const T* x = inputs[0].as<T>();
    int64_t count = 0;
    for (int64_t i = 0; i < elements; ++i) count += load_element(x[i]) != 0;
    bool fits = false;
    status = report_shape("nonzero", outputs[0], Shape{rank, count}, fits);
    if (!fits) return;
    int64_t* y = outputs[0].as<int64_t>();
    for (int64_t i = 0; i < elements; ++i) {
      if (load_element(x[i]) == 0) continue;
      if (shape.rank == 0) y[0] = 0;
      for (int d = 0; d < shape.rank; ++d) y[d * count] = i / strides[static_cast<size_t>(d)] % shape[d];
      ++y;
    }
  });
  return status;
}

Status infer_types(const CompressParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "compress";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  AxisSplit split;
  INGOT_TRY(read_split(kOp, inputs[0].shape, params.flat, params.axis, split));
  const OpInput& condition = inputs[1];
  if (condition.dtype != DataType::kBool) return refuse(kOp, "type of the condition", to_string(condition.dtype), "bool");
  if (condition.shape.rank != 1) return refuse(kOp, "rank of the condition", std::to_string(condition.shape.rank), "1");
  if (condition.shape[0] > split.count)
    return refuse(kOp, "length of the condition", std::to_string(condition.shape[0]), "at most " + std::to_string(split.count));
  INGOT_TRY(set_output(kOp, outputs[0], inputs[0].dtype, with_count(inputs[0].shape, params.flat, split, condition.shape[0])));
  outputs[0].counted = 1u << split.axis;
  return {};
}

Status run_reference(const CompressParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "compress";
  const Shape& shape = inputs[0].type->shape;
  AxisSplit split;
  INGOT_TRY(read_split(kOp, shape, params.flat, params.axis, split));
  const auto* keep = inputs[1].as<uint8_t>();
  const int64_t given = std::min(inputs[1].type->shape.elements(), split.count);
  const int64_t kept = given - std::count(keep, keep + given, uint8_t{0});
  bool fits = false;
  INGOT_TRY(report_shape(kOp, outputs[0], with_count(shape, params.flat, split, kept), fits));
  if (!fits) return {};
  const size_t row = static_cast<size_t>(split.inner) * element_bytes(inputs[0].type->dtype);
  const auto* from = inputs[0].as<std::byte>();
  auto* to = outputs[0].as<std::byte>();
  for (int64_t o = 0; row != 0 && o < split.outer; ++o)
    for (int64_t i = 0; i < given; ++i)
      if (keep[i] != 0) {
        std::memcpy(to, from + static_cast<size_t>(o * split.count + i) * row, row);
        to += row;
      }
  return {};
}

namespace {

constexpr int64_t kMaxSlices = int64_t{1} << 31;  // two numbers share one s64

// Slice a of x against slice b: negative, zero or positive.
template <class T>
struct SliceOrder {
  const T* x;
  AxisSplit split;
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < split.outer; ++o) {
      const T *p = x + (o * split.count + a) * split.inner, *q = x + (o * split.count + b) * split.inner;
      for (int64_t i = 0; i < split.inner; ++i) {
        const auto u = load_element(p[i]), v = load_element(q[i]);
        const bool u_nan = u != u, v_nan = v != v;
        if (u_nan != v_nan) return u_nan ? 1 : -1;
        if (!u_nan && u != v) return u < v ? -1 : 1;
      }
    }
    return 0;
  }
  bool operator()(int64_t a, int64_t b) const {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  }
};

int64_t low(int64_t pair) { return pair & 0xffffffff; }
int64_t high(int64_t pair) { return pair >> 32; }
void set_high(int64_t& pair, int64_t value) { pair = low(pair) | value << 32; }

template <class T>
Status run_unique(const UniqueParams& params, const TensorType& type, const AxisSplit& split, const T* x,
                  std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "unique";
  const int64_t n = split.count;
  const SliceOrder<T> order{x, split};
  int64_t* numbers = outputs[2].as<int64_t>();
  for (int64_t i = 0; i < n; ++i) numbers[i] = i;
  std::sort(numbers, numbers + n, order);
  // The high half of a slice's entry becomes the first slice that equals it; the low halves stay in sorted order meanwhile.
  int64_t count = 0, leader = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t slice = low(numbers[k]);
    if (k == 0 || order.compare(leader, slice) != 0) leader = slice, ++count;
    set_high(numbers[slice], leader);
  }
  bool fits = true;
  const Shape counted[] = {with_count(type.shape, params.flat, split, count), Shape{count}, Shape{n}, Shape{count}};
  for (size_t i = 0; i < 4; ++i) {
    bool has_room = false;
    INGOT_TRY(report_shape(kOp, outputs[i], counted[i], has_room));
    fits = fits && has_room;
  }
  if (!fits) return {};
  T* y = outputs[0].as<T>();
  int64_t *first = outputs[1].as<int64_t>(), *counts = outputs[3].as<int64_t>();
  int64_t made = 0;
  const auto begin_group = [&](int64_t slice) {
    first[made] = slice;
    counts[made] = 0;
    for (int64_t o = 0; o < split.outer; ++o)
      std::copy_n(x + (o * n + slice) * split.inner, split.inner, y + (o * count + made) * split.inner);
    return made++;
  };
  if (params.sorted) {
    // Groups follow each other in sorted order, each led by its first slice.
    int64_t group = 0;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t slice = low(numbers[k]);
      if (high(numbers[slice]) == slice) group = begin_group(slice);
      ++counts[group];
      set_high(numbers[slice], group);
    }
    for (int64_t i = 0; i < n; ++i) numbers[i] = high(numbers[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t leads = high(numbers[i]);
      numbers[i] = leads == i ? begin_group(i) : numbers[leads];
      ++counts[numbers[i]];
    }
  }
  return {};
}

}  // namespace

Status infer_types(const UniqueParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "unique";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs, 4));
  INGOT_TRY(check_number(kOp, inputs[0].dtype));
  AxisSplit split;
  INGOT_TRY(read_split(kOp, inputs[0].shape, params.flat, params.axis, split));
  if (split.count >= kMaxSlices) return refuse(kOp, "slices", std::to_string(split.count), "fewer than 2^31", StatusCode::kUnsupported);
  INGOT_TRY(set_output(kOp, outputs[0], inputs[0].dtype, with_count(inputs[0].shape, params.flat, split, split.count)));
  for (size_t i = 1; i < 4; ++i) INGOT_TRY(set_output(kOp, outputs[i], DataType::kS64, Shape{split.count}));
  outputs[0].counted = 1u << split.axis;
  outputs[1].counted = outputs[3].counted = 1;
  return {};
}

Status run_reference(const UniqueParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "unique";
  const TensorType& type = *inputs[0].type;
  AxisSplit split;
  INGOT_TRY(read_split(kOp, type.shape, params.flat, params.axis, split));
  if (outputs.size() != 4 || std::any_of(outputs.begin(), outputs.end(), [](const TensorRef& output) { return !output.type; }))
    return refuse(kOp, "outputs", "one left out", "all four", StatusCode::kInvalidArgument);
  if (split.count >= kMaxSlices || outputs[2].type->shape.elements() < split.count)
    return refuse(kOp, "slices", std::to_string(split.count), std::to_string(outputs[2].type->shape.elements()), StatusCode::kInvalidArgument);
  Status status;
  with_number_type(type.dtype, [&]<class T>(T) { status = run_unique<T>(params, type, split, inputs[0].as<T>(), outputs); });
  return status;
}

}  // namespace ingot
