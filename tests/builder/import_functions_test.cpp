// Functions of the model itself: inlined with their own names, attributes and opsets, within bounds.
#include <gtest/gtest.h>

#include "onnx_model_maker.h"

namespace ingot {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class FunctionMaker {
 public:
  FunctionMaker(ModelMaker& model, const std::string& name, std::initializer_list<const char*> inputs,
                std::initializer_list<const char*> outputs, int64_t opset = 13)
      : proto_(*model.model.add_functions()) {
    proto_.set_name(name);
    proto_.set_domain("local");
    for (const char* input : inputs) proto_.add_input(input);
    for (const char* output : outputs) proto_.add_output(output);
    auto& entry = *proto_.add_opset_import();
    entry.set_domain("");
    entry.set_version(opset);
  }
  NodeMaker node(const std::string& op, std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs,
                 const std::string& domain = "") {
    auto& node = *proto_.add_node();
    node.set_op_type(op);
    node.set_domain(domain);
    for (const char* input : inputs) node.add_input(input);
    for (const char* output : outputs) node.add_output(output);
    return NodeMaker(node);
  }
  onnx::FunctionProto& proto() { return proto_; }

 private:
  onnx::FunctionProto& proto_;
};

ModelMaker one_call(const std::string& function) {
  ModelMaker model(13);
  model.set_opset("local", 1);
  model.input("x", {int64_t{2}, int64_t{3}}).output("y").node(function, {"x"}, {"y"}).domain("local").named("call");
  return model;
}

std::string failure(const ModelMaker& model, StatusCode code) {
  const auto graph = model.import();
  EXPECT_FALSE(graph.ok());
  if (graph.ok()) return {};
  EXPECT_EQ(graph.status().code(), code) << graph.status().message();
  return std::string(graph.status().message());
}

void refer(NodeMaker node, const char* attribute, const char* to, onnx::AttributeProto::AttributeType type) {
  node.attribute(attribute, type).set_ref_attr_name(to);
}

TEST(ImportFunctions, CallsInsideCallsKeepNamesApart) {
  ModelMaker model(13);
  model.set_opset("local", 1);
  model.input("x", {int64_t{2}}).output("y").output("t");
  model.node("Outer", {"x"}, {"t"}).domain("local").named("first");
  model.node("Outer", {"t"}, {"y"}).domain("local").named("second");
  FunctionMaker outer(model, "Outer", {"a"}, {"b"});
  outer.node("Inner", {"a"}, {"t"}, "local");  // 't' is another tensor than the graph's
  outer.node("Exp", {"t"}, {"b"});
  FunctionMaker inner(model, "Inner", {"a"}, {"t"});
  inner.node("Relu", {"a"}, {"b"});
  inner.node("Neg", {"b"}, {"t"});
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  std::vector<UnaryFunction> chain;
  for (ValueId id = graph->outputs()[0]; !graph->value(id).is_input;) {
    const Node& node = *graph->producer(id);
    chain.push_back(std::get<UnaryParams>(node.params).function);
    id = node.inputs[0];
  }
  using F = UnaryFunction;
  EXPECT_EQ(chain, (std::vector<F>{F::kExp, F::kNeg, F::kRelu, F::kExp, F::kNeg, F::kRelu}));
  EXPECT_EQ(maker_of(*graph, "t")->name, "first/Exp_1");
}

TEST(ImportFunctions, AttributesAreGivenDefaultedOrLeftOut) {
  const auto alpha = [](bool given, bool has_default) {
    ModelMaker model = one_call("Leaky");
    if (given) NodeMaker(*model.graph().mutable_node(0)).number("slope", 0.5f);
    FunctionMaker leaky(model, "Leaky", {"a"}, {"b"});
    refer(leaky.node("LeakyRelu", {"a"}, {"b"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
    if (has_default) {
      onnx::AttributeProto attribute;
      attribute.set_name("slope");
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(0.25f);
      const std::string bytes = attribute.SerializeAsString();
      leaky.proto().mutable_unknown_fields()->append(std::string("\x5a") + static_cast<char>(bytes.size()) + bytes);
    } else {
      leaky.proto().add_attribute("slope");
    }
    const auto graph = model.import();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return graph.ok() ? params_of<UnaryParams>(*graph, "y")->alpha : 0.0;
  };
  EXPECT_EQ(alpha(true, false), 0.5);
  EXPECT_EQ(alpha(true, true), 0.5);
  EXPECT_EQ(alpha(false, true), 0.25);
  EXPECT_EQ(alpha(false, false), static_cast<double>(0.01f));  // the operator's own default
}

TEST(ImportFunctions, NodesFollowTheFunctionsOpset) {
  ModelMaker model = one_call("Old");  // opset 13 outside
  FunctionMaker old(model, "Old", {"a"}, {"b"}, 11);
  old.node("Softmax", {"a"}, {"b"}).integer("axis", 0);
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_TRUE(params_of<SoftmaxParams>(*graph, "y")->flatten);
}

TEST(ImportFunctions, OptionalOperandsAndResultsThatAreOperands) {
  ModelMaker model(13);
  model.set_opset("local", 1);
  model.input("x", {int64_t{2}}).output("y").output("z");
  model.node("Both", {"x"}, {"y", "z", ""}).domain("local");
  FunctionMaker both(model, "Both", {"a", "high"}, {"a", "b", "c"});
  both.node("Clip", {"a", "", "high"}, {"b"});
  both.node("Neg", {"a"}, {"c"});
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->outputs().size(), 2u);
  EXPECT_EQ(graph->value(graph->outputs()[0]).name, "y");
}

// Calls inside a branch unfold there, by the opset of the function they came from.
TEST(ImportFunctions, CallsInsideBranches) {
  ModelMaker model(13);
  model.set_opset("local", 1);
  model.input("x", {int64_t{2}, int64_t{3}}).output("y").constant<uint8_t>("c", {}, {1});
  model.graph().mutable_initializer(0)->set_data_type(9);
  NodeMaker choice = model.node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *choice.attribute(name, onnx::AttributeProto::GRAPH).mutable_g();
    auto& call = *branch.add_node();
    call.set_op_type("Old");
    call.set_domain("local");
    call.add_input("x");
    call.add_output("t");
    branch.add_output()->set_name("t");
  }
  FunctionMaker old(model, "Old", {"a"}, {"b"}, 11);
  old.node("Softmax", {"a"}, {"t"}).integer("axis", 0);
  old.node("Relu", {"t"}, {"b"});
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Node* copy = graph->producer(graph->outputs()[0]);
  const Node* relu = std::holds_alternative<IdentityParams>(copy->params) ? graph->producer(copy->inputs[0]) : copy;
  const auto* softmax = std::get_if<SoftmaxParams>(&graph->producer(relu->inputs[0])->params);
  ASSERT_NE(softmax, nullptr);
  EXPECT_TRUE(softmax->flatten);  // as before opset 13
}

// A branch inside a function reads the function's own tensors and attributes.
TEST(ImportFunctions, BranchesInsideFunctions) {
  ModelMaker model = one_call("F");
  NodeMaker(*model.graph().mutable_node(0)).number("slope", 0.5f);
  FunctionMaker function(model, "F", {"a"}, {"b"});
  function.proto().add_attribute("slope");
  NodeMaker yes = function.node("Constant", {}, {"c"});
  auto& value = *yes.attribute("value", onnx::AttributeProto::TENSOR).mutable_t();
  fill_tensor<uint8_t>(value, {}, {1});
  value.set_data_type(9);
  function.node("Neg", {"a"}, {"n"});
  NodeMaker choice = function.node("If", {"c"}, {"b"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *choice.attribute(name, onnx::AttributeProto::GRAPH).mutable_g();
    auto& node = *branch.add_node();
    node.set_op_type("LeakyRelu");
    node.add_input("n");
    node.add_output("t");
    refer(NodeMaker(node), "alpha", "slope", onnx::AttributeProto::FLOAT);
    branch.add_output()->set_name("t");
  }
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Node* leaky = graph->producer(graph->outputs()[0]);
  if (std::holds_alternative<IdentityParams>(leaky->params)) leaky = graph->producer(leaky->inputs[0]);
  EXPECT_EQ(std::get<UnaryParams>(leaky->params).alpha, 0.5);
  EXPECT_EQ(std::get<UnaryParams>(graph->producer(leaky->inputs[0])->params).function, UnaryFunction::kNeg);
}

// Two functions of one name that a further name tells apart; field 13 of a function, field 8 of a node.
TEST(ImportFunctions, Overloads) {
  ModelMaker model = one_call("F");
  FunctionMaker(model, "F", {"a"}, {"b"}).node("Relu", {"a"}, {"b"});
  FunctionMaker other(model, "F", {"a"}, {"b"});
  other.node("Exp", {"a"}, {"b"});
  other.proto().mutable_unknown_fields()->append("\x6a\x02v2", 4);
  const auto function_of = [&] {
    const auto graph = model.import();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return graph.ok() ? params_of<UnaryParams>(*graph, "y")->function : UnaryFunction::kNeg;
  };
  EXPECT_EQ(function_of(), UnaryFunction::kRelu);
  model.graph().mutable_node(0)->mutable_unknown_fields()->append("\x42\x02v2", 4);
  EXPECT_EQ(function_of(), UnaryFunction::kExp);
}

// A function may take the name of an operator, and even call that operator in its body when it is of another domain.
TEST(ImportFunctions, NameOfAnOperator) {
  ModelMaker model = one_call("Relu");
  FunctionMaker(model, "Relu", {"x"}, {"y"}).node("Relu", {"x"}, {"y"}).named("inner");
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(params_of<UnaryParams>(*graph, "y")->function, UnaryFunction::kRelu);
  EXPECT_EQ(maker_of(*graph, "y")->name, "call/inner");
}

// Names that two calls would share, and that the graph has already.
TEST(ImportFunctions, NamesThatCollide) {
  ModelMaker model(13);
  model.set_opset("local", 1);
  model.input("x", {int64_t{2}}).output("y");
  model.node("F", {"x"}, {"a"}).domain("local").named("call");
  model.node("F", {"a"}, {"call/t"}).domain("local").named("call");  // the same name again
  model.node("Add", {"a", "call/t"}, {"y"});
  FunctionMaker function(model, "F", {"a"}, {"b"});
  function.node("Exp", {"a"}, {"t"});
  function.node("Neg", {"t"}, {"b"});
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->topological_order().size(), 5u);
}

TEST(ImportFunctions, RecursionThroughABranchIsRefused) {
  ModelMaker model = one_call("F");
  FunctionMaker function(model, "F", {"a"}, {"b"});
  NodeMaker choice = function.node("If", {"a"}, {"b"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& branch = *choice.attribute(name, onnx::AttributeProto::GRAPH).mutable_g();
    auto& call = *branch.add_node();
    call.set_op_type("F");
    call.set_domain("local");
    call.add_input("a");
    call.add_output("t");
    branch.add_output()->set_name("t");
  }
  EXPECT_HAS(failure(model, StatusCode::kInvalidModel), "function 'F' calls itself");
}

// 2^30 calls in branches of branches.
TEST(ImportFunctions, ExplosionInBranchesIsBounded) {
  ModelMaker model = one_call("F0");
  for (int i = 0; i < 30; ++i) {
    FunctionMaker function(model, "F" + std::to_string(i), {"a"}, {"b"});
    NodeMaker choice = function.node("If", {"a"}, {"b"});
    for (const char* name : {"then_branch", "else_branch"}) {
      auto& branch = *choice.attribute(name, onnx::AttributeProto::GRAPH).mutable_g();
      auto& call = *branch.add_node();
      call.set_op_type("F" + std::to_string(i + 1));
      call.set_domain("local");
      call.add_input("a");
      call.add_output("t");
      branch.add_output()->set_name("t");
    }
  }
  FunctionMaker(model, "F30", {"a"}, {"b"}).node("Relu", {"a"}, {"b"});
  const auto graph = model.import();
  ASSERT_FALSE(graph.ok());
  EXPECT_HAS(std::string(graph.status().message()), "need at most");
}

TEST(ImportFunctions, RecursionIsRefused) {
  ModelMaker itself = one_call("F");
  FunctionMaker(itself, "F", {"a"}, {"b"}).node("F", {"a"}, {"b"}, "local");
  EXPECT_HAS(failure(itself, StatusCode::kInvalidModel), "function 'F' calls itself");
  ModelMaker loop = one_call("F");
  FunctionMaker(loop, "F", {"a"}, {"b"}).node("G", {"a"}, {"b"}, "local");
  FunctionMaker(loop, "G", {"a"}, {"b"}).node("F", {"a"}, {"b"}, "local");
  EXPECT_HAS(failure(loop, StatusCode::kInvalidModel), "function 'F' calls itself");
}

TEST(ImportFunctions, ExplosionAndDepthAreBounded) {
  for (const bool empty : {false, true}) {  // 2^40 nodes, or as many calls that make no node
    ModelMaker model = one_call("F0");
    for (int i = 0; i < 40; ++i) {
      FunctionMaker function(model, "F" + std::to_string(i), {"a"}, {"b"});
      const std::string next = "F" + std::to_string(i + 1);
      function.node(next, {"a"}, {"m"}, "local");
      function.node(next, {"m"}, {"b"}, "local");
    }
    FunctionMaker last(model, "F40", {"a"}, {"b"});
    if (!empty) last.node("Relu", {"a"}, {"b"});
    EXPECT_HAS(failure(model, StatusCode::kUnsupported), "functions of the model");
  }
  ModelMaker deep = one_call("F0");
  for (int i = 0; i < 100; ++i)
    FunctionMaker(deep, "F" + std::to_string(i), {"a"}, {"b"}).node("F" + std::to_string(i + 1), {"a"}, {"b"}, "local");
  FunctionMaker(deep, "F100", {"a"}, {"b"}).node("Relu", {"a"}, {"b"});
  EXPECT_HAS(failure(deep, StatusCode::kUnsupported), "nested too deeply");
}

TEST(ImportFunctions, Malformed) {
  ModelMaker twice = one_call("F");
  for (int i = 0; i < 2; ++i) FunctionMaker(twice, "F", {"a"}, {"b"}).node("Relu", {"a"}, {"b"});
  EXPECT_HAS(failure(twice, StatusCode::kInvalidModel), "function 'F' of domain 'local' is there twice");
  ModelMaker many = one_call("F");
  FunctionMaker(many, "F", {}, {"b"}).node("Relu", {"a"}, {"b"});
  EXPECT_HAS(failure(many, StatusCode::kInvalidModel), "too many inputs or outputs: got 1 and 1, need at most 0 and 1");
  ModelMaker dangling = one_call("F");
  FunctionMaker(dangling, "F", {"a"}, {"b"}).node("Relu", {"nothing"}, {"b"});
  EXPECT_HAS(failure(dangling, StatusCode::kInvalidModel), "made by no node");
  ModelMaker unknown = one_call("F");
  FunctionMaker function(unknown, "F", {"a"}, {"b"});
  refer(function.node("LeakyRelu", {"a"}, {"b"}), "alpha", "slope", onnx::AttributeProto::FLOAT);
  EXPECT_HAS(failure(unknown, StatusCode::kInvalidModel), "refers to attribute 'slope', which the function does not have");
  ModelMaker broken = one_call("F");
  FunctionMaker bad(broken, "F", {"a"}, {"b"});
  bad.node("Relu", {"a"}, {"b"});
  bad.proto().mutable_unknown_fields()->append("\x5a\x03\x0a\x7f\x01");
  EXPECT_FALSE(broken.import().ok());
}

}  // namespace
}  // namespace ingot
