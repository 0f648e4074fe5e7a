// Edits keep producers, users, names and types right.
#include "builder/graph/graph_editor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"

namespace ingot {
namespace {

Graph make(std::string_view text) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed->graph);
}
NodeId maker(const Graph& graph, std::string_view name) { return graph.value(graph.find_value(name)).producer; }

TEST(GraphEditor, NamesAreUnique) {
  Graph graph;
  GraphEditor editor(graph);
  const ValueId x = editor.add_input("x", DataType::kF32, {Shape{4}});
  const auto y = editor.add_op("y", UnaryParams{UnaryFunction::kExp, 0, 0}, {x}, "x");
  const auto z = editor.add_op("z", UnaryParams{UnaryFunction::kExp, 0, 0}, {x}, "x");
  ASSERT_TRUE(y.ok() && z.ok());
  EXPECT_EQ(graph.value(*y).name, "x.1");
  EXPECT_EQ(graph.value(*z).name, "x.2");
}

TEST(GraphEditor, ReplaceUsesMovesOutputNames) {
  Graph graph = make("%x = input f32[4]\n%a = Unary.exp(%x)\n%y = Identity(%a)\n%z = Binary.add(%y, %y)\noutput %y, %z\n");
  GraphEditor editor(graph);
  const NodeId identity = maker(graph, "y");
  editor.replace_uses(graph.find_value("y"), graph.find_value("a"));
  editor.remove_node(identity);
  EXPECT_EQ(verify_graph(graph).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"exp\"} @a\n%z = Binary(%y, %y)\noutput %y, %z\n");
}

TEST(GraphEditor, TakeOutputKeepsTheValue) {
  Graph graph = make("%x = input f32[4]\n%a = Unary.exp(%x)\n%y = Unary.relu(%a)\n%z = Unary.neg(%y)\noutput %z\n");
  GraphEditor editor(graph);
  const NodeId exp = maker(graph, "a"), relu = maker(graph, "y");
  editor.take_output(exp, 0, graph.find_value("y"));
  editor.remove_node(relu);
  EXPECT_EQ(verify_graph(graph).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"exp\"} @a\n%z = Unary(%y) {function=\"neg\"}\noutput %z\n");
}

TEST(GraphEditor, SetInputGrowsAndTrims) {
  Graph graph = make("%x = input f32[1x2x3x3]\n%w = const f32[2x2x1x1] random(1)\n%y = Conv(%x, %w)\noutput %y\n");
  GraphEditor editor(graph);
  const NodeId conv = maker(graph, "y");
  editor.set_input(conv, 3, graph.find_value("x"));
  EXPECT_EQ(graph.node(conv).inputs, (std::vector<ValueId>{0, 1, kNone, 0}));
  EXPECT_EQ(verify_graph(graph).message(), "");
  editor.set_input(conv, 3, kNone);
  EXPECT_EQ(graph.node(conv).inputs.size(), 2u);
  EXPECT_EQ(verify_graph(graph).message(), "");
}

TEST(GraphEditor, RemoveDeadKeepsWhatOutputsNeed) {
  Graph graph = make("%x = input f32[4]\n%c = const f32[4] [1,2,3,4]\n%a = Binary.add(%x, %c)\n%b = Unary.exp(%a)\n%y = Unary.neg(%x)\noutput %y\n");
  GraphEditor(graph).remove_dead();
  EXPECT_EQ(verify_graph(graph).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"neg\"}\noutput %y\n");
  EXPECT_FALSE(graph.is_constant(graph.find_value("c")));
}

TEST(GraphEditor, ShapeArithmeticIsKnown) {
  const Graph graph = make(R"(%x = input f32[1:2:8x6x4]
%shape = Shape(%x)
%zero = const s64[1] [0]
%one = const s64[1] [1]
%n = Gather(%shape, %zero)
%c = Gather(%shape, %one)
%rest = const s64[1] [-1]
%s = Concat(%n, %rest) {axis=0}
%y = Reshape(%x, %s)
output %y
)");
  EXPECT_TRUE(graph.is_constant(graph.find_value("c")));
  EXPECT_TRUE(graph.is_shape_value(graph.find_value("n")));
  EXPECT_EQ(graph.value(graph.find_value("y")).type.shape, (Shape{Shape::kDynamic, 24}));
}

