// Every tactic × every problem it supports × every instruction set of this machine × thread counts, against the reference:
// the same bytes where arithmetic is on integers (docs/numerics.md), within tolerance.h for float. A tactic that no problem
// reaches fails, since it would be untested.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "problem_data.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

std::vector<TestProblem> all_problems() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(INGOT_SOURCE_DIR "/tests/cases/problems"))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<TestProblem> problems;
  for (const auto& file : files) {
    auto some = read_problems(file.string());
    EXPECT_TRUE(some.ok()) << some.status().message();
    if (some.ok()) std::move(some->begin(), some->end(), std::back_inserter(problems));
  }
  return problems;
}

bool is_reference(const Tactic& tactic) { return tactic.info().name.ends_with(".reference"); }

// Empty, or what differs.
std::string compare(const TestProblem& problem, const ReferenceRun& run, const std::vector<std::vector<std::byte>>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t element = element_bytes(problem.outputs[i].type.dtype);
    size_t different = 0, first = 0;
    for (size_t at = 0; at < results[i].size(); at += element) {
      if (std::memcmp(&results[i][at], &run.outputs[i][at], element) == 0) continue;
      if (different++ == 0) first = at / element;
    }
    if (different == 0) continue;
    std::string text = std::to_string(different) + " of " + std::to_string(results[i].size() / element) +
                       " elements differ, first at " + std::to_string(first);
    if (element == 1)
      text += ": got " + std::to_string(static_cast<int>(results[i][first])) + ", need " +
              std::to_string(static_cast<int>(run.outputs[i][first]));
    return text;
  }
  return {};
}

TEST(Tactics, EveryOneGivesTheReferencesResults) {
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
          for (const ReferenceRun& run : runs) {
            loaded->set(run);
            const Status status = loaded->run(*pool);
            ASSERT_TRUE(status.ok()) << status.message();
            const auto results = loaded->outputs();
            ASSERT_TRUE(results.ok()) << results.status().message();
            EXPECT_EQ(compare(problem, run, *results), "");
            ++comparisons;
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
    EXPECT_TRUE(is_reference(*tactic) || reached.count(std::string(tactic->info().name)))
        << tactic->info().name << " is reached by no problem";
}

}  // namespace
}  // namespace ingot
