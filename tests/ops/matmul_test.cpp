// MatMul against the definition: ranks, broadcasting, transposes, types, quantised epilogue.
#include <cmath>

#include "op_runner.h"
#include "runtime/ops/requantize.h"

namespace ingot {
namespace {

struct Case {
  Shape a, b, y;
  bool ta = false, tb = false;
};

std::vector<Case> cases() {
  return {
      {{3, 4}, {4, 5}, {3, 5}},
      {{4, 3}, {4, 5}, {3, 5}, true, false},
      {{3, 4}, {5, 4}, {3, 5}, false, true},
      {{4, 3}, {5, 4}, {3, 5}, true, true},
      {{4}, {4, 5}, {5}},
      {{3, 4}, {4}, {3}},
      {{4}, {4}, {}},
      {{2, 3, 4}, {4, 5}, {2, 3, 5}},
      {{4}, {7, 4, 2}, {7, 2}},
      {{2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
      {{1, 5, 3, 4}, {2, 1, 2, 4}, {2, 5, 3, 2}, false, true},
      {{7, 1, 1}, {7, 1, 1}, {7, 1, 1}},
      {{0, 4}, {4, 5}, {0, 5}},
      {{3, 0}, {0, 5}, {3, 5}},
      {{0, 3, 4}, {1, 4, 2}, {0, 3, 2}},
      {{2, 3}, {3, 1200}, {2, 1200}},
  };
}

// Sum over k for each output, from element accessors of the matrices.
template <class Sum, class Product>
std::vector<Sum> direct(const Case& c, Product&& product) {
  Shape a = c.a, b = c.b;
  if (a.rank == 1) a = {1, c.a[0]};
  if (b.rank == 1) b = {c.b[0], 1};
  const int64_t m = a[a.rank - (c.ta ? 1 : 2)], k = a[a.rank - (c.ta ? 2 : 1)], n = b[b.rank - (c.tb ? 2 : 1)];
  Shape a_batch = Shape::of(a.span().first(static_cast<size_t>(a.rank - 2))),
        b_batch = Shape::of(b.span().first(static_cast<size_t>(b.rank - 2))), batch;
  EXPECT_TRUE(broadcast_shapes(a_batch, b_batch, batch));
  const auto place = [&](const Shape& own, int64_t i) {  // row-major index of broadcast element i in `own`
    int64_t index = 0;
    for (int d = 0; d < own.rank; ++d) {
      int64_t below = 1;
      for (int e = batch.rank - own.rank + d + 1; e < batch.rank; ++e) below *= batch[e];
      const int64_t at = i / below % batch[batch.rank - own.rank + d];
      index = index * own[d] + (own[d] == 1 ? 0 : at);
    }
    return index;
  };
  std::vector<Sum> sums;
  for (int64_t i = 0; i < batch.elements(); ++i)
    for (int64_t r = 0; r < m; ++r)
      for (int64_t s = 0; s < n; ++s) {
        Sum sum{};
        for (int64_t t = 0; t < k; ++t)
          sum += product(place(a_batch, i) * m * k + (c.ta ? t * m + r : r * k + t),
                         place(b_batch, i) * k * n + (c.tb ? s * k + t : t * n + s), s);
        sums.push_back(sum);
      }
  return sums;
}

MatMulParams params_of(const Case& c) {
  MatMulParams p;
  p.transpose_a = c.ta;
  p.transpose_b = c.tb;
  return p;
}

TEST(MatMul, FloatEqualsTheDefinition) {
  TestRandom random(1);
  for (const Case& c : cases()) {
    SCOPED_TRACE(to_string(c.a) + " by " + to_string(c.b));
    const TestTensor a = random.reals(c.a), b = random.reals(c.b);
    const TestTensor y = run_op(params_of(c), {a, b});
    EXPECT_EQ(y.type.shape, c.y);
    const auto as = a.values<float>(), bs = b.values<float>(), ys = y.values<float>();
    const auto want = direct<double>(c, [&](int64_t i, int64_t j, int64_t) {
      return static_cast<double>(as[static_cast<size_t>(i)]) * static_cast<double>(bs[static_cast<size_t>(j)]);
    });
    ASSERT_EQ(ys.size(), want.size());
    for (size_t i = 0; i < ys.size(); ++i) ASSERT_NEAR(static_cast<double>(ys[i]), want[i], 2e-6) << i;
  }
}

template <class A, class B>
void quantised_products() {
  TestRandom random(2);
  for (const Case& c : cases()) {
    SCOPED_TRACE(to_string(c.a) + " by " + to_string(c.b));
    const int64_t n = c.b.rank == 1 ? 1 : c.b[c.b.rank - (c.tb ? 2 : 1)];
    QuantParams columns{{}, {}, c.b.rank - (c.tb ? 2 : 1), false};
    for (int64_t i = 0; i < n; ++i)
      columns.scales.push_back(random.real(0.01f, 0.1f)),
          columns.zero_points.push_back(static_cast<int32_t>(random.range(-2, 2)));
    const float s_a = 0.043f, s_y = 1.7f;
    const TestTensor a =
        random.integers<A>(c.a, std::numeric_limits<A>::min(), std::numeric_limits<A>::max(), quant(s_a, 3));
    const TestTensor b = random.integers<B>(c.b, std::numeric_limits<B>::min(), std::numeric_limits<B>::max(), columns);
    const TestTensor bias = random.integers<int32_t>({n}, -500, 500);
    const auto as = a.values<A>();
    const auto bs = b.values<B>();
    auto want = direct<int64_t>(c, [&](int64_t i, int64_t j, int64_t s) {
      return static_cast<int64_t>(as[static_cast<size_t>(i)] - 3) *
             (bs[static_cast<size_t>(j)] - columns.zero_points[static_cast<size_t>(s)]);
    });
    MatMulParams p = params_of(c);
    const auto sums = run_op(p, {a, b, bias}, TensorType{DataType::kS32, {}, Layout::kLinear, {}}).values<int32_t>();
    p.alpha = 0.125;
    const auto bytes = run_op(p, {a, b, bias}, quantized<uint8_t>(s_y, 100)).values<uint8_t>();
    ASSERT_EQ(sums.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const size_t column = i % static_cast<size_t>(n);
      want[i] += bias.values<int32_t>()[column];
      ASSERT_EQ(sums[i], want[i]) << i;
      const float m = static_cast<float>(static_cast<double>(s_a) * static_cast<double>(columns.scales[column]) *
                                         0.125 / static_cast<double>(s_y));
      const double q = std::nearbyint(static_cast<double>(static_cast<float>(sums[i]) * m)) + 100;
      ASSERT_EQ(bytes[i], std::min(std::max(q, 0.0), 255.0)) << i;
    }
  }
}
TEST(MatMul, QuantisedEqualsTheDefinition) {
  quantised_products<uint8_t, int8_t>();
  quantised_products<uint8_t, uint8_t>();
  quantised_products<int8_t, int8_t>();
  quantised_products<int8_t, uint8_t>();
}

TEST(MatMul, AlphaBiasResidualActivation) {
  MatMulParams p;
  p.alpha = 0.5;
  p.activation.function = UnaryFunction::kRelu;
  const TestTensor a = tensor<float>({1, 2}, {2, 4}), b = tensor<float>({2, 2}, {1, -1, 3, -5});
  EXPECT_EQ(run_op(p, {a, b, tensor<float>({2}, {10, 1}), tensor<float>({1, 2}, {-1, 11})}).values<float>(),
            (std::vector<float>{16, 1}));
  EXPECT_EQ(run_op(p, {a, b}).values<float>(), (std::vector<float>{7, 0}));
}

TEST(MatMul, WideIntegersWrap) {
  const int64_t big = INT64_MAX;
  EXPECT_EQ(
      run_op(MatMulParams{}, {tensor<int64_t>({1, 2}, {big, 1}), tensor<int64_t>({2, 1}, {2, 5})}).values<int64_t>(),
      (std::vector<int64_t>{3}));
  EXPECT_EQ(
      run_op(MatMulParams{}, {tensor<int32_t>({1, 2}, {3, -4}), tensor<int32_t>({2, 1}, {2, 5})}).values<int32_t>(),
      (std::vector<int32_t>{-14}));
}

TEST(MatMul, RefusesInWords) {
  TestRandom random(3);
  const MatMulParams p;
  EXPECT_EQ(refusal(p, {random.reals({2, 3}), random.reals({4, 2})}),
            "matmul: inner dims: got 3 and 4, need equal (a 2x3, b 4x2)");
  EXPECT_EQ(refusal(p, {random.reals({2, 2, 3}), random.reals({3, 3, 2})}),
            "matmul: batch dims do not broadcast: got 2x2x3 and 3x3x2, need equal or 1");
  EXPECT_EQ(refusal(p, {random.reals({2, 3}), random.reals({3, 4}), random.reals({3})}), "matmul: bias: got 3, need 4");
  EXPECT_EQ(refusal(p, {random.reals({}), random.reals({3, 4})}),
            "matmul: ranks: got scalar and 3x4, need 1 or more dims each");
  EXPECT_NE(refusal(p, {random.reals({2, 3}), random.integers<int8_t>({3, 2}, 0, 1)}), "");
  EXPECT_NE(refusal(p, {random.reals({2, 3})}), "");
}

}  // namespace
}  // namespace ingot
