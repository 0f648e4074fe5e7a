// A window of slots between readers and the caller.
#include "data/prefetch_source.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace ingot {

PrefetchSource::PrefetchSource(std::unique_ptr<SampleLoader> loader, int threads, int64_t depth)
    : loader_(std::move(loader)), thread_count_(std::max(threads, 0)), depth_(std::max<int64_t>(depth, 1)),
      window_(static_cast<size_t>(depth_)) {}

PrefetchSource::~PrefetchSource() { stop(); }

// Nothing may leave a thread as an exception: memory can run out while decoding.
Status PrefetchSource::load(int64_t index, std::vector<NamedTensor>& inputs) noexcept {
  try {
    inputs.clear();
    return loader_->load(index, inputs);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "reading samples: out of memory");
  }
}

void PrefetchSource::work() {
  while (true) {
    int64_t index;
    {
      std::unique_lock lock(mutex_);
      space_.wait(lock, [&] { return stopping_ || taken_ >= loader_->size() || taken_ < handed_out_ + depth_; });
      if (stopping_ || taken_ >= loader_->size()) return;
      index = taken_++;
    }
    std::vector<NamedTensor> sample;
    Status error = load(index, sample);
    std::lock_guard lock(mutex_);
    Slot& own = slot(index);
    if (!error.ok()) stopping_ = true;  // nobody asks for what lies behind it
    own.sample = std::move(sample);
    own.error = std::move(error);
    own.ready = true;
    arrived_.notify_all();
    if (stopping_) space_.notify_all();
  }
}

void PrefetchSource::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  space_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PrefetchSource::start() {
  try {
    for (int i = 0; i < thread_count_; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those there are do the work, or next() does.
  }
}

Expected<bool> PrefetchSource::next(std::vector<NamedTensor>& inputs) {
  inputs.clear();
  if (handed_out_ == loader_->size()) return false;
  if (threads_.empty()) start();
  if (threads_.empty()) {
    INGOT_TRY(load(handed_out_, inputs));
    ++handed_out_;
    return true;
  }
  std::unique_lock lock(mutex_);
  Slot& first = slot(handed_out_);
  arrived_.wait(lock, [&] { return first.ready; });
  if (!first.error.ok()) return first.error.clone();
  inputs = std::move(first.sample);
  first = Slot();
  ++handed_out_;
  space_.notify_all();
  return true;
}

Status PrefetchSource::rewind() {
  stop();
  for (Slot& one : window_) one = Slot();
  taken_ = handed_out_ = 0;
  stopping_ = false;
  return {};
}

}  // namespace ingot
