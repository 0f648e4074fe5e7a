// The CPU's kernel of chains on random programs: the reference's bits, per instruction set and thread count.
#include <gtest/gtest.h>

#include <cstring>

#include "conformance/tactic_check.h"
#include "ops/random_chain.h"
#include "runtime/cpu/cpu_features.h"

namespace ingot {
namespace {

// Equal bits; a NaN stands for any other.
bool same_bits(DataType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a.size() != b.size()) return false;
  if (type != DataType::kF32) return a == b;
  for (size_t at = 0; at < a.size(); at += sizeof(float)) {
    float x, y;
    std::memcpy(&x, &a[at], sizeof x);
    std::memcpy(&y, &b[at], sizeof y);
    if (std::memcmp(&x, &y, sizeof x) != 0 && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

TEST(RandomChains, GiveTheReferencesBits) {
  const Tactic* tactic = TacticRegistry::builtin().find("cpu.pointwise_chain");
  ASSERT_NE(tactic, nullptr);
  const CpuFeatures machine = detect_cpu_features();
  ThreadPool one(1), two(2);
  int compared = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    ChainRandom random(seed);
    std::vector<ChainInput> inputs;
    const ChainProgram program = random_chain(random, inputs);
    std::string line = "PointwiseChain program=" + to_string(program);
    for (size_t i = 0; i < inputs.size(); ++i) {
      // Some rows are longer than a piece.
      for (int d = 0; d < inputs[i].shape.rank; ++d)
        if (seed % 3 == 0 && inputs[i].shape[d] == 5) inputs[i].shape[d] = 531;
      line += " " + std::string(to_string(inputs[i].dtype)) + (i == 0 ? " " : ":") + to_string(inputs[i].shape);
    }
    if (seed % 4 == 1) line += " nhwc";
    SCOPED_TRACE(line);
    auto problem = parse_problem(line);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    auto run = run_reference(*problem, max_shapes(*problem));
    ASSERT_TRUE(run.ok()) << run.status().message();
    for (int level = 0; level <= static_cast<int>(machine.level); ++level)
      for (ThreadPool* pool : {&one, &two}) {
        const DeviceInfo device{"cpu", "test", narrowed(machine, static_cast<CpuLevel>(level)), pool->threads()};
        if (!tactic->supports(problem->problem(device))) continue;
        auto loaded = LoadedTactic::load(*problem, *tactic, device);
        ASSERT_TRUE(loaded.ok()) << loaded.status().message();
        loaded->set(*run);
        ASSERT_TRUE(loaded->run(*pool).ok());
        const auto results = loaded->outputs();
        ASSERT_TRUE(results.ok()) << results.status().message();
        ASSERT_TRUE(same_bits(problem->outputs[0].type.dtype, results->at(0), run->outputs[0])) << to_string(device.cpu.level) << ": " << compare(*problem, *run, *results);
        ++compared;
      }
  }
  EXPECT_GT(compared, 900);
}

}  // namespace
}  // namespace ingot
