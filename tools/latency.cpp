// Nearest-rank percentiles.
#include "latency.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::cli {

LatencySummary summarize(std::vector<double> milliseconds) {
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t n = milliseconds.size();
  const auto rank = [&](double share) {
    return milliseconds[std::min(n - 1, static_cast<size_t>(std::max(0.0, std::ceil(share * static_cast<double>(n)) - 1)))];
  };
  return {milliseconds.front(), rank(0.5), std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(n),
          rank(0.9), rank(0.99), n};
}

nlohmann::json to_json(const LatencySummary& s) {
  return {{"min", s.min}, {"median", s.median}, {"mean", s.mean}, {"p90", s.p90}, {"p99", s.p99}};
}

size_t peak_resident_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<size_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace ingot::cli
