// Every tactic on tensors without elements: each problem with one dim opened and 0 in it, as an empty past of a decoder or an empty
// batch has. Where the result has elements all the same (sums over nothing, a concat with nothing) they are the reference's.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "conformance/tactic_check.h"
#include "runtime/cpu/cpu_features.h"

namespace ingot {
namespace {

struct Emptied {
  TestProblem problem;
  ReferenceRun run;
};

// Opens dim d of input 0, and in other inputs the dims of that size: none, those at the same place, at the same place from the
// right, or all. The first that the type rule takes.
std::optional<Emptied> emptied(const TestProblem& from, int d) {
  const int64_t size = from.inputs[0].max_shape[d];
  const int rank = from.inputs[0].max_shape.rank;
  for (int way = 0; way < 4; ++way) {
    Emptied made{from, {}};
    std::vector<Shape> shapes = max_shapes(from);
    const auto open = [&](size_t i, int at) {
      shapes[i][at] = 0;
      made.problem.inputs[i].type.shape[at] = Shape::kDynamic;
    };
    open(0, d);
    for (size_t i = 1; i < shapes.size() && way > 0; ++i) {
      if (from.inputs[i].is_constant || !from.inputs[i].present) continue;
      for (int k = 0; k < shapes[i].rank; ++k)
        if (shapes[i][k] == size && (way == 3 || (way == 1 ? k == d : shapes[i].rank - k == rank - d))) open(i, k);
    }
    const auto types = output_types(made.problem, shapes);
    if (!types.ok() || types->size() != from.outputs.size()) continue;
    bool fits = true;
    for (size_t i = 0; i < types->size(); ++i) {
      Operand& output = made.problem.outputs[i];
      fits = fits && (*types)[i].shape.rank == output.max_shape.rank;
      for (int k = 0; fits && k < output.max_shape.rank; ++k) {
        if ((*types)[i].shape[k] != output.max_shape[k]) output.type.shape[k] = Shape::kDynamic;
        fits = (*types)[i].shape[k] <= output.max_shape[k];
      }
    }
    if (!fits) continue;
    auto run = run_reference(made.problem, shapes);
    if (!run.ok()) continue;
    made.run = *std::move(run);
    return made;
  }
  return std::nullopt;
}

// Sums over nothing may be no numbers, of whatever bits.
void drop_nans(const TestProblem& problem, std::vector<std::vector<std::byte>>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (problem.outputs[i].type.dtype != DataType::kF32) continue;
    for (size_t at = 0; at + 4 <= results[i].size(); at += 4) {
      float x;
      std::memcpy(&x, &results[i][at], sizeof x);
      if (std::isnan(x)) std::fill_n(results[i].begin() + static_cast<ptrdiff_t>(at), 4, std::byte{0xff});
    }
  }
}

TEST(Tactics, TakeTensorsWithoutElements) {
  const CpuFeatures machine = detect_cpu_features();
  ThreadPool one(1), two(2);
  std::set<std::string> reached, all;
  int comparisons = 0;
  for (const TestProblem& from : all_problems()) {
    SCOPED_TRACE(from.text);
    for (int d = 0; d < from.inputs[0].max_shape.rank; ++d) {
      auto empty = emptied(from, d);
      if (!empty) continue;
      SCOPED_TRACE("dim " + std::to_string(d));
      const TestProblem& problem = empty->problem;
      drop_nans(problem, empty->run.outputs);
      for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params))) {
        if (is_reference(*tactic) || !tactic->info().library.empty()) continue;
        for (int level = 0; level <= static_cast<int>(machine.level); ++level)
          for (ThreadPool* pool : {&one, &two}) {
            const DeviceInfo device{"cpu", "test", narrowed(machine, static_cast<CpuLevel>(level)), pool->threads()};
            if (!tactic->supports(problem.problem(device))) continue;
            SCOPED_TRACE(std::string(tactic->info().name) + " on " + std::string(to_string(device.cpu.level)));
            reached.insert(std::string(tactic->info().name));
            auto loaded = LoadedTactic::load(problem, *tactic, device);
            ASSERT_TRUE(loaded.ok()) << loaded.status().message();
            loaded->set(empty->run);
            const Status status = loaded->run(*pool);
            ASSERT_TRUE(status.ok()) << status.message();
            auto results = loaded->outputs();
            ASSERT_TRUE(results.ok()) << results.status().message();
            drop_nans(problem, *results);
            EXPECT_EQ(compare(problem, empty->run, *results), "");
            ++comparisons;
          }
      }
    }
  }
  std::cout << comparisons << " comparisons of " << reached.size() << " tactics\n";
  for (const Tactic* tactic : TacticRegistry::builtin().all())
    EXPECT_TRUE(is_reference(*tactic) || !tactic->info().library.empty() || reached.count(std::string(tactic->info().name)))
        << tactic->info().name << " is reached by no problem without elements";
}

}  // namespace
}  // namespace ingot
