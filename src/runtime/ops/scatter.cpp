// Reference scatters: copy x, then apply the updates one after the other.
#include "runtime/ops/scatter.h"

#include <cstring>

#include "runtime/ops/element.h"
#include "runtime/ops/index_place.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/strided_copy.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(ScatterReduction::kCount)> kNames = {"replace", "add", "mul", "min",
                                                                                                "max"};

Status check_operands(std::string_view op, ScatterReduction reduction, std::span<const OpInput> inputs,
                      std::span<const OpOutput> outputs) {
  INGOT_TRY(check_arity(op, inputs, 3, 3, outputs));
  INGOT_TRY(check_index_type(op, inputs[1].dtype));
  if (reduction >= ScatterReduction::kCount) return refuse(op, "reduction", "an unknown one", "replace, add, mul, min or max");
  const DataType type = inputs[0].dtype;
  if (inputs[2].dtype != type) return refuse(op, "type of the updates", to_string(inputs[2].dtype), to_string(type));
  if (reduction != ScatterReduction::kReplace &&
      (type == DataType::kBool || is_small_float(type)))
    return refuse(op, "element type of a reduction", to_string(type), "a number", StatusCode::kUnsupported);
  return {};
}

template <class T>
T combine(ScatterReduction reduction, T stored, T update) {
  using A = Arithmetic<T>;
  const A a = load_element(stored), b = load_element(update);
  if (reduction == ScatterReduction::kMin) return a != a || !(b < a || b != b) ? stored : update;  // NaN wins
  if (reduction == ScatterReduction::kMax) return a != a || !(b > a || b != b) ? stored : update;
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(reduction == ScatterReduction::kAdd ? x + y : x * y);
  } else {
    return store_float<T>(reduction == ScatterReduction::kAdd ? a + b : a * b);
  }
}

// target[i] ∘= updates[i] for `count` neighbours.
void apply(ScatterReduction reduction, DataType type, std::byte* target, const std::byte* updates, int64_t count) {
  if (count == 0) return;
  if (reduction == ScatterReduction::kReplace) {
    std::memcpy(target, updates, static_cast<size_t>(count) * element_bytes(type));
    return;
  }
  const auto run = [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i) {
      T& stored = reinterpret_cast<T*>(target)[i];
      stored = combine(reduction, stored, reinterpret_cast<const T*>(updates)[i]);
    }
  };
  if (!with_float_type(type, run)) with_integer_type(type, run);
}

void copy_first(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  if (const int64_t bytes = outputs[0].type->bytes(); bytes > 0 && outputs[0].data != inputs[0].data)
    std::memcpy(outputs[0].data, inputs[0].data, static_cast<size_t>(bytes));
}

}  // namespace

std::string_view to_string(ScatterReduction reduction) {
  return reduction < ScatterReduction::kCount ? kNames[static_cast<size_t>(reduction)] : std::string_view("none");
}

Status infer_types(const ScatterElementsParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "scatter_elements";
  INGOT_TRY(check_operands(kOp, params.reduction, inputs, outputs));
  const Shape &x = inputs[0].shape, &indices = inputs[1].shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, x.rank, axis));
  if (indices.rank != x.rank) return refuse(kOp, "rank of the indices", std::to_string(indices.rank), std::to_string(x.rank));
  if (!(inputs[2].shape == indices)) return refuse(kOp, "shape of the updates", to_string(inputs[2].shape), to_string(indices));
  for (int i = 0; i < x.rank; ++i)
    if (i != axis && indices[i] > x[i])
      return refuse(kOp, "dim " + std::to_string(i) + " of the indices", std::to_string(indices[i]), "at most " + std::to_string(x[i]));
  return set_output(kOp, outputs[0], inputs[0].dtype, x);
}

// y[…, indices[…, i, …], …] ∘= updates[…, i, …]
Status run_reference(const ScatterElementsParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "scatter_elements";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape &x = inputs[0].type->shape, &indices = inputs[1].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, x.rank, axis));
  copy_first(inputs, outputs);
  // Walk with the stride of the axis set to zero: the index supplies that coordinate.
  Strides strides = row_major_strides(x);
  const int64_t axis_stride = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  const DataType type = inputs[0].type->dtype;
  const auto bytes = static_cast<int64_t>(element_bytes(type));
  int64_t i = 0;
  Status status;
  for_each_offset(indices.rank, indices.dims.data(), strides.data(), [&](int64_t offset) {
    int64_t place = 0;
    if (status.ok()) status = read_place(kOp, inputs[1], i, x[axis], place);
    if (status.ok())
      apply(params.reduction, type, outputs[0].as<std::byte>() + (offset + place * axis_stride) * bytes,
            inputs[2].as<std::byte>() + i * bytes, 1);
    ++i;
  });
  return status;
}

Status infer_types(const ScatterNDParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "scatter_nd";
  INGOT_TRY(check_operands(kOp, params.reduction, inputs, outputs));
  const Shape &x = inputs[0].shape, &indices = inputs[1].shape;
  if (x.rank == 0 || indices.rank == 0) return refuse(kOp, "rank of an operand", "0", "1 or more");
  const int64_t named = indices[indices.rank - 1];
  if (named < 0 || named > x.rank)
    return refuse(kOp, "dims that an index names", std::to_string(named), "at most " + std::to_string(x.rank));
  Shape updates;
  for (int i = 0; i + 1 < indices.rank; ++i) INGOT_TRY(append_dim(kOp, updates, indices[i]));
  for (int i = static_cast<int>(named); i < x.rank; ++i) INGOT_TRY(append_dim(kOp, updates, x[i]));
  if (!(inputs[2].shape == updates)) return refuse(kOp, "shape of the updates", to_string(inputs[2].shape), to_string(updates));
  return set_output(kOp, outputs[0], inputs[0].dtype, x);
}

// y[indices[i…], …] ∘= updates[i…, …]
Status run_reference(const ScatterNDParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "scatter_nd";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape &x = inputs[0].type->shape, &indices = inputs[1].type->shape;
  copy_first(inputs, outputs);
  const int64_t named = indices[indices.rank - 1];
  int64_t rows = 1, slice = 1;
  for (int i = 0; i + 1 < indices.rank; ++i) rows *= indices[i];
  for (int i = static_cast<int>(named); i < x.rank; ++i) slice *= x[i];
  const DataType type = inputs[0].type->dtype;
  const int64_t bytes = slice * static_cast<int64_t>(element_bytes(type));
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (int64_t k = 0; k < named; ++k) {
      const int64_t dim = x[static_cast<int>(k)];
      int64_t place = 0;
      INGOT_TRY(read_place(kOp, inputs[1], row * named + k, dim, place));
      offset = offset * dim + place;
    }
    apply(params.reduction, type, outputs[0].as<std::byte>() + offset * bytes, inputs[2].as<std::byte>() + row * bytes, slice);
  }
  return {};
}

}  // namespace ingot
