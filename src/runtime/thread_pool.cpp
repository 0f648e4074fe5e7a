// Workers wait on a ticket of their own: they spin a little, then sleep on it. A loop writes its job once, raises the
// tickets of the workers it needs, does part 0 itself, then the parts of workers that have not begun (asleep, or without a
// core for now), and waits for the count of unfinished parts to fall to zero.
#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ingot {
namespace {

// Layers of a small network follow each other within microseconds; sleeping in between would cost more than it saves.
constexpr auto kSpin = std::chrono::microseconds(30);

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns once `value` differs from `old`.
void wait_while_equal(const std::atomic<uint32_t>& value, uint32_t old, bool spin) {
  if (spin) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    do {
      for (int i = 0; i < 16; ++i) {
        if (value.load(std::memory_order_acquire) != old) return;
        pause_briefly();
      }
    } while (std::chrono::steady_clock::now() < deadline);
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::State {
  struct alignas(64) Worker {
    std::atomic<uint32_t> ticket{0};
    std::atomic<uint32_t> claimed{0};  // the last ticket whose part somebody took
    std::thread thread;

    // True for the first to ask. A ticket of an earlier job fails: its part was taken before the job ended.
    bool claim(uint32_t number) {
      uint32_t before = number - 1;
      return claimed.compare_exchange_strong(before, number, std::memory_order_acq_rel);
    }
  };

  Call call = nullptr;  // the job; written only while all parts are finished
  void* context = nullptr;
  int64_t count = 0;
  int parts = 0;
  std::atomic<bool> stop{false};
  bool spin = std::thread::hardware_concurrency() > 1;
  alignas(64) std::atomic<uint32_t> unfinished{0};
  std::unique_ptr<Worker[]> workers;
  int worker_count = 0;

  void run_part(int part) const {
    const int64_t size = count / parts, rest = count % parts;
    const int64_t begin = part * size + std::min<int64_t>(part, rest);
    call(context, begin, begin + size + (part < rest ? 1 : 0), part);
  }

  void work(int index) {
    Worker& self = workers[static_cast<size_t>(index)];
    uint32_t seen = 0;
    while (true) {
      wait_while_equal(self.ticket, seen, spin);
      seen = self.ticket.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_relaxed)) return;
      if (!self.claim(seen)) continue;
      run_part(index + 1);
      if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished.notify_one();
    }
  }

  // By the thread that posted the job.
  void run_unclaimed() {
    for (int index = 0; index + 1 < parts; ++index) {
      Worker& worker = workers[static_cast<size_t>(index)];
      if (!worker.claim(worker.ticket.load(std::memory_order_relaxed))) continue;
      run_part(index + 1);
      unfinished.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void wake(int index) {
    Worker& worker = workers[static_cast<size_t>(index)];
    worker.ticket.fetch_add(1, std::memory_order_release);
    worker.ticket.notify_one();
  }
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)), state_(std::make_unique<State>()) {
  const int workers = threads_ - 1;
  state_->workers = std::make_unique<State::Worker[]>(static_cast<size_t>(workers));
  for (; state_->worker_count < workers; ++state_->worker_count) {
    const int index = state_->worker_count;
    try {
      state_->workers[static_cast<size_t>(index)].thread = std::thread([this, index] { state_->work(index); });
    } catch (...) {
      break;  // the system gives no more threads: loops are split over those there are
    }
  }
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_relaxed);
  for (int i = 0; i < state_->worker_count; ++i) {
    state_->wake(i);
    state_->workers[static_cast<size_t>(i)].thread.join();
  }
}

void ThreadPool::run(int64_t count, int64_t grain, Call call, void* context) noexcept {
  if (count <= 0) return;
  const int64_t wanted = std::min<int64_t>(count / std::max<int64_t>(grain, 1), state_->worker_count + 1);
  const int parts = static_cast<int>(std::max<int64_t>(wanted, 1));
  if (parts == 1) return call(context, 0, count, 0);
  State& state = *state_;
  state.call = call;
  state.context = context;
  state.count = count;
  state.parts = parts;
  state.unfinished.store(static_cast<uint32_t>(parts - 1), std::memory_order_relaxed);
  for (int i = 0; i + 1 < parts; ++i) state.wake(i);
  state.run_part(0);
  state.run_unclaimed();
  uint32_t left;
  while ((left = state.unfinished.load(std::memory_order_acquire)) != 0) wait_while_equal(state.unfinished, left, state.spin);
}

}  // namespace ingot
