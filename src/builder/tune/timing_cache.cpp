// Lines of "microseconds<TAB>device<TAB>problem<TAB>tactic" under a header line with the format's version.
#include "builder/tune/timing_cache.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingot/builder.h"

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

// Holds FILE.lock, as long as it exists. Who holds it writes a file, which is quick: where that takes longer something is stuck,
// and the file is written without a turn, which may cost entries but not the build.
class FileTurn {
 public:
  explicit FileTurn(std::string path) : path_(std::move(path)) {
    constexpr auto kPatience = std::chrono::seconds(10);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < kPatience) {
      file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
      if (file_ < 0) return;  // where nothing can be made, nothing can be written either: that error says why
      // The lock counts if its file still has its name: the one before may have removed it.
      struct stat held, named;
      if (::flock(file_, LOCK_EX | LOCK_NB) == 0 && ::fstat(file_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
          held.st_ino == named.st_ino && held.st_dev == named.st_dev)
        return;
      ::close(file_);
      file_ = -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  FileTurn(const FileTurn&) = delete;
  FileTurn& operator=(const FileTurn&) = delete;
  ~FileTurn() {
    if (file_ < 0) return;
    ::unlink(path_.c_str());
    ::close(file_);
  }

 private:
  std::string path_;
  int file_ = -1;
};

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

void TimingCache::add_missing(const TimingCache& other) {
  for (const auto& entry : other.entries_) changed_ = entries_.insert(entry).second || changed_;
}

Expected<TimingCache> load_timing_cache(const std::string& path) {
  struct stat info;
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return TimingCache();
  if (S_ISCHR(info.st_mode)) return TimingCache();  // /dev/null: nothing to read, and nothing is kept
  const std::string where = "'" + path + "'";
  if (!S_ISREG(info.st_mode)) return Status(StatusCode::kInvalidArgument, where + ": not a regular file");  // a pipe may never end
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status(StatusCode::kNotFound, where + ": cannot be opened: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  auto cache = TimingCache::parse(text.str());
  if (!cache.ok()) return std::move(cache.take_status()).with_context(where);
  return cache;
}

Status save_timing_cache(const std::string& path, const TimingCache& cache) {
  std::error_code error;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    const std::string text = cache.to_text();
    return write_file_atomically(path, std::as_bytes(std::span(text)));
  }
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  const FileTurn turn((error ? path : real.string()) + ".lock");
  INGOT_ASSIGN(const TimingCache there, load_timing_cache(path));
  TimingCache merged = cache;
  merged.add_missing(there);
  const std::string text = merged.to_text();
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace ingot
