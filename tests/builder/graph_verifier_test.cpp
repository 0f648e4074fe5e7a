// The verifier accepts what the editor makes, and sees each kind of damage that edits can do.
#include "builder/graph/graph_verifier.h"

#include <gtest/gtest.h>

#include "builder/graph/graph_editor.h"
#include "builder/graph/graph_text.h"

namespace ingot {
namespace {

Graph make(std::string_view text) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed->graph);
}
NodeId maker(const Graph& graph, std::string_view name) { return graph.value(graph.find_value(name)).producer; }

constexpr const char* kText = R"(%x = input f32[1:2:3x4]
%u = input f32[7]
%w = const f32[4x4] random(1)
%a = Unary.relu(%x)
%b = MatMul(%a, %w)
%y = Binary.add(%b, %x)
output %y
)";

void expect_broken(const Graph& graph, std::string_view words) {
  const Status status = verify_graph(graph);
  EXPECT_FALSE(status.ok()) << words;
  EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
}

TEST(GraphVerifier, AcceptsSoundGraphs) {
  EXPECT_EQ(verify_graph(make(kText)).message(), "");
  EXPECT_EQ(verify_graph(Graph()).message(), "");
  // Equal operands, an unused output, a graph input that is an output, quantised storage.
  EXPECT_EQ(verify_graph(make("%x = input f32[4]\n%y = Binary.add(%x, %x) : u8 s=0.1 z=3\n%a, %b = Split(%x)\noutput %y, %x, %a\n")).message(), "");
}

TEST(GraphVerifier, SeesACycle) {
  Graph graph = make(kText);
  GraphEditor(graph).set_input(maker(graph, "a"), 0, graph.find_value("y"));
  expect_broken(graph, "nodes form a cycle: got 0 that can be ordered, need 3");
}

TEST(GraphVerifier, SeesWrongTypes) {
  Graph graph = make(kText);
  GraphEditor(graph).set_input(maker(graph, "a"), 0, graph.find_value("u"));
  expect_broken(graph, "node 'a': shape of 'a': got 1x4, need 7");
  graph = make(kText);
  GraphEditor(graph).set_storage(graph.find_value("b"), DataType::kU8, {});
  expect_broken(graph, "node 'b': element type of 'b': got u8, need f32");
}

TEST(GraphVerifier, SeesLostProducersAndOutputs) {
  Graph graph = make(kText);
  GraphEditor(graph).remove_node(maker(graph, "a"));
  expect_broken(graph, "node 'b': input 'a' has no producer");
  graph = make(kText);
  GraphEditor(graph).remove_node(maker(graph, "y"));
  expect_broken(graph, "value 'y': a graph output without producer");
}

TEST(GraphVerifier, SeesAConstantOfTheWrongSize) {
  Graph graph = make(kText);
  GraphEditor(graph).set_constant(graph.find_value("w"), {DataType::kF32, Shape{4, 4}, Layout::kLinear, {}}, Blob(60));
  expect_broken(graph, "value 'w': size of the constant: got 60 bytes, need 64");
}

TEST(GraphVerifier, IsNearLinear) {
  std::string text = "%x = input f32[4]\n%c = const f32[4] [1,2,3,4]\n%v0 = Unary.relu(%x)\n";
  for (int i = 1; i < 20000; ++i)
    text += "%v" + std::to_string(i) + " = Binary.add(%v" + std::to_string(i - 1) + ", %c)\n";
  const Graph graph = make(text + "output %v19999\n");
  EXPECT_EQ(verify_graph(graph).message(), "");
}

}  // namespace
}  // namespace ingot
