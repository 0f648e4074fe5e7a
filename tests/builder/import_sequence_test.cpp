// Sequences and optional values, which fold away at import: what is left is compared with a graph of tensors alone.
#include <gtest/gtest.h>

#include "graph_check.h"
#include "onnx_model_maker.h"

namespace ingot {
namespace {

ModelMaker four_by_three() {
  ModelMaker model(18);
  model.input("x", {int64_t{4}, int64_t{3}}).output("y");
  for (int64_t i : {-1, 0, 1, 2, 5}) model.constant<int64_t>(i < 0 ? "last" : "p" + std::to_string(i), {}, {i});
  return model;
}

void expect_graph(const ModelMaker& model, const std::string& text) {
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto want = parse_graph(text);
  ASSERT_TRUE(want.ok()) << want.status().message();
  EXPECT_EQ(graph_difference(*graph, *want), "") << to_text(*graph);
}

std::string error_of(const ModelMaker& model) {
  auto graph = model.import();
  return graph.ok() ? "imported" : std::string(graph.status().message());
}
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ImportSequence, MadeChangedAndTakenApart) {
  ModelMaker model = four_by_three();
  model.node("Relu", {"x"}, {"a"});
  model.node("Exp", {"x"}, {"b"});
  model.node("SequenceEmpty", {}, {"s0"}).integer("dtype", 1);
  model.node("SequenceInsert", {"s0", "a"}, {"s1"});
  model.node("SequenceInsert", {"s1", "b", "p0"}, {"s2"});     // b a
  model.node("SequenceInsert", {"s2", "x", "last"}, {"s3"});   // b x a
  model.node("SequenceInsert", {"s3", "x", "p2"}, {"s4"});     // b x x a
  model.node("SequenceErase", {"s4", "p1"}, {"s5"});           // b x a
  model.node("SequenceErase", {"s5"}, {"s6"});                 // b x
  model.node("Identity", {"s6"}, {"s7"});
  model.node("SequenceAt", {"s7", "p0"}, {"first"});
  model.node("SequenceAt", {"s5", "last"}, {"third"});
  model.node("Sub", {"first", "third"}, {"y"});
  expect_graph(model, R"(
    %x = input f32[4x3]
    %a = Unary.relu(%x)
    %b = Unary.exp(%x)
    %y = Binary.sub(%b, %a)
    output %y)");
}

TEST(ImportSequence, SplitMappedAndJoined) {
  onnx::GraphProto body;
  for (const char* name : {"item", "factor"}) body.add_input()->set_name(name);
  auto& node = *body.add_node();
  node.set_op_type("Mul");
  for (const char* name : {"item", "factor"}) node.add_input(name);
  node.add_output("r");
  body.add_output()->set_name("r");

  ModelMaker model = four_by_three();
  model.node("SplitToSequence", {"x", "p2"}, {"s"}).integer("axis", 1);
  *model.node("SequenceMap", {"s", "p_factor"}, {"m"}).attribute("body", onnx::AttributeProto::GRAPH).mutable_g() = body;
  model.constant<float>("p_factor", {}, {3});
  model.node("ConcatFromSequence", {"m"}, {"y"}).integer("axis", -1);
  expect_graph(model, R"(
    %x = input f32[4x3]
    %sizes = const s64[2] [2,1]
    %three = const f32[scalar] [3]
    %a, %b = Split(%x, %sizes) {axis=1}
    %c = Binary.mul(%a, %three)
    %d = Binary.mul(%b, %three)
    %y = Concat(%c, %d) {axis=1}
    output %y)");

  ModelMaker rows = four_by_three();
  rows.node("SplitToSequence", {"x"}, {"s"}).integer("keepdims", 0);
  rows.node("SequenceLength", {"s"}, {"n"});
  rows.node("SequenceAt", {"s", "last"}, {"row"});
  rows.node("Cast", {"n"}, {"real"}).integer("to", 1);
  rows.node("Mul", {"row", "real"}, {"y"});
  auto graph = rows.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(to_string(graph->value(graph->outputs()[0]).type.shape), "3");

  ModelMaker stacked = four_by_three();
  stacked.node("SequenceConstruct", {"x", "x"}, {"s"});
  stacked.node("ConcatFromSequence", {"s"}, {"y"}).integer("axis", -1).integer("new_axis", 1);
  graph = stacked.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(to_string(graph->value(graph->outputs()[0]).type.shape), "4x3x2");
}

TEST(ImportSequence, OptionalValues) {
  ModelMaker model = four_by_three();
  model.node("Optional", {"x"}, {"o"});
  model.node("OptionalGetElement", {"o"}, {"e"});
  model.node("Relu", {"e"}, {"y"});
  expect_graph(model, "%x = input f32[4x3]\n%y = Unary.relu(%x)\noutput %y");
  for (const bool empty : {false, true}) {
    ModelMaker has = four_by_three();
    has.node("Optional", {}, {"nothing"});
    has.node("OptionalHasElement", {empty ? "nothing" : "x"}, {"h"});
    has.node("Where", {"h", "x", "p_zero"}, {"y"});
    has.constant<float>("p_zero", {}, {0});
    expect_graph(has, "%x = input f32[4x3]\n%zero = const f32[scalar] [0]\n%h = const bool[scalar] [" + std::string(empty ? "0" : "1") +
                          "]\n%y = Where(%h, %x, %zero)\noutput %y");
  }
}

TEST(ImportSequence, Refusals) {
  const auto error = [](auto add) {
    ModelMaker model = four_by_three();
    model.node("SequenceConstruct", {"x", "x"}, {"s"});
    add(model);
    return error_of(model);
  };
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceAt", {"s", "p2"}, {"y"}); }), "place is outside the sequence: got 2.000000, need -2 to 1");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceInsert", {"s", "x", "p5"}, {"t"}), m.node("SequenceAt", {"t", "p0"}, {"y"}); }), "place is outside");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceAt", {"x", "p0"}, {"y"}); }), "input 0 is not a sequence");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("Relu", {"s"}, {"y"}); }), "its input is a sequence or an optional value: need a tensor");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("Identity", {"s"}, {"y"}); }), "a sequence or optional value cannot leave the model");
  EXPECT_HAS(error([](ModelMaker& m) { m.input("at", {}, 7).node("SequenceAt", {"s", "at"}, {"y"}); }), "its place in the sequence must be constant");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceEmpty", {}, {"e"}), m.node("ConcatFromSequence", {"e"}, {"y"}).integer("axis", 0); }), "the sequence is empty");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceEmpty", {}, {"e"}), m.node("SequenceErase", {"e"}, {"f"}), m.node("SequenceLength", {"f"}, {"y"}); }), "the sequence is empty");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("Optional", {}, {"o"}), m.node("OptionalGetElement", {"o"}, {"y"}); }), "the optional value is empty");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceMap", {"s"}, {"m"}), m.node("SequenceAt", {"m", "p0"}, {"y"}); }), "attribute 'body' is missing");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SplitToSequence", {"x", "p0"}, {"t"}), m.node("SequenceAt", {"t", "p0"}, {"y"}); }), "size of a part is wrong: got 0");
  EXPECT_HAS(error([](ModelMaker& m) { m.node("SequenceInsert", {"s", "s"}, {"t"}), m.node("SequenceAt", {"t", "p0"}, {"y"}); }), "a sequence of sequences");
}

