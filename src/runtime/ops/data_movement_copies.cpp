// Ops that lay the elements of their inputs out anew: Transpose, Concat, Split, Expand, Tile, DepthToSpace, SpaceToDepth.
// Each is one strided copy per operand.
#include <algorithm>

#include "runtime/ops/data_movement.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

size_t bytes_of(const ConstTensorRef& tensor) { return element_bytes(tensor.type->dtype); }

Status read_perm(const TransposeParams& params, int rank, std::array<int, Shape::kMaxRank>& perm) {
  const auto& given = params.perm;
  if (given.empty()) {
    for (int i = 0; i < rank; ++i) perm[static_cast<size_t>(i)] = rank - 1 - i;
    return {};
  }
  if (given.size() != static_cast<size_t>(rank))
    return refuse("transpose", "length of perm", std::to_string(given.size()), std::to_string(rank));
  std::array<bool, Shape::kMaxRank> used{};
  for (size_t i = 0; i < given.size(); ++i) {
    int axis = 0;
    INGOT_TRY(read_axis("transpose", given[i], rank, axis));
    if (used[static_cast<size_t>(axis)])
      return refuse("transpose", "axis given twice", std::to_string(given[i]), "each axis once");
    used[static_cast<size_t>(axis)] = true;
    perm[i] = axis;
  }
  return {};
}

// Copies between a part of `whole` that starts at index `start` of dim `axis` and a dense tensor of shape `part`.
StridedCopy part_view(const Shape& part, const Strides& whole, bool part_is_source) {
  const Strides dense = row_major_strides(part);
  StridedCopy view;
  for (int i = 0; i < part.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    view.add_dim(part[i], part_is_source ? dense[at] : whole[at], part_is_source ? whole[at] : dense[at]);
  }
  return view;
}

Status multiply(std::string_view op, int64_t a, int64_t b, int64_t& product) {
  if (__builtin_mul_overflow(a, b, &product))
    return refuse(op, "dim of the result", std::to_string(a) + " times " + std::to_string(b), "less than 2^63");
  return {};
}

// Size of output i of `parts` when dim is cut without given sizes.
int64_t even_part(int64_t dim, int64_t parts, int64_t i) {
  const int64_t chunk = dim / parts + (dim % parts != 0);
  return i + 1 < parts ? chunk : dim - chunk * (parts - 1);
}

}  // namespace

Status infer_types(const TransposeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity("transpose", inputs, 1, 1, outputs));
  const Shape& from = inputs[0].shape;
  std::array<int, Shape::kMaxRank> perm{};
  INGOT_TRY(read_perm(params, from.rank, perm));
  Shape to = from;
  for (int i = 0; i < from.rank; ++i) to[i] = from[perm[static_cast<size_t>(i)]];
  return set_output("transpose", outputs[0], inputs[0].dtype, to);
}

Status run_reference(const TransposeParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("transpose", params, inputs, outputs));
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  std::array<int, Shape::kMaxRank> perm{};
  INGOT_TRY(read_perm(params, from.rank, perm));
  const Strides source = row_major_strides(from), target = row_major_strides(to);
  StridedCopy view;
  for (int i = 0; i < to.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    view.add_dim(to[i], source[static_cast<size_t>(perm[at])], target[at]);
  }
  copy_strided(view, bytes_of(inputs[0]), inputs[0].data, outputs[0].data);
  return {};
}

Status infer_types(const ConcatParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "concat";
  INGOT_TRY(check_arity(kOp, inputs, 1, std::max<size_t>(inputs.size(), 1), outputs));
  for (size_t i = 1; i < inputs.size(); ++i)
    if (!inputs[i].present) return refuse(kOp, "input " + std::to_string(i) + " is left out", "nothing", "a tensor");
  Shape to = inputs[0].shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, to.rank, axis));
  for (size_t i = 1; i < inputs.size(); ++i) {
    const Shape& part = inputs[i].shape;
    if (inputs[i].dtype != inputs[0].dtype)
      return refuse(kOp, "type of input " + std::to_string(i), to_string(inputs[i].dtype), to_string(inputs[0].dtype));
    bool fits = part.rank == to.rank;
    for (int d = 0; fits && d < to.rank; ++d) fits = d == axis || part[d] == to[d];
    if (!fits)
      return refuse(kOp, "shape of input " + std::to_string(i), to_string(part),
                    to_string(inputs[0].shape) + " but for dim " + std::to_string(axis));
    if (__builtin_add_overflow(to[axis], part[axis], &to[axis]))
      return refuse(kOp, "dim of the result", "a sum above 2^63", "less");
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const ConcatParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& to = outputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis("concat", params.axis, to.rank, axis));
  const Strides strides = row_major_strides(to);
  const size_t bytes = bytes_of(inputs[0]);
  int64_t at = 0;
  for (const ConstTensorRef& input : inputs) {
    const Shape& part = input.type->shape;
    bool fits = part.rank == to.rank;
    for (int d = 0; fits && d < to.rank; ++d) fits = d == axis ? part[d] <= to[d] - at : part[d] == to[d];
    if (!fits)
      return refuse("concat", "input does not fit the output", to_string(part), "a part of " + to_string(to),
                    StatusCode::kInvalidArgument);
    auto* target = static_cast<std::byte*>(outputs[0].data) +
                   static_cast<size_t>(at * strides[static_cast<size_t>(axis)]) * bytes;
    copy_strided(part_view(part, strides, true), bytes, input.data, target);
    at += part[axis];
  }
  if (at != to[axis])
    return refuse("concat", "sum of the inputs' dims", std::to_string(at), std::to_string(to[axis]),
                  StatusCode::kInvalidArgument);
  return {};
}

