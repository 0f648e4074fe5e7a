// Normalisations, softmax and attention: hand-computed values, invariances, and edge cases.
#include <cmath>
#include <limits>

#include "op_runner.h"

namespace ingot {
namespace {

using List = std::vector<float>;
constexpr float kInf = std::numeric_limits<float>::infinity();

void expect_near(const List& got, const List& want, float tolerance = 1e-6f) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(BatchNorm, PerChannel) {
  BatchNormParams p{0.0};
  const auto v = [](List x) { return tensor<float>({2}, x); };
  const TestTensor x = tensor<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_near(run_op(p, {x, v({2, 1}), v({0, 1}), v({1, 2}), v({4, 1})}).values<float>(), {0, 1, 2, 3, 4, 5, 6, 7});
  p.epsilon = 5;
  expect_near(run_op(p, {tensor<float>({1, 2}, {4, 6}), v({3, 2}), v({1, 0}), v({1, 2}), v({4, 11})}).values<float>(),
              {4, 2});
  EXPECT_EQ(refusal(p, {x, v({2, 1}), tensor<float>({3}, {1, 2, 3}), v({1, 2}), v({4, 1})}),
            "batch_norm: shift: got 3, need 2");
}

TEST(LayerNorm, MeanDeviationAndOutputs) {
  LayerNormParams p;
  p.epsilon = 0;
  const TestTensor x = tensor<float>({2, 2}, {1, 3, -10, 30}), scale = tensor<float>({2}, {2, 3}),
                   bias = tensor<float>({2}, {0.5f, -1});
  expect_near(run_op(p, {x, scale, bias}).values<float>(), {-1.5f, 2, -1.5f, 2});
  const auto all = run_all(p, {x, scale}, 3);
  expect_near(all[0].values<float>(), {-2, 3, -2, 3});
  EXPECT_EQ(all[1].type.shape, (Shape{2, 1}));
  expect_near(all[1].values<float>(), {2, 10});
  expect_near(all[2].values<float>(), {1, 0.05f});
  p.axis = 0;
  expect_near(run_op(p, {tensor<float>({2, 2}, {1, 1, 1, 5}), tensor<float>({2, 2}, {1, 1, 1, 2})}).values<float>(),
              {-0.57735027f, -0.57735027f, -0.57735027f, 3.4641016f});
  p.axis = -1;
  p.rms = true;
  expect_near(run_op(p, {tensor<float>({1, 2}, {3, 4}), tensor<float>({2}, {1, 1})}).values<float>(),
              {0.84852814f, 1.1313709f});
  EXPECT_EQ(refusal(p, {x, tensor<float>({3}, {1, 2, 3})}), "rms_norm: scale: got 3, need 2");
  p.axis = 2;
  EXPECT_EQ(refusal(p, {x, scale}), "rms_norm: axis: got 2, need -2 to 1");
  // A mean far above the deviation must not cancel.
  LayerNormParams far;
  far.epsilon = 0;
  expect_near(run_op(far, {tensor<float>({1, 2}, {1000000, 1000001}), tensor<float>({2}, {1, 1})}).values<float>(),
              {-1, 1});
}

TEST(InstanceNorm, AndGroupNorm) {
  InstanceNormParams p{0.0, 0};
  const TestTensor x = tensor<float>({1, 2, 2}, {1, 3, 10, 30}), scale = tensor<float>({2}, {1, 2}),
                   bias = tensor<float>({2}, {0, 5});
  expect_near(run_op(p, {x, scale, bias}).values<float>(), {-1, 1, 3, 7});
  p.groups = 1;  // mean 11, deviation √((100 + 64 + 1 + 361)/4)
  const float d = std::sqrt(131.5f);
  expect_near(run_op(p, {x, scale, bias}).values<float>(), {-10 / d, -8 / d, 5 - 2 / d, 5 + 38 / d});
  EXPECT_EQ(run_op(p, {tensor<float>({0, 2, 2}, {}), scale, bias}).values<float>(), (List{}));
  p.groups = 3;
  EXPECT_EQ(refusal(p, {x, scale, bias}), "group_norm: groups: got 3, need a divisor of the 2 channels");
}

TEST(Softmax, AxesFlattenLogAndExtremes) {
  const TestTensor x = tensor<float>({2, 2, 1}, {0, std::log(3.0f), 1000, 1000});
  SoftmaxParams p;
  expect_near(run_op(p, {x}).values<float>(), {1, 1, 1, 1});
  p.axis = 1;
  expect_near(run_op(p, {x}).values<float>(), {0.25f, 0.75f, 0.5f, 0.5f});
  p.log = true;
  expect_near(run_op(p, {x}).values<float>(), {std::log(0.25f), std::log(0.75f), std::log(0.5f), std::log(0.5f)});
  p = {};
  p.axis = 0;
  expect_near(run_op(p, {tensor<float>({2, 2}, {0, 0, std::log(3.0f), 0})}).values<float>(),
              {0.25f, 0.5f, 0.75f, 0.5f});
  p.axis = 1;
  p.flatten = true;
  expect_near(run_op(p, {tensor<float>({1, 2, 2}, {0, 0, 0, std::log(5.0f)})}).values<float>(),
              {0.125f, 0.125f, 0.125f, 0.625f});
  p.axis = 3;  // flatten may split after the last dim: rows of one
  expect_near(run_op(p, {tensor<float>({1, 1, 2}, {3, 4})}).values<float>(), {1, 1});
  p = {};
  expect_near(run_op(p, {tensor<float>({1, 3}, {-kInf, 0, -kInf})}).values<float>(), {0, 1, 0});
  EXPECT_TRUE(std::isnan(run_op(p, {tensor<float>({1, 2}, {-kInf, -kInf})}).values<float>()[0]));
  EXPECT_EQ(run_op(p, {tensor<float>({3, 0}, {})}).values<float>(), (List{}));
  p.axis = 2;
  EXPECT_EQ(refusal(p, {tensor<float>({1, 2}, {1, 2})}), "softmax: axis: got 2, need -2 to 1");
}

// softmax(scale q kᵀ + mask) v in plain loops.
List plain_attention(const AttentionParams& p, const TestTensor& q, const TestTensor& k, const TestTensor& v,
                     const List& mask) {
  const Shape &qs = q.type.shape, &vs = v.type.shape;
  const List a = q.values<float>(), b = k.values<float>(), c = v.values<float>();
  List y;
  const int64_t s_count = qs[2], d_count = qs[3], t_count = vs[2], e_count = vs[3];
  for (int64_t h = 0; h < qs[0] * qs[1]; ++h)
    for (int64_t s = 0; s < s_count; ++s) {
      std::vector<double> weight;
      double sum = 0;
      for (int64_t t = 0; t < t_count; ++t) {
        double dot = 0;
        for (int64_t d = 0; d < d_count; ++d)
          dot += static_cast<double>(a[static_cast<size_t>((h * s_count + s) * d_count + d)]) *
                 static_cast<double>(b[static_cast<size_t>(p.k_transposed ? (h * d_count + d) * t_count + t
                                                                          : (h * t_count + t) * d_count + d)]);
        weight.push_back(std::exp(
            dot * p.scale + (mask.empty() ? 0.0 : static_cast<double>(mask[static_cast<size_t>(s * t_count + t)]))));
        sum += weight.back();
      }
      for (int64_t e = 0; e < e_count; ++e) {
        double total = 0;
        for (int64_t t = 0; t < t_count; ++t)
          total += weight[static_cast<size_t>(t)] / sum *
                   static_cast<double>(c[static_cast<size_t>((h * t_count + t) * e_count + e)]);
        y.push_back(static_cast<float>(total));
      }
    }
  return y;
}

TEST(Attention, EqualsSoftmaxOfProducts) {
  TestRandom random(1);
  for (bool transposed : {false, true})
    for (int64_t keys : {1, 5, 600})    // 600: more than one block of keys
      for (int64_t width : {3, 300}) {  // 300: more than one stretch of columns
        AttentionParams p{0.3, transposed};
        const TestTensor q = random.reals({2, 3, 4, 6}, -3, 3), v = random.reals({2, 3, keys, width});
        const TestTensor k = transposed ? random.reals({2, 3, 6, keys}, -3, 3) : random.reals({2, 3, keys, 6}, -3, 3);
        expect_near(run_op(p, {q, k, v}).values<float>(), plain_attention(p, q, k, v, {}));
        TestTensor mask = random.reals({4, keys}, -2, 2);
        if (keys > 1) {  // keys hidden at the start of a row, a whole block of them where there are two
          List m = mask.values<float>();
          for (int64_t t = 0; t < std::min<int64_t>(keys - 1, 300); ++t) m[static_cast<size_t>(t)] = -kInf;
          mask = tensor<float>({4, keys}, m);
        }
        expect_near(run_op(p, {q, k, v, mask}).values<float>(), plain_attention(p, q, k, v, mask.values<float>()));
      }
}

TEST(Attention, MaskBroadcastsAndRefusals) {
  const AttentionParams p{1.0, false};
  TestRandom random(2);
  const TestTensor q = random.reals({2, 1, 1, 2}), k = random.reals({2, 1, 2, 2}),
                   v = tensor<float>({2, 1, 2, 1}, {1, 2, 3, 4});
  const TestTensor mask =
      tensor<float>({2, 1, 1, 2}, {0, -kInf, -kInf, 0});  // per batch: the first key, then the second
  expect_near(run_op(p, {q, k, v, mask}).values<float>(), {1, 4});
  EXPECT_TRUE(std::isnan(run_op(p, {q, k, v, tensor<float>({1}, {-kInf})}).values<float>()[0]));
  EXPECT_EQ(refusal(p, {q, k, v, random.reals({3})}),
            "attention: mask: got 3, need a shape that broadcasts to 2x1x1x2");
  EXPECT_EQ(refusal(p, {q, random.reals({2, 1, 2, 3}), v}),
            "attention: shapes of q, k, v: got 2x1x1x2, 2x1x2x3, 2x1x2x1, need BxHxSxD, BxHxTxD, BxHxTxE");
}

}  // namespace
}  // namespace ingot
