// Every tactic × every problem it supports × every instruction set of this machine × thread counts, against the reference:
// the same bytes where arithmetic is on integers (docs/numerics.md), within tolerance.h for float. A tactic that no problem
// reaches fails, since it would be untested.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#ifdef INGOT_WITH_ONEDNN
#include "ingot/onednn.h"
#endif
#include "conformance/tactic_check.h"
#include "runtime/cpu/cpu_features.h"

namespace ingot {
namespace {

// The same problem with the first sample at every place of the batch; nullopt where there is none to speak of.
std::optional<ReferenceRun> repeated(const TestProblem& problem, const ReferenceRun& run) {
  const OpKind op = kind_of(problem.params);
  if ((op != OpKind::kConv && op != OpKind::kMatMul) || problem.outputs[0].type.dtype != DataType::kF32) return std::nullopt;
  const auto* product = std::get_if<MatMulParams>(&problem.params);
  if (product && (product->transpose_a || !problem.inputs[1].is_constant || run.input_shapes[1].rank != 2)) return std::nullopt;
  const int64_t batch = run.output_shapes[0].rank < 2 ? 0 : run.output_shapes[0][0];
  if (batch < 2 || run.input_shapes[0][0] != batch) return std::nullopt;
  ReferenceRun same;
  same.input_shapes = run.input_shapes;
  same.output_shapes = run.output_shapes;
  same.inputs = run.inputs;
  same.outputs = run.outputs;
  for (size_t i : {size_t{0}, size_t{3}}) {
    if (i >= same.inputs.size() || same.inputs[i].empty() || same.input_shapes[i] != (i == 0 ? run.input_shapes[0] : run.output_shapes[0])) continue;
    const size_t bytes = same.inputs[i].size() / static_cast<size_t>(batch);
    for (size_t at = bytes; at < same.inputs[i].size(); ++at) same.inputs[i][at] = same.inputs[i][at - bytes];
  }
  return same;
}

bool places_agree(const ReferenceRun& run, const std::vector<std::byte>& result) {
  const size_t bytes = result.size() / static_cast<size_t>(run.output_shapes[0][0]);
  return std::equal(result.begin() + static_cast<ptrdiff_t>(bytes), result.end(), result.begin());
}

TEST(Tactics, EveryOneGivesTheReferencesResults) {
#ifdef INGOT_WITH_ONEDNN
  add_onednn_tactics();
#endif
  const CpuFeatures machine = detect_cpu_features();
  ThreadPool one(1), two(2);
  std::set<std::string> reached;
  int comparisons = 0;
  for (const TestProblem& problem : all_problems()) {
    SCOPED_TRACE(problem.text + (problem.name.empty() ? "" : " # " + problem.name));
    std::vector<ReferenceRun> runs;
    std::vector<std::vector<Shape>> shapes = {max_shapes(problem)};
    if (const auto small = small_shapes(problem); !std::equal(small.begin(), small.end(), shapes[0].begin())) shapes.push_back(small);
    for (std::vector<Shape>& inputs : shapes) {
      auto run = run_reference(problem, inputs);
      ASSERT_TRUE(run.ok()) << run.status().message();
      runs.push_back(std::move(*run));
    }
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params))) {
      if (is_reference(*tactic)) continue;
      Blob first_blob;
      bool has_blob = false;
      for (int level = 0; level <= static_cast<int>(machine.level); ++level) {
        std::vector<std::vector<std::vector<std::byte>>> with_one_thread;  // by run
        for (ThreadPool* pool : {&one, &two}) {
          DeviceInfo device{"cpu", "test", narrowed(machine, static_cast<CpuLevel>(level)), pool->threads()};
          if (!tactic->supports(problem.problem(device))) continue;
          SCOPED_TRACE(std::string(tactic->info().name) + " on " + std::string(to_string(device.cpu.level)) + ", " +
                       std::to_string(device.threads) + " threads");
          reached.insert(std::string(tactic->info().name));
          auto loaded = LoadedTactic::load(problem, *tactic, device);
          ASSERT_TRUE(loaded.ok()) << loaded.status().message();
          const Blob blob(loaded->blob().begin(), loaded->blob().end());
          EXPECT_TRUE(!has_blob || blob == first_blob) << "packed constants depend on the instruction set or the threads";
          first_blob = blob;
          has_blob = true;
          for (size_t r = 0; r < runs.size(); ++r) {
            const ReferenceRun& run = runs[r];
            loaded->set(run);
            const Status status = loaded->run(*pool);
            ASSERT_TRUE(status.ok()) << status.message();
            const auto results = loaded->outputs();
            ASSERT_TRUE(results.ok()) << results.status().message();
            EXPECT_EQ(compare(problem, run, *results), "");
            if (pool == &one) with_one_thread.push_back(*results);
            else EXPECT_TRUE(*results == with_one_thread[r]) << "the number of threads changes the result";
            ++comparisons;
            if (const auto same = repeated(problem, run)) {
              loaded->set(*same);
              ASSERT_TRUE(loaded->run(*pool).ok());
              EXPECT_TRUE(places_agree(*same, loaded->outputs()->at(0))) << "the place in the batch changes the result";
            }
          }
          if (!blob.empty()) {
            // A blob of another size comes from a damaged file and is refused, not read.
            EXPECT_FALSE(tactic->load(problem.problem(device), std::span(blob).first(blob.size() - 1)).ok());
          }
        }
      }
    }
  }
  std::cout << comparisons << " comparisons of " << reached.size() << " tactics\n";
  for (const Tactic* tactic : TacticRegistry::builtin().all())
    // What a library has is its own matter without AVX-512.
    EXPECT_TRUE(is_reference(*tactic) || (!tactic->info().library.empty() && !machine.avx512) || reached.count(std::string(tactic->info().name)))
        << tactic->info().name << " is reached by no problem";
}

}  // namespace
}  // namespace ingot
