// Malformed models: each ends in one clear line and a code, in bounded time and memory; and thousands of seeded mutations.
#include <gtest/gtest.h>

#include <random>

#include "../fuzz/mutate_onnx.h"
#include "onnx_model_maker.h"

namespace ingot {
namespace {

std::string error_of(const Expected<Graph>& graph, StatusCode code = StatusCode::kInvalidModel) {
  EXPECT_FALSE(graph.ok());
  if (graph.ok()) return {};
  EXPECT_EQ(graph.status().code(), code) << graph.status().message();
  const std::string text(graph.status().message());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  return text;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

ModelMaker vector_model(int64_t opset = 13) {
  ModelMaker model(opset);
  model.input("x", {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{8}}).output("y");
  return model;
}

Expected<Graph> import_text(const std::string& bytes) { return import_model_bytes(std::as_bytes(std::span(bytes)), "", {}); }

TEST(ImportMalformed, NotAModel) {
  EXPECT_HAS(error_of(import_text("this is no model")), "is not an ONNX model");
  EXPECT_HAS(error_of(import_text("")), "has no graph");
  ModelMaker model = vector_model();
  model.node("Relu", {"x"}, {"y"});
  const std::string bytes = model.bytes();
  EXPECT_FALSE(import_text(bytes.substr(0, bytes.size() - 3)).ok());
  ImportOptions small;
  small.max_model_bytes = 10;
  EXPECT_HAS(error_of(model.import(small), StatusCode::kUnsupported), "is too large");
}

TEST(ImportMalformed, Opsets) {
  ModelMaker none(13);
  none.model.clear_opset_import();
  none.input("x", {int64_t{2}}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(none.import()), "names no opset version");
  none.graph().mutable_node(0)->set_domain("my.domain");  // then it needs none
  EXPECT_EQ(none.import().status().code(), StatusCode::kUnsupported);
  ModelMaker two = vector_model();
  two.set_opset("ai.onnx", 12);
  two.node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(two.import()), "is given twice: got 13 and 12");
}

TEST(ImportMalformed, Cycles) {
  ModelMaker self = vector_model();
  self.node("Add", {"x", "y"}, {"y"}).named("loop");
  EXPECT_HAS(error_of(self.import()), "node 'loop' (Add): is part of a cycle");
  ModelMaker pair = vector_model();
  pair.node("Add", {"x", "b"}, {"a"});
  pair.node("Relu", {"a"}, {"b"});
  pair.node("Relu", {"b"}, {"y"});
  EXPECT_HAS(error_of(pair.import()), "cycle");
}

TEST(ImportMalformed, Names) {
  ModelMaker dangling = vector_model();
  dangling.node("Add", {"x", "ghost"}, {"y"}).named("add");
  EXPECT_HAS(error_of(dangling.import()), "node 'add' (Add): input 'ghost' is made by no node");
  ModelMaker missing_output = vector_model();
  missing_output.node("Relu", {"x"}, {"z"});
  EXPECT_HAS(error_of(missing_output.import()), "graph output 'y' is made by no node");
  ModelMaker twice = vector_model();
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Exp", {"x"}, {"y"});
  EXPECT_HAS(error_of(twice.import()), "tensor 'y' is made twice");
  ModelMaker over_input = vector_model();
  over_input.node("Relu", {"x"}, {"y"});
  over_input.node("Exp", {"x"}, {"x"});
  EXPECT_HAS(error_of(over_input.import()), "which is an input or initialiser already");
  ModelMaker weights = vector_model();
  weights.constant<float>("w", {1}, {1}).constant<float>("w", {1}, {2}).node("Add", {"x", "w"}, {"y"});
  EXPECT_HAS(error_of(weights.import()), "initialiser 'w' is there twice");
  ModelMaker inputs = vector_model();
  inputs.input("x", {int64_t{1}}).node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(inputs.import()), "input 'x' is there twice");
  ModelMaker outputs = vector_model();
  outputs.output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(outputs.import()), "output 'y' is there twice");
  ModelMaker no_outputs(13);
  no_outputs.input("x", {int64_t{1}});
  EXPECT_HAS(error_of(no_outputs.import()), "has no outputs");
  ModelMaker broken = vector_model();
  broken.node("Relu", {"x"}, {"y"}).named("bad\xff\nname");
  EXPECT_HAS(error_of(broken.import()), "a name is not UTF-8: got 'bad\\xff\\x0aname'");
}

