// Ranges against brute force on the values themselves and against known distributions.
#include "quant/clip_threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "quant/activation_quantizer.h"

namespace ingot {
namespace {

ValueHistogram observe(const std::vector<float>& values) {
  RangeObserver observer;
  observer.observe(values);
  return observer.histogram();
}

std::vector<float> normal_values(size_t n, float mean, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

double brute_error(const std::vector<float>& values, const CalibrationRange& range) {
  const ActivationQuant quant = quantize_range_u8(range);
  std::vector<float> back(values.size());
  fake_quantize(values, quant, {}, back);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += std::pow(static_cast<double>(values[i]) - static_cast<double>(back[i]), 2);
  return sum / static_cast<double>(values.size());
}

const CalibrationMethod kMethods[] = {CalibrationMethod::kMinMax, CalibrationMethod::kPercentile,
                                      CalibrationMethod::kEntropy, CalibrationMethod::kMeanSquaredError};

TEST(ClipThreshold, EveryRangeHoldsZeroAndStaysWithinTheObserved) {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const size_t n = 1 + random() % 3000;
    std::vector<float> values = normal_values(n, static_cast<float>(random() % 7) - 3, 1.0f, random());
    if (round % 4 == 1) for (float& v : values) v = std::abs(v);
    if (round % 4 == 2) for (float& v : values) v = -std::exp(3 * v);
    if (round % 4 == 3) std::fill(values.begin(), values.end(), 0.0f);
    const ValueHistogram histogram = observe(values);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    for (const CalibrationMethod method : kMethods) {
      const CalibrationRange range = clip_range(histogram, method);
      EXPECT_EQ(range.observed_min, *low);
      EXPECT_EQ(range.observed_max, *high);
      EXPECT_LE(range.low, 0);
      EXPECT_GE(range.high, 0);
      EXPECT_GE(range.low, std::min(*low, 0.0f)) << to_string(method);
      EXPECT_LE(range.high, std::max(*high, 0.0f)) << to_string(method);
    }
  }
  for (const CalibrationMethod method : kMethods) {
    const CalibrationRange range = clip_range(ValueHistogram(), method);
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 0);
  }
}

TEST(ClipThreshold, PercentileMatchesTheSortedValuesOnBothSides) {
  for (const double percentile : {99.999, 99.99, 99.9, 95.0}) {
    std::vector<float> values = normal_values(400000, 0.5f, 1.0f, 7);
    const CalibrationRange range = percentile_range(observe(values), percentile);
    std::sort(values.begin(), values.end());
    const size_t beyond = static_cast<size_t>(std::floor(400000 * (1 - percentile / 100) + 1e-6));
    const float high = values[values.size() - 1 - beyond], low = values[beyond];
    EXPECT_NEAR(range.high, high, std::abs(high) / 200) << percentile;
    EXPECT_NEAR(range.low, low, std::abs(low) / 200) << percentile;
  }
}

TEST(ClipThreshold, PercentileDropsAFewOutliersHoweverFar) {
  std::vector<float> values = normal_values(1000000, 0.0f, 1.0f, 8);
  for (size_t i = 0; i < 9; ++i) values[i * 1000] = 1e6f;  // 10 of a million may lie beyond
  const CalibrationRange range = percentile_range(observe(values));
  EXPECT_EQ(range.observed_max, 1e6f);
  EXPECT_NEAR(range.high, 4.9f, 0.6f);
  EXPECT_NEAR(range.low, -4.3f, 0.4f);
  EXPECT_EQ(minmax_range(observe(values)).high, 1e6f);
}

TEST(ClipThreshold, FewValuesAreNotClippedByThePercentile) {
  const std::vector<float> values = normal_values(50000, 1.0f, 3.0f, 9);
  const CalibrationRange range = percentile_range(observe(values));
  EXPECT_EQ(range.low, range.observed_min);
  EXPECT_EQ(range.high, range.observed_max);
}

TEST(ClipThreshold, HistogramErrorIsTheErrorOfTheValues) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::vector<float> values = normal_values(100000, seed % 2 ? 0.0f : 1.0f, 1.5f, seed);
    if (seed % 3 == 0) for (float& v : values) v = std::max(v, 0.0f);
    const ValueHistogram histogram = observe(values);
    for (const float share : {1.0f, 0.7f, 0.4f, 0.1f}) {
      CalibrationRange range = minmax_range(histogram);
      range.low *= share, range.high *= share;
      const double exact = brute_error(values, range);
      EXPECT_NEAR(mean_squared_error(histogram, range), exact, exact * 0.03) << seed << ' ' << share;
    }
  }
}

TEST(ClipThreshold, LeastSquaresFindsTheBestOfAGrid) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::vector<float> values = normal_values(20000, seed % 2 ? 0.0f : 0.4f, 1.0f, 20 + seed);
    for (float& v : values) v = v * v * v;  // long tails
    if (seed == 4) for (float& v : values) v = std::abs(v);
    const ValueHistogram histogram = observe(values);
    const CalibrationRange full = minmax_range(histogram);
    const double found = brute_error(values, mse_range(histogram));
    double best = brute_error(values, full);
    for (double a = 0.05; a <= 1; a *= 1.2)
      for (double b = 0.05; b <= 1; b *= 1.2) {
        CalibrationRange range = full;
        range.low = static_cast<float>(full.low * a), range.high = static_cast<float>(full.high * b);
        best = std::min(best, brute_error(values, range));
      }
    EXPECT_LE(found, best * 1.03) << seed;
    EXPECT_LT(found, brute_error(values, full)) << seed;
  }
}

TEST(ClipThreshold, EntropyCutsALongTailAndKeepsAnEvenRange) {
  std::mt19937 random(11);
  std::vector<float> even(200000), tailed(200000);
  for (float& v : even) v = std::uniform_real_distribution<float>(0, 6)(random);
  for (float& v : tailed) v = std::exponential_distribution<float>(1)(random);
  tailed[5] = 100;
  const CalibrationRange kept = entropy_range(observe(even)), cut = entropy_range(observe(tailed));
  EXPECT_GT(kept.high, 5.8f);
  EXPECT_EQ(kept.low, 0);
  EXPECT_LT(cut.high, 50.0f);
  EXPECT_GT(cut.high, 4.0f);
}

// Behind a ReLU a constant background gives each channel one value that most positions have.
TEST(ClipThreshold, EntropyIsNotMisledByValuesThatMostPositionsHave) {
  std::mt19937 random(12);
  std::vector<float> background(24), values(400000);
  for (float& v : background) v = std::uniform_real_distribution<float>(0.05f, 0.6f)(random);
  for (float& v : values) {
    v = std::max(0.0f, std::normal_distribution<float>(0, 2)(random));
    if (random() % 10 < 8) v = background[random() % background.size()];
  }
  const CalibrationRange range = entropy_range(observe(values));
  EXPECT_GT(range.high, 0.6f * range.observed_max);
}

}  // namespace
}  // namespace ingot
