// The streaming part works in blocks of fixed size: three plain loops (order keys, bin numbers, counting), of which the
// compiler turns the first two into vector code.
#include "quant/range_observer.h"

#include <algorithm>
#include <bit>

namespace ingot {
namespace {

constexpr int kShift = 15;  // 23 mantissa bits − 8 that number the bins of an octave
constexpr int32_t kMagnitude = 0x7fffffff;
constexpr int32_t kInfinity = 0x7f800000;

// Order-preserving map float → int32, its own inverse. −0 comes just below +0.
inline int32_t order_key(int32_t bits) { return bits ^ ((bits >> 31) & kMagnitude); }
float from_key(int32_t key) { return std::bit_cast<float>(order_key(key)); }

constexpr int32_t kLargestKey = kInfinity - 1;  // of a finite float
inline int32_t smallest_key() { return order_key(std::bit_cast<int32_t>(0xff7fffffu)); }

}  // namespace

RangeObserver::RangeObserver() : counters_(kCounters, 0) {}

void RangeObserver::observe(std::span<const float> values) {
  const float* data = values.data();
  size_t left = values.size();
  for (; left >= kBlock; left -= kBlock, data += kBlock) observe_block(data, kBlock);
  if (left > 0) observe_block(data, static_cast<int>(left));
}

void RangeObserver::observe_block(const float* values, int n) {
  int32_t low = INT32_MAX, high = INT32_MIN;
  const auto scan = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const int32_t key = order_key(std::bit_cast<int32_t>(values[i]));
      low = key < low ? key : low;
      high = key > high ? key : high;
    }
  };
  if (n == kBlock) scan(kBlock); else scan(n);

  if (low >= smallest_key() && high <= kLargestKey) {
    min_key_ = std::min(min_key_, low);
    max_key_ = std::max(max_key_, high);
    observe_finite(values, n);
    return;
  }
  float finite[kBlock];
  int kept = 0;
  for (int i = 0; i < n; ++i)
    if ((std::bit_cast<int32_t>(values[i]) & kMagnitude) < kInfinity) finite[kept++] = values[i];
  non_finite_ += static_cast<uint64_t>(n - kept);
  if (kept > 0) observe_block(finite, kept);
}

void RangeObserver::observe_finite(const float* values, int n) {
  const int32_t largest = std::max(order_key(max_key_) & kMagnitude, order_key(min_key_) & kMagnitude);
  const int32_t base = ((largest >> 23) - (kOctaves - 1)) * kSubBins;
  if (base > base_) raise_base(base);

  int32_t slot[kBlock];
  const int32_t lowest = base_;
  const auto number = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const int32_t bits = std::bit_cast<int32_t>(values[i]);
      const int32_t magnitude = bits & kMagnitude;
      int32_t bin = (magnitude >> kShift) - lowest;
      bin = bin < 0 ? 0 : bin;
      bin += (bits >> 31) & kSideBins;
      slot[i] = magnitude == 0 ? 2 * kSideBins + (i & (kZeroSlots - 1)) : bin;
    }
  };
  if (n == kBlock) number(kBlock); else number(n);

  uint64_t* counters = counters_.data();
  for (int i = 0; i < n; ++i) ++counters[slot[i]];
  count_ += static_cast<uint64_t>(n);
}

void RangeObserver::raise_base(int32_t base) {
  const int drop = std::min(base - base_, kSideBins - 1);  // the lowest `drop` bins fall into what becomes bin 0
  const int overflow = base - base_ - drop;
  for (int side = 0; side < 2; ++side) {
    uint64_t* bins = counters_.data() + side * kSideBins;
    uint64_t lowest = 0;
    for (int i = 0; i <= drop; ++i) lowest += bins[i];
    std::copy(bins + drop + 1, bins + kSideBins, bins + 1);
    std::fill(bins + kSideBins - drop, bins + kSideBins, 0);
    bins[0] = lowest;
    // Farther than the whole window: every bin is below the new one.
    for (int i = 1; overflow > 0 && i < kSideBins; ++i) {
      bins[0] += bins[i];
      bins[i] = 0;
    }
  }
  base_ = base;
}

void RangeObserver::merge(const RangeObserver& other) {
  RangeObserver aligned = other;
  if (aligned.base_ < base_) aligned.raise_base(base_);
  if (base_ < aligned.base_) raise_base(aligned.base_);
  for (int i = 0; i < kCounters; ++i) counters_[static_cast<size_t>(i)] += aligned.counters_[static_cast<size_t>(i)];
  min_key_ = std::min(min_key_, other.min_key_);
  max_key_ = std::max(max_key_, other.max_key_);
  count_ += other.count_;
  non_finite_ += other.non_finite_;
}

float RangeObserver::min() const { return count_ == 0 ? 0.0f : from_key(min_key_) + 0.0f; }  // + 0 turns −0 to 0
float RangeObserver::max() const { return count_ == 0 ? 0.0f : from_key(max_key_) + 0.0f; }

ValueHistogram RangeObserver::histogram() const {
  ValueHistogram result;
  result.count = count_;
  result.min = min();
  result.max = max();
  const uint64_t* positive = counters_.data();
  const uint64_t* negative = positive + kSideBins;
  // As many as there can be: memory then does not depend on what was seen.
  result.bins.reserve(kCounters);
  uint64_t zeros = 0;
  for (int i = 0; i < kZeroSlots; ++i) zeros += counters_[static_cast<size_t>(2 * kSideBins + i)];

  const auto edge = [&](int bin) {
    const int32_t bits = (base_ + bin) << kShift;
    // The upper edge of the top bin of all is 2^128, which no float holds.
    return bits >= kInfinity ? 0x1p128 : static_cast<double>(std::bit_cast<float>(bits));
  };
  // The outermost bins end at the exact extremes, so that nothing beyond them is ever proposed as a range.
  const double lowest = result.min, highest = result.max;
  for (int i = kSideBins - 1; i >= 0; --i)
    if (negative[i] > 0)
      result.bins.push_back({std::max(-edge(i + 1), lowest), std::min(i == 0 ? 0.0 : -edge(i), highest), negative[i]});
  if (zeros > 0) result.bins.push_back({0, 0, zeros});
  for (int i = 0; i < kSideBins; ++i)
    if (positive[i] > 0)
      result.bins.push_back({std::max(i == 0 ? 0.0 : edge(i), lowest), std::min(edge(i + 1), highest), positive[i]});
  return result;
}

void ChannelRangeObserver::observe(std::span<const float> values, int64_t inner) {
  const size_t channels = low_.size();
  if (channels == 0 || inner == 0) return;
  const float* x = values.data();
  for (const float* end = x + values.size(); x < end;) {
    if (inner == 1) {  // channels side by side
      for (size_t c = 0; c < channels; ++c) {
        low_[c] = x[c] < low_[c] ? x[c] : low_[c];
        high_[c] = x[c] > high_[c] ? x[c] : high_[c];
      }
      x += channels;
      continue;
    }
    for (size_t c = 0; c < channels; ++c, x += inner) {
      float low = low_[c], high = high_[c];
      for (int64_t i = 0; i < inner; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
      }
      low_[c] = low;
      high_[c] = high;
    }
  }
}

}  // namespace ingot
