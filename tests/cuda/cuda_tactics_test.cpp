// Every CUDA tactic × every problem it supports, over the driver stand-in and the PTX interpreter (or on a GPU, scripts/gpu-check), against the reference: the same
// bytes where arithmetic is on integers, within tolerance.h for float. Runs of many products are left to other problems of the tactic.
#include "builder/kernel_compiler.h"
#include "conformance/tactic_check.h"
#include "cuda/stand_in.h"
#include "runtime/device_backend.h"

#include <fstream>
#include <map>
#include <set>

namespace ingot {
namespace {

constexpr double kMostProducts = 3e7;  // of one interpreted run: some 10⁸ take a second; a GPU runs them all

double products_of(const TestProblem& problem, const ReferenceRun& run) {
  double outputs = 0, each = 1;
  for (const Shape& shape : run.output_shapes) outputs += static_cast<double>(shape.elements());
  if (kind_of(problem.params) == OpKind::kConv)
    for (int d = 1; d < run.input_shapes[1].rank; ++d) each *= static_cast<double>(run.input_shapes[1][d]);
  if (kind_of(problem.params) == OpKind::kMatMul && run.input_shapes[0].rank > 0)
    each = static_cast<double>(run.input_shapes[0][run.input_shapes[0].rank - 1]);
  return outputs * each;
}

// A problem with the tactics that support it.
struct Matched {
  const TestProblem* problem;
  std::vector<const Tactic*> tactics;
};

std::vector<Matched> matches(const std::vector<TestProblem>& problems, const DeviceInfo& device) {
  std::vector<Matched> all;
  for (const TestProblem& problem : problems) {
    Matched matched{&problem, {}};
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params), Backend::kCuda))
      if (tactic->supports(problem.problem(device))) matched.tactics.push_back(tactic);
    if (!matched.tactics.empty()) all.push_back(std::move(matched));
  }
  return all;
}

TEST(CudaTactics, EveryOneGivesTheReferencesResults) {
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  ASSERT_TRUE(device.ok()) << device.status().message();
  device->allow_f16 = device->allow_bf16 = true;
#ifdef INGOT_CUDA_KERNELS_RUN  // by nvcc; generated kernels are the same beside other compilers' built-in ones
  const Expected<const KernelCompiler*> compiler = kernel_compiler();
#else
  const Expected<const KernelCompiler*> compiler = Status(StatusCode::kNotFound, "tested elsewhere");
#endif
  device->generated = compiler.ok();
  device->compiler = compiler.ok() ? *compiler : nullptr;
  std::set<std::string> reached;
  int comparisons = 0, left_out = 0;
  const std::vector<TestProblem> problems = all_problems();
  for (const auto& [matched, tactics] : matches(problems, *device)) {
    const TestProblem& problem = *matched;
    SCOPED_TRACE(problem.text + (problem.name.empty() ? "" : " # " + problem.name));
    std::vector<std::vector<Shape>> shapes = {max_shapes(problem)};
    if (const auto small = small_shapes(problem); !std::equal(small.begin(), small.end(), shapes[0].begin())) shapes.push_back(small);
    std::vector<ReferenceRun> runs;
    for (std::vector<Shape>& inputs : shapes) {
      auto run = run_reference(problem, inputs);
      ASSERT_TRUE(run.ok()) << run.status().message();
      if (!cuda::on_stand_in() || products_of(problem, *run) <= kMostProducts) runs.push_back(std::move(*run));
      else ++left_out;
    }
    for (const Tactic* tactic : tactics) {
      SCOPED_TRACE(std::string(tactic->info().name));
      // Scores stand in an exponent, so rounding q and k may move a weight by any factor: the reference is given them rounded.
      const bool rounds = kind_of(problem.params) == OpKind::kAttention && tactic->info().arithmetic == DataType::kF16;
      auto loaded = cuda::GpuTactic::load(problem, *tactic, *device);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      for (const ReferenceRun& given : runs) {
        std::optional<ReferenceRun> rounded;
        if (rounds) {
          auto again = run_reference(problem, given.input_shapes, 3);
          ASSERT_TRUE(again.ok()) << again.status().message();
          rounded = std::move(*again);
        }
        const ReferenceRun& run = rounded ? *rounded : given;
        const auto results = loaded->run(run);
        ASSERT_TRUE(results.ok()) << results.status().message();
        EXPECT_EQ(compare(problem, run, *results, tactic->info().arithmetic), "");
        reached.insert(std::string(tactic->info().name));
        ++comparisons;
      }
    }
  }
  std::cout << comparisons << " comparisons of " << reached.size() << " tactics; " << left_out << " large runs left out\n";
  for (const Tactic* tactic : TacticRegistry::builtin().all(Backend::kCuda))
    EXPECT_TRUE(reached.count(std::string(tactic->info().name)) || (!compiler.ok() && tactic->info().name.ends_with(".generated"))) << tactic->info().name << " is reached by no problem";
#ifdef INGOT_CUDA_KERNELS_RUN  // for kernel_budget.py
  if (cuda::on_stand_in()) std::ofstream(INGOT_CUDA_KERNELS_RUN) << cuda::stand_in_function<const char*()>("fake_cuda_kernels")();
#endif
}

}  // namespace
}  // namespace ingot
