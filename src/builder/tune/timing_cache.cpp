// Lines of "microseconds<TAB>device<TAB>problem<TAB>tactic" under a header line with the format's version.
#include "builder/tune/timing_cache.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ingot {
namespace {

constexpr std::string_view kHeader = "ingot timing cache 1";

std::string join(std::string_view device, std::string_view problem, std::string_view tactic) {
  std::string key(device);
  for (std::string_view part : {problem, tactic}) {
    key += '\t';
    key += part;
  }
  return key;
}

}  // namespace

std::optional<double> TimingCache::find(std::string_view device, std::string_view problem, std::string_view tactic) const {
  const auto place = entries_.find(join(device, problem, tactic));
  return place == entries_.end() ? std::nullopt : std::optional(place->second);
}

void TimingCache::store(std::string_view device, std::string_view problem, std::string_view tactic, double microseconds) {
  // Rounded as the file rounds, so that a build that measures and a build that reads see the same numbers.
  entries_[join(device, problem, tactic)] = std::round(microseconds * 1000) / 1000;
  changed_ = true;
}

std::string TimingCache::to_text() const {
  std::string text(kHeader);
  text += '\n';
  for (const auto& [key, microseconds] : entries_) {
    char number[32];
    std::snprintf(number, sizeof number, "%.3f\t", microseconds);
    text += number + key + '\n';
  }
  return text;
}

Expected<TimingCache> TimingCache::parse(std::string_view text) {
  TimingCache cache;
  int line_number = 0;
  const auto fail = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, "timing cache line " + std::to_string(line_number) + ": " + what +
                                                    "; delete the file to start a new one");
  };
  while (!text.empty()) {
    ++line_number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line_number == 1) {
      if (line != kHeader) return fail("unknown header: need '" + std::string(kHeader) + "'");
      continue;
    }
    if (line.empty()) continue;
    double microseconds = 0;
    const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), microseconds);
    const size_t used = static_cast<size_t>(last - line.data());
    if (error != std::errc() || used >= line.size() || line[used] != '\t' || !(microseconds >= 0) || microseconds > 1e12)
      return fail("need microseconds, device, problem and tactic separated by tabs");
    const std::string_view key = line.substr(used + 1);
    if (std::count(key.begin(), key.end(), '\t') != 2) return fail("need four columns separated by tabs");
    cache.entries_[std::string(key)] = microseconds;
  }
  if (line_number == 0) return fail("empty file");
  return cache;
}

}  // namespace ingot
