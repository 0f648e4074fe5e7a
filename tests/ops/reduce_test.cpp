// Reduce and ArgReduce, by hand: integers, empty sets, NaN, 16-bit floats and quantised bytes.
#include "op_case.h"

namespace ingot {
namespace {

TEST(Reduce, IntegerMeansTruncate) {
  run_op_cases(R"(
    case towards_zero
    op Reduce function=mean
    in s32 3x2 : 3 4 -3 -4 7 -8
    in s64 1 : 1
    out s32 3x1 : 3 -3 0
    case u8_sum_is_kept_wide
    op Reduce function=mean
    in u8 3 : 255 255 254
    out u8 1 : 254
    case s32_sum_is_kept_wide
    op Reduce function=mean
    in s32 2 : 2147483647 2147483645
    out s32 1 : 2147483646
    case s8
    op Reduce function=mean keepdims=0
    in s8 3 : -128 -128 -127
    out s8 scalar : -127
  )");
}

TEST(Reduce, IntegersOfAllSizes) {
  run_op_cases(R"(
    case sum_wraps
    op Reduce function=sum
    in s8 2 : 100 100
    out s8 1 : -56
    case prod_u64
    op Reduce function=prod
    in u64 3 : 4294967296 3 5
    out u64 1 : 64424509440
    case l1_s16
    op Reduce function=l1
    in s16 3 : -300 200 -1
    out s16 1 : 501
    case l2_truncates
    op Reduce function=l2
    in s32 2 : 3 -5
    out s32 1 : 5
    case sum_square_s64
    op Reduce function=sum_square
    in s64 2 : 3000000000 1
    out s64 1 : 9000000000000000001
    case log_sum_truncates
    op Reduce function=log_sum
    in s32 2 : 50 50
    out s32 1 : 4
    case max_u16
    op Reduce function=max
    in u16 3 : 40000 65535 1
    out u16 1 : 65535
    case min_u32
    op Reduce function=min
    in u32 3 : 4000000000 3999999999 4294967295
    out u32 1 : 3999999999
    case max_s4
    op Reduce function=max
    in s4 3 : -8 7 0
    out s4 1 : 7
  )");
}

TEST(Reduce, EmptySetsGiveTheIdentity) {
  run_op_cases(R"(
    case sum
    op Reduce function=sum
    in f32 2x0 :
    in s64 1 : 1
    out f32 2x1 : 0 0
    case mean
    op Reduce function=mean
    in f32 1x0 :
    in s64 1 : 1
    out f32 1x1 : nan
    tol 1e-9
    case mean_s32
    op Reduce function=mean
    in s32 1x0 :
    in s64 1 : 1
    out s32 1x1 : 0
    case max_s8
    op Reduce function=max
    in s8 1x0 :
    in s64 1 : 1
    out s8 1x1 : -128
    case min_u8
    op Reduce function=min
    in u8 1x0 :
    in s64 1 : 1
    out u8 1x1 : 255
    case max_f16
    op Reduce function=max
    in f16 1x0 :
    in s64 1 : 1
    out f16 1x1 : -inf
    case max_bool
    op Reduce function=max
    in bool 1x0 :
    in s64 1 : 1
    out bool 1x1 : 0
    case min_bool
    op Reduce function=min
    in bool 1x0 :
    in s64 1 : 1
    out bool 1x1 : 1
    case log_sum
    op Reduce function=log_sum
    in f32 1x0 :
    in s64 1 : 1
    out f32 1x1 : -inf
    case prod_of_all_of_nothing
    op Reduce function=prod keepdims=0
    in s64 0x3 :
    out s64 scalar : 1
    case nothing_kept
    op Reduce function=max
    in f32 0x3 :
    in s64 1 : 1
    out f32 0x1 :
  )");
}

TEST(Reduce, InfinitiesAndNan) {
  run_op_cases(R"(
    case max_nan_wins
    op Reduce function=max
    in f32 2x3 : 1 nan 3 nan 1 2
    in s64 1 : 1
    out f32 2x1 : nan nan
    tol 1e-9
    case min_nan_wins
    op Reduce function=min
    in f32 3 : 1 nan -inf
    out f32 1 : nan
    tol 1e-9
    case log_sum_exp_of_minus_inf
    op Reduce function=log_sum_exp
    in f32 2x2 : -inf -inf -inf 2
    in s64 1 : 1
    out f32 2x1 : -inf 2
    case log_sum_exp_of_inf
    op Reduce function=log_sum_exp
    in f32 2x2 : inf inf 1 inf
    in s64 1 : 1
    out f32 2x1 : inf inf
    case log_sum_exp_of_nan
    op Reduce function=log_sum_exp
    in f32 3 : 1 nan 2
    out f32 1 : nan
    tol 1e-9
    case bf16_sum
    op Reduce function=sum
    in bf16 3 : 256 1 1
    out bf16 1 : 258
    case f16_mean_does_not_overflow
    op Reduce function=mean
    in f16 2 : 60000 60000
    out f16 1 : 60000
  )");
}

// y = clamp(rne(float(Σ (x − z_x)) · m) + z_y)
TEST(Reduce, QuantisedBytes) {
  run_op_cases(R"(
    # Σ (x − 10) = 0 + 10 + 20 + 30 = 60, m = 0.5 / (0.25 · 4) = 0.5
    case mean_u8
    op Reduce function=mean
    in u8 1x4 s=0.5 z=10 : 10 20 30 40
    in s64 1 : 1
    out u8 1x1 s=0.25 z=3 : 33
    # 5 · 0.5 = 2.5 and 7 · 0.5 = 3.5 are ties: 2 and 4
    case ties_go_to_even
    op Reduce function=mean
    in u8 2x2 s=1 z=0 : 2 3 3 4
    in s64 1 : 1
    out u8 2x1 s=1 z=0 : 2 4
    case sum_saturates
    op Reduce function=sum
    in u8 2x2 s=1 z=128 : 255 255 0 0
    in s64 1 : 1
    out u8 2x1 s=1 z=128 : 255 0
    case sum_s8
    op Reduce function=sum keepdims=0
    in s8 3 s=0.5 z=-2 : 4 -6 1
    out s8 scalar s=1 z=5 : 7
    # max 250 − 10 = 240, 240 · 2 / 4 = 120
    case max_u8_other_scale
    op Reduce function=max
    in u8 3 s=2 z=10 : 0 250 7
    out u8 1 s=4 z=1 : 121
    case min_u8_same_scale
    op Reduce function=min
    in u8 3 s=2 z=10 : 9 250 7
    out u8 1 s=2 z=10 : 7
    case mean_of_nothing
    op Reduce function=mean
    in u8 1x0 s=2 z=10 :
    in s64 1 : 1
    out u8 1x1 s=2 z=9 : 9
    case l2_is_left_to_float
    op Reduce function=l2
    in u8 3 s=2 z=10 : 9 250 7
    out u8 1 s=2 z=10 : 7
    fails reduce: l2 over quantised values
    case output_not_quantised
    op Reduce function=mean
    in u8 3 s=2 z=10 : 9 250 7
    out u8 1 : 7
    fails reduce: mean over quantised values
  )");
}

TEST(Reduce, WalksEverySubsetOfTheDims) {
  // Sum over each subset of the dims of a 2x3x1x2x2 tensor against the plain loop.
  const Shape shape{2, 3, 1, 2, 2};
  std::vector<int64_t> x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = int64_t{1} << i;
  const TensorType x_type{DataType::kS64, shape, Layout::kLinear, {}};
  for (unsigned subset = 1; subset < 32; ++subset) {
    std::vector<int64_t> axes;
    Shape to = shape;
    for (int d = 0; d < 5; ++d)
      if (subset >> d & 1) axes.push_back(d), to[d] = 1;
    std::vector<int64_t> want(static_cast<size_t>(to.elements())), got(want.size());
    for (int64_t i = 0; i < 24; ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int d = 4; d >= 0; --d) {
        const int64_t k = rest % shape[d];
        rest /= shape[d];
        if (to[d] != 1) at += k * stride;
        stride *= to[d];
      }
      want[static_cast<size_t>(at)] += x[static_cast<size_t>(i)];
    }
    const TensorType axes_type{DataType::kS64, Shape{static_cast<int64_t>(axes.size())}, Layout::kLinear, {}};
    const TensorType y_type{DataType::kS64, to, Layout::kLinear, {}};
    const ConstTensorRef inputs[] = {{&x_type, x.data()}, {&axes_type, axes.data()}};
    const TensorRef output{&y_type, got.data()};
    const Status status = run_reference(ReduceParams{}, inputs, {&output, 1});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(got, want) << "subset " << subset;
  }
}

TEST(ArgReduce, TiesNanAndTypes) {
  run_op_cases(R"(
    case first_of_equals
    op ArgReduce axis=0
    in f32 4 : 1 5 5 2
    out s64 1 : 1
    case last_of_equals
    op ArgReduce axis=0 select_last_index=1 keepdims=0
    in f32 4 : 1 5 5 2
    out s64 scalar : 2
    case smallest_last
    op ArgReduce axis=-1 largest=0 select_last_index=1
    in s8 2x3 : -128 0 -128 3 3 3
    out s64 2x1 : 2 2
    case nan_wins
    op ArgReduce axis=0
    in f32 4 : 1 nan 7 nan
    out s64 1 : 1
    case last_nan
    op ArgReduce axis=0 largest=0 select_last_index=1
    in f32 4 : 1 nan 7 nan
    out s64 1 : 3
    case exact_in_s64
    op ArgReduce axis=0
    in s64 3 : 9223372036854775806 9223372036854775807 9223372036854775806
    out s64 1 : 1
    case u64
    op ArgReduce axis=0
    in u64 3 : 1 9223372036854775807 3
    out s64 1 : 1
    case bf16
    op ArgReduce axis=0
    in bf16 3 : 1 3 2
    out s64 1 : 1
    case quantised_by_order_of_bytes
    op ArgReduce axis=0
    in u8 3 s=0.5 z=100 : 3 200 7
    out s64 1 : 1
    case empty
    op ArgReduce axis=1
    in f32 0x3 :
    out s64 0x1 :
  )");
}

TEST(ReduceFunction, NamesAreDistinct) {
  for (int64_t i = 0; i < static_cast<int64_t>(ReduceFunction::kCount); ++i)
    for (int64_t j = 0; j < i; ++j)
      EXPECT_NE(to_string(static_cast<ReduceFunction>(i)), to_string(static_cast<ReduceFunction>(j)));
}

TEST(Reduce, RefusesHostileAndUnknownValues) {
  run_op_cases(R"(
    case axis
    op Reduce
    in f32 2 : 1 2
    in s64 1 : 1
    refused reduce: axis outside the rank: got 1, need -1 to 0
    case scalar_axis
    op Reduce
    in f32 scalar : 1
    in s64 1 : 0
    refused reduce: axis outside the rank: got 0, need rank 1 or more
    case unknown
    op Reduce
    in f32 2 : 1 2
    in s64 1 unknown
    refused depends on data
    case bool_sum
    op Reduce function=sum
    in bool 2 : 1 0
    refused reduce: element type for sum: got bool
    case arg_of_nothing
    op ArgReduce axis=1
    in f32 2x0 :
    refused arg_reduce: dim to search: got no elements
    case arg_axis
    op ArgReduce axis=2
    in f32 2x1 : 1 2
    refused arg_reduce: axis outside the rank: got 2
  )");
}

}  // namespace
}  // namespace ingot
