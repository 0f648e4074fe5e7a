// Gather and GatherElements: indices that the run finds out of range, and empty operands.
#include "op_case.h"

namespace ingot {
namespace {

TEST(Gather, IndexOutOfRangeIsAnErrorOfTheRun) {
  run_op_cases(R"(
    case above
    op Gather axis=0
    in f32 3 : 1 2 3
    in s64 2 : 0 3
    out f32 2 : 0 0
    fails gather: index 1 out of range: got 3, need -3 to 2
    case below
    op Gather axis=1
    in f32 1x3 : 1 2 3
    in s32 1 : -4
    out f32 1x1 : 0
    fails gather: index 0 out of range: got -4
    case most_negative
    op Gather axis=0
    in f32 3 : 1 2 3
    in s64 1 : -9223372036854775808
    out f32 1 : 0
    fails gather: index 0 out of range
    case of_nothing
    op Gather axis=0
    in f32 0x2 :
    in s64 1 : 0
    out f32 1x2 : 0 0
    fails need a dim that is not empty
    case checked_although_rows_are_empty
    op Gather axis=0
    in f32 3x0 :
    in s64 1 : 5
    out f32 1x0 :
    fails gather: index 0 out of range: got 5
    case elements
    op GatherElements axis=0
    in f32 2x1 : 1 2
    in s64 2x1 : 1 2
    out f32 2x1 : 0 0
    fails gather_elements: index 1 out of range: got 2, need -2 to 1
  )");
}

TEST(Gather, ElementSizesAndBounds) {
  run_op_cases(R"(
    case s64_rows
    op Gather axis=0
    in s64 2x2 : 1 2 3 4
    in s32 2 : -1 -2
    out s64 2x2 : 3 4 1 2
    case last_axis_bytes
    op Gather axis=-1
    in u8 2x3 : 1 2 3 4 5 6
    in s64 2 : 2 -3
    out u8 2x2 : 3 1 6 4
    case elements_f64
    op GatherElements axis=1
    in f64 2x2 : 1 2 3 4
    in s64 2x1 : -1 0
    out f64 2x1 : 2 3
    case elements_empty
    op GatherElements axis=0
    in f32 2x2 : 1 2 3 4
    in s64 0x2 :
    out f32 0x2 :
  )");
}

// Indices are not part of the shape: the rule must not ask for their values.
TEST(Gather, RuleNeedsNoIndices) {
  const OpInput inputs[] = {{DataType::kF16, Shape{4, 5}, nullptr, true}, {DataType::kS64, Shape{2, 3}, nullptr, true}};
  OpOutput output;
  ASSERT_TRUE(infer_types(GatherParams{1}, inputs, {&output, 1}).ok());
  EXPECT_EQ(to_string(output.shape), "4x2x3");
  EXPECT_EQ(output.dtype, DataType::kF16);
}

}  // namespace
}  // namespace ingot
