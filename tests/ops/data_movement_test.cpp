// Ops that move elements, by hand and against the plainest index loops: quantised padding, huge and empty operands,
// run-time checks, and all permutations, slices and pads of small shapes.
#include "op_case.h"

#include <algorithm>
#include <numeric>

namespace ingot {
namespace {

TEST(Pad, QuantisedPaddingIsTheZeroPoint) {
  run_op_cases(R"(
    case no_value
    op Pad
    in u8 2 s=0.5 z=10 : 1 2
    in s64 2 : 1 2
    out u8 5 s=0.5 z=10 : 10 1 2 10 10
    case float_value
    op Pad
    in s8 2 s=0.5 z=-3 : 1 2
    in s64 2 : 1 1
    in f32 scalar : -2.25
    out s8 4 s=0.5 z=-3 : -7 1 2 -7
    case float_value_saturates
    op Pad
    in u8 1 s=0.5 z=10 : 1
    in s64 2 : 1 0
    in f32 scalar : -inf
    out u8 2 s=0.5 z=10 : 0 1
    case byte_value_is_q
    op Pad
    in u8 1 s=0.5 z=10 : 1
    in s64 2 : 1 0
    in u8 scalar : 77
    out u8 2 s=0.5 z=10 : 77 1
    case float_value_without_scale
    op Pad
    in u8 1 : 1
    in s64 2 : 1 0
    in f32 scalar : 1
    out u8 2 : 1 1
    fails pad: type of the value: got f32, need u8
  )");
}

TEST(Pad, CropsBeforeItRepeats) {
  run_op_cases(R"(
    # 1 2 3 4 cropped to 2 3 4, then reflected
    case reflect
    op Pad mode=1
    in s32 4 : 1 2 3 4
    in s64 2 : -1 2
    out s32 5 : 2 3 4 3 2
    case edge
    op Pad mode=2
    in s32 4 : 1 2 3 4
    in s64 2 : 2 -2
    out s32 4 : 1 1 1 2
    case wrap
    op Pad mode=3
    in s32 4 : 1 2 3 4
    in s64 2 : 2 -1
    out s32 5 : 2 3 1 2 3
    case reflect_of_one
    op Pad mode=1
    in s32 1 : 7
    in s64 2 : 2 3
    out s32 6 : 7 7 7 7 7 7
    case scalar
    op Pad mode=2
    in s32 scalar : 7
    in s64 0 :
    out s32 scalar : 7
    case empty_result
    op Pad mode=1
    in s32 2 : 1 2
    in s64 2 : -1 -1
    out s32 0 :
  )");
}

TEST(ConstantOfShape, TypesAndValues) {
  run_op_cases(R"(
    case s8_negative
    op ConstantOfShape dtype=4 integer_value=-2
    in s64 1 : 3
    out s8 3 : -2 -2 -2
    case bf16
    op ConstantOfShape dtype=2 value=1.5
    in s64 1 : 2
    out bf16 2 : 1.5 1.5
    case f64
    op ConstantOfShape dtype=3 value=0.1
    in s64 2 : 1 2
    out f64 1x2 : 0.1 0.1
    case u16
    op ConstantOfShape dtype=7 integer_value=65535
    in s64 1 : 2
    out u16 2 : 65535 65535
    case s32_shape
    op ConstantOfShape
    in s32 1 : 2
    out f32 2 : 0 0
    case f8_zero
    op ConstantOfShape dtype=15
    in s64 1 : 2
    out f8e4m3 2 : 0 0
    case f8_other
    op ConstantOfShape dtype=15 value=1.0
    in s64 1 : 2
    refused constant_of_shape: value of an 8-bit float
  )");
}

TEST(Range, EdgesOfIntegers) {
  run_op_cases(R"(
    case down_from_the_top
    op Range
    in s64 scalar : 9223372036854775807
    in s64 scalar : 9223372036854775801
    in s64 scalar : -4
    out s64 2 : 9223372036854775807 9223372036854775803
    case most_negative_step
    op Range
    in s64 scalar : 9223372036854775807
    in s64 scalar : -9223372036854775808
    in s64 scalar : -9223372036854775808
    out s64 2 : 9223372036854775807 -1
    case one_element_inputs
    op Range
    in s32 1 : 0
    in s32 1 : 2
    in s32 1 : 1
    out s32 2 : 0 1
    case wrong_direction
    op Range
    in s64 scalar : -9223372036854775808
    in s64 scalar : 9223372036854775807
    in s64 scalar : -1
    out s64 0 :
  )");
}

TEST(Runs, RefuseOperandsThatDoNotFit) {
  run_op_cases(R"(
    case concat
    op Concat axis=0
    in f32 2 : 1 2
    in f32 0 :
    out f32 2 : 1 2
  )");
  // The same calls with an output of another shape than the rule gives: an error, never a write outside.
  const TensorType x{DataType::kF32, Shape{2, 3}, Layout::kLinear, {}}, wrong{DataType::kF32, Shape{7, 3}, Layout::kLinear, {}};
  const TensorType list{DataType::kS64, Shape{2}, Layout::kLinear, {}};
  const float values[6] = {};
  const int64_t ones[2] = {1, 1};
  float out[21];
  const ConstTensorRef inputs[] = {{&x, values}, {&list, ones}};
  const TensorRef output{&wrong, out};
  const auto expect_refused = [&](const OpParams& params, size_t count) {
    const Status status = run_reference(params, std::span(inputs).first(count), {&output, 1});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << to_string(kind_of(params));
  };
  expect_refused(IdentityParams{}, 1);
  expect_refused(ReshapeParams{}, 2);
  expect_refused(TransposeParams{}, 1);
  expect_refused(ConcatParams{}, 1);
  expect_refused(ExpandParams{}, 2);
  expect_refused(TileParams{}, 2);
  expect_refused(SplitParams{}, 1);
}

// Element i of a row-major tensor as coordinates.
std::array<int64_t, 8> coordinates_of(int64_t i, const Shape& shape) {
  std::array<int64_t, 8> at{};
  for (int d = shape.rank - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = i % shape[d];
    i /= shape[d];
  }
  return at;
}
int64_t index_of(const std::array<int64_t, 8>& at, const Shape& shape) {
  int64_t i = 0;
  for (int d = 0; d < shape.rank; ++d) i = i * shape[d] + at[static_cast<size_t>(d)];
  return i;
}

template <class T>
void check_transpose(DataType dtype, const Shape& shape, const std::vector<int64_t>& perm) {
  Shape to = shape;
  for (int d = 0; d < shape.rank; ++d) to[d] = shape[static_cast<int>(perm[static_cast<size_t>(d)])];
  std::vector<T> x(static_cast<size_t>(shape.elements())), y(x.size()), want(x.size());
  std::iota(x.begin(), x.end(), T{1});
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = coordinates_of(static_cast<int64_t>(i), to);
    std::array<int64_t, 8> from{};
    for (int d = 0; d < to.rank; ++d) from[static_cast<size_t>(perm[static_cast<size_t>(d)])] = at[static_cast<size_t>(d)];
    want[i] = x[static_cast<size_t>(index_of(from, shape))];
  }
  const TensorType x_type{dtype, shape, Layout::kLinear, {}}, y_type{dtype, to, Layout::kLinear, {}};
  const ConstTensorRef input{&x_type, x.data()};
  const TensorRef output{&y_type, y.data()};
  TransposeParams params;
  params.perm = perm;
  ASSERT_TRUE(run_reference(params, {&input, 1}, {&output, 1}).ok());
  ASSERT_EQ(y, want) << to_string(OpParams(params));
}

TEST(Transpose, AllPermutationsAndSizes) {
  std::vector<int64_t> perm = {0, 1, 2, 3};
  do {
    check_transpose<uint8_t>(DataType::kU8, {2, 3, 4, 5}, perm);
    check_transpose<uint16_t>(DataType::kF16, {3, 1, 2, 4}, perm);
    check_transpose<int32_t>(DataType::kS32, {2, 3, 1, 5}, perm);
    check_transpose<int64_t>(DataType::kS64, {1, 4, 3, 2}, perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

// All starts, ends and steps around a dim of 4, against a loop. Unlike numpy, ONNX clamps the start of a negative step to
// the first element, too.
TEST(Slice, EveryBoundOfASmallDim) {
  const TensorType x_type{DataType::kS32, Shape{2, 4, 2}, Layout::kLinear, {}}, one{DataType::kS64, Shape{1}, Layout::kLinear, {}};
  std::vector<int32_t> x(16);
  std::iota(x.begin(), x.end(), 0);
  const int64_t axis = 1;
  for (int64_t start = -6; start <= 6; ++start)
    for (int64_t end = -6; end <= 6; ++end)
      for (const int64_t step : {-5, -2, -1, 1, 2, 3, 5}) {
        int64_t first = start < 0 ? start + 4 : start, last = end < 0 ? end + 4 : end;
        first = step > 0 ? std::max<int64_t>(first, 0) : std::clamp<int64_t>(first, 0, 3);
        last = step > 0 ? std::min<int64_t>(last, 4) : std::max<int64_t>(last, -1);
        std::vector<int64_t> kept;
        for (int64_t k = first; step > 0 ? k < last : k > last; k += step)
          if (k >= 0 && k < 4) kept.push_back(k);
          else break;
        std::vector<int32_t> want;
        for (int64_t o = 0; o < 2; ++o)
          for (int64_t k : kept)
            for (int64_t i = 0; i < 2; ++i) want.push_back(x[static_cast<size_t>((o * 4 + k) * 2 + i)]);
        const ConstTensorRef inputs[] = {{&x_type, x.data()}, {&one, &start}, {&one, &end}, {&one, &axis}, {&one, &step}};
        const TensorType y_type{DataType::kS32, Shape{2, static_cast<int64_t>(kept.size()), 2}, Layout::kLinear, {}};
        std::vector<int32_t> y(want.size());
        const TensorRef output{&y_type, y.data()};
        const Status status = run_reference(SliceParams{}, inputs, {&output, 1});
        ASSERT_TRUE(status.ok()) << start << ":" << end << ":" << step << " " << status.message();
        ASSERT_EQ(y, want) << start << ":" << end << ":" << step;
      }
}

// SpaceToDepth undoes DepthToSpace in dcr order.
TEST(SpaceToDepth, UndoesDepthToSpace) {
  const TensorType deep{DataType::kS32, Shape{2, 18, 2, 3}, Layout::kLinear, {}}, wide{DataType::kS32, Shape{2, 2, 6, 9}, Layout::kLinear, {}};
  std::vector<int32_t> x(216), y(216), back(216);
  std::iota(x.begin(), x.end(), 0);
  const ConstTensorRef in{&deep, x.data()}, mid{&wide, y.data()};
  const TensorRef out{&wide, y.data()}, end{&deep, back.data()};
  ASSERT_TRUE(run_reference(DepthToSpaceParams{3, false}, {&in, 1}, {&out, 1}).ok());
  ASSERT_TRUE(run_reference(SpaceToDepthParams{3}, {&mid, 1}, {&end, 1}).ok());
  EXPECT_EQ(back, x);
  EXPECT_NE(y, x);
}

}  // namespace
}  // namespace ingot
