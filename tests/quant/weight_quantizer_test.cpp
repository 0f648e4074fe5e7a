// Weight scales against a linear search over neighbouring floats; layouts, bias, overflow proof, bias correction.
#include "quant/weight_quantizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "quant/activation_quantizer.h"
#include "quant/bias_correction.h"
#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

std::vector<float> random_weights(int64_t n, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, 0.1f);
  std::vector<float> weights(static_cast<size_t>(n));
  for (float& w : weights) w = normal(random);
  return weights;
}

// Straight from the recipe, on one channel given as [inputs, taps].
bool keeps_recipe(const std::vector<float>& w, int64_t inputs, int64_t taps, float scale, int32_t pair_limit) {
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t i = 0; i < inputs; ++i) {
      const float q = std::nearbyint(w[static_cast<size_t>(i * taps + t)] / scale);
      if (std::abs(q) > 127) return false;
      if (i % 2 == 0 && i + 1 < inputs) {
        const float next = std::nearbyint(w[static_cast<size_t>((i + 1) * taps + t)] / scale);
        if (q * next > 0 && std::abs(q + next) > static_cast<float>(pair_limit)) return false;
      }
    }
  }
  return true;
}

TEST(WeightQuantizer, PairLimitedScaleIsTheSmallestThatKeepsTheLimits) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int64_t inputs = 2 + random() % 9, taps = round % 2 ? 9 : 1;
    std::vector<float> w = random_weights(inputs * taps, random);
    if (round % 5 == 0) w[0] = w[static_cast<size_t>(taps)] = 0.7f;  // a pair decides
    if (round % 5 == 1) w[0] = 1.0f;                                 // a single weight decides
    if (round % 5 == 2) for (float& v : w) v = std::ldexp(v, -90);
    const int32_t limit = round % 3 ? 128 : pair_limit_for_levels(191);
    const auto q = quantize_weights(w, WeightLayout::conv(taps == 9 ? Shape{1, inputs, 3, 3} : Shape{1, inputs}), {.pair_limit = limit});
    ASSERT_TRUE(q.ok());
    const float scale = q->scales[0];
    ASSERT_TRUE(keeps_recipe(w, inputs, taps, scale, limit)) << round;
    if (scale > kMinScale) {
      ASSERT_FALSE(keeps_recipe(w, inputs, taps, std::nextafter(scale, 0.0f), limit)) << round;
      // And none far below either.
      for (int i = 1; i < 200; ++i) ASSERT_FALSE(keeps_recipe(w, inputs, taps, scale * (1 - 0.002f * static_cast<float>(i)), limit));
    }
    for (size_t i = 0; i < w.size(); ++i) ASSERT_EQ(q->values[i], quantize_value(w[i], scale, 0, -127, 127));
  }
}

TEST(WeightQuantizer, ChannelsAreIndependentInEveryLayout) {
  std::mt19937 random(2);
  const int64_t o = 6, inputs = 5, taps = 4;
  const std::vector<float> w = random_weights(o * inputs * taps, random);  // [o][i][t]
  const auto conv = quantize_weights(w, WeightLayout::conv({o, inputs, 2, 2}));
  ASSERT_TRUE(conv.ok());
  for (int64_t c = 0; c < o; ++c) {
    const std::vector<float> one(w.begin() + c * inputs * taps, w.begin() + (c + 1) * inputs * taps);
    const auto alone = quantize_weights(one, WeightLayout::conv({1, inputs, 2, 2}));
    const size_t at = static_cast<size_t>(c);
    EXPECT_EQ(alone->scales[0], conv->scales[at]);
    EXPECT_EQ(alone->sums[0], conv->sums[at]);
    EXPECT_EQ(std::accumulate(alone->values.begin(), alone->values.end(), 0), conv->sums[at]);
    int64_t magnitude = 0;
    for (const int8_t v : alone->values) magnitude += std::abs(v);
    EXPECT_EQ(conv->magnitudes[at], magnitude);
  }

  // The same matrix as [N, K] and [K, N]; pairs run along K in both.
  std::vector<float> kn(30), nk(w.begin(), w.begin() + 30);
  for (size_t n = 0; n < 6; ++n)
    for (size_t k = 0; k < 5; ++k) kn[k * 6 + n] = nk[n * 5 + k];
  const auto a = quantize_weights(nk, WeightLayout::matmul_nk(6, 5)), b = quantize_weights(kn, WeightLayout::matmul_kn(5, 6));
  EXPECT_EQ(a->scales, b->scales);
  EXPECT_EQ(a->sums, b->sums);
  for (size_t n = 0; n < 6; ++n)
    for (size_t k = 0; k < 5; ++k) EXPECT_EQ(a->values[n * 5 + k], b->values[k * 6 + n]);

  // Transposed convolution [C = g·i, O/g, taps]: channel (g, o) reads inputs of its own group only.
  const int64_t groups = 2, per = 3;
  std::vector<float> transposed(static_cast<size_t>(o * inputs * taps));
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t p = 0; p < per; ++p)
        for (int64_t t = 0; t < taps; ++t)
          transposed[static_cast<size_t>(((g * inputs + i) * per + p) * taps + t)] =
              w[static_cast<size_t>(((g * per + p) * inputs + i) * taps + t)];
  const auto c = quantize_weights(transposed, WeightLayout::conv_transpose({groups * inputs, per, 2, 2}, groups));
  EXPECT_EQ(c->scales, conv->scales);
  EXPECT_EQ(c->sums, conv->sums);
}