Status infer_types(const SplitParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "split";
  INGOT_TRY(check_arity(kOp, inputs, 1, 2, outputs, outputs.size()));
  if (outputs.empty()) return refuse(kOp, "number of outputs", "0", "1 or more");
  const auto parts = static_cast<int64_t>(outputs.size());
  Shape to = inputs[0].shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, to.rank, axis));
  const int64_t dim = to[axis];
  const bool given = has_input(inputs, 1);
  if (given) {
    const OpInput& sizes = inputs[1];
    if (sizes.dtype != DataType::kS64 && sizes.dtype != DataType::kS32)
      return refuse(kOp, "sizes of the wrong type", to_string(sizes.dtype), "s64");
    if (sizes.shape.elements() != parts)
      return refuse(kOp, "number of sizes", std::to_string(sizes.shape.elements()), std::to_string(parts));
    if (sizes.data == nullptr) return refuse_unknown_value(kOp, "sizes");
    int64_t left = dim;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t size = read_index(sizes, i);
      if (size < 0 || size > left)
        return refuse(kOp, "size of output " + std::to_string(i), std::to_string(size), "0 to " + std::to_string(left));
      left -= size;
    }
    if (left != 0) return refuse(kOp, "sum of the sizes", std::to_string(dim - left), std::to_string(dim));
  } else if (even_part(dim, parts, parts - 1) < 0) {
    return refuse(kOp, "dim is too short for equal parts", std::to_string(dim), "room for " + std::to_string(parts));
  }
  for (int64_t i = 0; i < parts; ++i) {
    to[axis] = given ? read_index(inputs[1], i) : even_part(dim, parts, i);
    INGOT_TRY(set_output(kOp, outputs[static_cast<size_t>(i)], inputs[0].dtype, to));
  }
  return {};
}

Status run_reference(const SplitParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& from = inputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis("split", params.axis, from.rank, axis));
  const Strides strides = row_major_strides(from);
  const size_t bytes = bytes_of(inputs[0]);
  int64_t at = 0;
  for (const TensorRef& output : outputs) {
    const Shape& part = output.type->shape;
    bool fits = part.rank == from.rank;
    for (int d = 0; fits && d < from.rank; ++d) fits = d == axis ? part[d] <= from[d] - at : part[d] == from[d];
    if (!fits)
      return refuse("split", "output does not fit the input", to_string(part), "a part of " + to_string(from),
                    StatusCode::kInvalidArgument);
    const auto* source = static_cast<const std::byte*>(inputs[0].data) +
                         static_cast<size_t>(at * strides[static_cast<size_t>(axis)]) * bytes;
    copy_strided(part_view(part, strides, false), bytes, source, output.data);
    at += part[axis];
  }
  return {};
}

