// Placement of blocks in memory: none overlap while both are alive, little is wasted, and the work follows what is alive at once.
#include "builder/plan/plan_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ingot {
namespace {

std::vector<Lifetime> chain(uint32_t steps, uint32_t reach) {
  std::mt19937_64 random(steps);
  std::vector<Lifetime> blocks;
  for (uint32_t i = 0; i < steps; ++i) {
    const auto end = std::min<uint32_t>(steps - 1, i + 1 + static_cast<uint32_t>(random() % reach));
    blocks.push_back({1 + random() % 5000, i, end, 0});
  }
  return blocks;
}

void expect_disjoint(const std::vector<Lifetime>& blocks, uint64_t total) {
  for (size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(blocks[a].offset % 64, 0u);
    EXPECT_LE(blocks[a].offset + blocks[a].bytes, total);
    for (size_t b = 0; b < a; ++b) {
      if (blocks[a].last < blocks[b].first || blocks[b].last < blocks[a].first) continue;
      const bool apart = blocks[a].offset + blocks[a].bytes <= blocks[b].offset || blocks[b].offset + blocks[b].bytes <= blocks[a].offset;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
}

TEST(PlanMemory, BlocksThatLiveTogetherLieApart) {
  for (uint32_t reach : {1u, 3u, 30u, 400u}) {
    std::vector<Lifetime> blocks = chain(300, reach);
    for (uint32_t i = 0; i < 300; i += 50) blocks.push_back({100 + i, 0, 299, 0});  // alive throughout
    blocks.push_back({0, 7, 9, 0});
    const uint64_t total = plan_memory(blocks);
    expect_disjoint(blocks, total);
    EXPECT_GE(total, peak_live_bytes(blocks));
    EXPECT_LE(static_cast<double>(total), 1.4 * static_cast<double>(peak_live_bytes(blocks))) << reach;
  }
}

TEST(PlanMemory, OneStepAndNone) {
  std::vector<Lifetime> none, one = {{64, 0, 0, 0}, {64, 0, 0, 0}};
  EXPECT_EQ(plan_memory(none), 0u);
  EXPECT_EQ(plan_memory(one), 128u);
  EXPECT_NE(one[0].offset, one[1].offset);
}

TEST(PlanMemory, WorkGrowsWithTheBlocks) {
  const auto pairs_of = [](uint32_t steps) {
    std::vector<Lifetime> blocks = chain(steps, 4);
    for (uint32_t i = 0; i < steps / 10; ++i) blocks.push_back({8, 0, steps - 1, 0});  // shape arithmetic
    uint64_t pairs = 0;
    plan_memory(blocks, &pairs);
    return pairs;
  };
  EXPECT_LE(pairs_of(8000), 5 * pairs_of(2000));
}

}  // namespace
}  // namespace ingot
