// The wrapper around passes: what it skips, checks, writes and refuses.
#include "builder/run_passes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "builder/graph/graph_editor.h"
#include "builder/graph/graph_text.h"

namespace ingot {
namespace {

Graph make() {
  auto parsed = parse_graph("%x = input f32[4]\n%a = Identity(%x)\n%y = Unary.relu(%a)\n%dead = Unary.exp(%x)\noutput %y\n");
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed->graph);
}

constexpr Pass kTwo[] = {INGOT_PASS(eliminate_identities), INGOT_PASS(eliminate_dead_nodes)};

TEST(RunPasses, RunsInOrderAndSkipsDisabled) {
  Graph graph = make();
  ASSERT_EQ(run_passes(graph, kTwo, {}).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"relu\"}\noutput %y\n");
  graph = make();
  BuildOptions options;
  options.disabled_passes = {"eliminate_identities"};
  ASSERT_EQ(run_passes(graph, kTwo, options).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%a = Identity(%x)\n%y = Unary(%a) {function=\"relu\"}\noutput %y\n");
}

TEST(RunPasses, UnknownNamesAreListed) {
  const std::string good[] = {"fuse_bias", "insert_qdq"}, bad[] = {"fuse_bais"};
  EXPECT_TRUE(check_pass_names(good).ok());
  const Status status = check_pass_names(bad);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const char* words : {"'fuse_bais'", "fuse_bias", "raise_composites", "fuse_qdq"})
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
}

TEST(RunPasses, DamageNamesThePass) {
  Graph graph = make();
  const Pass damage[] = {{"damage", [](Graph& g, const BuildOptions&) -> Status {
                            GraphEditor(g).remove_node(g.value(g.find_value("a")).producer);
                            return {};
                          }}};
  const Status status = run_passes(graph, damage, {});
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.message().starts_with("after damage: ")) << status.message();
}

TEST(RunPasses, WritesAGraphAfterEach) {
  const auto directory = std::filesystem::temp_directory_path() / "ingot_pass_dumps_test";
  std::filesystem::remove_all(directory);
  Graph graph = make();
  BuildOptions options;
  options.dump_graphs_dir = directory.string();
  ASSERT_EQ(run_passes(graph, kTwo, options).message(), "");
  ASSERT_TRUE(std::filesystem::exists(directory / "00_eliminate_identities.graph"));
  std::ifstream file(directory / "01_eliminate_dead_nodes.graph");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), to_text(graph));
  std::filesystem::remove_all(directory);
}

TEST(RunPasses, StopsWhenAsked) {
  Graph graph = make();
  const std::string before = to_text(graph);
  const std::atomic<bool> stop{true};
  BuildOptions options;
  options.stop = &stop;
  EXPECT_EQ(run_passes(graph, kTwo, options).code(), StatusCode::kInterrupted);
  EXPECT_EQ(to_text(graph), before);
}

}  // namespace
}  // namespace ingot
