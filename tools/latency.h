// Latencies of repeated runs: order statistics, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace ingot::cli {

struct LatencySummary {
  double min = 0, median = 0, mean = 0, p90 = 0, p99 = 0;  // milliseconds
  size_t runs = 0;
};
// Not empty.
LatencySummary summarize(std::vector<double> milliseconds);
nlohmann::json to_json(const LatencySummary& summary);

// High-water mark of this process's resident memory.
size_t peak_resident_bytes();

}  // namespace ingot::cli
