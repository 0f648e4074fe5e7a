// Each method works on the finished histogram, in double, and never looks at the data again.
#include "quant/clip_threshold.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "quant/activation_quantizer.h"

namespace ingot {
namespace {

// The value beyond which `allowed` of the counted values lie, seen from the end that `bins` (outermost first) starts at.
// Inside a bin values count as evenly spread.
template <class Bins, class Outer, class Inner>
double tail_cut(const Bins& bins, double allowed, Outer outer, Inner inner) {
  double beyond = 0;
  for (const HistogramBin& bin : bins) {
    const double count = static_cast<double>(bin.count);
    if (beyond + count > allowed) return outer(bin) + (inner(bin) - outer(bin)) * ((allowed - beyond) / count);
    beyond += count;
  }
  return 0;
}

// ∫₀ˣ (t − rne(t))² dt up to a constant that differences cancel; x in steps.
double rounding_integral(double x) {
  const double n = std::nearbyint(x), r = x - n;
  return n / 12 + r * r * r / 3;
}

// Divergence of `q` from `p`, both unnormalised; bins without p add nothing.
double divergence(std::span<const double> p, std::span<const double> q) {
  double p_sum = 0, q_sum = 0, result = 0;
  for (size_t i = 0; i < p.size(); ++i) p_sum += p[i], q_sum += q[i];
  if (p_sum <= 0 || q_sum <= 0) return HUGE_VAL;
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) result += p[i] / p_sum * std::log((p[i] / p_sum) / (std::max(q[i], 1e-9) / q_sum));
  return result;
}

// Lowers bins that stand out of their neighbourhood to what is usual there. A constant background gives every channel one
// value that most positions have; within a level such a spike looks like lost information at any width but the finest, so
// that the least divergence would be found where hardly anything else is left. (Of zeros that is well known.)
void flatten_spikes(std::vector<double>& bins, size_t reach) {
  constexpr double kUsual = 4;
  constexpr size_t kFewest = 8;  // filled bins that say what is usual
  const std::vector<double> before = bins;
  std::vector<double> filled;
  for (size_t i = 0; i < bins.size(); ++i) {
    filled.clear();
    for (size_t j = i - std::min(i, reach); j < std::min(bins.size(), i + reach + 1); ++j)
      if (before[j] > 0) filled.push_back(before[j]);
    if (filled.size() < kFewest) continue;
    const auto middle = filled.begin() + static_cast<std::ptrdiff_t>(filled.size() / 2);
    std::nth_element(filled.begin(), middle, filled.end());
    bins[i] = std::min(before[i], kUsual * *middle);
  }
}

}  // namespace

CalibrationRange minmax_range(const ValueHistogram& histogram) {
  return {std::min(histogram.min, 0.0f), std::max(histogram.max, 0.0f), histogram.min, histogram.max};
}

CalibrationRange percentile_range(const ValueHistogram& histogram, double percentile) {
  CalibrationRange range = minmax_range(histogram);
  if (histogram.count == 0) return range;
  const double share = std::clamp(1 - percentile / 100, 0.0, 1.0);
  // Whole values; the small addition keeps e.g. 100,000 × 0.00001 from falling just below 1.
  const double allowed = std::floor(static_cast<double>(histogram.count) * share * (1 + 1e-9));
  const std::vector<HistogramBin> descending(histogram.bins.rbegin(), histogram.bins.rend());
  const double low = tail_cut(histogram.bins, allowed, [](const HistogramBin& b) { return b.low; },
                              [](const HistogramBin& b) { return b.high; });
  const double high = tail_cut(descending, allowed, [](const HistogramBin& b) { return b.high; },
                               [](const HistogramBin& b) { return b.low; });
  range.low = std::min(static_cast<float>(low), 0.0f);
  range.high = std::max(static_cast<float>(high), 0.0f);
  return range;
}

