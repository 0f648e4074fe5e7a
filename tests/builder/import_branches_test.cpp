// If whose condition is known when the model is imported: the chosen branch stands in for it.
#include <gtest/gtest.h>

#include "onnx_model_maker.h"

namespace ingot {
namespace {

// A branch that makes `op` of x and names its result `result`; with nothing else inside.
onnx::GraphProto branch(const std::string& op, const std::string& result, const std::string& input = "x") {
  onnx::GraphProto graph;
  auto& node = *graph.add_node();
  node.set_op_type(op);
  node.add_input(input);
  node.add_output(result);
  graph.add_output()->set_name(result);
  return graph;
}

void set_branches(NodeMaker node, const onnx::GraphProto& then_branch, const onnx::GraphProto& else_branch) {
  *node.attribute("then_branch", onnx::AttributeProto::GRAPH).mutable_g() = then_branch;
  *node.attribute("else_branch", onnx::AttributeProto::GRAPH).mutable_g() = else_branch;
}

ModelMaker two_by_three() {
  ModelMaker model(17);
  model.input("x", {int64_t{2}, int64_t{3}}).output("y");
  return model;
}

std::string error_of(const ModelMaker& model) {
  auto graph = model.import();
  return graph.ok() ? "imported" : std::string(graph.status().message());
}

const UnaryParams* behind_output(const Graph& graph) {
  const Node* identity = maker_of(graph, "y");
  const Node* node = identity ? graph.producer(identity->inputs[0]) : nullptr;
  return node ? std::get_if<UnaryParams>(&node->params) : nullptr;
}

TEST(ImportBranches, ConstantConditionsChoose) {
  for (bool condition : {true, false}) {
    ModelMaker model = two_by_three();
    model.constant("c", {}, std::vector<uint8_t>{condition});
    model.graph().mutable_initializer(0)->set_data_type(9);
    // Both branches name their tensors alike, and as the outer graph does.
    set_branches(model.node("If", {"c"}, {"y"}), branch("Relu", "r"), branch("Tanh", "r"));
    auto graph = model.import();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const UnaryParams* params = behind_output(*graph);
    ASSERT_TRUE(params);
    EXPECT_EQ(params->function, condition ? UnaryFunction::kRelu : UnaryFunction::kTanh);
  }
}

// The condition comes from a shape, a branch reads a tensor that a node behind it in the file makes, and branches nest.
TEST(ImportBranches, ShapesChooseAndOuterTensorsAreSeen) {
  ModelMaker model = two_by_three();
  onnx::GraphProto outer = branch("Relu", "unused", "later");
  auto& nested = *outer.add_node();
  nested.set_op_type("If");
  nested.add_input("c");
  nested.add_output("n");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *nested.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branch("Sigmoid", "s", name[0] == 't' ? "later" : "nowhere");
  }
  outer.mutable_output(0)->set_name("n");
  set_branches(model.node("If", {"c"}, {"y"}), outer, branch("Tanh", "t"));
  model.node("Exp", {"x"}, {"later"});
  model.constant<int64_t>("six", {}, {6}).node("Size", {"x"}, {"size"});
  model.node("Equal", {"size", "six"}, {"c"});
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const UnaryParams* params = behind_output(*graph);
  ASSERT_TRUE(params);
  EXPECT_EQ(params->function, UnaryFunction::kSigmoid);
}

TEST(ImportBranches, Refusals) {
  ModelMaker missing = two_by_three();
  missing.constant("c", {}, std::vector<uint8_t>{1});
  missing.graph().mutable_initializer(0)->set_data_type(9);
  missing.node("If", {"c"}, {"y"});
  EXPECT_NE(error_of(missing).find("needs a then_branch and an else_branch"), std::string::npos) << error_of(missing);

  ModelMaker dangling = two_by_three();
  dangling.constant("c", {}, std::vector<uint8_t>{1});
  dangling.graph().mutable_initializer(0)->set_data_type(9);
  set_branches(dangling.node("If", {"c"}, {"y"}), branch("Relu", "r", "nowhere"), branch("Tanh", "t"));
  EXPECT_NE(error_of(dangling).find("'nowhere' is made by no node"), std::string::npos) << error_of(dangling);

  // Depth is bounded.
  onnx::GraphProto deep = branch("Relu", "r");
  for (int i = 0; i < 20; ++i) {
    onnx::GraphProto next = branch("If", "r", "c");
    for (const char* name : {"then_branch", "else_branch"}) {
      auto& attribute = *next.mutable_node(0)->add_attribute();
      attribute.set_name(name);
      if (name[0] == 't') *attribute.mutable_g() = deep;
      else *attribute.mutable_g() = branch("Tanh", "t");
    }
    deep = next;
  }
  ModelMaker nested = two_by_three();
  nested.constant("c", {}, std::vector<uint8_t>{1});
  nested.graph().mutable_initializer(0)->set_data_type(9);
  set_branches(nested.node("If", {"c"}, {"y"}), deep, branch("Tanh", "t"));
  EXPECT_NE(error_of(nested).find("nested too deep"), std::string::npos) << error_of(nested);
}

}  // namespace
}  // namespace ingot
