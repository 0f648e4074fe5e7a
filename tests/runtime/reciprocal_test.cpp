// Division by a scale as a product with its reciprocal in two parts: wherever that is offered, rounded results are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/cpu/s8_layer.h"

namespace ingot::cpu {
namespace {

TEST(Reciprocal, RoundsAsDivisionDoes) {
  std::mt19937 random(1);
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    const float scale = std::exp2(std::uniform_real_distribution<float>(-20, 10)(random));
    const auto r = reciprocal_of(scale);
    if (!r) continue;
    ++found;
    const auto agree = [&](float v) {
      const auto limited = [](float q) { return std::nearbyintf(std::clamp(q, -512.0f, 512.0f)); };
      return limited(v / scale) == limited(std::fmaf(v, r->high, v * r->low));
    };
    std::uniform_real_distribution<float> far(-600 * scale, 600 * scale);
    for (int k = 0; k < 2000; ++k) {
      const float v = far(random);
      ASSERT_TRUE(agree(v)) << v << " by " << scale;
      // Around the border between two integers.
      float near = (std::floor(v / scale) + 0.5f) * scale;
      for (int step = 0; step < 4; ++step) near = std::nextafterf(near, -INFINITY);
      for (int step = 0; step < 9; ++step, near = std::nextafterf(near, INFINITY)) ASSERT_TRUE(agree(near)) << near << " by " << scale;
    }
    for (float v : {0.0f, -0.0f, 1e-44f, 1e30f * scale, -1e30f * scale}) ASSERT_TRUE(agree(v)) << v << " by " << scale;
  }
  EXPECT_GT(found, 250);
  EXPECT_FALSE(reciprocal_of(0x1p-70f));
  EXPECT_FALSE(reciprocal_of(0x1p70f));
}

}  // namespace
}  // namespace ingot::cpu
