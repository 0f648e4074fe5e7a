// Which layers exact Winograd refuses: those whose sums it cannot prove to stay in range, which other tactics take.
#include <gtest/gtest.h>

#include "problem_text.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

std::string refusal(const char* text) {
  const auto problem = parse_problem(text);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  const DeviceInfo device{"cpu", "test", {}, 1};
  for (const Tactic* tactic : TacticRegistry::builtin().for_op(OpKind::kConv)) {
    if (tactic->info().name != "cpu.conv.winograd.s8.channels_last") continue;
    const Support support = tactic->supports(problem->problem(device));
    return support ? "" : support.refusal;
  }
  return "no such tactic";
}

TEST(Winograd, TakesWhatItCanProve) {
  EXPECT_EQ(refusal("conv u8 1x512x4x5 w16x512x3x3 pad1 bias"), "");
  EXPECT_EQ(refusal("conv u8 1x100x4x5 w16x100x3x3 pad1 bias heavy"), "");
  EXPECT_EQ(refusal("conv u8 1x900x4x5 w16x900x3x3 pad1 bias heavy"), "a sum could reach 2^25, beyond which the transform is not exact");
  EXPECT_EQ(refusal("conv u8 1x64x4x5 w16x64x3x3 stride2 pad1"), "stride or dilation is not 1");
  EXPECT_EQ(refusal("conv u8 1x64x4x5 w16x64x1x3"), "kernel is not 3x3");
  EXPECT_EQ(refusal("conv u8 1x3x9x9 w16x3x3x3"), "fewer than 8 input channels: transforms would cost more than they save");
}

}  // namespace
}  // namespace ingot
