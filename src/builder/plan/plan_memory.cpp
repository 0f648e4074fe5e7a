// Best fit by decreasing size. Blocks that overlap in time are found by a tree over the steps, so that the work follows their
// number and not that of all blocks; those alive throughout share memory with none and lie below the others.
#include "builder/plan/plan_memory.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace ingot {
namespace {

constexpr uint64_t kAlign = 64;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Which blocks are alive in a range of steps. A block stands in the O(log) ranges that make up its lifetime, and is counted in
// those above.
class LifetimeTree {
 public:
  explicit LifetimeTree(uint32_t steps) : leaves_(std::bit_ceil(std::max(steps, 1u))), held_(2 * leaves_), below_(2 * leaves_, 0) {}

  void add(const Lifetime& life, size_t block) { add(1, 0, leaves_, life, block); }
  // Blocks whose lifetimes meet this one, some of them more than once.
  void find(const Lifetime& life, std::vector<size_t>& found) const { find(1, 0, leaves_, life, found); }

 private:
  void add(size_t node, uint32_t begin, uint32_t end, const Lifetime& life, size_t block) {
    if (life.last < begin || end <= life.first) return;
    ++below_[node];
    if (life.first <= begin && end - 1 <= life.last) {
      held_[node].push_back(block);
      return;
    }
    const uint32_t middle = begin + (end - begin) / 2;
    add(2 * node, begin, middle, life, block);
    add(2 * node + 1, middle, end, life, block);
  }
  void find(size_t node, uint32_t begin, uint32_t end, const Lifetime& life, std::vector<size_t>& found) const {
    if (below_[node] == 0 || life.last < begin || end <= life.first) return;
    found.insert(found.end(), held_[node].begin(), held_[node].end());
    if (end - begin == 1) return;
    const uint32_t middle = begin + (end - begin) / 2;
    find(2 * node, begin, middle, life, found);
    find(2 * node + 1, middle, end, life, found);
  }

  uint32_t leaves_;
  std::vector<std::vector<size_t>> held_;
  std::vector<uint32_t> below_;  // blocks held here or further down
};

}  // namespace

uint64_t plan_memory(std::span<Lifetime> blocks, uint64_t* pairs) {
  uint32_t steps = 0;
  for (const Lifetime& block : blocks) steps = std::max(steps, block.last + 1);
  std::vector<size_t> order;
  uint64_t base = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].first > 0 || blocks[i].last + 1 < steps) {
      order.push_back(i);
      continue;
    }
    blocks[i].offset = base;
    base += aligned(blocks[i].bytes);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  LifetimeTree placed(steps);
  std::vector<size_t> others;
  uint64_t total = base, looked_at = 0;
  for (size_t index : order) {
    Lifetime& block = blocks[index];
    const uint64_t need = aligned(block.bytes);
    others.clear();
    placed.find(block, others);
    looked_at += others.size();
    std::sort(others.begin(), others.end(), [&](size_t a, size_t b) {
      return blocks[a].offset != blocks[b].offset ? blocks[a].offset < blocks[b].offset : a < b;
    });
    uint64_t cursor = base, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (size_t other_index : others) {
      const Lifetime& other = blocks[other_index];
      if (other.offset >= cursor + need && other.offset - cursor < best_gap) {
        best = cursor;
        best_gap = other.offset - cursor;
      }
      cursor = std::max(cursor, other.offset + aligned(other.bytes));
    }
    block.offset = best == UINT64_MAX ? cursor : best;
    total = std::max(total, block.offset + need);
    placed.add(block, index);
  }
  if (pairs) *pairs = looked_at;
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