CalibrationRange entropy_range(const ValueHistogram& histogram) {
  constexpr int kBins = 4096, kLevels = 256, kStep = kBins / kLevels;
  const CalibrationRange full = minmax_range(histogram);
  const double low = full.low, width = (static_cast<double>(full.high) - low) / kBins;
  if (!(width > 0)) return full;

  // Even bins over the full range. Exact zeros are left out: they cost nothing under any range.
  std::vector<double> even(kBins, 0.0);
  for (const HistogramBin& bin : histogram.bins) {
    if (bin.low == 0 && bin.high == 0) continue;
    const double from = (bin.low - low) / width, to = (bin.high - low) / width, count = static_cast<double>(bin.count);
    const int first = std::clamp(static_cast<int>(from), 0, kBins - 1), last = std::clamp(static_cast<int>(to), 0, kBins - 1);
    for (int i = first; i <= last; ++i) {
      const double overlap = std::min(to, i + 1.0) - std::max(from, static_cast<double>(i));
      even[static_cast<size_t>(i)] += first == last ? count : count * std::max(overlap, 0.0) / (to - from);
    }
  }

  const std::vector<double> counts = even;  // what is cut off counts in full
  flatten_spikes(even, kStep);

  // Cut both sides at the same |x| = T, from the largest magnitude down to where a level would be one bin wide.
  const double largest = std::max(-low, static_cast<double>(full.high));
  CalibrationRange best = full;
  double least = HUGE_VAL;
  std::vector<double> p, q;
  for (int cut = static_cast<int>(std::lround(largest / width)); cut >= kLevels; cut -= kStep) {
    const double threshold = cut * width;
    const int begin = std::clamp(static_cast<int>(std::lround((-threshold - low) / width)), 0, kBins);
    const int end = std::clamp(static_cast<int>(std::lround((threshold - low) / width)), 0, kBins);
    const int n = end - begin;
    if (n < kLevels) break;
    p.assign(even.begin() + begin, even.begin() + end);
    q.assign(static_cast<size_t>(n), 0.0);
    for (int level = 0; level < kLevels; ++level) {  // a level's mass returns evenly to those of its bins that hold any
      const int from = static_cast<int>(static_cast<int64_t>(level) * n / kLevels);
      const int to = static_cast<int>(static_cast<int64_t>(level + 1) * n / kLevels);
      double mass = 0, filled = 0;
      for (int i = from; i < to; ++i) mass += p[static_cast<size_t>(i)], filled += p[static_cast<size_t>(i)] > 0;
      for (int i = from; i < to; ++i)
        if (p[static_cast<size_t>(i)] > 0) q[static_cast<size_t>(i)] = mass / filled;
    }
    for (int i = 0; i < begin; ++i) p.front() += counts[static_cast<size_t>(i)];
    for (int i = end; i < kBins; ++i) p.back() += counts[static_cast<size_t>(i)];
    const double loss = divergence(p, q);
    if (loss < least) {
      least = loss;
      best.low = static_cast<float>(std::max(-threshold, low));
      best.high = static_cast<float>(std::min(threshold, static_cast<double>(full.high)));
    }
  }
  return best;
}

double mean_squared_error(const ValueHistogram& histogram, const CalibrationRange& range) {
  if (histogram.count == 0) return 0;
  const ActivationQuant quant = quantize_range_u8(range);
  const double scale = quant.scale, low = quant.lo - quant.zero_point, high = quant.hi - quant.zero_point;  // in steps
  double sum = 0;
  for (const HistogramBin& bin : histogram.bins) {
    const double from = bin.low / scale, to = bin.high / scale, count = static_cast<double>(bin.count);
    if (to - from < 1e-6) {  // one point: the integrals below would cancel
      const double error = from - std::clamp(std::nearbyint(from), low, high);
      sum += count * error * error;
      continue;
    }
    double integral = 0;
    const double a = std::clamp(from, low, high), b = std::clamp(to, low, high);
    if (b > a) integral += rounding_integral(b) - rounding_integral(a);
    const auto cube = [](double t) { return t * t * t / 3; };
    if (to > high) integral += cube(to - high) - cube(std::max(from - high, 0.0));
    if (from < low) integral += cube(low - from) - cube(std::max(low - to, 0.0));
    sum += count * integral / (to - from);
  }
  return sum * scale * scale / static_cast<double>(histogram.count);
}

CalibrationRange mse_range(const ValueHistogram& histogram) {
  const CalibrationRange full = minmax_range(histogram);
  CalibrationRange best = full;
  double least = mean_squared_error(histogram, best);
  const auto attempt = [&](float low, float high) {
    CalibrationRange candidate = full;
    candidate.low = low;
    candidate.high = high;
    const double error = mean_squared_error(histogram, candidate);
    if (error < least) {
      least = error;
      best = candidate;
    }
  };
  // Both sides together first: with a long tail on each, moving one alone gains nothing. Then side by side, finer.
  for (double share = 0.9; share > 1e-4; share *= 0.85)
    attempt(static_cast<float>(full.low * share), static_cast<float>(full.high * share));
  for (const double ratio : {0.8, 0.9, 0.97, 0.99}) {
    for (int side = 0; side < 2; ++side) {
      const CalibrationRange start = best;
      for (int step = -8; step <= 24; ++step) {
        const double share = std::pow(ratio, step);
        if (side == 0 && start.low < 0)
          attempt(static_cast<float>(std::max(start.low * share, static_cast<double>(full.low))), start.high);
        if (side == 1 && start.high > 0)
          attempt(start.low, static_cast<float>(std::min(start.high * share, static_cast<double>(full.high))));
      }
    }
  }
  return best;
}

CalibrationRange clip_range(const ValueHistogram& histogram, CalibrationMethod method, double percentile) {
  switch (method) {
    case CalibrationMethod::kMinMax: return minmax_range(histogram);
    case CalibrationMethod::kPercentile: return percentile_range(histogram, percentile);
    case CalibrationMethod::kEntropy: return entropy_range(histogram);
    case CalibrationMethod::kMeanSquaredError: return mse_range(histogram);
  }
  return minmax_range(histogram);
}

}  // namespace ingot
