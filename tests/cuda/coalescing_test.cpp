// Warps read and write neighbours: sectors of global memory that kernels touch, held to a multiple of what their operands fill.
#include "conformance/tactic_check.h"
#include "cuda/stand_in.h"
#include "runtime/device_backend.h"

namespace ingot {
namespace {

struct Budget {
  const char* tactic;
  const char* problem;
  double most;          // sectors, of those that all operands fill once; what is read several times counts each time
  double instructions;  // of a warp, for each 32 elements of all operands
};
constexpr Budget kBudgets[] = {
    {"cuda.attention.flash.f16", "Attention scale=1 f32 1x2x128x64 f32:1x2x128x64 f32:1x2x128x64 near", 3.2, 36},
    {"cuda.resize.nearest", "Resize f32 1x32x8x8 none f32:[1,1,2,2] nhwc", 1.7, 140},
    {"cuda.resize.between", "Resize mode=1 f32 1x32x8x8 none f32:[1,1,2,2] nhwc", 3.8, 390},
    {"cuda.resize.between", "Resize mode=2 f32 1x4x32x32 none f32:[1,1,2,2] linear", 9.2, 850},
    {"cuda.recurrent.steps.f32",
     "Recurrent cell=lstm activations=[2,1,1] alphas=[0.0,0.0,0.0] betas=[0.0,0.0,0.0] f32 4x4x32 f32:1x256x32c f32:1x256x64c f32:1x512c parts3 near", 7.8, 560},
    {"cuda.group_norm.f32", "InstanceNorm f32 2x64x16x16 f32:64c f32:64c nhwc", 2.1, 20},
    {"cuda.group_norm.f32", "InstanceNorm groups=8 f32 2x64x16x16 f32:64c f32:64c nhwc", 2.1, 25},
    {"cuda.group_norm.f32", "InstanceNorm f32 2x64x16x16 f32:64c f32:64c linear", 2.4, 80},
    {"cuda.softmax.f32", "Softmax axis=1 f32 2x21x16x16 linear", 2.1, 46},
    {"cuda.softmax.f32", "Softmax axis=1 f32 2x64x16x16 nhwc", 2.1, 90},
    {"cuda.reduce", "Reduce function=mean f32 2x64x16x16 s64:[2,3] nhwc", 1.05, 55},
    {"cuda.reduce", "Reduce function=sum f32 2x64x16x16 s64:[1] linear", 1.05, 66},
    {"cuda.reduce", "Reduce function=sum f32 2x64x16x16 s64:[2,3] linear", 1.1, 112},
    {"cuda.arg_reduce", "ArgReduce axis=1 f32 2x21x16x16", 1.05, 33},
    {"cuda.arg_reduce", "ArgReduce axis=-1 f32 16x1000", 1.05, 106},
    {"cuda.top_k", "TopK axis=-1 f32 16x1000 s64:[5] parts2", 5.3, 540},
    {"cuda.cumulate", "Cumulate f32 8x256 s64:[1]", 1.05, 400},
    {"cuda.cumulate", "Cumulate f32 8x64x64 s64:[1]", 1.05, 13},
    {"cuda.where", "Where bool 1x1x64x64 f32:1x8x64x64 f32:scalar", 1.3, 48},
    {"cuda.pad", "Pad mode=1 f32 1x8x30x30 s64:[0,0,1,1,0,0,1,1]", 1.2, 106},
    {"cuda.gather_nd", "GatherND f32 100x64 s64:200x1", 1.55, 67},
    {"cuda.scatter_nd", "ScatterND f32 100x64 s64:50x1 f32:50x64", 0.5, 21},
    {"cuda.binary.s8", "mul u8 1x64x16x16 u8:1x64x1x1 nhwc", 1.6, 58},
};

TEST(CudaCoalescing, SectorsAndInstructionsStayWithinTheirBudget) {
  if (!cuda::on_stand_in()) GTEST_SKIP() << "needs the stand-in's counters";
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  ASSERT_TRUE(device.ok()) << device.status().message();
  device->allow_f16 = true;
  for (const Budget& budget : kBudgets) {
    SCOPED_TRACE(std::string(budget.tactic) + ": " + budget.problem);
    const auto problem = parse_problem(budget.problem);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const Tactic* tactic = TacticRegistry::builtin().find(budget.tactic);
    ASSERT_TRUE(tactic && tactic->supports(problem->problem(*device)));
    const auto run = run_reference(*problem, max_shapes(*problem));
    ASSERT_TRUE(run.ok()) << run.status().message();
    auto loaded = cuda::GpuTactic::load(*problem, *tactic, *device);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const FakeCudaStats before = cuda::stand_in_stats();
    ASSERT_TRUE(loaded->run(*run).ok());
    const FakeCudaStats after = cuda::stand_in_stats();
    double sectors = 0, elements = 0;
    const auto add = [&](const std::vector<std::byte>& bytes, DataType type) {
      sectors += static_cast<double>(bytes.size()) / 32;
      elements += static_cast<double>(bytes.size() / element_bytes(type));
    };
    for (size_t i = 0; i < run->inputs.size(); ++i)
      if (problem->inputs[i].present) add(run->inputs[i], problem->inputs[i].type.dtype);
    for (size_t i = 0; i < run->outputs.size(); ++i) add(run->outputs[i], problem->outputs[i].type.dtype);
    const double of_sectors = static_cast<double>(after.global_sectors - before.global_sectors) / sectors;
    const double of_instructions = static_cast<double>(after.warp_instructions - before.warp_instructions) / (elements / 32);
    EXPECT_LE(of_sectors, budget.most);
    EXPECT_LE(of_instructions, budget.instructions);
    if (kind_of(problem->params) == OpKind::kAttention) EXPECT_EQ(after.bank_conflicts, before.bank_conflicts);
  }
}

}  // namespace
}  // namespace ingot
