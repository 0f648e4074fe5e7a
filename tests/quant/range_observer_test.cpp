// RangeObserver against a sorted copy of the same values; constant memory; independence of order and of block borders.
#include "quant/range_observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <random>

namespace {
std::atomic<int64_t> allocations{0};
}
// Not inlined, or the compiler sees free() on memory from new and warns.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace ingot {
namespace {

bool same(const ValueHistogram& a, const ValueHistogram& b) {
  if (a.count != b.count || a.min != b.min || a.max != b.max || a.bins.size() != b.bins.size()) return false;
  for (size_t i = 0; i < a.bins.size(); ++i)
    if (a.bins[i].low != b.bins[i].low || a.bins[i].high != b.bins[i].high || a.bins[i].count != b.bins[i].count) return false;
  return true;
}

void expect_matches(std::vector<float> values, const ValueHistogram& histogram) {
  std::sort(values.begin(), values.end());
  ASSERT_EQ(histogram.count, values.size());
  EXPECT_EQ(histogram.min, values.front());
  EXPECT_EQ(histogram.max, values.back());
  size_t at = 0;
  double last = -HUGE_VAL;
  for (const HistogramBin& bin : histogram.bins) {
    ASSERT_GT(bin.count, 0u);
    ASSERT_LE(bin.low, bin.high);
    ASSERT_GE(bin.low, last);
    last = bin.high;
    ASSERT_LE(at + bin.count, values.size());
    for (uint64_t i = 0; i < bin.count; ++i, ++at) {
      ASSERT_GE(values[at], bin.low);
      ASSERT_LE(values[at], bin.high);
    }
    // An octave has 256 bins, but for the lowest one, which takes all that is tiny beside the extremes.
    const double inner = std::min(std::abs(bin.low), std::abs(bin.high)), outer = std::max(std::abs(bin.low), std::abs(bin.high));
    const double extreme = std::max(std::abs(static_cast<double>(histogram.min)), std::abs(static_cast<double>(histogram.max)));
    ASSERT_TRUE(outer - inner <= inner / 255 || outer <= extreme * 0x1p-30) << bin.low << ' ' << bin.high;
  }
  EXPECT_EQ(at, values.size());
}

TEST(RangeObserver, BinsHoldExactlyTheValuesOfEveryDistribution) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.3f, 2.0f);
  for (int kind = 0; kind < 6; ++kind) {
    for (const size_t n : {1u, 7u, 511u, 512u, 513u, 20000u}) {
      std::vector<float> values(n);
      for (float& value : values) {
        value = normal(random);
        if (kind == 1) value = std::max(value, 0.0f);
        if (kind == 2) value = std::exp(8 * value);
        if (kind == 3) value = -std::abs(value) * 1e-30f;
        if (kind == 4) value = std::ldexp(value, static_cast<int>(random() % 200) - 100);
        if (kind == 5) value = random() % 3 == 0 ? -0.0f : 4.0f;
      }
      RangeObserver observer;
      observer.observe(values);
      expect_matches(values, observer.histogram());
    }
  }
}

TEST(RangeObserver, OrderAndBlocksDoNotMatter) {
  std::mt19937 random(2);
  std::vector<float> values(30000);
  for (float& value : values)
    value = std::ldexp(static_cast<float>(random() % 1000) - 400, static_cast<int>(random() % 120) - 60);
  RangeObserver whole, pieces, left, right;
  whole.observe(values);
  std::shuffle(values.begin(), values.end(), random);
  for (size_t at = 0; at < values.size();) {
    const size_t n = std::min<size_t>(random() % 900, values.size() - at);
    pieces.observe(std::span(values).subspan(at, n));
    (at < 9000 ? left : right).observe(std::span(values).subspan(at, n));
    at += n;
  }
  EXPECT_TRUE(same(whole.histogram(), pieces.histogram()));
  left.merge(right);
  EXPECT_TRUE(same(whole.histogram(), left.histogram()));
  RangeObserver empty;
  empty.merge(whole);
  EXPECT_TRUE(same(whole.histogram(), empty.histogram()));
}

TEST(RangeObserver, NotANumberAndInfinityAreCountedApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> values(1000, 1.5f), clean(996, 1.5f);
  values[3] = nan, values[511] = -nan, values[700] = inf, values[999] = -inf;
  values[10] = clean[10] = std::numeric_limits<float>::max();
  values[20] = clean[20] = std::numeric_limits<float>::lowest();
  RangeObserver observer, expected;
  observer.observe(values);
  expected.observe(clean);
  EXPECT_EQ(observer.non_finite(), 4u);
  EXPECT_TRUE(same(observer.histogram(), expected.histogram()));
  expect_matches(clean, observer.histogram());
  RangeObserver hopeless;
  hopeless.observe(std::vector<float>(600, nan));
  EXPECT_EQ(hopeless.count(), 0u);
  EXPECT_EQ(hopeless.min(), 0.0f);
  EXPECT_EQ(hopeless.max(), 0.0f);
  EXPECT_TRUE(hopeless.histogram().bins.empty());
}

TEST(RangeObserver, ZerosAreCountedExactly) {
  std::vector<float> values(100000, 0.0f);
  for (size_t i = 0; i < values.size(); i += 4) values[i] = 1.0f + static_cast<float>(i);
  RangeObserver observer;
  observer.observe(values);
  const ValueHistogram histogram = observer.histogram();
  EXPECT_EQ(histogram.bins.front().high, 0.0);
  EXPECT_EQ(histogram.bins.front().count, 75000u);
}

TEST(RangeObserver, TenThousandBatchesInConstantMemory) {
  std::mt19937 random(3);
  std::vector<float> batch(2048);
  RangeObserver observer;
  observer.observe(batch);
  const int64_t before = allocations;
  for (int i = 0; i < 10000; ++i) {
    for (float& value : batch) value = static_cast<float>(static_cast<int32_t>(random())) * static_cast<float>(i);
    observer.observe(batch);
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(observer.count(), 10001u * 2048u);
}

TEST(ChannelRangeObserver, SeesEachChannelInBothLayouts) {
  const float x[] = {1, -2, 3, 4, std::nanf(""), 6, -1, -2};  // [2, 2, 2]
  ChannelRangeObserver planes(2);
  planes.observe(x, 2);
  EXPECT_EQ(planes.low(), (std::vector<float>{-2, -2}));
  EXPECT_EQ(planes.high(), (std::vector<float>{6, 4}));
  ChannelRangeObserver pixels(2);
  pixels.observe(std::span(x, 4), 1);
  EXPECT_EQ(pixels.low(), (std::vector<float>{0, -2}));
  EXPECT_EQ(pixels.high(), (std::vector<float>{3, 4}));
  pixels.observe(std::span(x + 4, 4), 1);
  EXPECT_EQ(pixels.low(), (std::vector<float>{-1, -2}));
  EXPECT_EQ(pixels.high(), (std::vector<float>{3, 6}));
}

}  // namespace
}  // namespace ingot
