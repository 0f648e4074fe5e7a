// A fixed set of threads that share loops. No allocation per call, static splitting: the ranges handed out depend on the
// count, the grain and the pool size only.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace ingot {

class ThreadPool {
 public:
  // The caller is one of the threads: threads − 1 workers are started. threads ≥ 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return threads_; }

  // Calls body(begin, end, thread) for disjoint ranges that cover [0, count), at most one per thread and none shorter than
  // `grain` unless count is; returns when all are done. thread < threads(). body must not throw or call parallel_for.
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) noexcept {
    using Plain = std::remove_reference_t<Body>;
    run(count, grain, [](void* context, int64_t begin, int64_t end, int thread) {
      (*static_cast<Plain*>(context))(begin, end, thread);
    }, const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void* context, int64_t begin, int64_t end, int thread);
  void run(int64_t count, int64_t grain, Call call, void* context) noexcept;
  struct State;
  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