TEST(WeightQuantizer, PairLimitHoldsAfterRoundingAndPlainDoesNotNeedIt) {
  std::mt19937 random(3);
  const Shape shape{64, 32, 3, 3};
  const std::vector<float> w = random_weights(shape.elements(), random);
  std::vector<float> twin = w;
  for (size_t i = 0; i < twin.size(); ++i) twin[i] = std::abs(twin[i]) + 0.2f;  // all positive: every pair is over the limit
  const WeightLayout layout = WeightLayout::conv(shape);
  const auto limited = quantize_weights(twin, layout), plain = quantize_weights(twin, layout, {.pair_limit = 0});
  EXPECT_TRUE(keeps_pair_limit(limited->values, layout));
  EXPECT_FALSE(keeps_pair_limit(plain->values, layout));
  for (int64_t c = 0; c < 64; ++c) {
    float largest = 0;
    for (int64_t i = 0; i < 288; ++i) largest = std::max(largest, twin[static_cast<size_t>(c * 288 + i)]);
    EXPECT_EQ(plain->scales[static_cast<size_t>(c)], static_cast<float>(static_cast<double>(largest) / 127));
  }
  // Depthwise: one input per channel, so plain.
  const auto depthwise = quantize_weights(std::span(twin).first(72), WeightLayout::conv({8, 1, 3, 3}));
  for (const float scale : depthwise->scales) EXPECT_GT(scale, 0);
  EXPECT_EQ(*std::max_element(depthwise->values.begin(), depthwise->values.end()), 127);
}

TEST(WeightQuantizer, ZeroAndTinyChannelsKeepTheirBias) {
  const std::vector<float> w = {0, 0, 1e-20f, -1e-20f, 0.5f, 0.25f};
  const float bias[] = {0.01f, 3.0f, 1.0f}, input_scale = 0.05f;
  std::vector<float> floors;
  for (const float b : bias) floors.push_back(bias_scale_floor(b, input_scale));
  const auto q = quantize_weights(w, WeightLayout::matmul_nk(3, 2), {.min_scales = floors});
  ASSERT_TRUE(q.ok());
  const std::vector<int32_t> b = quantize_bias(bias, input_scale, q->scales);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(b[c] * static_cast<double>(input_scale) * static_cast<double>(q->scales[c]), bias[c], 2e-6 + bias[c] * 1e-3);
    EXPECT_LE(std::abs(b[c]), 1 << 30);
  }
  EXPECT_EQ(quantize_weights(std::vector<float>(4, 0.0f), WeightLayout::matmul_nk(2, 2))->scales, (std::vector<float>{1, 1}));
}

TEST(WeightQuantizer, RefusesWhatIsNotANumberAndWrongSizes) {
  std::vector<float> w(6, 1.0f);
  w[4] = std::nanf("");
  const auto bad = quantize_weights(w, WeightLayout::matmul_nk(3, 2));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "quantize_weights: channel 2: weight is not finite: got inf or nan, need a number");
  EXPECT_FALSE(quantize_weights(w, WeightLayout::matmul_nk(3, 3)).ok());
  const float floors[] = {1};
  EXPECT_FALSE(quantize_weights(std::vector<float>(6), WeightLayout::matmul_nk(3, 2), {.min_scales = floors}).ok());
}

TEST(WeightQuantizer, BiasRoundsHalfToEvenAndSaturates) {
  const float bias[] = {2.5f, -3.5f, 1e30f, -1e30f, std::nanf(""), 0.3f}, scales[] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.1f};
  const std::vector<int32_t> b = quantize_bias(bias, 2.0f, scales);
  EXPECT_EQ(b[0], 2);
  EXPECT_EQ(b[1], -4);
  EXPECT_EQ(b[2], INT32_MAX);
  EXPECT_EQ(b[3], INT32_MIN);
  EXPECT_EQ(b[4], 0);
  EXPECT_EQ(b[5], 2);  // 0.3f / (2 · 0.1f) is just below or above 1.5: here above
}

