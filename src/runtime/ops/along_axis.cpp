// Running sums, reversed sequences, one-hot rows and triangles.
#include "runtime/ops/along_axis.h"

#include <cstring>

#include "runtime/ops/element.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

struct AxisSplit {
  int64_t outer = 1, count = 1, inner = 1;
};
AxisSplit split_at(const Shape& shape, int axis) {
  AxisSplit split;
  split.count = shape[axis];
  for (int i = 0; i < axis; ++i) split.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank; ++i) split.inner *= shape[i];
  return split;
}

// A scalar, or a list of one, whose value may be known only in the run.
Status check_single_index(std::string_view op, std::string_view name, const OpInput& input) {
  if (input.dtype != DataType::kS64 && input.dtype != DataType::kS32)
    return refuse(op, "type of " + std::string(name), to_string(input.dtype), "s64 or s32");
  if (input.shape.elements() != 1)
    return refuse(op, "elements of " + std::string(name), std::to_string(input.shape.elements()), "1");
  return {};
}

bool is_number(DataType type) { return type != DataType::kBool && !is_small_float(type); }

bool is_wide_float(DataType type) { return type == DataType::kF32 || type == DataType::kF64; }
// Element i of an integer or wide float tensor as a whole number; floats truncate and saturate.
int64_t whole_number(const OpInput& input, int64_t i) {
  if (input.dtype == DataType::kF32) return saturate_cast<int64_t>(static_cast<double>(static_cast<const float*>(input.data)[i]));
  if (input.dtype == DataType::kF64) return saturate_cast<int64_t>(static_cast<const double*>(input.data)[i]);
  return read_index(input, i);
}

}  // namespace

Status infer_types(const CumulateParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "cumulate";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  INGOT_TRY(check_single_index(kOp, "axis", inputs[1]));
  if (!is_number(inputs[0].dtype))
    return refuse(kOp, "element type", to_string(inputs[0].dtype), "a number", StatusCode::kUnsupported);
  int axis = 0;
  if (inputs[1].data) INGOT_TRY(read_axis(kOp, read_index(inputs[1], 0), inputs[0].shape.rank, axis));
  return set_output(kOp, outputs[0], inputs[0].dtype, inputs[0].shape);
}

// Floats run on in float64 and are rounded at each place.
Status run_reference(const CumulateParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "cumulate";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  int axis = 0;
  INGOT_TRY(read_axis(kOp, read_index(as_input(inputs[1]), 0), inputs[0].type->shape.rank, axis));
  const AxisSplit split = split_at(inputs[0].type->shape, axis);
  const auto run = [&]<class T>(T) {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        const int64_t first = o * split.count * split.inner + i;
        Sum sum = params.product ? 1 : 0;
        for (int64_t step = 0; step < split.count; ++step) {
          const int64_t at = first + (params.reverse ? split.count - 1 - step : step) * split.inner;
          const auto store = [&] {
            if constexpr (std::is_integral_v<T>) outputs[0].as<T>()[at] = static_cast<T>(sum);
            else outputs[0].as<T>()[at] = store_float<T>(sum);
          };
          const auto x = static_cast<Sum>(load_element(inputs[0].as<T>()[at]));
          if (params.exclusive) store();
          sum = params.product ? sum * x : sum + x;
          if (!params.exclusive) store();
        }
      }
  };
  if (!with_float_type(inputs[0].type->dtype, run)) with_integer_type(inputs[0].type->dtype, run);
  return {};
}

Status infer_types(const ReverseSequenceParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "reverse_sequence";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  const Shape& x = inputs[0].shape;
  int batch = 0, time = 0;
  INGOT_TRY(read_axis(kOp, params.batch_axis, x.rank, batch));
  INGOT_TRY(read_axis(kOp, params.time_axis, x.rank, time));
  if (batch == time) return refuse(kOp, "axes", "dim " + std::to_string(batch) + " as both", "two different ones");
  if (inputs[1].dtype != DataType::kS64 && inputs[1].dtype != DataType::kS32)
    return refuse(kOp, "type of the lengths", to_string(inputs[1].dtype), "s64 or s32");
  if (!(inputs[1].shape == Shape{x[batch]}))
    return refuse(kOp, "shape of the lengths", to_string(inputs[1].shape), to_string(Shape{x[batch]}));
  return set_output(kOp, outputs[0], inputs[0].dtype, x);
}

