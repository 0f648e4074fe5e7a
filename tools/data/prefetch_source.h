// Reads the next samples in a background thread while the caller works on one: a bounded queue between the two.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "ingot/calibrator.h"

namespace ingot {

class PrefetchSource : public SampleSource {
 public:
  // Holds at most `depth` ≥ 1 samples that were read and not yet asked for. The thread starts with the first next().
  explicit PrefetchSource(std::unique_ptr<SampleSource> inner, size_t depth = 2);
  ~PrefetchSource() override;
  PrefetchSource(const PrefetchSource&) = delete;
  PrefetchSource& operator=(const PrefetchSource&) = delete;

  // An error of the inner source comes at its place in the order, and again at every later call until rewind().
  Expected<bool> next(std::vector<NamedTensor>& inputs) override;
  Status rewind() override;
  int64_t size() const override { return inner_->size(); }

 private:
  void read_all();
  void stop();

  std::unique_ptr<SampleSource> inner_;
  const size_t depth_;
  std::thread thread_;
  bool started_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::vector<NamedTensor>> ready_;
  bool ended_ = false, stopping_ = false;
  Status error_;
};

}  // namespace ingot
