// Reads the next samples in background threads while the caller works on one. Threads take numbers in order; what they read
// waits in a window of bounded size until its turn, so the order is that of the samples and memory does not grow.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ingot/calibrator.h"

namespace ingot {

// Samples by number, each read on its own.
class SampleLoader {
 public:
  virtual ~SampleLoader() = default;
  virtual int64_t size() const = 0;
  // 0 ≤ index < size(); called by several threads at once. An error names the file at fault.
  virtual Status load(int64_t index, std::vector<NamedTensor>& inputs) = 0;
};

class PrefetchSource : public SampleSource {
 public:
  // Reads ahead at most `depth` ≥ 1 samples that were not yet asked for, those in the making included. The threads start with
  // the first next(); with none, next() reads by itself.
  explicit PrefetchSource(std::unique_ptr<SampleLoader> loader, int threads = 1, int64_t depth = 2);
  ~PrefetchSource() override;
  PrefetchSource(const PrefetchSource&) = delete;
  PrefetchSource& operator=(const PrefetchSource&) = delete;

  // A loader's error comes at its place in the order, and again at every later call until rewind().
  Expected<bool> next(std::vector<NamedTensor>& inputs) override;
  Status rewind() override;
  int64_t size() const override { return loader_->size(); }

 private:
  struct Slot {
    bool ready = false;
    std::vector<NamedTensor> sample;
    Status error;
  };
  Status load(int64_t index, std::vector<NamedTensor>& inputs) noexcept;
  void work();
  void start();
  void stop();
  Slot& slot(int64_t index) { return window_[static_cast<size_t>(index % depth_)]; }

  std::unique_ptr<SampleLoader> loader_;
  const int thread_count_;
  const int64_t depth_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable space_, arrived_;
  std::vector<Slot> window_;              // sample i in slot i mod depth
  int64_t taken_ = 0, handed_out_ = 0;    // next number to read, and to hand out
  bool stopping_ = false;
};

}  // namespace ingot
