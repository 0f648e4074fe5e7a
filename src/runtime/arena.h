// One 64-byte aligned allocation, handed out by offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "ingot/status.h"

namespace ingot {

inline constexpr uint64_t kArenaAlignment = 64;
// More than any plan may ask for: keeps sums of offsets and sizes far from overflow.
inline constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 36;

constexpr uint64_t align_up(uint64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

class Arena {
 public:
  Arena() = default;
  // Not cleared. Fails with kOutOfMemory.
  static Expected<Arena> allocate(uint64_t bytes);

  std::byte* at(uint64_t offset) const { return memory_.get() + offset; }
  uint64_t bytes() const { return bytes_; }
  bool empty() const { return memory_ == nullptr; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{kArenaAlignment}); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  uint64_t bytes_ = 0;
};

}  // namespace ingot
