// What a build does grows no faster than its graph. Counted, not timed: bench/import_scaling times it.
#include <gtest/gtest.h>

#include "builder/onnx/import_model.h"
#include "builder/pipeline.h"
#include "builder/graph/rewrite.h"
#include "builder/tune/select_tactics.h"
#include "runtime/engine.h"
#include "scaling_models.h"

namespace ingot {
namespace {

struct Work {
  uint64_t nodes = 0, visits = 0, edits = 0, rounds = 0, looks = 0;
};

Work work_of(std::string_view family, int64_t nodes) {
  const std::string bytes = scaling::make_model(family, nodes);
  ImportOptions import_options;
  import_options.profiles = scaling::profiles_of(family);
  auto graph = import_model_bytes(std::as_bytes(std::span(bytes)), "", import_options);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  Work work;
  work.nodes = graph->topological_order().size();
  const BuildOptions options;
  const RewriteWork before = rewrite_work();
  EXPECT_EQ(run_float_passes(*graph, options).message(), "");
  EXPECT_EQ(run_quantise_passes(*graph, options).message(), "");
  const RewriteWork after = rewrite_work();
  work.visits = after.visits - before.visits;
  work.edits = after.edits - before.edits;
  work.rounds = after.rounds - before.rounds;
  const DeviceInfo device = cpu_device({});
  const auto selection = select_tactics(*graph, *make_estimated_cost(device), device, options);
  EXPECT_TRUE(selection.ok());
  work.looks = selection->looks;
  return work;
}

class Growth : public testing::TestWithParam<std::string_view> {};

TEST_P(Growth, IsThatOfTheNodes) {
  const Work small = work_of(GetParam(), 500), large = work_of(GetParam(), 2500);
  const double times = 1.15 * static_cast<double>(large.nodes) / static_cast<double>(small.nodes);
  const auto grows_with_nodes = [&](uint64_t from, uint64_t to, const char* what) {
    EXPECT_LE(static_cast<double>(to), times * static_cast<double>(from) + 100) << what;
  };
  EXPECT_GT(small.visits, small.nodes);
  grows_with_nodes(small.visits, large.visits, "nodes that patterns looked at");
  grows_with_nodes(small.edits, large.edits, "rewrites");
  grows_with_nodes(small.looks, large.looks, "values that tactic selection looked at");
  EXPECT_LE(large.rounds, small.rounds + 4);  // each walks the whole graph
}

INSTANTIATE_TEST_SUITE_P(Families, Growth, testing::ValuesIn([] {
  std::vector<std::string_view> names;
  for (const scaling::Family& family : scaling::families()) names.push_back(family.name);
  return names;
}()), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ingot
