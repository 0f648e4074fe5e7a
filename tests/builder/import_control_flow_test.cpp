// If, Loop and Scan as graphs within graphs: what bodies capture, what is refused and why, what passes do to bodies.
#include <gtest/gtest.h>

#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"
#include "builder/passes/passes.h"
#include "onnx_model_maker.h"

namespace ingot {
namespace {

Body unary(const char* op, const char* input = "x") { return Body().node(op, {input}, {"r"}).output("r"); }

// x f32[2x3], c bool: the model's inputs; y its output.
ModelMaker two_by_three() {
  ModelMaker model(17);
  model.input("x", {int64_t{2}, int64_t{3}}).input("c", {}, 9).output("y");
  return model;
}

// A body of a Loop with one state that `op` makes of itself and x.
Body loop_body(const char* op = "Add") {
  return Body().input("i").input("go").input("h").node("Identity", {"go"}, {"go_on"}).node(op, {"h", "x"}, {"h2"}).output("go_on").output("h2");
}

std::string error_of(const ModelMaker& model) {
  auto graph = model.import();
  return graph.ok() ? "imported" : std::string(graph.status().message());
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

std::vector<std::string> names_of_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  return names;
}

TEST(ImportControlFlow, CapturesBecomeInputsOfNodeAndBodies) {
  ModelMaker model = two_by_three();
  model.constant<float>("w", {3}, {1, 2, 3});
  model.node("Exp", {"x"}, {"late"});  // behind the If in the other branch's eyes, before it in the file's
  // Both branches take what either of them captures; constants they hold themselves; `late` is hidden by a branch's own.
  set_branches(model.node("If", {"c"}, {"y"}), Body().node("Mul", {"late", "w"}, {"r"}).output("r"),
               Body().node("Neg", {"x"}, {"late"}).output("late"));
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_TRUE(verify_graph(*graph).ok()) << verify_graph(*graph).message();
  const Node& node = *maker_of(*graph, "y");
  ASSERT_EQ(node.kind(), OpKind::kIf);
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(graph->value(node.inputs[1]).name, "late");
  EXPECT_EQ(graph->value(node.inputs[2]).name, "x");
  for (const Graph& body : node.bodies) EXPECT_EQ(names_of_inputs(body).size(), 2u);
  EXPECT_EQ(names_of_inputs(node.bodies[0]), (std::vector<std::string>{"late", "x"}));
}

TEST(ImportControlFlow, CapturesGoThroughLevels) {
  ModelMaker model = two_by_three();
  model.node("Exp", {"x"}, {"a"});
  set_branches(model.node("If", {"c"}, {"y"}), Body().choice("c", "r", unary("Neg", "a"), unary("Abs", "a")).output("r"), unary("Relu"));
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Node& outer = *maker_of(*graph, "y");
  const Node& inner = *outer.bodies[0].producer(outer.bodies[0].outputs()[0]);
  ASSERT_EQ(inner.kind(), OpKind::kIf);
  EXPECT_EQ(inner.inputs.size(), 2u);
  EXPECT_EQ(outer.inputs.size(), 4u);  // the condition, and c, a, x inside
}

TEST(ImportControlFlow, ConditionsThatStayTrueAreLeftOut) {
  ModelMaker model = two_by_three();
  model.input("n", {}, 7);
  set_body(model.node("Loop", {"n", "c", "x"}, {"y"}), loop_body());
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto* params = params_of<LoopParams>(*graph, "y");
  ASSERT_TRUE(params);
  EXPECT_FALSE(params->conditional);
  EXPECT_EQ(params->states, 1);
}

TEST(ImportControlFlow, FixedCountsWithChangingShapesAreWrittenOut) {
  ModelMaker model(17);
  model.input("x", {int64_t{1}, int64_t{3}}).output("y").constant<int64_t>("n", {}, {3});
  Body body = Body().input("i").input("go").input("h").node("Concat", {"h", "x"}, {"h2"}).output("go").output("h2");
  auto& concat = const_cast<onnx::GraphProto&>(body.graph());
  NodeMaker(*concat.mutable_node(0)).integer("axis", 0);
  set_body(model.node("Loop", {"n", "", "x"}, {"y"}), body);
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->value(graph->outputs()[0]).type.shape, (Shape{4, 3}));
  for (NodeId id = 0; id < graph->node_count(); ++id) EXPECT_FALSE(is_control_flow(graph->node(id).kind()));
}

TEST(ImportControlFlow, RefusalsSayWhy) {
  ModelMaker dangling = two_by_three();
  set_branches(dangling.node("If", {"c"}, {"y"}), unary("Relu", "nowhere"), unary("Tanh"));
  EXPECT_HAS(error_of(dangling), "'nowhere' is made by no node");

  ModelMaker twice = two_by_three();
  set_branches(twice.node("If", {"c"}, {"y"}), Body().node("Relu", {"x"}, {"r"}).node("Tanh", {"x"}, {"r"}).output("r"), unary("Tanh"));
  EXPECT_HAS(error_of(twice), "tensor 'r' is made twice");

  ModelMaker few = two_by_three();
  set_branches(few.node("If", {"c"}, {"y"}), unary("Relu"), unary("Tanh").output("r"));
  EXPECT_HAS(error_of(few), "as many outputs as the node");

  ModelMaker with_inputs = two_by_three();
  set_branches(with_inputs.node("If", {"c"}, {"y"}), unary("Relu").input("z"), unary("Tanh"));
  EXPECT_HAS(error_of(with_inputs), "a branch has inputs of its own");

  ModelMaker types = two_by_three();
  Body cast = Body().node("Cast", {"x"}, {"r"}).output("r");
  NodeMaker(*const_cast<onnx::GraphProto&>(cast.graph()).mutable_node(0)).integer("to", 7);
  set_branches(types.node("If", {"c"}, {"y"}), cast, unary("Tanh"));
  EXPECT_HAS(error_of(types), "element type");

  ModelMaker no_body = two_by_three();
  no_body.node("Loop", {"", "c", "x"}, {"y"});
  EXPECT_HAS(error_of(no_body), "needs a graph as attribute 'body'");

  ModelMaker states = two_by_three();
  set_body(states.node("Loop", {"", "c", "x", "x"}, {"y"}), loop_body());
  EXPECT_HAS(error_of(states), "need a trip count, a condition and 2 states in");

  ModelMaker endless = two_by_three();
  set_body(endless.node("Loop", {"", "c", "x"}, {"y"}), loop_body());
  EXPECT_HAS(error_of(endless), "never ends");

  ModelMaker count = two_by_three();
  set_body(count.node("Loop", {"x", "c", "x"}, {"y"}), loop_body());
  EXPECT_HAS(error_of(count), "trip count: need one element of s64");

  ModelMaker scan = two_by_three();
  NodeMaker scan_node = scan.node("Scan", {"x"}, {"y"});
  set_body(scan_node, Body().input("e").node("Relu", {"e"}, {"r"}).output("r"));
  EXPECT_HAS(error_of(scan), "scans nothing");
  scan_node.integer("num_scan_inputs", 1).integers("scan_input_directions", {2});
  EXPECT_HAS(error_of(scan), "neither 0 nor 1");
}

TEST(ImportControlFlow, ConditionsAreTensors) {
  for (const bool counted : {false, true}) {
    ModelMaker model = two_by_three();
    model.constant<int64_t>("n", {}, {2});
    Body body = Body().input("i").input("go").input("h").node("SequenceConstruct", {"x"}, {"s"}).node("Add", {"h", "x"}, {"h2"}).output("s").output("h2");
    set_body(model.node("Loop", {counted ? "n" : "", "", "x"}, {"y"}), body);
    EXPECT_HAS(error_of(model), "condition is a sequence");
  }
}

TEST(ImportControlFlow, DepthIsBounded) {
  const auto nested = [](int depth) {
    Body body = unary("Relu");
    for (int i = 0; i < depth; ++i) body = Body().choice("c", "r", body, unary("Tanh")).output("r");
    ModelMaker model = two_by_three();
    set_branches(model.node("If", {"c"}, {"y"}), body, unary("Tanh"));
    return model;
  };
  EXPECT_EQ(error_of(nested(kMaxBodyDepth - 1)), "imported");
  EXPECT_HAS(error_of(nested(kMaxBodyDepth)), "bodies within bodies: need at most 8 levels");
}

// What a condition is known to be at each of several shapes chooses there; what depends on data keeps an upper bound.
TEST(ImportControlFlow, ShapesOfBranches) {
  ModelMaker model = two_by_three();
  Body twice = Body().node("Concat", {"x", "x"}, {"r"}).output("r");
  NodeMaker(*const_cast<onnx::GraphProto&>(twice.graph()).mutable_node(0)).integer("axis", 0);
  set_branches(model.node("If", {"c"}, {"y"}), twice, unary("Tanh"));
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Value& y = graph->value(graph->outputs()[0]);
  EXPECT_EQ(y.type.shape, (Shape{Shape::kDynamic, 3}));
  EXPECT_EQ(y.late_dims, 1u);
  EXPECT_EQ(y.probe_shapes[0], (Shape{4, 3}));
}

TEST(ControlFlowText, PrintsAndReadsBack) {
  ModelMaker model = two_by_three();
  model.constant<int64_t>("n", {}, {3});
  set_branches(model.node("If", {"c"}, {"t"}), unary("Exp"), Body().choice("c", "r", unary("Neg"), unary("Abs")).output("r"));
  set_body(model.node("Loop", {"n", "", "t"}, {"y"}), loop_body());
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const std::string text = to_text(*graph);
  auto read = parse_graph(text);
  ASSERT_TRUE(read.ok()) << read.status().message() << '\n' << text;
  EXPECT_EQ(to_text(read->graph), text);
  EXPECT_HAS(std::string(parse_graph("%x = input f32[2]\nbody\nend\n").status().message()), "one without its op");
  EXPECT_HAS(std::string(parse_graph("%c = input bool[]\n%x = input f32[2]\n%y = If(%c, %x)\nbody\n").status().message()), "no end");
  EXPECT_FALSE(parse_graph("%c = input bool[]\n%x = input f32[2]\n%y = If(%c, %x)\noutput %y\n").ok());
}

// Constants that a pass makes sink into bodies; captures that nothing uses any more go, and what was there for them.
TEST(ControlFlowPasses, BodiesHoldConstantsAndNoMoreThanTheyUse) {
  auto read = parse_graph(R"(%c = input bool[]
%x = input f32[2x3]
%w = const f32[40x3] random(1)
%t = Transpose(%w) {perm=[1,0]}
%unused = Unary(%x) {function="exp"}
%y = If(%c, %x, %t, %unused)
body
  %x = input f32[2x3]
  %t = input f32[3x40]
  %u = input f32[2x3]
  %n = Unary(%u) {function="neg"}
  %y = MatMul(%x, %t)
  output %y
end
body
  %x = input f32[2x3]
  %t = input f32[3x40]
  %u = input f32[2x3]
  %r = Unary(%x) {function="relu"}
  %y = MatMul(%r, %t)
  output %y
end
output %y
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  Graph& graph = read->graph;
  BuildOptions options;
  ASSERT_TRUE(fold_constants(graph, options).ok());
  ASSERT_TRUE(eliminate_dead_nodes(graph, options).ok());
  ASSERT_TRUE(verify_graph(graph).ok()) << verify_graph(graph).message();
  const Node& node = *maker_of(graph, "y");
  ASSERT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(graph.value(node.inputs[1]).name, "x");
  for (const Graph& body : node.bodies) {
    EXPECT_EQ(names_of_inputs(body), std::vector<std::string>{"x"});
    EXPECT_TRUE(body.is_constant(body.producer(body.outputs()[0])->inputs[1]));
  }
  EXPECT_EQ(maker_of(graph, "unused"), nullptr);
}

}  // namespace
}  // namespace ingot
