// tactic-bench: times every tactic that supports a problem, on each instruction set of the machine, one line each.
//   tactic-bench 'conv u8 1x64x56x56 w64x64x3x3 pad1 bias relu'     a problem
//   tactic-bench --file problems.txt [--threads 2] [--level avx2]   all problems of a file
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef INGOT_WITH_ONEDNN
#include "ingot/onednn.h"
#endif
#include "problem_data.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

struct Options {
  int threads = 1;
  const char* level = nullptr;
  bool reference = false;
};

double median_us(LoadedTactic& tactic, ThreadPool& pool) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  const auto start = Clock::now();
  // At least 9 runs, and 200 ms of them where runs are short; never more than 5 s.
  while (times.size() < 9 || (times.size() < 2000 && Clock::now() - start < std::chrono::milliseconds(200))) {
    const auto begin = Clock::now();
    if (!tactic.run(pool).ok()) return 0;
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    if (Clock::now() - start > std::chrono::seconds(5)) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

Status bench(const TestProblem& problem, const Options& options) {
  std::printf("%s%s%s\n", problem.text.c_str(), problem.name.empty() ? "" : "  # ", problem.name.c_str());
  // The answer is not needed, so the reference, which may take long, is not run.
  ReferenceRun data;
  data.input_shapes = max_shapes(problem);
  INGOT_ASSIGN(const std::vector<OpOutput> types, output_types(problem, data.input_shapes));
  for (const OpOutput& type : types) data.output_shapes.push_back(type.shape);
  Random random(1);
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    data.inputs.push_back(operand.is_constant ? problem.constants[i]
                          : operand.present   ? random_values(operand.type, operand.max_shape, random)
                                              : std::vector<std::byte>());
  }
  const CpuFeatures machine = detect_cpu_features();
  ThreadPool pool(options.threads);
  for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params))) {
    const std::string name(tactic->info().name);
    if (name.ends_with(".reference") && !options.reference) continue;
    for (int level = static_cast<int>(machine.level); level >= 0; --level) {
      const DeviceInfo device{"cpu", "bench", narrowed(machine, static_cast<CpuLevel>(level)), options.threads};
      const std::string level_name(to_string(device.cpu.level));
      if (options.level && level_name != options.level) continue;
      if (const Support support = tactic->supports(problem.problem(device)); !support) {
        std::printf("  %-36s refused: %s\n", name.c_str(), support.refusal);
        break;
      }
      INGOT_ASSIGN(LoadedTactic loaded, LoadedTactic::load(problem, *tactic, device));
      loaded.set(data);
      const double us = median_us(loaded, pool);
      std::printf("  %-36s %-12s %10.1f us", name.c_str(), level_name.c_str(), us);
      if (problem.multiply_adds() > 0) std::printf(" %8.1f GMAC/s", problem.multiply_adds() / us / 1e3);
      std::printf("\n");
    }
  }
  return {};
}

int fail(const Status& status) {
  std::fprintf(stderr, "tactic-bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
#ifdef INGOT_WITH_ONEDNN
  ingot::add_onednn_tactics();
#endif
  ingot::Options options;
  const char* file = nullptr;
  std::string text;
  for (int i = 1; i < argc; ++i) {
    const bool more = i + 1 < argc;
    if (!std::strcmp(argv[i], "--threads") && more) options.threads = std::max(1, std::atoi(argv[++i]));
    else if (!std::strcmp(argv[i], "--level") && more) options.level = argv[++i];
    else if (!std::strcmp(argv[i], "--file") && more) file = argv[++i];
    else if (!std::strcmp(argv[i], "--reference")) options.reference = true;
    else text += (text.empty() ? "" : " ") + std::string(argv[i]);
  }
  if (text.empty() && !file) {
    std::fprintf(stderr, "usage: tactic-bench [--threads n] [--level avx2] [--reference] (--file problems.txt | <problem>)\n");
    return 2;
  }
  std::vector<ingot::TestProblem> problems;
  if (file) {
    auto some = ingot::read_problems(file);
    if (!some.ok()) return ingot::fail(some.status());
    problems = std::move(*some);
  } else {
    auto problem = ingot::parse_problem(text);
    if (!problem.ok()) return ingot::fail(problem.status());
    problems.push_back(std::move(*problem));
  }
  for (const ingot::TestProblem& problem : problems)
    if (const ingot::Status status = ingot::bench(problem, options); !status.ok()) return ingot::fail(status);
  return 0;
}
