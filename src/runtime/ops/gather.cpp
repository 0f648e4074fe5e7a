// Gather takes whole slices of x along an axis, GatherElements single elements.
#include "runtime/ops/gather.h"

#include <cstring>

#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

Status check_index_type(std::string_view op, DataType type) {
  if (type == DataType::kS32 || type == DataType::kS64) return {};
  return refuse(op, "type of the indices", to_string(type), "s32 or s64");
}

// Index i, counted from either end of a dim, as 0 … dim − 1.
Status read_place(std::string_view op, const ConstTensorRef& indices, int64_t i, int64_t dim, int64_t& place) {
  place = indices.type->dtype == DataType::kS32 ? indices.as<int32_t>()[i] : indices.as<int64_t>()[i];
  if (place < -dim || place >= dim)
    return refuse(op, "index " + std::to_string(i) + " out of range", std::to_string(place),
                  dim == 0 ? std::string("a dim that is not empty")
                           : std::to_string(-dim) + " to " + std::to_string(dim - 1),
                  StatusCode::kInvalidArgument);
  if (place < 0) place += dim;
  return {};
}

}  // namespace

Status infer_types(const GatherParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "gather";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  INGOT_TRY(check_index_type(kOp, inputs[1].dtype));
  const Shape &from = inputs[0].shape, &indices = inputs[1].shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, from.rank, axis));
  Shape to;
  for (int i = 0; i < axis; ++i) to[to.rank++] = from[i];
  for (int64_t dim : indices.span()) INGOT_TRY(append_dim(kOp, to, dim));
  for (int i = axis + 1; i < from.rank; ++i) INGOT_TRY(append_dim(kOp, to, from[i]));
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

// y[outer, i, inner] = x[outer, indices[i], inner]
Status run_reference(const GatherParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("gather", params, inputs, outputs));
  const Shape& from = inputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis("gather", params.axis, from.rank, axis));
  const int64_t count = inputs[1].type->shape.elements(), dim = from[axis];
  int64_t outer = 1, inner = static_cast<int64_t>(element_bytes(inputs[0].type->dtype));
  for (int i = 0; i < axis; ++i) outer *= from[i];
  for (int i = axis + 1; i < from.rank; ++i) inner *= from[i];
  const auto* source = inputs[0].as<std::byte>();
  auto* target = outputs[0].as<std::byte>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    INGOT_TRY(read_place("gather", inputs[1], i, dim, place));
    if (inner == 0) continue;
    for (int64_t o = 0; o < outer; ++o)
      std::memcpy(target + (o * count + i) * inner, source + (o * dim + place) * inner, static_cast<size_t>(inner));
  }
  return {};
}

Status infer_types(const GatherElementsParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "gather_elements";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  INGOT_TRY(check_index_type(kOp, inputs[1].dtype));
  const Shape &from = inputs[0].shape, &indices = inputs[1].shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, from.rank, axis));
  if (indices.rank != from.rank)
    return refuse(kOp, "rank of the indices", std::to_string(indices.rank), std::to_string(from.rank));
  for (int i = 0; i < from.rank; ++i)
    if (i != axis && indices[i] > from[i])
      return refuse(kOp, "dim " + std::to_string(i) + " of the indices", std::to_string(indices[i]),
                    "at most " + std::to_string(from[i]));
  return set_output(kOp, outputs[0], inputs[0].dtype, indices);
}

// y[…, i, …] = x[…, indices[…, i, …], …]
Status run_reference(const GatherElementsParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("gather_elements", params, inputs, outputs));
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis("gather_elements", params.axis, from.rank, axis));
  // Walk with the stride of the axis set to zero: the index supplies that coordinate.
  Strides strides = row_major_strides(from);
  const int64_t axis_stride = strides[static_cast<size_t>(axis)];
  strides[static_cast<size_t>(axis)] = 0;
  const auto bytes = static_cast<int64_t>(element_bytes(inputs[0].type->dtype));
  const auto* source = inputs[0].as<std::byte>();
  auto* target = outputs[0].as<std::byte>();
  int64_t i = 0;
  Status status;
  for_each_offset(to.rank, to.dims.data(), strides.data(), [&](int64_t offset) {
    int64_t place = 0;
    if (status.ok()) status = read_place("gather_elements", inputs[1], i, from[axis], place);
    if (status.ok())
      std::memcpy(target + i * bytes, source + (offset + place * axis_stride) * bytes, static_cast<size_t>(bytes));
    ++i;
  });
  return status;
}

}  // namespace ingot