Status run_reference(const ReverseSequenceParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "reverse_sequence";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape& x = inputs[0].type->shape;
  int batch = 0, time = 0;
  INGOT_TRY(read_axis(kOp, params.batch_axis, x.rank, batch));
  INGOT_TRY(read_axis(kOp, params.time_axis, x.rank, time));
  const OpInput lengths = as_input(inputs[1]);
  for (int64_t b = 0; b < x[batch]; ++b)
    if (const int64_t length = read_index(lengths, b); length < 0 || length > x[time])
      return refuse(kOp, "length of sequence " + std::to_string(b), std::to_string(length), "0 to " + std::to_string(x[time]),
                    StatusCode::kInvalidArgument);
  const Strides strides = row_major_strides(x);
  const int64_t batch_stride = strides[static_cast<size_t>(batch)], time_stride = strides[static_cast<size_t>(time)];
  const auto bytes = static_cast<int64_t>(element_bytes(inputs[0].type->dtype));
  for (int64_t i = 0, count = x.elements(); i < count; ++i) {
    const int64_t b = i / batch_stride % x[batch], t = i / time_stride % x[time], length = read_index(lengths, b);
    const int64_t from = t < length ? i + (length - 1 - 2 * t) * time_stride : i;
    std::memcpy(outputs[0].as<std::byte>() + i * bytes, inputs[0].as<std::byte>() + from * bytes, static_cast<size_t>(bytes));
  }
  return {};
}

Status infer_types(const OneHotParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "one_hot";
  INGOT_TRY(check_arity(kOp, inputs, 3, 3, outputs));
  for (size_t i : {0, 1})
    if (!is_integer(inputs[i].dtype) && !is_wide_float(inputs[i].dtype))
      return refuse(kOp, i == 0 ? "type of the indices" : "type of depth", to_string(inputs[i].dtype), "an integer, f32 or f64",
                    StatusCode::kUnsupported);
  const Shape& indices = inputs[0].shape;
  if (inputs[1].shape.elements() != 1)
    return refuse(kOp, "elements of depth", std::to_string(inputs[1].shape.elements()), "1");
  if (!(inputs[2].shape == Shape{2})) return refuse(kOp, "shape of the values", to_string(inputs[2].shape), "2");
  if (!inputs[1].data) return refuse_unknown_value(kOp, "depth");
  const int64_t depth = whole_number(inputs[1], 0);
  if (depth < 0) return refuse(kOp, "depth", std::to_string(depth), "0 or more");
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, indices.rank + 1, axis));
  Shape to;
  for (int i = 0; i <= indices.rank; ++i) INGOT_TRY(append_dim(kOp, to, i == axis ? depth : indices[i - (i > axis)]));
  return set_output(kOp, outputs[0], inputs[2].dtype, to);
}

Status run_reference(const OneHotParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "one_hot";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape& to = outputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, to.rank, axis));
  const AxisSplit split = split_at(to, axis);
  const auto bytes = element_bytes(outputs[0].type->dtype);
  const auto* values = inputs[2].as<std::byte>();
  fill_elements(outputs[0].data, to.elements(), bytes, values);
  const OpInput indices = as_input(inputs[0]);
  for (int64_t o = 0; o < split.outer; ++o)
    for (int64_t i = 0; i < split.inner; ++i) {
      int64_t place = whole_number(indices, o * split.inner + i);
      if (place < -split.count || place >= split.count) continue;
      if (place < 0) place += split.count;
      std::memcpy(outputs[0].as<std::byte>() + static_cast<size_t>((o * split.count + place) * split.inner + i) * bytes,
                  values + bytes, bytes);
    }
  return {};
}

Status infer_types(const TriluParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "trilu";
  INGOT_TRY(check_arity(kOp, inputs, 1, 2, outputs));
  if (inputs[0].shape.rank < 2) return refuse(kOp, "rank of input", std::to_string(inputs[0].shape.rank), "2 or more");
  if (has_input(inputs, 1)) INGOT_TRY(check_single_index(kOp, "k", inputs[1]));
  return set_output(kOp, outputs[0], inputs[0].dtype, inputs[0].shape);
}

Status run_reference(const TriluParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("trilu", params, inputs, outputs));
  const Shape& shape = inputs[0].type->shape;
  const int64_t rows = shape[shape.rank - 2], columns = shape[shape.rank - 1], count = shape.elements();
  // Beyond these bounds the triangle is everything or nothing.
  const int64_t k = has_input(inputs, 1) ? std::clamp(read_index(as_input(inputs[1]), 0), -rows - 1, columns + 1) : 0;
  const size_t bytes = element_bytes(inputs[0].type->dtype);
  const auto* source = inputs[0].as<std::byte>();
  auto* target = outputs[0].as<std::byte>();
  for (int64_t i = 0; i < count; ++i, source += bytes, target += bytes) {
    const int64_t diagonal = i % columns - i / columns % rows;
    if (params.upper ? diagonal >= k : diagonal <= k) std::memcpy(target, source, bytes);
    else std::memset(target, 0, bytes);
  }
  return {};
}

}  // namespace ingot
