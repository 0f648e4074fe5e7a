// What the corpus does not say of the Tensor Core layers: no bank conflict in a main loop, the same results of a sum in slices
// wherever a sample stands, and the order in which the model of gpu_model.h puts their tactics where it is evident.
#include "builder/tune/cost_model.h"
#include "conformance/tactic_check.h"
#include "cuda/stand_in.h"
#include "runtime/cuda/gpu_model.h"
#include "runtime/device_backend.h"

namespace ingot {
namespace {

const Tactic* tactic(std::string_view name) {
  const Tactic* found = TacticRegistry::builtin().find(std::string(name));
  EXPECT_NE(found, nullptr) << name;
  return found;
}

DeviceInfo permissive(const std::string& target) {
  DeviceInfo device = *device_of_target(target);
  device.allow_f16 = device.allow_bf16 = true;
  return device;
}

// Bank conflicts of one run.
uint64_t conflicts(const std::string& line, const Tactic& of) {
  auto problem = parse_problem(line);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  EXPECT_TRUE(device.ok());
  device->allow_f16 = device->allow_bf16 = true;
  if (!of.supports(problem->problem(*device))) return ~uint64_t{0};
  auto run = run_reference(*problem, max_shapes(*problem));
  EXPECT_TRUE(run.ok());
  auto loaded = cuda::GpuTactic::load(*problem, of, *device);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  const uint64_t before = cuda::stand_in_stats().bank_conflicts;
  EXPECT_TRUE(loaded->run(*run).ok());
  return cuda::stand_in_stats().bank_conflicts - before;
}

// More products cost no conflict more: what there is of them belongs to the epilogue.
TEST(Igemm, MainLoopsHaveNoBankConflicts) {
  if (!cuda::on_stand_in()) GTEST_SKIP() << "needs the stand-in's counters";
  int checked = 0;
  for (const Tactic* each : TacticRegistry::builtin().all(Backend::kCuda)) {
    const std::string name(each->info().name);
    if (name.find(".igemm_") == std::string::npos) continue;
    const bool bytes = name.find(".s8") != std::string::npos;
    const std::string type = bytes ? "u8 " : "f32 ";
    std::vector<std::pair<std::string, std::string>> pairs;
    if (name.starts_with("cuda.matmul")) {
      pairs = {{"matmul " + type + "130x512 w512x130", "matmul " + type + "130x1024 w1024x130"}};
    } else {
      pairs = {{"conv " + type + "1x64x10x10 w70x64x3x3 pad1", "conv " + type + "1x128x10x10 w70x128x3x3 pad1"}};
      if (bytes) pairs.push_back({"conv u8 1x24x10x10 w70x24x5x5 pad1", "conv u8 1x72x10x10 w70x72x5x5 pad1"});
    }
    for (const auto& [less, more] : pairs) {
      const uint64_t few = conflicts(less, *each), many = conflicts(more, *each);
      if (few == ~uint64_t{0} || many == ~uint64_t{0}) continue;  // a kernel for other channels
      // Slices differ in number between the two, and each has an epilogue.
      if (name.find("_split") == std::string::npos) {
        EXPECT_EQ(few, many) << name << ": " << less << " against " << more;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 20);
}

// Sums of floats in slices are added in one order, and the number of slices belongs to the problem, not to the run.
TEST(Igemm, SlicesDoNotDependOnTheBatch) {
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  ASSERT_TRUE(device.ok());
  device->allow_f16 = device->allow_bf16 = true;
  for (const char* name : {"cuda.matmul.igemm_64x64_split.f16", "cuda.matmul.igemm_128x128_split.bf16"}) {
    SCOPED_TRACE(name);
    auto problem = parse_problem("matmul f32 ?7x1030 w1030x33 bias relu");
    ASSERT_TRUE(problem.ok());
    auto loaded = cuda::GpuTactic::load(*problem, *tactic(name), *device);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    std::vector<Shape> shapes = max_shapes(*problem);
    auto all = run_reference(*problem, shapes);
    ASSERT_TRUE(all.ok());
    const size_t row = all->inputs[0].size() / 7, result = all->outputs[0].size() / 7;
    const auto whole = loaded->run(*all);
    ASSERT_TRUE(whole.ok());
    for (int64_t i = 0; i < 7; ++i) {
      shapes[0][0] = 1;
      auto one = run_reference(*problem, shapes);
      ASSERT_TRUE(one.ok());
      std::copy_n(all->inputs[0].begin() + static_cast<ptrdiff_t>(row) * i, row, one->inputs[0].begin());
      const auto alone = loaded->run(*one);
      ASSERT_TRUE(alone.ok());
      EXPECT_TRUE(std::equal(alone->at(0).begin(), alone->at(0).end(), whole->at(0).begin() + static_cast<ptrdiff_t>(result) * i)) << "row " << i;
    }
  }
}

struct Order {
  const char* target;
  const char* problem;
  std::vector<const char*> first;  // one of these is estimated to be the fastest
};

TEST(Igemm, EstimatesPutEvidentCasesInOrder) {
  const Order table[] = {
      // Large: many tiles even of the largest kind, and bound by products.
      {"cuda-sm_80", "matmul u8 8192x4096 w4096x4096 bias", {"cuda.matmul.igemm_128x256.s8", "cuda.matmul.igemm_128x128.s8"}},
      {"cuda-sm_90", "matmul u8 8192x4096 w4096x4096 bias", {"cuda.matmul.igemm_128x256.s8", "cuda.matmul.igemm_128x128.s8"}},
      {"cuda-sm_90", "matmul f32 8192x4096 w4096x4096 bias", {"cuda.matmul.igemm_128x128.f16", "cuda.matmul.igemm_128x128.bf16"}},
      {"cuda-sm_80", "conv u8 64x256x56x56 w256x256x3x3 pad1", {"cuda.conv.igemm_128x256.s8.channels_last", "cuda.conv.igemm_128x128.s8.channels_last"}},
      // One row, or few, of many products: blocks enough only by slices.
      {"cuda-sm_80", "matmul u8 1x4096 w4096x1000 bias", {"cuda.matmul.igemm_64x64_split.s8"}},
      {"cuda-sm_90", "matmul f32 16x8192 w8192x512 bias", {"cuda.matmul.igemm_64x64_split.f16"}},
      {"cuda-sm_89", "conv u8 1x512x7x7 w512x512x3x3 pad1", {"cuda.conv.igemm_64x64_split.s8.channels_last"}},
      // Few tiles and few products: the small tile fills more multiprocessors.
      {"cuda-sm_80", "conv u8 1x64x28x28 w64x64x1x1", {"cuda.conv.igemm_64x64.s8.channels_last", "cuda.conv.igemm_128x32.s8.channels_last"}},
      {"cuda-sm_80", "matmul f32 128x256 w256x384", {"cuda.matmul.igemm_64x64.f16", "cuda.matmul.igemm_128x32.f16"}},
      // Few outputs: a tile of 64 would be half empty.
      {"cuda-sm_80", "conv u8 32x64x112x112 w24x64x3x3 pad1", {"cuda.conv.igemm_128x32.s8.channels_last"}},
      {"cuda-sm_86", "conv f32 32x64x112x112 w32x64x3x3 pad1", {"cuda.conv.igemm_128x32.f16.channels_last"}},
      // Tensor cores against plain cores: where products are many, and where a first launch for halves would cost more than it saves.
      {"cuda-sm_80", "conv f32 8x64x56x56 w64x64x3x3 pad1", {"cuda.conv.igemm_128x64.f16.channels_last", "cuda.conv.igemm_64x64.f16.channels_last"}},
      {"cuda-sm_80", "conv f32 1x1x14x14 w8x1x3x3 pad1", {"cuda.conv.simt.f32"}},
      // 64 outputs of a large picture: no tile of 128 outputs.
      {"cuda-sm_80", "conv u8 64x64x56x56 w64x64x3x3 pad1",
       {"cuda.conv.igemm_128x64.s8.channels_last", "cuda.conv.igemm_64x64.s8.channels_last", "cuda.conv.igemm_128x32.s8.channels_last"}},
  };
  for (const Order& row : table) {
    SCOPED_TRACE(std::string(row.target) + " " + row.problem);
    auto problem = parse_problem(row.problem);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const DeviceInfo device = permissive(row.target);
    std::vector<Shape> inputs = max_shapes(*problem);
    auto types = output_types(*problem, inputs);
    ASSERT_TRUE(types.ok());
    const std::vector<Shape> outputs = {types->at(0).shape};
    std::vector<std::pair<double, std::string_view>> order;
    for (const Tactic* each : TacticRegistry::builtin().for_op(kind_of(problem->params), Backend::kCuda))
      if (each->supports(problem->problem(device)))
        if (const double us = each->estimate(problem->problem(device), inputs, outputs); us >= 0) order.push_back({us, each->info().name});
    ASSERT_GT(order.size(), 2u);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [us, name] : order) text += std::string(name) + " " + std::to_string(us) + "\n";
    EXPECT_TRUE(std::count(row.first.begin(), row.first.end(), order[0].second)) << text;
    EXPECT_LT(order[0].first, order.back().first) << "all tie";
  }
}

// Tactics without a kernel for the device's multiprocessors: fewer of them cost more, for the same work.
TEST(Igemm, EstimatesKnowTheDevice) {
  DeviceInfo whole = permissive("cuda-sm_80"), part = whole;
  part.multiprocessors = 28;
  auto problem = parse_problem("matmul u8 4096x1024 w1024x1024 bias");
  ASSERT_TRUE(problem.ok());
  const std::vector<Shape> inputs = max_shapes(*problem), outputs = {Shape{4096, 1024}};
  const Tactic& of = *tactic("cuda.matmul.igemm_128x128.s8");
  const double all = of.estimate(problem->problem(whole), inputs, outputs), some = of.estimate(problem->problem(part), inputs, outputs);
  EXPECT_GT(all, 0);
  EXPECT_GT(some, 2 * all);
}

// With a device at hand tuning times kernels there, once for each problem. (The stand-in's clock counts operations.)
TEST(Igemm, TuningTimesKernelsOnTheDevice) {
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  ASSERT_TRUE(device.ok());
  EXPECT_NE(device->keeps_time, cuda::on_stand_in());
  auto problem = parse_problem("matmul u8 ?7x64 w64x48 bias relu residual");
  ASSERT_TRUE(problem.ok());
  OwnedProblem owned{problem->params, problem->inputs, problem->outputs, max_shapes(*problem), {Shape{7, 48}}};
  TimingCache cache;
  const auto costs = make_measured_cost(*device, cache, 0);
  const Tactic& of = *tactic("cuda.matmul.igemm_64x64.s8");
  const auto first = costs->microseconds(owned, of);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_GT(*first, 0);
  EXPECT_TRUE(cache.changed());
  const uint64_t launches = cuda::on_stand_in() ? cuda::stand_in_stats().launches : 0;
  const auto again = costs->microseconds(owned, of);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *first);
  if (cuda::on_stand_in()) {
    EXPECT_EQ(cuda::stand_in_stats().launches, launches);
  }
}

// Weights that are infinite, or become so, would turn the zeros of padding into NaN.
TEST(Igemm, RefusesWeightsThatBecomeInfinite) {
  for (const auto& [value, f16, bf16] : {std::tuple{70000.0f, false, true}, {3.4e38f, false, false}, {INFINITY, false, false}, {65504.0f, true, true}}) {
    SCOPED_TRACE(value);
    auto problem = parse_problem("conv f32 1x16x4x4 w8x16x3x3 pad1");
    ASSERT_TRUE(problem.ok());
    std::memcpy(problem->constants[1].data(), &value, sizeof value);
    problem->inputs[1].constant = problem->constants[1];
    const DeviceInfo device = permissive("cuda-sm_80");
    EXPECT_EQ(static_cast<bool>(tactic("cuda.conv.igemm_64x64.f16.channels_last")->supports(problem->problem(device))), f16);
    EXPECT_EQ(static_cast<bool>(tactic("cuda.conv.igemm_64x64.bf16.channels_last")->supports(problem->problem(device))), bf16);
    const Support simt = tactic("cuda.conv.simt.f32")->supports(problem->problem(device));
    EXPECT_EQ(static_cast<bool>(simt), std::isfinite(value)) << (simt.refusal ? simt.refusal : "");
  }
}

}  // namespace
}  // namespace ingot
