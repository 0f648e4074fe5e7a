// One producer, one consumer. The producer owns inner_ from its start to its join.
#include "data/prefetch_source.h"

#include <algorithm>
#include <new>

namespace ingot {

PrefetchSource::PrefetchSource(std::unique_ptr<SampleSource> inner, size_t depth)
    : inner_(std::move(inner)), depth_(std::max<size_t>(depth, 1)) {}

PrefetchSource::~PrefetchSource() { stop(); }

void PrefetchSource::read_all() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || ready_.size() < depth_; });
      if (stopping_) return;
    }
    std::vector<NamedTensor> sample;
    Status error;
    bool more = false;
    // Nothing may leave a thread as an exception: memory can run out while decoding.
    try {
      Expected<bool> result = inner_->next(sample);
      if (result.ok())
        more = *result;
      else
        error = result.take_status();
    } catch (const std::bad_alloc&) {
      error = Status(StatusCode::kOutOfMemory, "reading samples: out of memory");
    }
    std::lock_guard lock(mutex_);
    if (more) {
      ready_.push_back(std::move(sample));
    } else {
      ended_ = true;
      error_ = std::move(error);
    }
    changed_.notify_all();
    if (!more) return;
  }
}

void PrefetchSource::stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Expected<bool> PrefetchSource::next(std::vector<NamedTensor>& inputs) {
  if (!started_) {
    started_ = true;
    thread_ = std::thread([this] { read_all(); });
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
  if (ready_.empty()) {
    inputs.clear();
    if (!error_.ok()) return error_.clone();
    return false;
  }
  inputs = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return true;
}

Status PrefetchSource::rewind() {
  stop();
  ready_.clear();
  started_ = ended_ = stopping_ = false;
  error_ = Status();
  return inner_->rewind();
}

}  // namespace ingot
