// Every operator new of the program is counted, while a test says so. For one source file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace ingot {
inline std::atomic<bool> counting_new{false};
inline std::atomic<long> counted_new{0};

inline void* allocate_counted(std::size_t bytes, std::size_t alignment) noexcept {
  if (counting_new.load(std::memory_order_relaxed)) counted_new.fetch_add(1, std::memory_order_relaxed);
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
inline void* allocate_counted_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* memory = allocate_counted(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace ingot

void* operator new(std::size_t n) { return ingot::allocate_counted_or_throw(n, 1); }
void* operator new[](std::size_t n) { return ingot::allocate_counted_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return ingot::allocate_counted_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return ingot::allocate_counted_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return ingot::allocate_counted(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return ingot::allocate_counted(n, 1); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
