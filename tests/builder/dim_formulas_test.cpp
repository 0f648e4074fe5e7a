// Formulas of whole models: what they are, and that they hold: each model is imported again with fixed sizes, those of the points
// where formulas have values, and every dim compared.
#include <gtest/gtest.h>

#include "builder/graph/graph_text.h"
#include "builder/graph/rewrite.h"
#include "builder/onnx_model_maker.h"

namespace ingot {
namespace {

using Ranges = std::vector<std::pair<std::string, std::array<Shape, 3>>>;

ImportOptions with(const Ranges& ranges) {
  ImportOptions options;
  for (const auto& [name, shapes] : ranges) options.profiles.push_back({name, shapes[0], shapes[1], shapes[2]});
  return options;
}

Graph imported(const ModelMaker& model, const ImportOptions& options) {
  auto graph = model.import(options);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *std::move(graph) : Graph();
}

std::string formula(const Graph& graph, const std::string& name) {
  const ValueId id = graph.find_value(name);
  return id == kNone ? "no " + name : graph.formula_text(id);
}

// How many imports with fixed sizes agreed.
int check_at_points(const ModelMaker& model, const Graph& graph, const ImportOptions& options) {
  int agreed = 0;
  for (size_t p = 0; p < SymbolicDims::kPoints; ++p) {
    ImportOptions fixed = options;
    for (ShapeProfile& profile : fixed.profiles) {
      const Value& input = graph.value(graph.find_value(profile.input));
      for (size_t d = 0; d < input.dims.size(); ++d) {
        const int64_t size = graph.symbols().values(input.dims[d])[p];
        profile.min[static_cast<int>(d)] = profile.opt[static_cast<int>(d)] = profile.max[static_cast<int>(d)] = size;
      }
    }
    auto other = model.import(fixed);
    if (!other.ok()) continue;  // sizes that the model does not take
    ++agreed;
    for (ValueId id = 0; id < other->value_count(); ++id) {
      const ValueId same = graph.find_value(other->value(id).name);
      if (same == kNone || graph.value(same).dims.empty() || graph.value(same).late_dims != 0) continue;
      for (size_t d = 0; d < graph.value(same).dims.size(); ++d)
        EXPECT_EQ(graph.symbols().values(graph.value(same).dims[d])[p], other->value(id).type.shape[static_cast<int>(d)])
            << formula(graph, other->value(id).name) << " of " << other->value(id).name << " at point " << p;
    }
  }
  return agreed;
}

TEST(DimFormulas, StridesOfAConvStack) {
  ModelMaker model(17);
  model.input("x", {"batch", int64_t{3}, "h", "w"});
  model.constant<float>("k1", {8, 3, 3, 3}, std::vector<float>(8 * 27, 0.1f)).constant<float>("k2", {8, 8, 3, 3}, std::vector<float>(8 * 72, 0.1f));
  model.constant<float>("scales", {4}, {1, 1, 2, 2});
  model.node("Conv", {"x", "k1"}, {"c1"}).integers("strides", {2, 2}).integers("pads", {1, 1, 1, 1});
  model.node("Conv", {"c1", "k2"}, {"c2"}).integers("strides", {2, 2}).integers("pads", {1, 1, 1, 1});
  model.node("MaxPool", {"c2"}, {"p"}).integers("kernel_shape", {2, 2}).integers("strides", {2, 2});
  model.node("Conv", {"p", "k2"}, {"valid"});
  model.node("Resize", {"c2", "", "scales"}, {"up"}).text("mode", "nearest");
  model.node("GlobalAveragePool", {"valid"}, {"g"});
  model.node("Flatten", {"g"}, {"y"});
  model.output("y").output("up");
  const ImportOptions options = with({{"x", {Shape{1, 3, 40, 40}, Shape{1, 3, 64, 224}, Shape{8, 3, 300, 640}}}});
  const Graph graph = imported(model, options);
  EXPECT_EQ(formula(graph, "c1"), "f32[batch, 8, floor((h+1)/2), floor((w+1)/2)]");
  EXPECT_EQ(formula(graph, "c2"), "f32[batch, 8, floor((h+3)/4), floor((w+3)/4)]");
  EXPECT_EQ(formula(graph, "p"), "f32[batch, 8, floor((h+3)/8), floor((w+3)/8)]");
  EXPECT_EQ(formula(graph, "valid"), "f32[batch, 8, floor((h+3)/8)-2, floor((w+3)/8)-2]");
  EXPECT_EQ(formula(graph, "up"), "f32[batch, 8, 2*floor((h+3)/4), 2*floor((w+3)/4)]");
  EXPECT_EQ(formula(graph, "y"), "f32[batch, 8]");
  EXPECT_GT(check_at_points(model, graph, options), 25);
  EXPECT_NE(to_text(graph, true).find("# f32[batch, 8, floor((h+1)/2), floor((w+1)/2)]"), std::string::npos);
  EXPECT_EQ(to_text(graph).find('#'), std::string::npos);
}

// U-Net: sizes that do not divide by 4 are refused at the concat, and say nothing.
TEST(DimFormulas, SkipConnectionsHoldWhereTheModelDoes) {
  ModelMaker model(17);
  model.input("x", {int64_t{1}, int64_t{4}, "h", int64_t{16}});
  model.constant<float>("k", {4, 4, 3, 3}, std::vector<float>(144, 0.1f)).constant<float>("scales", {4}, {1, 1, 4, 4});
  model.node("Conv", {"x", "k"}, {"c1"}).integers("strides", {2, 2}).integers("pads", {1, 1, 1, 1});
  model.node("Conv", {"c1", "k"}, {"c2"}).integers("strides", {2, 2}).integers("pads", {1, 1, 1, 1});
  model.node("Resize", {"c2", "", "scales"}, {"up"}).text("mode", "nearest");
  model.node("Concat", {"x", "up"}, {"y"}).integer("axis", 1);
  model.output("y");
  const ImportOptions options = with({{"x", {Shape{1, 4, 16, 16}, Shape{1, 4, 64, 16}, Shape{1, 4, 256, 16}}}});
  const Graph graph = imported(model, options);
  EXPECT_EQ(formula(graph, "y"), "f32[1, 8, h, 16]");
  EXPECT_GE(check_at_points(model, graph, options), 10);
}

TEST(DimFormulas, ReshapesAsExportersWriteThem) {
  ModelMaker model(17);
  model.input("x", {"batch", "seq", int64_t{96}});
  for (int64_t i : {0, 1}) model.constant<int64_t>("i" + std::to_string(i), {}, {i});
  model.constant<int64_t>("zero", {1}, {0}).constant<int64_t>("heads", {1}, {4}).constant<int64_t>("depth", {1}, {24}).constant<int64_t>("rest", {1}, {-1});
  model.constant<int64_t>("two", {}, {2}).constant<float>("half", {}, {0.5f}).constant<int64_t>("one", {}, {1});
  model.node("Shape", {"x"}, {"s"});
  model.node("Gather", {"s", "i0"}, {"b"}).integer("axis", 0);
  model.node("Gather", {"s", "i1"}, {"n"}).integer("axis", 0);
  model.node("Unsqueeze", {"b", "zero"}, {"b1"});
  model.node("Unsqueeze", {"n", "zero"}, {"n1"});
  model.node("Concat", {"b1", "n1", "heads", "depth"}, {"split"}).integer("axis", 0);
  model.node("Reshape", {"x", "split"}, {"parts"});
  model.node("Transpose", {"parts"}, {"q"}).integers("perm", {0, 2, 1, 3});
  model.node("Transpose", {"parts"}, {"k"}).integers("perm", {0, 2, 3, 1});
  model.node("MatMul", {"q", "k"}, {"scores"});
  model.node("Mul", {"b", "n"}, {"bn"});
  model.node("Unsqueeze", {"bn", "zero"}, {"bn1"});
  model.node("Concat", {"bn1", "rest"}, {"flat_shape"}).integer("axis", 0);
  model.node("Reshape", {"x", "flat_shape"}, {"flat"});
  model.node("Concat", {"rest", "depth"}, {"rows_shape"}).integer("axis", 0);
  model.node("Reshape", {"x", "rows_shape"}, {"rows"});
  // (2 · seq + 1) zeros, then half of seq by floats.
  model.node("Mul", {"n", "two"}, {"n2"});
  model.node("Add", {"n2", "one"}, {"n2p"});
  model.node("Unsqueeze", {"n2p", "zero"}, {"n2p1"});
  model.node("ConstantOfShape", {"n2p1"}, {"zeros"});
  model.node("Cast", {"n"}, {"nf"}).integer("to", 1);
  model.node("Mul", {"nf", "half"}, {"nh"});
  model.node("Floor", {"nh"}, {"nfl"});
  model.node("Cast", {"nfl"}, {"ni"}).integer("to", 7);
  model.node("Unsqueeze", {"ni", "zero"}, {"ni1"});
  model.node("ConstantOfShape", {"ni1"}, {"halves"});
  model.node("Div", {"n", "two"}, {"nd"});
  model.node("Range", {"i0", "nd", "one"}, {"counted"});
  model.constant<int64_t>("three", {}, {3});
  model.node("Range", {"i0", "n", "three"}, {"thirds"});
  for (const char* name : {"scores", "flat", "rows", "zeros", "halves", "counted", "thirds"}) model.output(name);
  const ImportOptions options = with({{"x", {Shape{1, 1, 96}, Shape{1, 32, 96}, Shape{4, 128, 96}}}});
  const Graph graph = imported(model, options);
  EXPECT_EQ(formula(graph, "q"), "f32[batch, 4, seq, 24]");
  EXPECT_EQ(formula(graph, "scores"), "f32[batch, 4, seq, seq]");
  EXPECT_EQ(formula(graph, "flat"), "f32[batch*seq, 96]");
  EXPECT_EQ(formula(graph, "rows"), "f32[4*batch*seq, 24]");
  EXPECT_EQ(formula(graph, "zeros"), "f32[2*seq+1]");
  EXPECT_EQ(formula(graph, "halves"), "f32[floor(seq/2)]");
  EXPECT_EQ(formula(graph, "counted"), "s64[floor(seq/2)]");
  EXPECT_EQ(formula(graph, "thirds"), "s64[floor((seq+2)/3)]");
  EXPECT_EQ(check_at_points(model, graph, options), static_cast<int>(SymbolicDims::kPoints));
}

TEST(DimFormulas, DecodersWithAPast) {
  ModelMaker model(17);
  model.input("past", {"batch", int64_t{4}, "past", int64_t{16}}).input("q", {"batch", int64_t{4}, "seq", int64_t{16}});
  model.constant<float>("table", {512, 16}, std::vector<float>(512 * 16, 0.5f));
  model.constant<int64_t>("i2", {1}, {2}).constant<int64_t>("zero", {1}, {0});
  model.node("Concat", {"past", "q"}, {"present"}).integer("axis", 2);
  model.node("Transpose", {"present"}, {"kt"}).integers("perm", {0, 1, 3, 2});
  model.node("MatMul", {"q", "kt"}, {"scores"});
  model.node("Softmax", {"scores"}, {"p"}).integer("axis", -1);
  model.node("MatMul", {"p", "present"}, {"y"});
  model.node("Shape", {"present"}, {"s"});
  model.node("Gather", {"s", "i2"}, {"total"}).integer("axis", 0);
  model.node("Shape", {"past"}, {"ps"});
  model.node("Gather", {"ps", "i2"}, {"before"}).integer("axis", 0);
  model.node("Slice", {"table", "before", "total", "zero"}, {"positions"});
  model.node("Add", {"q", "positions"}, {"moved"});
  for (const char* name : {"y", "present", "moved", "scores"}) model.output(name);
  const ImportOptions options = with({{"past", {Shape{1, 4, 0, 16}, Shape{1, 4, 16, 16}, Shape{2, 4, 128, 16}}}, {"q", {Shape{1, 4, 1, 16}, Shape{1, 4, 1, 16}, Shape{2, 4, 32, 16}}}});
  const Graph graph = imported(model, options);
  EXPECT_EQ(formula(graph, "present"), "f32[batch, 4, past+seq, 16]");
  EXPECT_EQ(formula(graph, "scores"), "f32[batch, 4, seq, past+seq]");
  EXPECT_EQ(formula(graph, "y"), "f32[batch, 4, seq, 16]");
  EXPECT_EQ(formula(graph, "positions"), "f32[seq, 16]");
  EXPECT_EQ(formula(graph, "moved"), "f32[batch, 4, seq, 16]");
  EXPECT_EQ(check_at_points(model, graph, options), static_cast<int>(SymbolicDims::kPoints));
}

// As exporters of decoders name the dims of masks.
TEST(DimFormulas, NamesMayBeSums) {
  ModelMaker model(17);
  model.input("past", {"batch", int64_t{2}, "past_len", int64_t{8}}).input("q", {"batch", int64_t{2}, "seq", int64_t{8}});
  model.input("mask", {"batch", int64_t{1}, int64_t{1}, "past_len + seq"});
  model.node("Concat", {"past", "q"}, {"keys"}).integer("axis", 2);
  model.node("Transpose", {"keys"}, {"kt"}).integers("perm", {0, 1, 3, 2});
  model.node("MatMul", {"q", "kt"}, {"scores"});
  model.node("Add", {"scores", "mask"}, {"masked"});
  model.output("masked");
  const std::array<Shape, 3> past{Shape{1, 2, 0, 8}, Shape{1, 2, 16, 8}, Shape{2, 2, 100, 8}}, q{Shape{1, 2, 1, 8}, Shape{1, 2, 1, 8}, Shape{2, 2, 31, 8}};
  const std::array<Shape, 3> mask{Shape{1, 1, 1, 1}, Shape{1, 1, 1, 17}, Shape{2, 1, 1, 131}};
  for (const bool given : {true, false}) {
    Ranges ranges = {{"past", past}, {"q", q}};
    if (given) ranges.push_back({"mask", mask});
    const ImportOptions options = with(ranges);
    const Graph graph = imported(model, options);
    EXPECT_EQ(formula(graph, "mask"), "f32[batch, 1, 1, past_len+seq]");
    EXPECT_EQ(formula(graph, "masked"), "f32[batch, 2, seq, past_len+seq]");
    EXPECT_EQ(graph.shape_at(graph.find_value("mask"), kProbeMax)[3], 131);
    if (given) {
      EXPECT_EQ(check_at_points(model, graph, options), static_cast<int>(SymbolicDims::kPoints));
    }
  }
  // Where the profile says otherwise it is a dim of its own.
  ModelMaker other(17);
  other.input("x", {"a"}).input("y", {"2*a"}).input("z", {"a + b"}).input("w", {"a - 1"});
  for (const char* name : {"x", "y", "z", "w"}) other.node("Relu", {name}, {(std::string("r") + name).c_str()}), other.output(std::string("r") + name);
  const std::array<Shape, 3> one{Shape{2}, Shape{4}, Shape{8}}, two{Shape{4}, Shape{8}, Shape{16}}, less{Shape{1}, Shape{3}, Shape{7}};
  const Graph graph = imported(other, with({{"x", one}, {"y", two}, {"z", one}, {"w", less}}));
  EXPECT_EQ(formula(graph, "ry"), "f32[2*a]");
  EXPECT_EQ(formula(graph, "rz"), "f32[z.0]");
  EXPECT_EQ(formula(graph, "rw"), "f32[a-1]");
}

// The same ranges, so the same sizes at every probe; nothing says that they are the same in a run.
TEST(DimFormulas, WhatAgreesByChanceIsNotEqual) {
  ModelMaker model(17);
  model.input("x", {"a", int64_t{4}}).input("y", {"b", int64_t{4}}).input("z", {"a", int64_t{4}}).input("nameless", {"", int64_t{4}});
  model.constant<int64_t>("i0", {1}, {0}).constant<int64_t>("eight", {1}, {8});
  model.node("Shape", {"x"}, {"sx"});
  model.node("Shape", {"y"}, {"sy"});
  model.node("Gather", {"sx", "i0"}, {"nx"}).integer("axis", 0);
  model.node("Gather", {"sy", "i0"}, {"ny"}).integer("axis", 0);
  model.node("Sub", {"nx", "ny"}, {"gap"});
  model.node("Add", {"gap", "eight"}, {"around"});
  model.node("ConstantOfShape", {"around"}, {"zeros"});
  model.node("Sub", {"nx", "nx"}, {"nothing"});
  model.node("Add", {"nothing", "eight"}, {"exactly"});
  model.node("ConstantOfShape", {"exactly"}, {"eight_zeros"});
  model.node("Concat", {"x", "y"}, {"both"}).integer("axis", 0);
  model.node("Relu", {"y"}, {"ry"});
  model.node("Relu", {"x"}, {"rx"});
  model.node("Add", {"rx", "ry"}, {"sum"});
  model.node("Add", {"rx", "z"}, {"fits"});
  model.node("Relu", {"nameless"}, {"rn"});
  for (const char* name : {"zeros", "eight_zeros", "both", "sum", "fits", "rn"}) model.output(name);
  Ranges ranges;
  for (const char* name : {"x", "y", "z", "nameless"}) ranges.push_back({name, {Shape{2, 4}, Shape{4, 4}, Shape{8, 4}}});
  const Graph graph = imported(model, with(ranges));
  EXPECT_EQ(formula(graph, "zeros"), "f32[a-b+8]");
  EXPECT_EQ(graph.value(graph.find_value("zeros")).type.shape[0], Shape::kDynamic) << "8 at every probe";
  EXPECT_EQ(graph.largest_shape(graph.find_value("zeros")), Shape{14});
  EXPECT_EQ(formula(graph, "eight_zeros"), "f32[8]");
  EXPECT_EQ(formula(graph, "both"), "f32[a+b, 4]");
  EXPECT_EQ(formula(graph, "fits"), "f32[a, 4]");
  EXPECT_EQ(formula(graph, "rn"), "f32[nameless.0, 4]");
  EXPECT_EQ(formula(graph, "sum"), "f32[a, 4]") << "it runs only where a = b";
  EXPECT_FALSE(same_shape(graph, graph.find_value("x"), graph.find_value("y")));
  EXPECT_FALSE(same_shape(graph, graph.find_value("x"), graph.find_value("rn")));
  EXPECT_TRUE(same_shape(graph, graph.find_value("x"), graph.find_value("fits")));
}

TEST(DimFormulas, BroadcastsTakeTheLarger) {
  ModelMaker model(17);
  model.input("x", {"a", int64_t{4}}).input("y", {"b", int64_t{4}});
  model.node("Relu", {"x"}, {"rx"});
  model.node("Add", {"rx", "y"}, {"sum"});
  model.output("sum");
  const ImportOptions options = with({{"x", {Shape{1, 4}, Shape{4, 4}, Shape{8, 4}}}, {"y", {Shape{1, 4}, Shape{4, 4}, Shape{8, 4}}}});
  const Graph graph = imported(model, options);
  EXPECT_EQ(formula(graph, "sum"), "f32[max(a,b), 4]");
  EXPECT_FALSE(same_shape(graph, graph.find_value("x"), graph.find_value("sum")));
  EXPECT_GT(check_at_points(model, graph, options), 8);
}

TEST(DimFormulas, SizesThatDependOnDataHaveNames) {
  ModelMaker model(17);
  model.input("x", {"n", int64_t{4}});
  model.node("NonZero", {"x"}, {"places"});
  model.node("Cast", {"places"}, {"f"}).integer("to", 1);
  model.node("Relu", {"f"}, {"r"});
  model.node("NonZero", {"x"}, {"more"});
  model.node("Concat", {"places", "more"}, {"both"}).integer("axis", 1);
  model.output("r").output("both");
  const Graph graph = imported(model, with({{"x", {Shape{1, 4}, Shape{4, 4}, Shape{8, 4}}}}));
  EXPECT_EQ(formula(graph, "r"), "f32[2, unknown places.1]");
  EXPECT_EQ(formula(graph, "both"), "s64[2, unknown places.1+unknown more.1]");
  EXPECT_FALSE(same_shape(graph, graph.find_value("places"), graph.find_value("more")));
}

TEST(DimFormulas, OneNameWithTwoRangesIsTwoSymbols) {
  ModelMaker model(17);
  model.input("x", {"n", int64_t{4}}).input("y", {"n", int64_t{4}});
  model.node("Relu", {"x"}, {"rx"});
  model.node("Relu", {"y"}, {"ry"});
  model.output("rx").output("ry");
  const Graph graph = imported(model, with({{"x", {Shape{1, 4}, Shape{4, 4}, Shape{8, 4}}}, {"y", {Shape{1, 4}, Shape{2, 4}, Shape{3, 4}}}}));
  EXPECT_EQ(formula(graph, "rx"), "f32[n, 4]");
  EXPECT_EQ(formula(graph, "ry"), "f32[n'2, 4]");
}

}  // namespace
}  // namespace ingot
