// Ops whose result holds the bytes of their input in the same order (Identity, Reshape, Flatten, Squeeze, Unsqueeze), and
// Shape, which looks at no bytes at all.
#include <algorithm>
#include <cstring>

#include "runtime/ops/data_movement.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

// Input and output may share their memory.
Status copy_bytes(std::string_view op, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const int64_t bytes = outputs[0].type->bytes();
  if (bytes != inputs[0].type->bytes())
    return refuse(op, "bytes of input and output differ", std::to_string(inputs[0].type->bytes()),
                  std::to_string(bytes), StatusCode::kInvalidArgument);
  if (bytes > 0 && inputs[0].data != outputs[0].data)
    std::memmove(outputs[0].data, inputs[0].data, static_cast<size_t>(bytes));
  return {};
}

}  // namespace

Status infer_types(const IdentityParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity("identity", inputs, 1, 1, outputs));
  return set_output("identity", outputs[0], inputs[0].dtype, inputs[0].shape);
}

Status run_reference(const IdentityParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return copy_bytes("identity", inputs, outputs);
}

Status infer_types(const ReshapeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "reshape";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  IndexList wanted;
  INGOT_TRY(read_index_list(kOp, "shape", inputs[1], Shape::kMaxRank, wanted));
  const Shape& from = inputs[0].shape;
  Shape to;
  int unknown = -1;
  bool keeps_zero = false;
  for (int i = 0; i < wanted.count; ++i) {
    int64_t dim = wanted[i];
    if (dim == -1) {
      if (unknown >= 0) return refuse(kOp, "more than one dim is -1", "dims " + std::to_string(unknown) + " and " +
                                      std::to_string(i), "at most one");
      unknown = i;
      dim = 1;
    } else if (dim == 0 && params.allowzero) {
      keeps_zero = true;
    } else if (dim == 0) {
      if (i >= from.rank)
        return refuse(kOp, "dim 0 copies from an input dim that is not there", "dim " + std::to_string(i),
                      "less than rank " + std::to_string(from.rank));
      dim = from[i];
    } else if (dim < 0) {
      return refuse(kOp, "negative dim", std::to_string(dim), "-1 or more");
    }
    INGOT_TRY(append_dim(kOp, to, dim));
  }
  if (keeps_zero && unknown >= 0) return refuse(kOp, "dims with allowzero", "both 0 and -1", "only one of them");
  const auto elements = checked_elements(to.span());
  const int64_t have = from.elements();
  if (!elements) return refuse(kOp, "shape of the result", to_string(to), "the elements of " + to_string(from));
  if (unknown >= 0) {
    // With no elements besides, -1 could be anything.
    if (*elements == 0 || have % *elements != 0)
      return refuse(kOp, "dim -1 cannot be found", to_string(from) + " into rows of " + std::to_string(*elements),
                    "a whole number of them");
    to[unknown] = have / *elements;
  } else if (*elements != have) {
    return refuse(kOp, "number of elements changes", to_string(to), "as many as " + to_string(from));
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const ReshapeParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return copy_bytes("reshape", inputs, outputs);
}

Status infer_types(const FlattenParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "flatten";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  const Shape& from = inputs[0].shape;
  if (params.axis < -from.rank || params.axis > from.rank)
    return refuse(kOp, "axis outside the rank", std::to_string(params.axis),
                  std::to_string(-from.rank) + " to " + std::to_string(from.rank));
  const auto axis = static_cast<size_t>(params.axis < 0 ? params.axis + from.rank : params.axis);
  // Parts of an addressable shape are addressable.
  const Shape to{*checked_elements(from.span().first(axis)), *checked_elements(from.span().subspan(axis))};
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const FlattenParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return copy_bytes("flatten", inputs, outputs);
}

Status infer_types(const SqueezeParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "squeeze";
  INGOT_TRY(check_arity(kOp, inputs, 1, 2, outputs));
  const Shape& from = inputs[0].shape;
  std::array<bool, Shape::kMaxRank> dropped{};
  const bool has_axes = has_input(inputs, 1);
  if (has_axes) {
    IndexList axes;
    INGOT_TRY(read_index_list(kOp, "axes", inputs[1], Shape::kMaxRank, axes));
    for (int i = 0; i < axes.count; ++i) {
      int axis = 0;
      INGOT_TRY(read_axis(kOp, axes[i], from.rank, axis));
      if (dropped[static_cast<size_t>(axis)]) return refuse(kOp, "axis given twice", std::to_string(axes[i]), "each axis once");
      if (from[axis] != 1) return refuse(kOp, "dim " + std::to_string(axis), std::to_string(from[axis]), "1");
      dropped[static_cast<size_t>(axis)] = true;
    }
  }
  Shape to;
  for (int i = 0; i < from.rank; ++i)
    if (has_axes ? !dropped[static_cast<size_t>(i)] : from[i] != 1) to[to.rank++] = from[i];
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const SqueezeParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return copy_bytes("squeeze", inputs, outputs);
}

Status infer_types(const UnsqueezeParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "unsqueeze";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  IndexList axes;
  INGOT_TRY(read_index_list(kOp, "axes", inputs[1], Shape::kMaxRank, axes));
  const Shape& from = inputs[0].shape;
  const int rank = from.rank + axes.count;
  if (rank > Shape::kMaxRank)
    return refuse(kOp, "rank of the result", std::to_string(rank), "at most 8", StatusCode::kUnsupported);
  std::array<bool, Shape::kMaxRank> added{};
  for (int i = 0; i < axes.count; ++i) {
    int axis = 0;
    INGOT_TRY(read_axis(kOp, axes[i], rank, axis));
    if (added[static_cast<size_t>(axis)])
      return refuse(kOp, "axis given twice", std::to_string(axes[i]), "each axis once");
    added[static_cast<size_t>(axis)] = true;
  }
  Shape to;
  int next = 0;
  for (int i = 0; i < rank; ++i) to[to.rank++] = added[static_cast<size_t>(i)] ? 1 : from[next++];
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const UnsqueezeParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  return copy_bytes("unsqueeze", inputs, outputs);
}

Status infer_types(const ShapeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity("shape", inputs, 1, 1, outputs));
  const int64_t rank = inputs[0].shape.rank;
  const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  return set_output("shape", outputs[0], DataType::kS64,
                    Shape{std::max<int64_t>(bound(params.end) - bound(params.start), 0)});
}

Status run_reference(const ShapeParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("shape", params, inputs, outputs));
  const Shape& shape = inputs[0].type->shape;
  const int64_t first = std::clamp<int64_t>(params.start < 0 ? params.start + shape.rank : params.start, 0, shape.rank);
  for (int64_t i = 0; i < outputs[0].type->shape[0]; ++i)
    outputs[0].as<int64_t>()[i] = shape[static_cast<int>(first + i)];
  return {};
}

}  // namespace ingot
