// Ops that only move elements or speak about shapes. They work on any element type by its size; quantised tensors pass
// through with equal scales. Inputs after the first that give shapes, axes or indices are s64 tensors (s32 where noted),
// whose values type rules need.
#pragma once

#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

struct IdentityParams { INGOT_FIELDS() };
struct ReshapeParams {  // x, shape
  bool allowzero = false;
  INGOT_FIELDS(allowzero)
};
struct FlattenParams {
  int64_t axis = 1;
  INGOT_FIELDS(axis)
};
struct SqueezeParams { INGOT_FIELDS() };    // x, axes (optional: all dims of size 1)
struct UnsqueezeParams { INGOT_FIELDS() };  // x, axes
struct TransposeParams {
  std::vector<int64_t> perm;  // empty: reversed
  INGOT_FIELDS(perm)
};
struct ConcatParams {
  int64_t axis = 0;
  INGOT_FIELDS(axis)
};
struct SplitParams {  // x, sizes (optional: equal parts, the last one smaller)
  int64_t axis = 0;
  INGOT_FIELDS(axis)
};
struct SliceParams { INGOT_FIELDS() };  // x, starts, ends, axes (optional), steps (optional)
enum class PadMode : int64_t { kConstant, kReflect, kEdge, kWrap };
struct PadParams {  // x, pads, value (optional), axes (optional)
  PadMode mode = PadMode::kConstant;
  INGOT_FIELDS(mode)
};
struct ExpandParams { INGOT_FIELDS() };  // x, shape
struct TileParams { INGOT_FIELDS() };    // x, repeats
struct DepthToSpaceParams {
  int64_t block = 1;
  bool crd = false;  // column-row-depth order; else depth-column-row
  INGOT_FIELDS(block, crd)
};
struct SpaceToDepthParams {
  int64_t block = 1;
  INGOT_FIELDS(block)
};
struct ShapeParams {  // the dims start…end of x as s64
  int64_t start = 0, end = INT64_MAX;
  INGOT_FIELDS(start, end)
};
struct ConstantOfShapeParams {  // shape → tensor filled with value
  int64_t dtype = 0;            // DataType
  double value = 0;
  int64_t integer_value = 0;    // used for integer types
  INGOT_FIELDS(dtype, value, integer_value)
};
struct RangeParams { INGOT_FIELDS() };  // start, limit, delta

#define INGOT_DECLARE_OP(P)                                                              \
  Status infer_types(const P&, std::span<const OpInput>, std::span<OpOutput>);           \
  Status run_reference(const P&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
INGOT_DECLARE_OP(IdentityParams)
INGOT_DECLARE_OP(ReshapeParams)
INGOT_DECLARE_OP(FlattenParams)
INGOT_DECLARE_OP(SqueezeParams)
INGOT_DECLARE_OP(UnsqueezeParams)
INGOT_DECLARE_OP(TransposeParams)
INGOT_DECLARE_OP(ConcatParams)
INGOT_DECLARE_OP(SplitParams)
INGOT_DECLARE_OP(SliceParams)
INGOT_DECLARE_OP(PadParams)
INGOT_DECLARE_OP(ExpandParams)
INGOT_DECLARE_OP(TileParams)
INGOT_DECLARE_OP(DepthToSpaceParams)
INGOT_DECLARE_OP(SpaceToDepthParams)
INGOT_DECLARE_OP(ShapeParams)
INGOT_DECLARE_OP(ConstantOfShapeParams)
INGOT_DECLARE_OP(RangeParams)
#undef INGOT_DECLARE_OP

}  // namespace ingot
