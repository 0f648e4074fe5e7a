// Pooling: hand-computed windows, ceil_mode and padding rules, indices, the quantised average.
#include <cmath>
#include <limits>

#include "op_runner.h"
#include "runtime/ops/requantize.h"

namespace ingot {
namespace {

PoolParams pool(PoolFunction f, std::vector<int64_t> kernel, std::vector<int64_t> strides = {},
                std::vector<int64_t> pads = {}) {
  PoolParams p;
  p.function = f;
  p.kernel = std::move(kernel);
  p.strides = std::move(strides);
  p.pads = std::move(pads);
  return p;
}
using List = std::vector<float>;

TestTensor ramp(const Shape& shape) {
  List v(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i + 1);
  return tensor<float>(shape, v);
}

TEST(Pool, Max) {
  EXPECT_EQ(run_op(pool(PoolFunction::kMax, {2, 2}, {2, 2}), {ramp({1, 1, 4, 4})}).values<float>(),
            (List{6, 8, 14, 16}));
  EXPECT_EQ(
      run_op(pool(PoolFunction::kMax, {3}, {2}, {1, 1}), {tensor<float>({1, 1, 4}, {-1, -2, -3, -4})}).values<float>(),
      (List{-1, -2}));
  PoolParams dilated = pool(PoolFunction::kMax, {2}, {1});
  dilated.dilations = {2};
  EXPECT_EQ(run_op(dilated, {tensor<float>({1, 1, 5}, {5, 1, 2, 7, 0})}).values<float>(), (List{5, 7, 2}));
  EXPECT_EQ(run_op(pool(PoolFunction::kMax, {2}), {tensor<uint8_t>({1, 1, 3}, {9, 200, 7}, quant(0.1f, 3))},
                   quantized<uint8_t>(0.1f, 3))
                .values<uint8_t>(),
            (std::vector<uint8_t>{200, 200}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto with_nan =
      run_op(pool(PoolFunction::kMax, {2}), {tensor<float>({1, 1, 4}, {nan, 1, 2, 3})}).values<float>();
  EXPECT_TRUE(std::isnan(with_nan[0]) && with_nan[1] == 2 && with_nan[2] == 3);
}

TEST(Pool, CeilModeDropsWindowsThatStartInPadding) {
  PoolParams p = pool(PoolFunction::kMax, {2}, {2});
  EXPECT_EQ(run_op(p, {ramp({1, 1, 5})}).values<float>(), (List{2, 4}));
  p.ceil_mode = true;
  EXPECT_EQ(run_op(p, {ramp({1, 1, 5})}).values<float>(), (List{2, 4, 5}));
  p = pool(PoolFunction::kMax, {1}, {2}, {0, 1});
  p.ceil_mode = true;  // room 2 + 1: the third window would start at 4, in the end padding
  EXPECT_EQ(run_op(p, {ramp({1, 1, 3})}).values<float>(), (List{1, 3}));
}

TEST(Pool, Indices) {
  PoolParams p = pool(PoolFunction::kMax, {2, 2}, {2, 2}, {0, 0, 0, 1});
  const TestTensor x = tensor<float>({1, 2, 2, 3}, {1, 5, 2, 5, 0, 3, 1, 1, 1, 1, 2, 1});
  auto results = run_all(p, {x}, 1);
  EXPECT_EQ(results[0].values<float>(), (List{5, 3, 2, 1}));
  std::vector<OpOutput> types(2);
  ASSERT_TRUE(infer(p, {x}, types).ok());
  EXPECT_EQ(types[1].dtype, DataType::kS64);
  EXPECT_EQ(run_all(p, {x}, 2)[1].values<int64_t>(), (std::vector<int64_t>{1, 5, 10, 8}));  // the first of equals
  p.storage_order = 1;
  EXPECT_EQ(run_all(p, {x}, 2)[1].values<int64_t>(), (std::vector<int64_t>{2, 5, 9, 10}));
}

TEST(Pool, Average) {
  const TestTensor x = tensor<float>({1, 1, 3}, {3, 6, 9});
  PoolParams p = pool(PoolFunction::kAverage, {3}, {1}, {1, 1});
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{4.5f, 6, 7.5f}));
  p.count_include_pad = true;
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{3, 6, 5}));
  p = pool(PoolFunction::kAverage, {2}, {2});
  p.ceil_mode = p.count_include_pad = true;  // what hangs over the stated padding is not counted
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{4.5f, 9}));
  p = pool(PoolFunction::kAverage, {2}, {1});
  p.dilations = {2};
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{6}));
  p = pool(PoolFunction::kAverage, {2}, {2});
  p.auto_pad = AutoPad::kSameLower;
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{3, 7.5f}));
  p.auto_pad = AutoPad::kSameUpper;
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{4.5f, 9}));
  p.auto_pad = AutoPad::kValid;
  EXPECT_EQ(run_op(p, {x}).values<float>(), (List{4.5f}));
}