TEST(ImportMalformed, Dims) {
  ModelMaker negative(13);
  negative.input("x", {int64_t{-7}}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(negative.import()), "input 'x': has a negative dim: got -7");
  ModelMaker huge(13);
  huge.input("x", {int64_t{1} << 40, int64_t{1} << 40}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(huge.import()), "more elements than can be counted");
  ModelMaker deep(13);
  deep.input("x", std::vector<TestDim>(20, int64_t{1})).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(deep.import(), StatusCode::kUnsupported), "too many dims: got 20");
}

// Small models that ask for very much: type rules speak about sizes only, nothing is computed.
TEST(ImportMalformed, Bombs) {
  ModelMaker fill(13);
  fill.output("y").constant<int64_t>("n", {1}, {int64_t{600} << 20}).node("ConstantOfShape", {"n"}, {"y"});
  auto graph = fill.import();
  if (graph.ok()) {
    EXPECT_FALSE(graph->is_constant(graph->find_value("y")));
  }
  ModelMaker overflow(13);
  overflow.output("y").constant<int64_t>("n", {2}, {INT64_MAX, INT64_MAX}).node("ConstantOfShape", {"n"}, {"y"});
  EXPECT_FALSE(overflow.import().ok());
  ModelMaker tile = vector_model();
  tile.constant<int64_t>("n", {4}, {1 << 30, 1 << 30, 1 << 30, 1 << 30}).node("Tile", {"x", "n"}, {"y"});
  EXPECT_FALSE(tile.import().ok());
  ModelMaker range(13);
  range.output("y").constant<int64_t>("a", {}, {INT64_MIN}).constant<int64_t>("b", {}, {INT64_MAX}).constant<int64_t>("d", {}, {1});
  range.node("Range", {"a", "b", "d"}, {"y"});
  EXPECT_FALSE(range.import().ok());
}

TEST(ImportMalformed, DivisionThatTraps) {
  for (const char* op : {"Div", "Mod"})
    for (int64_t divisor : {int64_t{-1}, int64_t{0}}) {
      ModelMaker model(13);
      model.output("y").constant<int64_t>("a", {1}, {INT64_MIN}).constant<int64_t>("b", {1}, {divisor}).node(op, {"a", "b"}, {"y"});
      (void)model.import().ok();  // either answer, but an answer
    }
}

TEST(ImportMalformed, AttributesOfNodes) {
  const auto conv = [](auto fill) {
    ModelMaker model = vector_model();
    model.constant<float>("w", {2, 2, 3, 3}, std::vector<float>(36, 1));
    auto node = model.node("Conv", {"x", "w"}, {"y"});
    node.named("c");
    fill(node);
    return model.import();
  };
  EXPECT_TRUE(conv([](NodeMaker&) {}).ok());
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integer("group", 0); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integer("group", -1); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("strides", {0, 1}); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("strides", {INT64_MIN, 1}); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("dilations", {INT64_MAX, INT64_MAX}); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("pads", {INT64_MAX, 0, INT64_MAX, 0}); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("pads", {1}); })), "node 'c'");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integers("kernel_shape", {5, 5}); })), "kernel_shape differs from the weights");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.text("group", "one"); })), "attribute 'group' has a wrong type: need INT");
  EXPECT_HAS(error_of(conv([](NodeMaker& n) { n.integer("group", 1).integer("group", 1); })), "attribute 'group' is there twice");

  ModelMaker ranks = vector_model();
  ranks.constant<float>("w", {2, 2}, std::vector<float>(4, 1)).node("Conv", {"x", "w"}, {"y"});
  EXPECT_FALSE(ranks.import().ok());
  ModelMaker missing = vector_model();
  missing.node("Conv", {"x"}, {"y"}).named("c");
  EXPECT_HAS(error_of(missing.import()), "node 'c' (Conv, ai.onnx 13, inputs f32[1x2x8x8]): input 1 is missing");
  ModelMaker axis = vector_model();
  axis.node("Softmax", {"x"}, {"y"}).integer("axis", 9);
  EXPECT_HAS(error_of(axis.import()), "axis is out of range: got 9, need -4 to 3");
}

TEST(ImportMalformed, DeepNesting) {
  ModelMaker model = vector_model();
  onnx::GraphProto* graph = &model.graph();
  for (int i = 0; i < 300; ++i) {
    auto& attribute = *graph->add_node()->add_attribute();
    attribute.set_name("then_branch");
    graph = attribute.mutable_g();
  }
  EXPECT_HAS(error_of(model.import()), "is not an ONNX model");
}