Status infer_types(const ExpandParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "expand";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  IndexList wanted;
  INGOT_TRY(read_index_list(kOp, "shape", inputs[1], Shape::kMaxRank, wanted));
  const Shape& from = inputs[0].shape;
  const int rank = std::max(from.rank, wanted.count);
  Shape to;
  for (int i = 0; i < rank; ++i) {
    const int a = i - (rank - from.rank), b = i - (rank - wanted.count);
    const int64_t have = a < 0 ? 1 : from[a], want = b < 0 ? 1 : wanted[b];
    if (want < 0) return refuse(kOp, "negative dim in shape", std::to_string(want), "0 or more");
    if (have != want && have != 1 && want != 1)
      return refuse(kOp, "dim " + std::to_string(i) + " does not broadcast", std::to_string(have),
                    "1 or " + std::to_string(want));
    INGOT_TRY(append_dim(kOp, to, have == 1 ? want : have));
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const ExpandParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  const Strides source = row_major_strides(from), target = row_major_strides(to);
  const int added = to.rank - from.rank;
  bool fits = added >= 0;
  StridedCopy view;
  for (int i = 0; fits && i < to.rank; ++i) {
    const bool repeats = i < added || from[i - added] == 1;
    fits = repeats || from[i - added] == to[i];
    view.add_dim(to[i], repeats ? 0 : source[static_cast<size_t>(i - added)], target[static_cast<size_t>(i)]);
  }
  if (!fits)
    return refuse("expand", "input does not broadcast to the output", to_string(from), to_string(to),
                  StatusCode::kInvalidArgument);
  copy_strided(view, bytes_of(inputs[0]), inputs[0].data, outputs[0].data);
  return {};
}

Status infer_types(const TileParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "tile";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  IndexList repeats;
  INGOT_TRY(read_index_list(kOp, "repeats", inputs[1], Shape::kMaxRank, repeats));
  Shape to = inputs[0].shape;
  if (repeats.count != to.rank)
    return refuse(kOp, "number of repeats", std::to_string(repeats.count), "rank " + std::to_string(to.rank));
  for (int i = 0; i < to.rank; ++i) {
    if (repeats[i] < 0) return refuse(kOp, "negative repeat", std::to_string(repeats[i]), "0 or more");
    INGOT_TRY(multiply(kOp, to[i], repeats[i], to[i]));
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const TileParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  if (to.elements() == 0) return {};
  const Strides source = row_major_strides(from), target = row_major_strides(to);
  bool fits = from.rank == to.rank;
  StridedCopy view;
  for (int i = 0; fits && i < to.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    fits = from[i] > 0 && to[i] % from[i] == 0;
    if (!fits) break;
    view.add_dim(to[i] / from[i], 0, from[i] * target[at]);
    view.add_dim(from[i], source[at], target[at]);
  }
  if (!fits)
    return refuse("tile", "output is not a whole number of inputs", to_string(to), "multiples of " + to_string(from),
                  StatusCode::kInvalidArgument);
  copy_strided(view, bytes_of(inputs[0]), inputs[0].data, outputs[0].data);
  return {};
}

Status infer_types(const DepthToSpaceParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "depth_to_space";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  Shape to = inputs[0].shape;
  if (to.rank != 4) return refuse(kOp, "rank", std::to_string(to.rank), "4");
  int64_t area = 0;
  if (params.block < 1) return refuse(kOp, "block", std::to_string(params.block), "1 or more");
  INGOT_TRY(multiply(kOp, params.block, params.block, area));
  if (to[1] % area != 0)
    return refuse(kOp, "channels", std::to_string(to[1]), "a multiple of " + std::to_string(area));
  to[1] /= area;
  INGOT_TRY(multiply(kOp, to[2], params.block, to[2]));
  INGOT_TRY(multiply(kOp, to[3], params.block, to[3]));
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

// y[n, c, h·b + i, w·b + j] = x[n, (i·b + j)·C + c, h, w], or x[n, (c·b + i)·b + j, h, w] in crd order.
Status run_reference(const DepthToSpaceParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("depth_to_space", params, inputs, outputs));
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  const Strides source = row_major_strides(from), target = row_major_strides(to);
  const int64_t block = params.block, channels = to[1];
  StridedCopy view;
  view.add_dim(to[0], source[0], target[0]);
  view.add_dim(channels, source[1] * (params.crd ? block * block : 1), target[1]);
  view.add_dim(from[2], source[2], target[2] * block);
  view.add_dim(block, source[1] * block * (params.crd ? 1 : channels), target[2]);
  view.add_dim(from[3], source[3], block);
  view.add_dim(block, source[1] * (params.crd ? 1 : channels), 1);
  copy_strided(view, bytes_of(inputs[0]), inputs[0].data, outputs[0].data);
  return {};
}

Status infer_types(const SpaceToDepthParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "space_to_depth";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  Shape to = inputs[0].shape;
  if (to.rank != 4) return refuse(kOp, "rank", std::to_string(to.rank), "4");
  if (params.block < 1) return refuse(kOp, "block", std::to_string(params.block), "1 or more");
  for (int i = 2; i < 4; ++i) {
    if (to[i] % params.block != 0)
      return refuse(kOp, "dim " + std::to_string(i), std::to_string(to[i]),
                    "a multiple of " + std::to_string(params.block));
    to[i] /= params.block;
    INGOT_TRY(multiply(kOp, to[1], params.block, to[1]));
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

// y[n, (i·b + j)·C + c, h, w] = x[n, c, h·b + i, w·b + j]
Status run_reference(const SpaceToDepthParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("space_to_depth", params, inputs, outputs));
  const Shape &from = inputs[0].type->shape, &to = outputs[0].type->shape;
  const Strides source = row_major_strides(from), target = row_major_strides(to);
  const int64_t block = params.block, channels = from[1];
  StridedCopy view;
  view.add_dim(to[0], source[0], target[0]);
  view.add_dim(block, source[2], target[1] * block * channels);
  view.add_dim(block, 1, target[1] * channels);
  view.add_dim(channels, source[1], target[1]);
  view.add_dim(to[2], source[2] * block, target[2]);
  view.add_dim(to[3], block, 1);
  copy_strided(view, bytes_of(inputs[0]), inputs[0].data, outputs[0].data);
  return {};
}

}  // namespace ingot
