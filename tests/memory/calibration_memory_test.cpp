// Calibration streams: 10,000 images need no more memory than 100. Counts live heap bytes.
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "e2e/digits_fixture.h"

namespace {

std::atomic<long> live_bytes{0}, peak_bytes{0};

void* counted(std::size_t size, std::size_t alignment) {
  void* memory = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment) : std::malloc(size);
  if (!memory) throw std::bad_alloc();
  const long now = live_bytes += static_cast<long>(malloc_usable_size(memory));
  long peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {}
  return memory;
}
void uncounted(void* memory) noexcept {
  if (!memory) return;
  live_bytes -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted(size, static_cast<std::size_t>(alignment)); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }

namespace ingot {
namespace {

// One image after the other, with changing contrast, as often as asked.
class RepeatedImages final : public SampleSource {
 public:
  explicit RepeatedImages(int64_t count) : rows_(digits::images(16)), count_(count) {}
  Expected<bool> next(std::vector<NamedTensor>& inputs) override {
    if (next_ == count_) return false;
    inputs.resize(1);
    inputs[0] = {"image", DataType::kF32, Shape{1, 1, 20, 20}, {}};
    std::vector<float> row = rows_[static_cast<size_t>(next_) % rows_.size()];
    for (float& x : row) x *= 0.5f + static_cast<float>(next_) / static_cast<float>(count_);
    inputs[0].data.resize(row.size() * sizeof(float));
    std::memcpy(inputs[0].data.data(), row.data(), inputs[0].data.size());
    ++next_;
    return true;
  }
  Status rewind() override {
    next_ = 0;
    return {};
  }

 private:
  std::vector<std::vector<float>> rows_;
  int64_t count_, next_ = 0;
};

long peak_of_calibration(int64_t images) {
  RepeatedImages source(images);
  BuildOptions options;
  options.calibration = &source;
  options.profiles = {{"image", Shape{1, 1, 20, 20}, Shape{1, 1, 20, 20}, Shape{1, 1, 20, 20}}};
  const long before = live_bytes;
  peak_bytes = before;
  auto table = calibrate(digits::model(), options);
  EXPECT_TRUE(table.ok()) << table.status().message();
  EXPECT_TRUE(table.ok() && table->samples == images);
  return peak_bytes - before;
}

TEST(CalibrationMemory, TenThousandImagesNeedNoMoreThanAHundred) {
  peak_of_calibration(10);  // whatever is made once is made now
  const long few = peak_of_calibration(100), many = peak_of_calibration(10000);
  EXPECT_GT(few, 0);
  // Choosing ranges sorts as many bins as were hit; that is bounded, and the only difference.
  EXPECT_LE(many, few + few / 20) << "100 images: " << few << " bytes, 10,000 images: " << many;
}

}  // namespace
}  // namespace ingot
