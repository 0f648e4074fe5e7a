// Every index is visited once, by at most one range per thread; loops follow each other without losing a wake-up.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace ingot {
namespace {

TEST(ThreadPool, VisitsEveryIndexOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 3, 7, 64, 1000}) {
      for (int64_t grain : {1, 3, 100}) {
        std::vector<int> visits(static_cast<size_t>(count));
        std::vector<int> ranges(static_cast<size_t>(threads));
        pool.parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
          ++ranges[static_cast<size_t>(thread)];
          EXPECT_LT(begin, end);
          EXPECT_TRUE(end - begin >= grain || count < grain);
          for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
        });
        for (int visit : visits) EXPECT_EQ(visit, 1);
        for (int range : ranges) EXPECT_LE(range, 1);
      }
    }
  }
}

TEST(ThreadPool, ManySmallLoops) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    std::vector<int64_t> sums(static_cast<size_t>(threads));
    for (int loop = 0; loop < 5000; ++loop)
      pool.parallel_for(8, 1, [&](int64_t begin, int64_t end, int thread) {
        for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(thread)] += i;
      });
    int64_t total = 0;
    for (int64_t sum : sums) total += sum;
    EXPECT_EQ(total, 5000 * 28);
  }
}

TEST(ThreadPool, WorkersThatSleptWakeAgain) {
  ThreadPool pool(3);
  std::atomic<int> ranges{0};
  for (int loop = 0; loop < 20; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    pool.parallel_for(3, 1, [&](int64_t, int64_t, int) { ++ranges; });
  }
  EXPECT_EQ(ranges, 60);
}

TEST(ThreadPool, PoolsAreIndependent) {
  std::vector<std::thread> users;
  std::vector<int64_t> totals(3);
  for (size_t user = 0; user < totals.size(); ++user)
    users.emplace_back([&, user] {
      ThreadPool pool(2);
      for (int loop = 0; loop < 500; ++loop) {
        int64_t parts[2] = {};
        pool.parallel_for(10, 1, [&](int64_t begin, int64_t end, int thread) { parts[thread] = end - begin; });
        totals[user] += parts[0] + parts[1];
      }
    });
  for (std::thread& user : users) user.join();
  for (int64_t total : totals) EXPECT_EQ(total, 5000);
}

}  // namespace
}  // namespace ingot
