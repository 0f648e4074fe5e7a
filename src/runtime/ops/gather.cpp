// Gather takes whole slices of x along an axis, GatherElements single elements, GatherND slices behind several dims.
#include "runtime/ops/gather.h"

#include <cstring>

#include "runtime/ops/index_place.h"
#include "runtime/ops/strided_copy.h"

namespace ingot {
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

Status infer_types(const GatherNDParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "gather_nd";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  INGOT_TRY(check_index_type(kOp, inputs[1].dtype));
  const Shape &from = inputs[0].shape, &indices = inputs[1].shape;
  if (from.rank == 0 || indices.rank == 0)
    return refuse(kOp, "rank of an operand", "0", "1 or more");
  if (params.batch_dims < 0 || params.batch_dims >= std::min(from.rank, indices.rank))
    return refuse(kOp, "batch_dims", std::to_string(params.batch_dims),
                  "0 to " + std::to_string(std::min(from.rank, indices.rank) - 1));
  const int batch = static_cast<int>(params.batch_dims);
  for (int i = 0; i < batch; ++i)
    if (from[i] != indices[i])
      return refuse(kOp, "batch dim " + std::to_string(i) + " of the indices", std::to_string(indices[i]), std::to_string(from[i]));
  const int64_t named = indices[indices.rank - 1];
  if (named < 1 || named > from.rank - batch)
    return refuse(kOp, "dims that an index names", std::to_string(named), "1 to " + std::to_string(from.rank - batch));
  Shape to;
  for (int i = 0; i + 1 < indices.rank; ++i) INGOT_TRY(append_dim(kOp, to, indices[i]));
  for (int i = batch + static_cast<int>(named); i < from.rank; ++i) INGOT_TRY(append_dim(kOp, to, from[i]));
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

// y[b…, i…, …] = x[b…, indices[b…, i…], …]
Status run_reference(const GatherNDParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("gather_nd", params, inputs, outputs));
  const Shape &from = inputs[0].type->shape, &indices = inputs[1].type->shape;
  const int batch = static_cast<int>(params.batch_dims);
  const int64_t named = indices[indices.rank - 1];
  int64_t batches = 1, rows = 1, batch_size = 1, bytes = static_cast<int64_t>(element_bytes(inputs[0].type->dtype));
  for (int i = 0; i < batch; ++i) batches *= from[i];
  for (int i = batch; i + 1 < indices.rank; ++i) rows *= indices[i];
  for (int i = batch; i < from.rank; ++i) batch_size *= from[i];
  batch_size *= bytes;
  for (int i = batch + static_cast<int>(named); i < from.rank; ++i) bytes *= from[i];
  const auto* source = inputs[0].as<std::byte>();
  auto* target = outputs[0].as<std::byte>();
  for (int64_t row = 0; row < batches * rows; ++row) {
    int64_t offset = 0;
    for (int64_t k = 0; k < named; ++k) {
      const int64_t dim = from[batch + static_cast<int>(k)];
      int64_t place = 0;
      INGOT_TRY(read_place("gather_nd", inputs[1], row * named + k, dim, place));
      offset = offset * dim + place;
    }
    if (bytes > 0)
      std::memcpy(target + row * bytes, source + row / rows * batch_size + offset * bytes, static_cast<size_t>(bytes));
  }
  return {};
}

}  // namespace ingot
