// What the importer says: all unsupported nodes at once, each with its own reason, and what to type for open dims.
#include <gtest/gtest.h>

#include "onnx_model_maker.h"

namespace ingot {
namespace {

std::string error_of(const Expected<Graph>& graph, StatusCode code) {
  EXPECT_FALSE(graph.ok());
  if (graph.ok()) return {};
  EXPECT_EQ(graph.status().code(), code) << graph.status().message();
  return std::string(graph.status().message());
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
#define EXPECT_HAS_NOT(text, part) EXPECT_EQ((text).find(part), std::string::npos) << (text)

TEST(ImportUnsupported, AllNodesAreListedAtOnce) {
  ModelMaker model(13);
  model.set_opset("my.domain", 4);
  model.input("x", {int64_t{2}, int64_t{3}}).output("y").constant<int64_t>("k", {1}, {1});
  model.node("ImageDecoder", {"x", "k"}, {"top", "where"}).named("pick");
  model.node("Relu", {"top"}, {"behind"}).named("fine_but_unknown");
  model.node("Magic", {"x"}, {"magic"}).named("wand").domain("my.domain");
  // What is inside bodies is listed like the rest.
  onnx::GraphProto inside;
  inside.add_node()->set_op_type("ImageDecoder");
  inside.mutable_node(0)->set_name("inner");
  inside.mutable_node(0)->add_input("x");
  inside.mutable_node(0)->add_output("decoded");
  inside.add_output()->set_name("decoded");
  model.input("condition", {}, 9);
  NodeMaker choice = model.node("If", {"condition"}, {"branch"});
  for (const char* name : {"then_branch", "else_branch"}) *choice.attribute(name, onnx::AttributeProto::GRAPH).mutable_g() = inside;
  model.node("StringConcat", {"x", "x"}, {"sequence"});
  model.node("Relu", {"x"}, {"r"}).named("odd").integer("leak", 1);
  model.node("NonZero", {"x"}, {"unused"}).named("not_needed");
  model.node("Sum", {"behind", "magic", "branch", "sequence", "r"}, {"y"}).named("end");
  const std::string text = error_of(model.import(), StatusCode::kUnsupported);
  EXPECT_HAS(text, "6 of 9 nodes cannot be imported");
  EXPECT_HAS(text, "\n  'pick' (ImageDecoder, ai.onnx 13, inputs f32[2x3], s64[1]): decoding of images is not supported");
  EXPECT_HAS(text, "'wand' (Magic, my.domain 4, inputs f32[2x3]): operators of domain 'my.domain' are not supported");
  EXPECT_HAS(text, "'inner' (ImageDecoder, ai.onnx 13, inputs f32[2x3]): decoding of images is not supported");
  EXPECT_HAS(text, "strings are not supported");
  EXPECT_HAS(text, "'odd' (Relu, ai.onnx 13, inputs f32[2x3]): attribute 'leak' is not supported");
  EXPECT_HAS_NOT(text, "fine_but_unknown");
  EXPECT_HAS_NOT(text, "not_needed");
  EXPECT_HAS_NOT(text, "'end'");
}

TEST(ImportUnsupported, ShapeThatDependsOnData) {
  ModelMaker model(13);
  model.input("x", {int64_t{6}}).input("n", {int64_t{2}}, 7).output("y").node("Reshape", {"x", "n"}, {"y"}).named("reshape");
  const std::string text = error_of(model.import(), StatusCode::kUnsupported);
  EXPECT_HAS(text, "'reshape' (Reshape");
  EXPECT_HAS(text, "size of dim 0 of 'y' depends on data, and no upper bound of it is known; give a limit, as by --limit 'y=?x?' with numbers for ?");
}

TEST(ImportUnsupported, LimitsStandInForBounds) {
  ModelMaker model(13);
  model.input("x", {int64_t{6}}).input("n", {int64_t{2}}, 7).output("y").node("Reshape", {"x", "n"}, {"y"});
  ImportOptions options;
  options.limits = {{"y", Shape{4, 6}}, {"nothing", Shape{1}}};
  const auto graph = model.import(options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Value& y = graph->value(graph->outputs()[0]);
  EXPECT_EQ(to_string(y.type.shape), "?x?");
  EXPECT_EQ(to_string(y.probe_shapes[0]), "4x6");
  EXPECT_EQ(graph->unused_limits(), std::vector<std::string>{"nothing"});
  options.limits = {{"y", Shape{4}}};
  EXPECT_HAS(error_of(model.import(options), StatusCode::kInvalidArgument), "limit of 'y': number of dims: got 4, need 2");
  options.limits = {{"y", Shape{Shape::kDynamic, 6}}};
  EXPECT_HAS(error_of(model.import(options), StatusCode::kUnsupported), "size of dim 0 of 'y' depends on data");
}

TEST(ImportUnsupported, EinsumEquations) {
  const auto error = [](const std::string& equation, StatusCode code) {
    ModelMaker model(13);
    model.input("x", {int64_t{2}, int64_t{3}}).output("y").node("Einsum", {"x"}, {"y"}).text("equation", equation);
    return error_of(model.import(), code);
  };
  EXPECT_HAS(error(std::string(5000, 'i'), StatusCode::kUnsupported), "too long: got 5000 characters");
  EXPECT_HAS(error(std::string(999, 'i'), StatusCode::kInvalidModel), "wrong length: got 999 letters, need 2");
  EXPECT_HAS(error("i.j->i", StatusCode::kInvalidModel), "malformed: got '.'");
  EXPECT_HAS(error("ij->k", StatusCode::kInvalidModel), "in no term");
  EXPECT_HAS(error("ij->ii", StatusCode::kInvalidModel), "there twice");
  EXPECT_HAS(error("ij,jk->ik", StatusCode::kInvalidModel), "differ in number: got 2 terms, need 1");
  EXPECT_HAS(error("......->", StatusCode::kInvalidModel), "malformed");
  EXPECT_HAS(error("ii->i", StatusCode::kInvalidModel), "dims of one letter differ");
}

// What an operator meant before opset 6 is imported where it is what later opsets mean.
TEST(ImportUnsupported, OldOpsets) {
  ModelMaker same(1);
  same.input("x", {int64_t{6}}).output("y").node("Relu", {"x"}, {"y"}).integers("consumed_inputs", {0});
  EXPECT_TRUE(same.import().ok()) << same.import().status().message();
  ModelMaker other(4);
  other.input("x", {int64_t{6}}).output("y").output("z").node("Reshape", {"x"}, {"y"}).integers("shape", {2, 3});
  other.node("Cast", {"x"}, {"z"}).text("to", "FLOAT");
  const std::string text = error_of(other.import(), StatusCode::kUnsupported);
  EXPECT_HAS(text, "opset is too old for this operator: got 4, need ≥ 5");
  EXPECT_HAS(text, "opset is too old for this operator: got 4, need ≥ 6");
}

TEST(ImportUnsupported, InputsThatAreNoTensors) {
  ModelMaker model(13);
  model.output("y").node("Relu", {"x"}, {"y"});
  auto& info = *model.graph().add_input();
  info.set_name("x");
  info.mutable_type()->mutable_sequence_type();
  EXPECT_HAS(error_of(model.import(), StatusCode::kUnsupported), "input 'x': only tensors");
  ModelMaker strings(13);
  strings.input("x", {int64_t{6}}, 8).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_HAS(error_of(strings.import(), StatusCode::kUnsupported), "element type string");
}

ShapeProfile profile(const char* input, Shape min, Shape opt, Shape max) { return {input, min, opt, max}; }

ModelMaker dynamic_model() {
  ModelMaker model(13);
  model.input("x", {open("n"), int64_t{3}, open("h"), open("w")}).output("y").node("Relu", {"x"}, {"y"});
  return model;
}

TEST(ImportProfiles, OpenDimsSayWhatToType) {
  const std::string text = error_of(dynamic_model().import(), StatusCode::kInvalidArgument);
  EXPECT_HAS(text, "input 'x' has dims nx3xhxw: give --profile 'x=1x3x32x32:1x3x320x320:8x3x960x960'");
}

TEST(ImportProfiles, Probes) {
  ImportOptions options;
  options.profiles = {profile("x", {1, 3, 48, 32}, {1, 3, 48, 320}, {8, 3, 48, 960})};
  auto graph = dynamic_model().import(options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(graph->probe_count(), 4u);
  const Value& x = graph->value(graph->inputs()[0]);
  EXPECT_EQ(x.type.shape, (Shape{-1, 3, 48, -1}));
  EXPECT_EQ(x.probe_shapes[kProbeOpt], (Shape{1, 3, 48, 320}));
  EXPECT_EQ(x.probe_shapes[kProbeMax], (Shape{8, 3, 48, 960}));
  const Shape& between = x.probe_shapes[kProbeBetween];
  EXPECT_GT(between[0], 1);
  EXPECT_LT(between[0], 8);
  EXPECT_GT(between[3], 32);
  EXPECT_LT(between[3], 960);
  EXPECT_NE(between[3], 320);
  EXPECT_EQ(between[3] % 32, 0);  // as min, opt and max
}

TEST(ImportProfiles, StaticProfileGivesOneProbe) {
  ImportOptions options;
  options.profiles = {profile("x", {1, 3, 48, 32}, {1, 3, 48, 32}, {1, 3, 48, 32})};
  auto graph = dynamic_model().import(options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->probe_count(), 1u);
  EXPECT_TRUE(graph->value(graph->inputs()[0]).type.shape.is_static());
}

TEST(ImportProfiles, LoneBatchHasADefault) {
  ModelMaker model(13);
  model.input("x", {open("batch"), int64_t{3}}).output("y").node("Relu", {"x"}, {"y"});
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Value& x = graph->value(graph->inputs()[0]);
  EXPECT_EQ(x.probe_shapes[kProbeMin], (Shape{1, 3}));
  EXPECT_EQ(x.probe_shapes[kProbeMax], (Shape{8, 3}));
}

TEST(ImportProfiles, DimsOfOneNameAreTheSame) {
  ModelMaker model(13);
  model.input("ids", {open("b"), open("s")}).input("mask", {open("b"), open("s")}).output("y").node("Mul", {"ids", "mask"}, {"y"});
  ImportOptions options;
  options.profiles = {profile("ids", {1, 16}, {1, 32}, {4, 128})};
  auto graph = model.import(options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->value(graph->inputs()[1]).probe_shapes, graph->value(graph->inputs()[0]).probe_shapes);
}

TEST(ImportProfiles, WrongProfiles) {
  const auto text_for = [](ShapeProfile wrong) {
    ImportOptions options;
    options.profiles = {std::move(wrong)};
    return error_of(dynamic_model().import(options), StatusCode::kInvalidArgument);
  };
  EXPECT_HAS(text_for(profile("z", {1}, {1}, {1})), "names no input of the model: got 'z', need one of 'x'");
  EXPECT_HAS(text_for(profile("x", {1, 3}, {1, 3}, {1, 3})), "wrong number of dims: got 1x3, need 4");
  EXPECT_HAS(text_for(profile("x", {1, 4, 8, 8}, {1, 4, 8, 8}, {1, 4, 8, 8})), "the model fixes dim 1: got 4:4:4, need 3");
  EXPECT_HAS(text_for(profile("x", {1, 3, 8, 8}, {1, 3, 4, 8}, {1, 3, 8, 8})), "dim 2: got 8:4:8, need 0 ≤ min ≤ opt ≤ max");
  EXPECT_HAS(text_for(profile("x", {2, 3, 8, 8}, {1, 3, 8, 8}, {1, 3, 8, 8})), "need 0 ≤ min");
}

}  // namespace
}  // namespace ingot
