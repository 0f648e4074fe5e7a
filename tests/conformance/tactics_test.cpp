// Every tactic × every problem it supports × every instruction set of this machine × thread counts, against the reference:
// the same bytes where arithmetic is on integers (docs/numerics.md), within tolerance.h for float. A tactic that no problem
// reaches fails, since it would be untested.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#ifdef INGOT_WITH_ONEDNN
#include "ingot/onednn.h"
#endif
#include "problem_data.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/tactic_registry.h"
#include "tolerance.h"

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

// The largest magnitude among the values of an f32 operand; 1 for others.
double largest(const Operand& operand, const std::vector<std::byte>& values) {
  if (operand.type.dtype != DataType::kF32) return 1;
  double most = 0;
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float x;
    std::memcpy(&x, &values[at], sizeof x);
    most = std::max(most, std::fabs(static_cast<double>(x)));
  }
  return most;
}

// How far a result may be from the reference: float arithmetic alone has a tolerance.
struct Allowed {
  bool exact = true;
  Tolerance tolerance;
  double terms = 1, magnitude = 1;

  static Allowed of(const TestProblem& problem, const ReferenceRun& run) {
    Allowed a;
    if (problem.inputs[0].type.dtype != DataType::kF32 || problem.outputs[0].type.dtype != DataType::kF32) return a;
    a.tolerance = tolerance_of(problem.params, DataType::kF32);
    a.exact = a.tolerance.relative == 0;
    const OpKind op = kind_of(problem.params);
    if (op == OpKind::kConv || op == OpKind::kConvTranspose || op == OpKind::kMatMul || op == OpKind::kAttention) {
      // Every term is a product of two inputs (attention: a weight below 1 and a value).
      const size_t second = op == OpKind::kAttention ? 2 : 1;
      a.magnitude = largest(problem.inputs[second], run.inputs[second]) * (op == OpKind::kAttention ? 1 : largest(problem.inputs[0], run.inputs[0]));
      const Shape& w = run.input_shapes[second];
      a.terms = static_cast<double>(w.elements()) / static_cast<double>(std::max<int64_t>(1, op == OpKind::kConv ? w[0] : w[w.rank - 1]));
    }
    return a;
  }
};

// Empty, or what differs.
std::string compare(const TestProblem& problem, const ReferenceRun& run, const std::vector<std::vector<std::byte>>& results) {
  const Allowed allowed = Allowed::of(problem, run);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].size() != run.outputs[i].size())
      return "another size: got " + std::to_string(results[i].size()) + " bytes, need " + std::to_string(run.outputs[i].size());
    const size_t element = element_bytes(problem.outputs[i].type.dtype);
    const bool exact = allowed.exact || problem.outputs[i].type.dtype != DataType::kF32;
    size_t different = 0, first = 0;
    const auto number = [&](const std::vector<std::byte>& bytes, size_t at) {
      float x;
      std::memcpy(&x, &bytes[at], sizeof x);
      return x;
    };
    for (size_t at = 0; at < results[i].size(); at += element) {
      if (std::memcmp(&results[i][at], &run.outputs[i][at], element) == 0) continue;
      if (!exact && allowed.tolerance.allows(number(results[i], at), number(run.outputs[i], at), allowed.terms, allowed.magnitude)) continue;
      if (different++ == 0) first = at / element;
    }
    if (different == 0) continue;
    std::string text = std::to_string(different) + " of " + std::to_string(results[i].size() / element) +
                       " elements differ, first at " + std::to_string(first);
    if (element == 1)
      text += ": got " + std::to_string(static_cast<int>(results[i][first])) + ", need " +
              std::to_string(static_cast<int>(run.outputs[i][first]));
    if (problem.outputs[i].type.dtype == DataType::kF32)
      text += ": got " + std::to_string(number(results[i], first * 4)) + ", need " + std::to_string(number(run.outputs[i], first * 4));
    return text;
  }
  return {};
}

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
