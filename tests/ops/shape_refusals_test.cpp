// Hostile and unknown values in front of the type rules of the moving and gathering ops: each is
// refused with words, and a value that only the run computes is "depends on data".
#include "op_case.h"

namespace ingot {
namespace {

TEST(ShapeRefusals, Reshape) {
  run_op_cases(R"(
    case two_unknown_dims
    op Reshape
    in f32 2x3 : 1 2 3 4 5 6
    in s64 2 : -1 -1
    refused reshape: more than one dim is -1: got dims 0 and 1, need at most one
    case no_whole_number_of_rows
    op Reshape
    in f32 2x3 : 1 2 3 4 5 6
    in s64 2 : 4 -1
    refused reshape: dim -1 cannot be found: got 2x3 into rows of 4
    case ambiguous_when_empty
    op Reshape
    in f32 0x3 :
    in s64 2 : 0 -1
    refused reshape: dim -1 cannot be found
    case other_count
    op Reshape
    in f32 2x3 : 1 2 3 4 5 6
    in s64 1 : 5
    refused reshape: number of elements changes: got 5, need as many as 2x3
    case most_negative
    op Reshape
    in f32 2x3 : 1 2 3 4 5 6
    in s64 1 : -9223372036854775808
    refused reshape: negative dim: got -9223372036854775808, need -1 or more
    case product_overflows
    op Reshape
    in f32 2x3 : 1 2 3 4 5 6
    in s64 3 : 4294967296 4294967296 6
    refused reshape: shape of the result
    case copied_dim_is_not_there
    op Reshape
    in f32 6 : 1 2 3 4 5 6
    in s64 2 : 6 0
    refused reshape: dim 0 copies from an input dim that is not there: got dim 1
    case allowzero_with_unknown
    op Reshape allowzero=1
    in f32 0x3 :
    in s64 2 : 0 -1
    refused reshape: dims with allowzero: got both 0 and -1
    case rank_9
    op Reshape
    in f32 1 : 1
    in s64 9 : 1 1 1 1 1 1 1 1 1
    refused reshape: too many shape: got 9, need at most 8
    case unknown_shape
    op Reshape
    in f32 1 : 1
    in s64 1 unknown
    refused reshape: shape of the result depends on data
    case shape_of_floats
    op Reshape
    in f32 1 : 1
    in f32 1 : 1
    refused reshape: shape of the wrong type: got f32, need s64
    case no_shape
    op Reshape
    in f32 1 : 1
    refused reshape: number of inputs: got 1, need 2
    case shape_left_out
    op Reshape
    in f32 1 : 1
    in absent
    refused reshape: input 1 is left out
  )");
}

TEST(ShapeRefusals, AxesAndPermutations) {
  run_op_cases(R"(
    case flatten_axis
    op Flatten axis=3
    in f32 1x2 : 1 2
    refused flatten: axis outside the rank: got 3, need -2 to 2
    case flatten_scalar_default_axis
    op Flatten
    in f32 scalar : 1
    refused flatten: axis outside the rank: got 1, need 0 to 0
    case flatten_most_negative
    op Flatten axis=-9223372036854775808
    in f32 1x2 : 1 2
    refused flatten: axis outside the rank
    case squeeze_dim_of_2
    op Squeeze
    in f32 1x2 : 1 2
    in s64 1 : 1
    refused squeeze: dim 1: got 2, need 1
    case squeeze_axis
    op Squeeze
    in f32 1x2 : 1 2
    in s64 1 : 2
    refused squeeze: axis outside the rank: got 2, need -2 to 1
    case squeeze_unknown_axes
    op Squeeze
    in f32 1x2 : 1 2
    in s64 1 unknown
    refused depends on data
    case unsqueeze_twice
    op Unsqueeze
    in f32 2 : 1 2
    in s64 2 : 0 -3
    refused unsqueeze: axis given twice: got -3
    case unsqueeze_rank_9
    op Unsqueeze
    in f32 1x1x1x1x1x1x1 : 1
    in s64 2 : 0 1
    refused unsqueeze: rank of the result: got 9, need at most 8
    case unsqueeze_unknown
    op Unsqueeze
    in f32 2 : 1 2
    in s64 1 unknown
    refused depends on data
    case transpose_short_perm
    op Transpose perm=[0]
    in f32 1x2 : 1 2
    refused transpose: length of perm: got 1, need 2
    case transpose_repeated
    op Transpose perm=[0,0]
    in f32 1x2 : 1 2
    refused transpose: axis given twice: got 0
    case transpose_outside
    op Transpose perm=[0,9223372036854775807]
    in f32 1x2 : 1 2
    refused transpose: axis outside the rank: got 9223372036854775807
    case concat_ranks
    op Concat axis=0
    in f32 1x2 : 1 2
    in f32 2 : 1 2
    refused concat: shape of input 1: got 2, need 1x2 but for dim 0
    case concat_types
    op Concat axis=0
    in f32 1 : 1
    in s32 1 : 1
    refused concat: type of input 1: got s32, need f32
    case concat_scalars
    op Concat axis=0
    in f32 scalar : 1
    refused concat: axis outside the rank: got 0, need rank 1 or more
    case gather_scalar
    op Gather axis=0
    in f32 scalar : 1
    in s64 1 : 0
    refused gather: axis outside the rank
    case gather_float_indices
    op Gather axis=0
    in f32 2 : 1 2
    in f32 1 : 0
    refused gather: type of the indices: got f32, need s32 or s64
    case gather_rank_9
    op Gather axis=0
    in f32 1x1x1x1x1 : 1
    in s64 1x1x1x1x1 : 0
    refused gather: rank of the result: got more than 8
    case gather_elements_ranks
    op GatherElements axis=0
    in f32 2 : 1 2
    in s64 1x1 : 0
    refused gather_elements: rank of the indices: got 2, need 1
    case gather_elements_wider
    op GatherElements axis=0
    in f32 1x2 : 1 2
    in s64 1x3 : 0 0 0
    refused gather_elements: dim 1 of the indices: got 3, need at most 2
    case depth_to_space_rank
    op DepthToSpace block=2
    in f32 4x1x1 : 1 2 3 4
    refused depth_to_space: rank: got 3, need 4
    case depth_to_space_block_0
    op DepthToSpace block=0
    in f32 1x4x1x1 : 1 2 3 4
    refused depth_to_space: block: got 0, need 1 or more
    case depth_to_space_block_huge
    op DepthToSpace block=9223372036854775807
    in f32 1x4x1x1 : 1 2 3 4
    refused depth_to_space: dim of the result
    case depth_to_space_channels
    op DepthToSpace block=2
    in f32 1x3x1x1 : 1 2 3
    refused depth_to_space: channels: got 3, need a multiple of 4
    case space_to_depth_height
    op SpaceToDepth block=2
    in f32 1x1x3x2 : 1 2 3 4 5 6
    refused space_to_depth: dim 2: got 3, need a multiple of 2
    case space_to_depth_block_most_negative
    op SpaceToDepth block=-9223372036854775808
    in f32 1x1x2x2 : 1 2 3 4
    refused space_to_depth: block
  )");
}

TEST(ShapeRefusals, Sizes) {
  run_op_cases(R"(
    case split_sum
    op Split axis=0
    in f32 3 : 1 2 3
    in s64 2 : 1 1
    out f32 1 : 1
    out f32 1 : 2
    refused split: sum of the sizes: got 2, need 3
    case split_negative
    op Split axis=0
    in f32 3 : 1 2 3
    in s64 2 : -1 4
    out f32 1 : 1
    out f32 1 : 2
    refused split: size of output 0: got -1, need 0 to 3
    case split_overflowing_sizes
    op Split axis=0
    in f32 3 : 1 2 3
    in s64 2 : 9223372036854775807 9223372036854775807
    out f32 1 : 1
    out f32 1 : 2
    refused split: size of output 0
    case split_count
    op Split axis=0
    in f32 3 : 1 2 3
    in s64 3 : 1 1 1
    refused split: number of sizes: got 3, need 1
    case split_unknown
    op Split axis=0
    in f32 3 : 1 2 3
    in s64 1 unknown
    refused depends on data
    case split_4_of_5
    op Split axis=0
    in f32 5 : 1 2 3 4 5
    out f32 1 : 1
    out f32 1 : 1
    out f32 1 : 1
    out f32 1 : 1
    refused split: dim is too short for equal parts: got 5, need room for 4
    case expand_negative
    op Expand
    in f32 1 : 1
    in s64 1 : -1
    refused expand: negative dim in shape: got -1
    case expand_mismatch
    op Expand
    in f32 2 : 1 2
    in s64 1 : 3
    refused expand: dim 0 does not broadcast: got 2, need 1 or 3
    case expand_bomb
    op Expand
    in f32 1 : 1
    in s64 2 : 4294967296 4294967296
    refused expand: shape of the result
    case expand_unknown
    op Expand
    in f32 1 : 1
    in s64 2 unknown
    refused depends on data
    case tile_bomb
    op Tile
    in f32 2x2 : 1 2 3 4
    in s64 2 : 4611686018427387904 4611686018427387904
    refused tile: dim of the result
    case tile_bomb_of_two_dims
    op Tile
    in f32 2x2 : 1 2 3 4
    in s64 2 : 2147483648 2147483648
    refused tile: shape of the result
    case tile_negative
    op Tile
    in f32 2 : 1 2
    in s64 1 : -1
    refused tile: negative repeat: got -1
    case tile_count
    op Tile
    in f32 2 : 1 2
    in s64 2 : 1 1
    refused tile: number of repeats: got 2, need rank 1
    case constant_negative
    op ConstantOfShape
    in s64 1 : -9223372036854775808
    refused constant_of_shape: negative dim in shape
    case constant_bomb
    op ConstantOfShape
    in s64 2 : 9223372036854775807 2
    refused constant_of_shape: shape of the result
    case constant_type
    op ConstantOfShape dtype=23
    in s64 1 : 1
    refused constant_of_shape: element type: got 23, need 0 to 22
    case constant_unknown
    op ConstantOfShape
    in s64 1 unknown
    refused depends on data
    case range_delta_0
    op Range
    in s64 scalar : 0
    in s64 scalar : 1
    in s64 scalar : 0
    refused range: delta: got 0
    case range_huge
    op Range
    in s64 scalar : -9223372036854775808
    in s64 scalar : 9223372036854775807
    in s64 scalar : 1
    refused range: number of elements
    case range_infinite
    op Range
    in f32 scalar : 0
    in f32 scalar : inf
    in f32 scalar : 1
    refused range: number of elements
    case range_nan
    op Range
    in f32 scalar : nan
    in f32 scalar : 1
    in f32 scalar : 1
    refused range: number of elements
    case range_types
    op Range
    in f32 scalar : 0
    in s64 scalar : 1
    in f32 scalar : 1
    refused range: type of limit: got s64, need f32
    case range_unknown
    op Range
    in s64 scalar : 0
    in s64 scalar unknown
    in s64 scalar : 1
    refused depends on data
  )");
}

TEST(ShapeRefusals, Slice) {
  run_op_cases(R"(
    case step_0
    op Slice
    in f32 3 : 1 2 3
    in s64 1 : 0
    in s64 1 : 3
    in absent
    in s64 1 : 0
    refused slice: step: got 0
    case axis_twice
    op Slice
    in f32 3x1 : 1 2 3
    in s64 2 : 0 0
    in s64 2 : 3 3
    in s64 2 : 0 -2
    refused slice: axis given twice: got -2
    case lengths
    op Slice
    in f32 3 : 1 2 3
    in s64 1 : 0
    in s64 2 : 3 3
    refused slice: number of ends: got 2, need 1, as starts
    case too_many
    op Slice
    in f32 3 : 1 2 3
    in s64 2 : 0 0
    in s64 2 : 3 3
    refused slice: number of starts: got 2, need at most rank 1
    case scalar
    op Slice
    in f32 scalar : 1
    in s64 1 : 0
    in s64 1 : 1
    refused slice: number of starts: got 1, need at most rank 0
    case axis_outside
    op Slice
    in f32 3 : 1 2 3
    in s64 1 : 0
    in s64 1 : 3
    in s64 1 : -9223372036854775808
    refused slice: axis outside the rank: got -9223372036854775808, need -1 to 0
    case unknown_starts
    op Slice
    in f32 3 : 1 2 3
    in s64 1 unknown
    in s64 1 : 3
    refused slice: shape of the result depends on data: got starts computed in the run
    case one_axis_of_many
    op Slice
    in f32 3x2 : 1 2 3 4 5 6
    in s64 9 : 0 0 0 0 0 0 0 0 0
    in s64 9 : 1 1 1 1 1 1 1 1 1
    refused slice: too many starts: got 9, need at most 8
  )");
}

TEST(ShapeRefusals, Pad) {
  run_op_cases(R"(
    case count
    op Pad
    in f32 1x2 : 1 2
    in s64 2 : 1 1
    refused pad: number of pads: got 2, need 4, two per axis
    case crop_too_much
    op Pad
    in f32 3 : 1 2 3
    in s64 2 : -2 -2
    refused pad: crop of dim 0: got -2 and -2, need at most its size 3
    case crop_by_the_most_negative
    op Pad
    in f32 3 : 1 2 3
    in s64 2 : -9223372036854775808 -9223372036854775808
    refused pad: crop of dim 0
    case overflow
    op Pad
    in f32 3 : 1 2 3
    in s64 2 : 9223372036854775807 9223372036854775807
    refused pad: dim 0 of the result
    case bomb
    op Pad
    in f32 1x1 : 1
    in s64 4 : 4611686018427387904 4611686018427387904 0 0
    refused pad: shape of the result
    case reflect_of_nothing
    op Pad mode=1
    in f32 0 :
    in s64 2 : 1 0
    refused pad: dim 0 is empty: got nothing to repeat
    case wrap_of_all_cropped
    op Pad mode=3
    in f32 2 : 1 2
    in s64 2 : -2 3
    refused pad: dim 0 is empty
    case value_type
    op Pad
    in f32 2 : 1 2
    in s64 2 : 1 1
    in s64 scalar : 1
    refused pad: type of the value: got s64, need f32
    case two_values
    op Pad
    in f32 2 : 1 2
    in s64 2 : 1 1
    in f32 2 : 1 2
    refused pad: elements of the value: got 2, need 1
    case axis_twice
    op Pad
    in f32 2 : 1 2
    in s64 4 : 1 1 1 1
    in absent
    in s64 2 : 0 -1
    refused pad: axis given twice: got -1
    case unknown
    op Pad
    in f32 2 : 1 2
    in s64 2 unknown
    refused depends on data
  )");
}

TEST(ShapeRefusals, UnaddressableInput) {
  const Shape huge{INT64_MAX, INT64_MAX}, negative{-5};
  for (const Shape& shape : {huge, negative}) {
    const OpInput input{DataType::kF32, shape, nullptr, true};
    OpOutput output;
    for (const OpKind kind : {OpKind::kIdentity, OpKind::kFlatten, OpKind::kTranspose, OpKind::kShape, OpKind::kReduce,
                              OpKind::kArgReduce, OpKind::kConcat, OpKind::kSplit}) {
      const Status status = infer_types(default_params(kind), {&input, 1}, {&output, 1});
      ASSERT_FALSE(status.ok()) << to_string(kind);
      EXPECT_NE(status.message().find("shape of input 0"), std::string_view::npos) << status.message();
    }
  }
}

TEST(ShapeRefusals, UnknownValuesAreUnsupportedAndTheRestIsInvalid) {
  const OpInput x{DataType::kF32, Shape{2}, nullptr, true};
  const int64_t wrong = 3;
  for (const void* data : {static_cast<const void*>(nullptr), static_cast<const void*>(&wrong)}) {
    const OpInput inputs[] = {x, {DataType::kS64, Shape{1}, data, true}};
    OpOutput output;
    const Status status = infer_types(ReshapeParams{}, inputs, {&output, 1});
    EXPECT_EQ(status.code(), data ? StatusCode::kInvalidModel : StatusCode::kUnsupported);
  }
}

}  // namespace
}  // namespace ingot
