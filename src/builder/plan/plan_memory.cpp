// Best fit by decreasing size. Blocks are few (thousands at most), so the quadratic scan is cheap.
#include "builder/plan/plan_memory.h"

#include <algorithm>
#include <numeric>

namespace ingot {
namespace {

constexpr uint64_t kAlign = 64;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

uint64_t plan_memory(std::span<Lifetime> blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  std::vector<size_t> by_offset;  // placed blocks, lowest offset first
  uint64_t total = 0;
  for (size_t index : order) {
    Lifetime& block = blocks[index];
    const uint64_t need = aligned(block.bytes);
    uint64_t cursor = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (size_t other_index : by_offset) {
      const Lifetime& other = blocks[other_index];
      if (other.last < block.first || block.last < other.first) continue;
      if (other.offset >= cursor + need && other.offset - cursor < best_gap) {
        best = cursor;
        best_gap = other.offset - cursor;
      }
      cursor = std::max(cursor, other.offset + aligned(other.bytes));
    }
    block.offset = best == UINT64_MAX ? cursor : best;
    total = std::max(total, block.offset + need);
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), index,
                                      [&](size_t a, size_t b) { return blocks[a].offset < blocks[b].offset; }), index);
  }
  return total;
}

uint64_t peak_live_bytes(std::span<const Lifetime> blocks) {
  uint32_t last = 0;
  for (const Lifetime& block : blocks) last = std::max(last, block.last);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const Lifetime& block : blocks) {
    change[block.first] += static_cast<int64_t>(aligned(block.bytes));
    change[block.last + 1] -= static_cast<int64_t>(aligned(block.bytes));
  }
  int64_t live = 0, peak = 0;
  for (int64_t delta : change) peak = std::max(peak, live += delta);
  return static_cast<uint64_t>(peak);
}

}  // namespace ingot