// At every probe the dim is a multiple of 8, equals neither constant and has the same difference; between them it does not.
TEST(GraphEditor, AgreementAtTheProbesAloneMakesNoConstant) {
  const Graph graph = make(R"(%x = input f32[8:16:32:24x6]
%shape = Shape(%x)
%zero = const s64[scalar] [0]
%eight = const s64[scalar] [8]
%nine = const s64[scalar] [9]
%forty = const s64[scalar] [40]
%n = Gather(%shape, %zero)
%rest = Binary.mod(%n, %eight)
%whole = Binary.div(%n, %eight)
%floor = Binary.mul(%whole, %eight)
%left = Binary.sub(%n, %floor)
%is_nine = Binary.equal(%n, %nine)
%is_forty = Binary.equal(%n, %forty)
%low = Binary.min(%n, %eight)
output %rest, %left, %is_nine, %is_forty, %low
)");
  EXPECT_TRUE(graph.is_shape_value(graph.find_value("is_nine")));
  for (const char* remainder : {"rest", "left"}) {  // bounds, not what it happens to be at the probes
    const Value& value = graph.value(graph.find_value(remainder));
    EXPECT_TRUE(value.constant == nullptr && value.probe_values.empty()) << remainder;
    ASSERT_EQ(value.probe_bounds.size(), 4u) << remainder;
    int64_t most = -1;
    std::memcpy(&most, value.probe_bounds[0].most->data(), sizeof most);
    EXPECT_EQ(most, 7) << remainder;
  }
  for (const char* fixed : {"is_forty", "low"}) EXPECT_TRUE(graph.is_constant(graph.find_value(fixed))) << fixed;
}

TEST(GraphEditor, ShapeArithmeticIsWhatTheRuntimeCanRepeat) {
  const Graph graph = make(R"(%x = input f32[1:2:3x2x4]
%shape = Shape(%x)
%c = ConstantOfShape(%shape) {value=1.25}
%w = const f32[2x2x1] random(1)
%y = Conv(%c, %w)
output %y
)");
  EXPECT_TRUE(graph.is_shape_value(graph.find_value("c")));
  EXPECT_FALSE(graph.is_shape_value(graph.find_value("y")));
}

TEST(GraphEditor, ANodeKeepsAllItsOutputsOrNone) {
  const Graph graph = make(R"(%x = input f32[1:2:3x6]
%shape = Shape(%x)
%a, %b = Split(%shape) {axis=0}
output %a, %b
)");
  EXPECT_EQ(graph.value(graph.find_value("b")).producer, graph.value(graph.find_value("a")).producer);
  EXPECT_EQ(verify_graph(graph).message(), "");
}

TEST(GraphEditor, RefusedNodesLeaveNoTrace) {
  Graph graph = make("%x = input f32[4]\n%u = input f32[3]\noutput %x\n");
  const std::string before = to_text(graph);
  const auto added = GraphEditor(graph).add_op("sum", BinaryParams{}, {0, 1}, "y");
  ASSERT_FALSE(added.ok());
  EXPECT_TRUE(added.status().message().starts_with("node 'sum': ")) << added.status().message();
  EXPECT_EQ(to_text(graph), before);
  EXPECT_EQ(verify_graph(graph).message(), "");
}

TEST(GraphEditor, AbsorbsOriginsOnce) {
  Graph graph = make("%x = input f32[4]\n%a = Unary.exp(%x)\n%y = Unary.neg(%a)\noutput %y\n");
  GraphEditor editor(graph);
  editor.add_note(0, "note of a");
  editor.absorb_origins(1, 0);
  editor.absorb_origins(1, 0);
  EXPECT_EQ(graph.node(1).origins, (std::vector<std::string>{"y", "a"}));
}

}  // namespace
}  // namespace ingot