// Each level multiplies the body: the sum is bounded.
TEST(ImportSequence, NestedMapsAreBounded) {
  const auto map_of = [](const onnx::GraphProto& body) {
    onnx::GraphProto graph;
    graph.add_input()->set_name("i");
    auto& split = *graph.add_node();
    split.set_op_type("SplitToSequence");
    split.add_input("i");
    split.add_output("s");
    auto& map = *graph.add_node();
    map.set_op_type("SequenceMap");
    map.add_input("s");
    map.add_output("m");
    auto& attribute = *map.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body;
    auto& join = *graph.add_node();
    join.set_op_type("ConcatFromSequence");
    join.add_input("m");
    join.add_output("r");
    auto& axis = *join.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(0);
    graph.add_output()->set_name("r");
    return graph;
  };
  onnx::GraphProto body;
  body.add_input()->set_name("i");
  body.add_output()->set_name("i");
  for (int i = 0; i < 20; ++i) body = map_of(body);
  ModelMaker model(18);
  model.input("x", {int64_t{1}, int64_t{3}}).output("y");
  model.node("SplitToSequence", {"x"}, {"s"});
  *model.node("SequenceMap", {"s"}, {"m"}).attribute("body", onnx::AttributeProto::GRAPH).mutable_g() = body;
  model.node("ConcatFromSequence", {"m"}, {"y"}).integer("axis", 0);
  EXPECT_HAS(error_of(model), "nested too deep");
}

}  // namespace
}  // namespace ingot
