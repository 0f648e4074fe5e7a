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

}  // namespace
}  // namespace ingot
