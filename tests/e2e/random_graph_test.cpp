// Thousands of random graphs, optimised against unoptimised. Without arguments a fixed set of seeds, as in CI; otherwise
//   random_graph_tests --seconds 600 --seed 1      seeds from 1 on, for ten minutes
//   random_graph_tests --only 4711                 one seed, and what became of it
// Two processes share the work, so that a crash names its seed. A failure is shrunk before it is printed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "builder/graph/graph_text.h"
#include "builder/passes/passes.h"
#include "e2e/random_generator.h"
#include "e2e/random_graph_check.h"

namespace ingot::random_graphs {
namespace {

constexpr uint64_t kSeeds = 12000;       // of a run without arguments
constexpr int kWorkers = 2;
constexpr unsigned kSecondsForOne = 60;  // then a seed counts as hung
constexpr int kMostFailures = 5;

using Clock = std::chrono::steady_clock;

struct Counts {
  uint64_t seed = 0;  // at work
  uint64_t graphs = 0, nodes = 0, nodes_after = 0, compared = 0, unstable = 0, integer_steps = 0;
  int failures = 0;
};

Style style_of(uint64_t seed) { return static_cast<Style>(seed % kStyles); }

CheckOptions options_of(uint64_t seed) {
  CheckOptions options;
  options.seed = seed * 7 + 1;
  options.int8 = style_of(seed) == Style::kInt8;
  return options;
}

std::string kind_of_failure(const std::string& failure) { return failure.substr(0, failure.find_first_of(":,")); }

// Cuts as long as it fails in the same way.
Program shrink(Program program, const CheckOptions& options, const std::string& failure) {
  const auto end = Clock::now() + std::chrono::seconds(30);
  for (bool cut = true; cut && Clock::now() < end;) {
    cut = false;
    for (Program& candidate : smaller(program)) {
      if (Clock::now() > end) break;
      if (candidate.nodes.size() > program.nodes.size()) continue;
      const CheckResult result = check(candidate, options);
      if (result.failure.empty() || kind_of_failure(result.failure) != kind_of_failure(failure)) continue;
      if (candidate.nodes.size() == program.nodes.size() && candidate.outputs.size() == program.outputs.size() &&
          candidate.probes == program.probes && candidate.inputs().size() >= program.inputs().size()) continue;
      program = std::move(candidate);
      cut = true;
      break;
    }
  }
  return program;
}

// The passes without which the program comes out right.
std::string guilty_passes(const Program& program, CheckOptions options) {
  std::string found;
  for (const std::span<const Pass> list : {std::span<const Pass>(kCanonicalisePasses), std::span<const Pass>(kFusePasses), std::span<const Pass>(kQuantisePasses)})
    for (const Pass& pass : list) {
      if (found.find(std::string(pass.name)) != std::string::npos) continue;
      options.disabled_passes = {std::string(pass.name)};
      if (check(program, options).failure.empty()) found += (found.empty() ? "" : ", ") + std::string(pass.name);
    }
  return found.empty() ? "none alone" : found;
}

void report(uint64_t seed, const Program& program, const CheckOptions& options, const std::string& failure) {
  alarm(0);
  const Program least = shrink(program, options, failure);
  const CheckResult again = check(least, options);
  std::string text = "random graph " + std::to_string(seed) + " FAILED\n  " + failure + "\n";
  text += "  shrunk from " + std::to_string(program.nodes.size()) + " to " + std::to_string(least.nodes.size()) + " nodes: " + again.failure + "\n";
  text += "  right without: " + guilty_passes(least, options) + "\n  again: random_graph_tests --only " + std::to_string(seed) + "\n";
  auto graph = to_graph(least);
  text += "graph:\n" + (graph.ok() ? to_text(*graph) : std::string(graph.status().message())) + "optimised:\n" + optimised_text(least, options) + "\n";
  std::fputs(text.c_str(), stderr);
}

void try_seed(uint64_t seed, Counts& counts, bool quiet) {
  counts.seed = seed;
  const Program program = Generator(seed, style_of(seed)).make();
  const CheckOptions options = options_of(seed);
  const CheckResult result = check(program, options);
  ++counts.graphs;
  counts.nodes += result.nodes_before;
  counts.nodes_after += result.nodes_after;
  counts.compared += static_cast<uint64_t>(result.compared);
  counts.unstable += static_cast<uint64_t>(result.unstable);
  counts.integer_steps += static_cast<uint64_t>(result.integer_steps);
  if (!quiet) {
    auto graph = to_graph(program);
    std::printf("%s---\n%s", graph.ok() ? to_text(*graph).c_str() : "", optimised_text(program, options).c_str());
    std::printf("%s\n", result.failure.empty() ? "all agreed" : result.failure.c_str());
  }
  if (result.failure.empty()) return;
  ++counts.failures;
  report(seed, program, options, result.failure);
}

int run(uint64_t first, uint64_t seeds, double seconds) {
  void* shared = ::mmap(nullptr, sizeof(Counts) * kWorkers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::perror("mmap"), 1;
  auto* counts = static_cast<Counts*>(shared);
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (int worker = 0; worker < kWorkers; ++worker) {
    const pid_t child = ::fork();
    if (child < 0) return std::perror("fork"), 1;
    if (child > 0) continue;
    for (uint64_t i = static_cast<uint64_t>(worker); seconds > 0 ? elapsed() < seconds : i < seeds; i += kWorkers) {
      alarm(kSecondsForOne);
      try_seed(first + i, counts[worker], true);
      if (counts[worker].failures >= kMostFailures) break;
    }
    std::_Exit(0);
  }
  int failures = 0;
  for (int worker = 0; worker < kWorkers; ++worker) {
    int status = 0;
    const pid_t child = ::wait(&status);
    if (child > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
      ++failures;
      std::fprintf(stderr, "a worker ended by signal %d; the seeds at work were", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      for (int i = 0; i < kWorkers; ++i) std::fprintf(stderr, " %llu", static_cast<unsigned long long>(counts[i].seed));
      std::fprintf(stderr, "\n");
    }
  }
  Counts all;
  for (int i = 0; i < kWorkers; ++i) {
    all.graphs += counts[i].graphs;
    all.nodes += counts[i].nodes;
    all.nodes_after += counts[i].nodes_after;
    all.compared += counts[i].compared;
    all.unstable += counts[i].unstable;
    all.integer_steps += counts[i].integer_steps;
    failures += counts[i].failures;
  }
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("%llu graphs of %.1f nodes (%.1f when optimised) in %.0f s; %llu results compared, %llu of them too sensitive to judge; %llu steps in 8 bits\n",
              number(all.graphs), static_cast<double>(all.nodes) / static_cast<double>(all.graphs), static_cast<double>(all.nodes_after) / static_cast<double>(all.graphs), elapsed(),
              number(all.compared), number(all.unstable), number(all.integer_steps));
  // A generator gone dull tests nothing.
  if (failures == 0 && (all.unstable * 20 > all.compared || all.integer_steps < all.graphs / 4 || all.nodes < all.graphs * 8)) {
    std::fprintf(stderr, "the graphs say too little: need at most 1 sensitive result in 20, an 8-bit step in every fourth graph, 8 nodes a graph\n");
    return 1;
  }
  if (failures > 0) std::fprintf(stderr, "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ingot::random_graphs

int main(int argc, char** argv) {
  using namespace ingot::random_graphs;
  uint64_t seed = 1, seeds = kSeeds;
  double seconds = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (i + 1 >= argc) return std::fprintf(stderr, "usage: random_graph_tests [--seed S] [--seeds N | --seconds T] | --only S\n"), 2;
    const char* value = argv[++i];
    if (argument == "--seconds") seconds = std::atof(value);
    else if (argument == "--seeds") seeds = std::strtoull(value, nullptr, 10);
    else if (argument == "--seed") seed = std::strtoull(value, nullptr, 10);
    else if (argument == "--only") {
      Counts counts;
      try_seed(std::strtoull(value, nullptr, 10), counts, false);
      return counts.failures == 0 ? 0 : 1;
    } else {
      return std::fprintf(stderr, "random_graph_tests: unknown option '%s'\n", argument.c_str()), 2;
    }
  }
  return run(seed, seeds, seconds);
}