TEST(WeightQuantizer, OverflowProofIsSharp) {
  const int64_t magnitudes[] = {8421504, 8421505, 10, INT64_MAX / 2};
  EXPECT_EQ(prove_no_overflow(magnitudes, {}, 255), (std::vector<bool>{true, false, true, false}));  // 8421504 · 255 = 2³¹ − 128
  const int32_t bias[] = {127, 0, INT32_MIN, 0}, over[] = {-128, 0, INT32_MAX - 2550, 0};
  EXPECT_EQ(prove_no_overflow(magnitudes, bias, 255), (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(prove_no_overflow(magnitudes, over, 255), (std::vector<bool>{false, false, true, false}));
}

TEST(BiasCorrection, RemovesTheMeanShiftOfALinearLayer) {
  std::mt19937 random(4);
  const int64_t k = 24, n = 7, rows = 500;
  const std::vector<float> w = random_weights(n * k, random);
  std::vector<float> bias = random_weights(n, random), x = random_weights(rows * k, random);
  for (float& v : x) v = std::max(v + 0.1f, 0.0f);
  const WeightLayout layout = WeightLayout::matmul_nk(n, k);
  const auto q = quantize_weights(w, layout);
  const ActivationQuant quant = quantize_range_u8({0, 0.25f, 0, 0});  // clips a good part
  std::vector<float> clipped(x.size()), quantized(x.size());
  fake_quantize(x, quant, clipped, quantized);

  const auto run = [&](const std::vector<float>& input, bool integer_weights, std::span<const float> b) {
    std::vector<float> y(static_cast<size_t>(rows * n));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t o = 0; o < n; ++o) {
        double sum = b.empty() ? 0 : static_cast<double>(b[static_cast<size_t>(o)]);
        for (int64_t i = 0; i < k; ++i) {
          const size_t at = static_cast<size_t>(o * k + i);
          const double weight = integer_weights ? static_cast<double>(q->values[at]) * static_cast<double>(q->scales[static_cast<size_t>(o)])
                                                : static_cast<double>(w[at]);
          sum += weight * static_cast<double>(input[static_cast<size_t>(r * k + i)]);
        }
        y[static_cast<size_t>(r * n + o)] = static_cast<float>(sum);
      }
    return y;
  };
  const std::vector<float> reference = run(clipped, false, bias);
  ChannelMean difference(n), mean_quantized(k), mean_clipped(k);
  difference.add_difference(run(quantized, true, bias), reference, 1);
  mean_quantized.add(quantized, 1);
  mean_clipped.add(clipped, 1);
  EXPECT_EQ(difference.positions(), rows);
  const std::vector<double> shift = shift_from_input_means(w, *q, layout, 1, mean_quantized.mean(), mean_clipped.mean());
  double largest = 0;
  for (size_t o = 0; o < 7; ++o) {
    EXPECT_NEAR(shift[o], difference.mean()[o], 1e-6);
    largest = std::max(largest, std::abs(shift[o]));
  }
  EXPECT_GT(largest, 1e-5);

  std::vector<float> corrected = bias;
  correct_bias(corrected, difference.mean());
  ChannelMean left(n);
  left.add_difference(run(quantized, true, corrected), reference, 1);
  for (const double mean : left.mean()) EXPECT_NEAR(mean, 0, 1e-7);
}

TEST(BiasCorrection, MeansArePerChannelOverImagesAndBatches) {
  ChannelMean mean(2);
  const float x[] = {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60};  // [2, 2, 3]
  mean.add(x, 3);
  mean.add(std::span(x).first(6), 3);
  EXPECT_EQ(mean.positions(), 9);
  EXPECT_DOUBLE_EQ(mean.mean()[0], 27.0 / 9);
  EXPECT_DOUBLE_EQ(mean.mean()[1], 270.0 / 9);
  EXPECT_EQ(ChannelMean(3).mean(), (std::vector<double>(3, 0.0)));
}

TEST(BiasCorrection, GroupedConvolutionUsesItsOwnInputs) {
  const std::vector<float> w = {1, 2, 3, 4};  // 2 groups, 1 input each, 2 taps
  const WeightLayout layout = WeightLayout::conv({2, 1, 2});
  const auto q = quantize_weights(w, layout);
  const double quantized[] = {0.5, 2.0}, clipped[] = {0.25, 1.0};
  const std::vector<double> shift = shift_from_input_means(w, *q, layout, 2, quantized, clipped);
  for (size_t c = 0; c < 2; ++c) {
    const double real = static_cast<double>(w[2 * c] + w[2 * c + 1]);
    const double integer = (q->values[2 * c] + q->values[2 * c + 1]) * static_cast<double>(q->scales[c]);
    EXPECT_NEAR(shift[c], integer * quantized[c] - real * clipped[c], 1e-12);
  }
}

}  // namespace
}  // namespace ingot