// A chain of many small nodes, to see that nothing is quadratic.
TEST(ImportMalformed, ManyNodes) {
  ModelMaker model(13);
  model.input("x", {int64_t{2}}).output("y");
  std::string last = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = i == 19999 ? "y" : "v" + std::to_string(i);
    model.node("Relu", {last.c_str()}, {next.c_str()});
    last = next;
  }
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->topological_order().size(), 20000u);
}

// A model that touches many importers.
ModelMaker rich_model() {
  ModelMaker model(13);
  model.input("x", {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{8}}).output("y").output("z");
  model.constant<float>("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f)).constant<float>("b", {2}, {1, 2});
  model.node("Conv", {"x", "w", "b"}, {"c"}).integers("pads", {1, 1, 1, 1}).integers("strides", {1, 1});
  model.constant<float>("lo", {}, {0}).constant<float>("hi", {}, {6}).node("Clip", {"c", "lo", "hi"}, {"r"});
  model.node("MaxPool", {"r"}, {"p"}).integers("kernel_shape", {2, 2}).integers("strides", {2, 2});
  model.constant<float>("s", {4}, {1, 1, 2, 2}).node("Resize", {"p", "", "s"}, {"u"}).text("mode", "nearest");
  model.node("Concat", {"u", "x"}, {"k"}).integer("axis", 1);
  model.constant<int64_t>("st", {1}, {1}).constant<int64_t>("en", {1}, {3}).node("Slice", {"k", "st", "en", "st"}, {"l"});
  model.node("Shape", {"l"}, {"sh"});
  model.node("Gather", {"sh", "st"}, {"g"}).integer("axis", 0);
  model.constant<int64_t>("m", {1}, {-1}).node("Concat", {"g", "m"}, {"t"}).integer("axis", 0);
  model.node("Reshape", {"l", "t"}, {"f"});
  model.node("Transpose", {"f"}, {"tr"}).integers("perm", {1, 0});
  model.node("Gemm", {"f", "tr", "b"}, {"h"}).number("alpha", 0.5f);
  model.node("Softmax", {"h"}, {"y"}).integer("axis", 1);
  model.node("ReduceMean", {"l"}, {"rm"}).integers("axes", {2, 3}).integer("keepdims", 0);
  model.constant<float>("qs", {}, {0.1f}).constant<uint8_t>("qz", {}, {3});
  model.node("QuantizeLinear", {"rm", "qs", "qz"}, {"q"});
  model.node("DequantizeLinear", {"q", "qs", "qz"}, {"dq"});
  model.constant<int64_t>("pd", {4}, {0, 1, 0, 1}).node("Pad", {"dq", "pd"}, {"pa"});
  model.node("Split", {"pa"}, {"s1", "s2"}).integer("axis", 1);
  model.node("Where", {"eq", "s1", "s2"}, {"wh"});
  model.node("Equal", {"s1", "s2"}, {"eq"});
  model.constant<int64_t>("ex", {3}, {2, 1, 2}).node("Expand", {"wh", "ex"}, {"xp"});
  model.constant<int64_t>("rep", {3}, {1, 2, 1}).node("Tile", {"xp", "rep"}, {"ti"});
  model.node("Cast", {"ti"}, {"z"}).integer("to", 7);
  return model;
}

TEST(ImportMalformed, RichModelIsFine) {
  auto graph = rich_model().import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
}

void expect_answer(const Expected<Graph>& graph) {
  if (graph.ok()) return;
  ASSERT_FALSE(graph.status().message().empty());
  ASSERT_NE(graph.status().code(), StatusCode::kInternal) << graph.status().message();
}

TEST(ImportMalformed, MutatedBytes) {
  const std::string original = rich_model().bytes();
  std::mt19937_64 random(20260);
  int survived = 0;
  for (int i = 0; i < 10000; ++i) {
    auto graph = import_text(mutate_bytes(original, random));
    survived += graph.ok();
    expect_answer(graph);
  }
  EXPECT_GT(survived, 100);  // else the mutations tell little
}

TEST(ImportMalformed, MutatedStructure) {
  const onnx::ModelProto original = rich_model().model;
  std::mt19937_64 random(20261);
  int survived = 0;
  for (int i = 0; i < 10000; ++i) {
    onnx::ModelProto model = original;
    mutate_model(model, random);
    auto graph = import_text(model.SerializeAsString());
    survived += graph.ok();
    expect_answer(graph);
  }
  EXPECT_GT(survived, 100);
}

}  // namespace
}  // namespace ingot