TEST(Pool, GlobalAndLp) {
  PoolParams p;
  p.global = true;
  EXPECT_EQ(run_op(p, {ramp({2, 2, 1, 3})}).values<float>(), (List{3, 6, 9, 12}));
  p.function = PoolFunction::kAverage;
  const TestTensor y = run_op(p, {ramp({2, 2, 3, 1})});
  EXPECT_EQ(y.type.shape, (Shape{2, 2, 1, 1}));
  EXPECT_EQ(y.values<float>(), (List{2, 5, 8, 11}));
  EXPECT_EQ(run_op(p, {ramp({0, 2, 3, 1})}).values<float>(), (List{}));
  p = pool(PoolFunction::kLp, {2}, {2});
  EXPECT_EQ(run_op(p, {tensor<float>({1, 1, 4}, {3, -4, 5, 12})}).values<float>(), (List{5, 13}));
  p.p = 1;
  EXPECT_EQ(run_op(p, {tensor<float>({1, 1, 4}, {3, -4, 5, 12})}).values<float>(), (List{7, 17}));
  p.p = 3;
  EXPECT_NEAR(run_op(p, {tensor<float>({1, 1, 2}, {1, -2})}).values<float>()[0], 2.0800838f, 1e-6f);
  EXPECT_EQ(run_op(pool(PoolFunction::kMax, {2, 2, 2}), {ramp({1, 1, 2, 2, 3})}).values<float>(), (List{11, 12}));
}

TEST(Pool, QuantisedAverageIsTheFormula) {
  TestRandom random(1);
  const float s_x = 0.03f, s_y = 0.021f;
  PoolParams p = pool(PoolFunction::kAverage, {3, 2}, {1, 2}, {1, 0, 1, 1});
  for (bool include : {false, true}) {
    p.count_include_pad = include;
    const TestTensor x = random.integers<uint8_t>({2, 3, 5, 6}, 0, 255, quant(s_x, 128));
    const TestTensor y = run_op(p, {x}, quantized<int8_t>(s_y, 5));
    ASSERT_EQ(y.type.shape, (Shape{2, 3, 5, 3}));
    for (size_t i = 0; i < 90; ++i) {
      const int64_t plane = static_cast<int64_t>(i) / 15, oh = static_cast<int64_t>(i) / 3 % 5,
                    ow = static_cast<int64_t>(i) % 3;
      int32_t sum = 0, inside = 0, padded = 0;
      for (int64_t h = oh - 1; h < oh + 2; ++h)
        for (int64_t w = ow * 2; w < ow * 2 + 2; ++w) {
          padded += w < 7;
          if (h < 0 || h >= 5 || w >= 6) continue;
          sum += x.values<uint8_t>()[static_cast<size_t>((plane * 5 + h) * 6 + w)] - 128;
          ++inside;
        }
      const double n = include ? padded : inside;
      const float m = static_cast<float>(static_cast<double>(s_x) / (static_cast<double>(s_y) * n));
      const double want =
          std::min(127.0, std::max(-128.0, std::nearbyint(static_cast<double>(static_cast<float>(sum) * m)) + 5));
      ASSERT_EQ(y.values<int8_t>()[i], want) << i;
    }
  }
}

TEST(Pool, RefusesInWords) {
  EXPECT_EQ(refusal(pool(PoolFunction::kMax, {2}), {ramp({1, 1, 4, 4})}), "max_pool: length of kernel: got 1, need 2");
  EXPECT_EQ(refusal(pool(PoolFunction::kMax, {5}), {ramp({1, 1, 4})}),
            "max_pool: spatial dim 0 smaller than the window: got 4 + padding 0, need 5");
  EXPECT_NE(refusal(pool(PoolFunction::kMax, {0}), {ramp({1, 1, 4})}), "");
  EXPECT_EQ(refusal(pool(PoolFunction::kAverage, {2}, {0}), {ramp({1, 1, 4})}),
            "average_pool: strides out of range: got 0, need 1 to 2147483647");
  EXPECT_NE(refusal(pool(PoolFunction::kAverage, {2}), {tensor<int64_t>({1, 1, 2}, {1, 2})}), "");
  EXPECT_EQ(refusal(pool(PoolFunction::kMax, {2}), {ramp({3, 4})}),
            "max_pool: rank of input: got 3x4, need 3 to 5 dims");
}

}  // namespace
}  // namespace ingot
