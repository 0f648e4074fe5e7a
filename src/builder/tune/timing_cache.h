// (device, problem, tactic) → microseconds. A text file, one timing a line, sorted: it can be merged, edited and carried to
// another machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ingot/status.h"

namespace ingot {

class TimingCache {
 public:
  std::optional<double> find(std::string_view device, std::string_view problem, std::string_view tactic) const;
  void store(std::string_view device, std::string_view problem, std::string_view tactic, double microseconds);
  size_t size() const { return entries_.size(); }
  bool changed() const { return changed_; }

  std::string to_text() const;
  // The error names the line.
  static Expected<TimingCache> parse(std::string_view text);

  // Takes over what `other` knows and this does not.
  void add_missing(const TimingCache& other);

 private:
  std::map<std::string, double, std::less<>> entries_;  // "device\tproblem\ttactic"
  bool changed_ = false;
};

// The cache in a file; empty where there is no such file, or a device. Errors name the file.
Expected<TimingCache> load_timing_cache(const std::string& path);
// Writes the cache to the file together with what is there by now: of builds that run at the same time none loses what another
// measured. They take turns by a lock file beside it, FILE.lock, which goes again.
Status save_timing_cache(const std::string& path, const TimingCache& cache);

}  // namespace ingot
