// Places tensors that live at different times into the same memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot {

// A block of memory alive from step `first` to step `last`, both included.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0, last = 0;
  uint64_t offset = 0;  // answered by plan_memory
};

// Gives every block an offset, 64-byte aligned, so that no two overlap while both are alive: largest first, into the
// smallest gap that fits. Returns the bytes in all. `pairs`: how many pairs of blocks alive at once it looked at, for tests of
// growth.
uint64_t plan_memory(std::span<Lifetime> blocks, uint64_t* pairs = nullptr);

// The most bytes alive at any one step: no plan can need less.
uint64_t peak_live_bytes(std::span<const Lifetime> blocks);

}  // namespace ingot
