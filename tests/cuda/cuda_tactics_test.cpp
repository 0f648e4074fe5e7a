// Every CUDA tactic × every problem it supports, over the driver stand-in and the PTX interpreter (or on a GPU, scripts/gpu-check), against the reference: the same
// bytes where arithmetic is on integers, within tolerance.h for float. Runs of many products are left to other problems of the tactic.
#include "conformance/tactic_check.h"
#include "cuda/gpu_tactic.h"
#include "runtime/device_backend.h"

#include <map>
#include <set>

namespace ingot {
namespace {

constexpr double kMostProducts = 3e6;  // of one interpreted run: some 10⁸ take a second; a GPU runs them all

double products_of(const TestProblem& problem, const ReferenceRun& run) {
  double outputs = 0, each = 1;
  for (const Shape& shape : run.output_shapes) outputs += static_cast<double>(shape.elements());
  if (kind_of(problem.params) == OpKind::kConv)
    for (int d = 1; d < run.input_shapes[1].rank; ++d) each *= static_cast<double>(run.input_shapes[1][d]);
  if (kind_of(problem.params) == OpKind::kMatMul && run.input_shapes[0].rank > 0)
    each = static_cast<double>(run.input_shapes[0][run.input_shapes[0].rank - 1]);
  return outputs * each;
}

TEST(CudaTactics, EveryOneGivesTheReferencesResults) {
  Expected<DeviceInfo> device = find_device(Backend::kCuda);
  ASSERT_TRUE(device.ok()) << device.status().message();
  device->allow_f16 = device->allow_bf16 = true;
  std::set<std::string> reached;
  int comparisons = 0, left_out = 0;
  for (const TestProblem& problem : all_problems()) {
    SCOPED_TRACE(problem.text + (problem.name.empty() ? "" : " # " + problem.name));
    std::vector<const Tactic*> able;
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params), Backend::kCuda))
      if (tactic->supports(problem.problem(*device))) able.push_back(tactic);
    if (able.empty()) continue;
    std::vector<std::vector<Shape>> shapes = {max_shapes(problem)};
    if (const auto small = small_shapes(problem); !std::equal(small.begin(), small.end(), shapes[0].begin())) shapes.push_back(small);
    std::vector<ReferenceRun> runs;
    for (std::vector<Shape>& inputs : shapes) {
      auto run = run_reference(problem, inputs);
      ASSERT_TRUE(run.ok()) << run.status().message();
      if (!cuda::on_stand_in() || products_of(problem, *run) <= kMostProducts) runs.push_back(std::move(*run));
      else ++left_out;
    }
    for (const Tactic* tactic : able) {
      SCOPED_TRACE(std::string(tactic->info().name));
      auto loaded = cuda::GpuTactic::load(problem, *tactic, *device);
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      for (const ReferenceRun& run : runs) {
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
    EXPECT_TRUE(reached.count(std::string(tactic->info().name))) << tactic->info().name << " is reached by no problem";
}

}  // namespace
}  // namespace ingot
