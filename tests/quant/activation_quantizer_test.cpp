// Scale and zero point: the contract's promises for any range, degenerate ones included.
#include "quant/activation_quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

TEST(ActivationQuantizer, ZeroIsExactAndTheRangeIsCoveredWithinHalfAStep) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const float size = std::ldexp(1.0f, static_cast<int>(random() % 120) - 60);
    CalibrationRange range;
    range.low = -size * static_cast<float>(random() % 1000) / 1000;
    range.high = size * static_cast<float>(random() % 1000) / 777;
    const int32_t levels = round % 3 == 0 ? 255 : 127 + static_cast<int32_t>(random() % 129);
    const ActivationQuant q = quantize_range_u8(range, levels);
    ASSERT_TRUE(q.dtype == DataType::kU8 && q.scale > 0 && q.lo == 0 && q.hi == levels);
    ASSERT_TRUE(q.zero_point >= 0 && q.zero_point <= levels);
    if (range.low == 0) { ASSERT_EQ(q.zero_point, 0); }
    ASSERT_EQ(quantize_value(0.0f, q.scale, q.zero_point, q.lo, q.hi), q.zero_point);
    ASSERT_EQ(dequantize_value(q.zero_point, q.scale, q.zero_point), 0.0f);
    if (range.low == 0 && range.high == 0) { ASSERT_EQ(q.scale, 1.0f); continue; }
    ASSERT_NEAR(q.low(), range.low, q.scale * 0.501f);
    ASSERT_NEAR(q.high(), range.high, q.scale * 0.501f);
    for (int i = 0; i < 5; ++i) {
      const float x = range.low + (range.high - range.low) * static_cast<float>(i) / 4;
      const float back = dequantize_value(quantize_value(x, q.scale, q.zero_point, q.lo, q.hi), q.scale, q.zero_point);
      ASSERT_NEAR(back, x, q.scale * 0.501f);
    }
  }
}

TEST(ActivationQuantizer, DegenerateRangesAreRepaired) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf(""), max = std::numeric_limits<float>::max();
  const CalibrationRange ranges[] = {{0, 0, 0, 0},      {1, 2, 0, 0},      {-3, -1, 0, 0},   {nan, nan, 0, 0}, {-inf, inf, 0, 0},
                                     {-max, max, 0, 0}, {0, 1e-45f, 0, 0}, {5, -5, 0, 0},    {0, nan, 0, 0},   {-1e-45f, 0, 0, 0}};
  for (const CalibrationRange& range : ranges) {
    for (const ActivationQuant& q : {quantize_range_u8(range), quantize_range_s8(range)}) {
      EXPECT_TRUE(std::isfinite(q.scale) && q.scale >= kMinScale);
      EXPECT_TRUE(q.zero_point >= q.lo && q.zero_point <= q.hi);
    }
  }
  EXPECT_EQ(quantize_range_u8({1, 2, 0, 0}), quantize_range_u8({0, 2, 0, 0}));
  EXPECT_EQ(quantize_range_u8({-3, -1, 0, 0}).zero_point, 255);
}

TEST(ActivationQuantizer, SymmetricRangeHasNoZeroPoint) {
  const ActivationQuant q = quantize_range_s8({-2, 0.5f, 0, 0});
  EXPECT_EQ(q.scale, 2.0f / 127);
  EXPECT_EQ(q.zero_point, 0);
  EXPECT_EQ(q.lo, -127);
  EXPECT_EQ(q.max_magnitude(), 127);
  EXPECT_EQ(quantize_range_u8({-1, 3, 0, 0}).max_magnitude(), 191);
}

TEST(ActivationQuantizer, FakeQuantizeClipsAndRounds) {
  const ActivationQuant q = quantize_range_u8({-1, 1, 0, 0});
  const float x[] = {-5, -0.5f, 0, 0.3f, 7, std::nanf("")};
  float clipped[6], quantized[6];
  fake_quantize(x, q, clipped, quantized);
  EXPECT_EQ(clipped[0], q.low());
  EXPECT_EQ(clipped[1], -0.5f);
  EXPECT_EQ(clipped[4], q.high());
  EXPECT_EQ(quantized[0], q.low());
  EXPECT_EQ(quantized[2], 0.0f);
  EXPECT_EQ(quantized[3], q.scale * std::nearbyint(0.3f / q.scale));
  EXPECT_EQ(clipped[5], 0.0f);
  EXPECT_EQ(quantized[5], 0.0f);
}

TEST(ActivationQuantizer, ChannelsHaveTheirOwnScales) {
  CalibrationRange range{-4, 8, -5, 9};
  EXPECT_TRUE(quantize_channels_u8(range).empty());
  range.channel_low = {-5, 0, 0, -0.01f, 1};
  range.channel_high = {9, 2, 0, 0.001f, 2};
  const auto quants = quantize_channels_u8(range);
  ASSERT_EQ(quants.size(), 5u);
  EXPECT_EQ(quants[0], quantize_range_u8({-5, 9, 0, 0}));
  EXPECT_EQ(quants[1], quantize_range_u8({0, 2, 0, 0}));
  EXPECT_EQ(quants[2], quantize_range_u8({0, 0.125f, 0, 0}));        // a dead channel: 1/64 of the largest
  EXPECT_EQ(quants[3], quantize_range_u8({-0.125f, 0.001f, 0, 0}));
  EXPECT_EQ(quants[4], quantize_range_u8({0, 2, 0, 0}));             // zero is included
  const QuantParams params = channel_params(quants);
  EXPECT_EQ(params.axis, 1);
  EXPECT_EQ(params.scales[1], quants[1].scale);
  EXPECT_EQ(params.zero_points[3], quants[3].zero_point);
}

TEST(ActivationQuantizer, ChannelsAreFakeQuantizedAlikeInBothLayouts) {
  const ActivationQuant quants[] = {quantize_range_u8({-1, 1, 0, 0}), quantize_range_u8({0, 8, 0, 0}), quantize_range_u8({-2, 0, 0, 0})};
  const float x[12] = {0.3f, -7, 5, 0.1f, 0.7f, 3, 9, 0.01f, -1, -3, 1, -0.4f};  // [1, 3, 4]
  float turned[12], clipped[12], quantized[12], clipped_turned[12], quantized_turned[12];
  for (size_t c = 0; c < 3; ++c)
    for (size_t p = 0; p < 4; ++p) turned[p * 3 + c] = x[c * 4 + p];
  fake_quantize_channels(x, quants, 4, clipped, quantized);
  fake_quantize_channels(turned, quants, 1, clipped_turned, quantized_turned);
  for (size_t c = 0; c < 3; ++c) {
    float want_clipped[4], want_quantized[4];
    fake_quantize(std::span(x + c * 4, 4), quants[c], want_clipped, want_quantized);
    for (size_t p = 0; p < 4; ++p) {
      EXPECT_EQ(clipped[c * 4 + p], want_clipped[p]);
      EXPECT_EQ(quantized[c * 4 + p], want_quantized[p]);
      EXPECT_EQ(clipped_turned[p * 3 + c], want_clipped[p]);
      EXPECT_EQ(quantized_turned[p * 3 + c], want_quantized[p]);
    }
  }
}

}  // namespace
}  // namespace ingot
