// The timing cache's file: its text, what is refused, and builds that extend one file at the same time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/wait.h>
#include <unistd.h>

#include "builder/tune/timing_cache.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

class TimingCacheFile : public testing::Test {
 protected:
  TimingCacheFile() {
    std::string name = (fs::temp_directory_path() / "timing_cache_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~TimingCacheFile() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  fs::path folder_;
};

TEST_F(TimingCacheFile, KeepsWhatIsStored) {
  TimingCache cache;
  cache.store("cpu", "conv 1x3", "cpu.conv", 12.34567);
  ASSERT_TRUE(save_timing_cache(path("t"), cache).ok());
  const auto read = load_timing_cache(path("t"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->find("cpu", "conv 1x3", "cpu.conv"), 12.346);
  EXPECT_FALSE(read->changed());
  EXPECT_EQ(files(), 1u);  // the lock is gone
  EXPECT_EQ(load_timing_cache(path("none"))->size(), 0u);
}

TEST_F(TimingCacheFile, OwnTimingsWinAndOthersStay) {
  TimingCache first, second;
  first.store("cpu", "a", "t", 1);
  first.store("cpu", "b", "t", 2);
  second.store("cpu", "b", "t", 3);
  second.store("cpu", "c", "t", 4);
  ASSERT_TRUE(save_timing_cache(path("t"), first).ok());
  ASSERT_TRUE(save_timing_cache(path("t"), second).ok());
  const auto read = load_timing_cache(path("t"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->find("cpu", "a", "t"), 1);
  EXPECT_EQ(read->find("cpu", "b", "t"), 3);
  EXPECT_EQ(read->find("cpu", "c", "t"), 4);
}

TEST_F(TimingCacheFile, WhatIsNoCacheIsNotOverwritten) {
  std::ofstream(path("notes")) << "my notes\n";
  TimingCache cache;
  cache.store("cpu", "a", "t", 1);
  const Status status = save_timing_cache(path("notes"), cache);
  EXPECT_NE(status.message().find("unknown header"), std::string::npos) << status.message();
  EXPECT_EQ(fs::file_size(path("notes")), 9u);
}

// Each process stores timings one by one through a link or by the file's name, as builds that begin with an old state do.
TEST_F(TimingCacheFile, ProcessesAtTheSameTimeLoseNothing) {
  constexpr int kProcesses = 4, kTimings = 40;
  ASSERT_TRUE(save_timing_cache(path("t"), TimingCache()).ok());
  fs::create_symlink(path("t"), path("link"));
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (int i = 0; i < kTimings; ++i) {
      TimingCache cache;
      cache.store("cpu", "problem " + std::to_string(p) + " " + std::to_string(i), "t", 1);
      if (!save_timing_cache(path(p % 2 ? "t" : "link"), cache).ok()) ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto read = load_timing_cache(path("t"));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->size(), size_t{kProcesses * kTimings});
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(files(), 2u);
}

}  // namespace
}  // namespace ingot
