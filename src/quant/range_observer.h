// Running minimum, maximum and histogram of a stream of floats, in constant memory.
// Bins are logarithmic, cut straight from the float's bits: 256 to an octave, 32 octaves below the largest magnitude seen,
// each sign apart. So an outlier never costs resolution among the small values, and the result does not depend on the order
// of the stream. What lies below the 32 octaves shares the lowest bin; zeros are counted exactly.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot {

// `count` values in [low, high]; low == high: all of them are that one value, as the exact zeros are.
struct HistogramBin {
  double low = 0, high = 0;
  uint64_t count = 0;
};

// What a finished observation comes down to.
struct ValueHistogram {
  std::vector<HistogramBin> bins;  // not empty, disjoint, ascending; none crosses zero
  uint64_t count = 0;              // finite values in all
  float min = 0, max = 0;          // exact; both 0 when count is 0
};

// Smallest and largest value of each channel in a stream of tensors [outer, channels, inner]; both hold 0. NaN is ignored.
class ChannelRangeObserver {
 public:
  explicit ChannelRangeObserver(int64_t channels) : low_(static_cast<size_t>(channels), 0.0f), high_(low_) {}
  void observe(std::span<const float> values, int64_t inner);
  const std::vector<float>& low() const { return low_; }
  const std::vector<float>& high() const { return high_; }

 private:
  std::vector<float> low_, high_;
};

class RangeObserver {
 public:
  RangeObserver();

  // Allocates nothing. NaN and infinities are counted and otherwise ignored.
  void observe(std::span<const float> values);
  // As if this observer had seen the other's stream too.
  void merge(const RangeObserver& other);

  ValueHistogram histogram() const;
  uint64_t count() const { return count_; }  // finite values
  uint64_t non_finite() const { return non_finite_; }
  float min() const;  // 0 when count() is 0
  float max() const;

 private:
  static constexpr int kBlock = 512;
  static constexpr int kSubBins = 256;  // per octave
  static constexpr int kOctaves = 32;
  static constexpr int kSideBins = kSubBins * kOctaves;
  static constexpr int kZeroSlots = 8;  // a run of zeros would wait on one counter's last store
  static constexpr int kCounters = 2 * kSideBins + kZeroSlots;

  void observe_block(const float* values, int n);
  void observe_finite(const float* values, int n);
  void raise_base(int32_t base);

  std::vector<uint64_t> counters_;  // positive side, negative side, zeros
  int32_t base_ = 0;                // (magnitude bits >> kShift) of the lowest bin
  int32_t min_key_ = INT32_MAX, max_key_ = INT32_MIN;  // floats as integers of the same order
  uint64_t count_ = 0, non_finite_ = 0;
};

}  // namespace ingot
