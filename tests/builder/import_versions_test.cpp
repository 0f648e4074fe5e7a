// Operators whose meaning changed between opsets: each version maps to the same ops by its own rule.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

#include "onnx_model_maker.h"

namespace ingot {
namespace {

#define ASSERT_IMPORTED(graph) ASSERT_TRUE((graph).ok()) << (graph).status().message()

ModelMaker one_input(int64_t opset, const std::vector<TestDim>& dims = {int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5}}, int type = 1) {
  ModelMaker model(opset);
  model.input("x", dims, type).output("y");
  return model;
}

Shape shape_of(const Graph& graph, const std::string& name) { return graph.value(graph.find_value(name)).type.shape; }

TEST(ImportVersions, SoftmaxFlattensBefore13) {
  ModelMaker old_model = one_input(11), new_model = one_input(13);
  old_model.node("Softmax", {"x"}, {"y"});
  new_model.node("Softmax", {"x"}, {"y"});
  auto old_graph = old_model.import(), new_graph = new_model.import();
  ASSERT_IMPORTED(old_graph);
  ASSERT_IMPORTED(new_graph);
  EXPECT_EQ(params_of<SoftmaxParams>(*old_graph, "y")->axis, 1);
  EXPECT_TRUE(params_of<SoftmaxParams>(*old_graph, "y")->flatten);
  EXPECT_EQ(params_of<SoftmaxParams>(*new_graph, "y")->axis, 3);
  EXPECT_FALSE(params_of<SoftmaxParams>(*new_graph, "y")->flatten);

  ModelMaker last = one_input(11);
  last.node("LogSoftmax", {"x"}, {"y"}).integer("axis", -1);
  auto graph = last.import();
  ASSERT_IMPORTED(graph);
  EXPECT_FALSE(params_of<SoftmaxParams>(*graph, "y")->flatten);  // nothing to flatten
  EXPECT_TRUE(params_of<SoftmaxParams>(*graph, "y")->log);
}

TEST(ImportVersions, ClipByAttributesAndByInputs) {
  ModelMaker old_model = one_input(6);
  old_model.node("Clip", {"x"}, {"y"}).number("min", 0).number("max", 6);
  ModelMaker new_model = one_input(11);
  new_model.constant<float>("lo", {}, {0}).constant<float>("hi", {}, {6});
  new_model.node("Clip", {"x", "lo", "hi"}, {"y"});
  for (const ModelMaker* model : {&old_model, &new_model}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    const auto* clip = params_of<UnaryParams>(*graph, "y");
    ASSERT_NE(clip, nullptr);
    EXPECT_EQ(clip->function, UnaryFunction::kClip);
    EXPECT_EQ(clip->alpha, 0);
    EXPECT_EQ(clip->beta, 6);
  }
}

TEST(ImportVersions, ClipCornerCases) {
  ModelMaker low_only = one_input(13);
  low_only.constant<float>("lo", {}, {0});
  low_only.node("Clip", {"x", "lo"}, {"y"});
  auto graph = low_only.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(params_of<UnaryParams>(*graph, "y")->function, UnaryFunction::kRelu);

  ModelMaker crossed = one_input(13);  // min > max gives max
  crossed.constant<float>("lo", {}, {5}).constant<float>("hi", {}, {2});
  crossed.node("Clip", {"x", "lo", "hi"}, {"y"});
  graph = crossed.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(params_of<UnaryParams>(*graph, "y")->alpha, 2);
  EXPECT_EQ(params_of<UnaryParams>(*graph, "y")->beta, 2);

  ModelMaker unknown = one_input(13);  // a bound that only the run knows
  unknown.input("hi", {}).node("Clip", {"x", "", "hi"}, {"y"});
  graph = unknown.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(params_of<BinaryParams>(*graph, "y")->function, BinaryFunction::kMin);
}

TEST(ImportVersions, SliceByAttributesAndByInputs) {
  ModelMaker old_model = one_input(9);
  old_model.node("Slice", {"x"}, {"y"}).integers("starts", {1, 0}).integers("ends", {4, -1}).integers("axes", {2, 3});
  ModelMaker new_model = one_input(10);
  new_model.constant<int32_t>("s", {2}, {1, 0}).constant<int32_t>("e", {2}, {4, -1}).constant<int32_t>("a", {2}, {2, 3});
  new_model.node("Slice", {"x", "s", "e", "a"}, {"y"});
  for (const ModelMaker* model : {&old_model, &new_model}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 3, 4}));
    const Node* slice = maker_of(*graph, "y");
    EXPECT_EQ(constant_of<int64_t>(*graph, slice->inputs[1]), (std::vector<int64_t>{1, 0}));
  }
}

TEST(ImportVersions, PadByAttributesAndByInputs) {
  ModelMaker old_model = one_input(10);
  old_model.node("Pad", {"x"}, {"y"}).integers("pads", {0, 0, 1, 1, 0, 0, 2, 2}).number("value", 3);
  ModelMaker new_model = one_input(18);
  new_model.constant<int64_t>("p", {4}, {1, 1, 2, 2}).constant<float>("v", {}, {3}).constant<int64_t>("a", {2}, {2, -1});
  new_model.node("Pad", {"x", "p", "v", "a"}, {"y"});
  for (const ModelMaker* model : {&old_model, &new_model}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 7, 8}));
    EXPECT_EQ(constant_of<float>(*graph, maker_of(*graph, "y")->inputs[2]), std::vector<float>{3});
  }
}

TEST(ImportVersions, AxesMoveFromAttributesToInputs) {
  for (const char* op : {"Squeeze", "Unsqueeze"}) {
    ModelMaker old_model = one_input(11, {int64_t{1}, int64_t{3}, int64_t{4}}), new_model = one_input(13, {int64_t{1}, int64_t{3}, int64_t{4}});
    old_model.node(op, {"x"}, {"y"}).integers("axes", {0});
    new_model.constant<int64_t>("a", {1}, {0}).node(op, {"x", "a"}, {"y"});
    auto old_graph = old_model.import(), new_graph = new_model.import();
    ASSERT_IMPORTED(old_graph);
    ASSERT_IMPORTED(new_graph);
    EXPECT_EQ(shape_of(*old_graph, "y"), shape_of(*new_graph, "y"));
    EXPECT_EQ(shape_of(*old_graph, "y").rank, op == std::string("Squeeze") ? 2 : 4);
  }
  // ReduceSum changed at 13, the others at 18.
  struct Case { const char* op; int64_t opset; bool as_input; };
  for (const Case& c : {Case{"ReduceSum", 11, false}, {"ReduceSum", 13, true}, {"ReduceMean", 13, false}, {"ReduceMean", 18, true},
                        {"ReduceMax", 17, false}, {"ReduceMax", 18, true}}) {
    ModelMaker model = one_input(c.opset);
    if (c.as_input) model.constant<int64_t>("a", {2}, {-1, 1}).node(c.op, {"x", "a"}, {"y"}).integer("keepdims", 0);
    else model.node(c.op, {"x"}, {"y"}).integers("axes", {-1, 1}).integer("keepdims", 0);
    auto graph = model.import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 4})) << c.op << c.opset;
  }
}

TEST(ImportVersions, ReduceWithoutAxes) {
  ModelMaker all = one_input(18), none = one_input(18);
  all.constant<int64_t>("a", {0}, {}).node("ReduceMean", {"x", "a"}, {"y"});
  none.constant<int64_t>("a", {0}, {}).node("ReduceMean", {"x", "a"}, {"y"}).integer("noop_with_empty_axes", 1);
  auto all_graph = all.import(), none_graph = none.import();
  ASSERT_IMPORTED(all_graph);
  ASSERT_IMPORTED(none_graph);
  EXPECT_EQ(shape_of(*all_graph, "y"), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(shape_of(*none_graph, "y"), (Shape{2, 3, 4, 5}));
}

TEST(ImportVersions, Split) {
  ModelMaker by_attribute = one_input(11), by_input = one_input(13), uneven = one_input(18), uneven_old = one_input(13);
  by_attribute.node("Split", {"x"}, {"y", "z"}).integer("axis", 3).integers("split", {1, 4});
  by_input.constant<int64_t>("s", {2}, {1, 4}).node("Split", {"x", "s"}, {"y", "z"}).integer("axis", -1);
  uneven.node("Split", {"x"}, {"y", "z"}).integer("axis", 3).integer("num_outputs", 2);
  uneven_old.node("Split", {"x"}, {"y", "z"}).integer("axis", 3);
  for (const ModelMaker* model : {&by_attribute, &by_input}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 4, 1}));
    EXPECT_EQ(shape_of(*graph, "z"), (Shape{2, 3, 4, 4}));
  }
  auto graph = uneven.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 4, 3}));
  graph = uneven_old.import();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("equal parts"), std::string::npos) << graph.status().message();
}

TEST(ImportVersions, UpsampleAndResize) {
  ModelMaker up7 = one_input(7), up9 = one_input(9), resize10 = one_input(10), resize11 = one_input(11), resize13 = one_input(13);
  up7.node("Upsample", {"x"}, {"y"}).numbers("scales", {1, 1, 2, 2});
  for (ModelMaker* model : {&up9, &resize10, &resize11, &resize13}) model->constant<float>("s", {4}, {1, 1, 2, 2});
  up9.node("Upsample", {"x", "s"}, {"y"}).text("mode", "nearest");
  resize10.node("Resize", {"x", "s"}, {"y"});
  for (const ModelMaker* model : {&up7, &up9, &resize10}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 8, 10}));
    EXPECT_EQ(params_of<ResizeParams>(*graph, "y")->coordinates, ResizeCoordinates::kAsymmetric);
    EXPECT_EQ(params_of<ResizeParams>(*graph, "y")->nearest, ResizeNearest::kFloor);
  }
  // From 11 on: half pixels; an empty tensor is an input left out.
  resize11.constant<float>("none", {0}, {}).node("Resize", {"x", "none", "s"}, {"y"}).text("mode", "linear");
  resize13.constant<float>("none", {0}, {}).constant<int64_t>("n", {4}, {2, 3, 8, 10});
  resize13.node("Resize", {"x", "", "none", "n"}, {"y"}).text("mode", "linear");
  for (const ModelMaker* model : {&resize11, &resize13}) {
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 8, 10}));
    EXPECT_EQ(params_of<ResizeParams>(*graph, "y")->coordinates, ResizeCoordinates::kHalfPixel);
    EXPECT_EQ(params_of<ResizeParams>(*graph, "y")->nearest, ResizeNearest::kRoundPreferFloor);
  }
}

TEST(ImportVersions, DropoutAndIdentityVanish) {
  ModelMaker model = one_input(12);
  model.constant<float>("ratio", {}, {0.5f});
  model.node("Identity", {"x"}, {"a"});
  model.node("Dropout", {"a", "ratio"}, {"b"});
  model.node("Relu", {"b"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(graph->topological_order().size(), 1u);
  EXPECT_EQ(maker_of(*graph, "y")->inputs[0], graph->find_value("x"));
}

TEST(ImportVersions, IdentityKeepsTheNameOfAnOutput) {
  ModelMaker model = one_input(13);
  model.node("Identity", {"x"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  ASSERT_EQ(graph->outputs().size(), 1u);
  EXPECT_EQ(graph->value(graph->outputs()[0]).name, "y");
}

TEST(ImportVersions, DropoutMaskAndTraining) {
  ModelMaker mask = one_input(12);
  mask.output("m").node("Dropout", {"x"}, {"y", "m"});
  auto graph = mask.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(graph->value(graph->find_value("m")).type.dtype, DataType::kBool);
  EXPECT_EQ(shape_of(*graph, "m"), (Shape{2, 3, 4, 5}));

  ModelMaker training = one_input(12);
  training.input("t", {}, 9).node("Dropout", {"x", "", "t"}, {"y"});
  graph = training.import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
}

TEST(ImportVersions, LegacyBroadcastFromAnAxis) {
  ModelMaker model = one_input(6);
  model.constant<float>("c", {3}, {1, 2, 3}).node("Add", {"x", "c"}, {"y"}).integer("broadcast", 1).integer("axis", 1);
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(graph->value(maker_of(*graph, "y")->inputs[1]).type.shape, (Shape{3, 1, 1}));
  ModelMaker strict = one_input(6);
  strict.constant<float>("c", {5}, {1, 2, 3, 4, 5}).node("Add", {"x", "c"}, {"y"});
  EXPECT_FALSE(strict.import().ok());
}

TEST(ImportVersions, BatchNormalization) {
  const auto with_statistics = [](int64_t opset) {
    ModelMaker model = one_input(opset);
    for (const char* name : {"s", "b", "m", "v"}) model.constant<float>(name, {3}, {1, 1, 1});
    return model;
  };
  ModelMaker plain = with_statistics(15), training = with_statistics(15), saved = with_statistics(9);
  plain.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).number("epsilon", 0.25f).number("momentum", 0.9f);
  training.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "m2", "v2"}).integer("training_mode", 1);
  saved.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "m2"});
  auto graph = plain.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(params_of<BatchNormParams>(*graph, "y")->epsilon, 0.25);
  ASSERT_IMPORTED(training.import());
  graph = saved.import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
}

TEST(ImportVersions, GroupNormalizationScales) {
  ModelMaker per_group(18), per_channel(21);
  for (ModelMaker* model : {&per_group, &per_channel}) model->input("x", {int64_t{1}, int64_t{4}, int64_t{5}}).output("y");
  per_group.constant<float>("s", {2}, {1, 2}).constant<float>("b", {2}, {3, 4});
  per_channel.constant<float>("s", {4}, {1, 1, 2, 2}).constant<float>("b", {4}, {3, 3, 4, 4});
  for (ModelMaker* model : {&per_group, &per_channel}) {
    model->node("GroupNormalization", {"x", "s", "b"}, {"y"}).integer("num_groups", 2);
    auto graph = model->import();
    ASSERT_IMPORTED(graph);
    const Node* norm = maker_of(*graph, "y");
    EXPECT_EQ(std::get<InstanceNormParams>(norm->params).groups, 2);
    EXPECT_EQ(constant_of<float>(*graph, norm->inputs[1]), (std::vector<float>{1, 1, 2, 2}));
    EXPECT_EQ(constant_of<float>(*graph, norm->inputs[2]), (std::vector<float>{3, 3, 4, 4}));
  }
}

TEST(ImportVersions, GemmBias) {
  const auto gemm = [](std::initializer_list<int64_t> dims, const std::vector<float>& c) {
    ModelMaker model(13);
    model.input("a", {int64_t{2}, int64_t{3}}).output("y").constant<float>("b", {4, 3}, std::vector<float>(12, 1)).constant("c", dims, c);
    return model;
  };
  ModelMaker row = gemm({4}, {1, 2, 3, 4}), matrix = gemm({2, 1}, {1, 2}), scaled = gemm({1, 4}, {1, 2, 3, 4});
  row.node("Gemm", {"a", "b", "c"}, {"y"}).integer("transB", 1).number("alpha", 0.5f);
  matrix.node("Gemm", {"a", "b", "c"}, {"y"}).integer("transB", 1);
  scaled.node("Gemm", {"a", "b", "c"}, {"y"}).integer("transB", 1).number("beta", 2);
  auto graph = row.import();
  ASSERT_IMPORTED(graph);
  const Node* product = maker_of(*graph, "y");
  EXPECT_EQ(std::get<MatMulParams>(product->params).alpha, 0.5);
  EXPECT_TRUE(std::get<MatMulParams>(product->params).transpose_b);
  EXPECT_EQ(product->inputs.size(), 3u);
  EXPECT_EQ(graph->value(graph->outputs()[0]).name, "y");

  graph = matrix.import();  // a column is no bias of the product
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(params_of<BinaryParams>(*graph, "y")->function, BinaryFunction::kAdd);
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 4}));

  graph = scaled.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(constant_of<float>(*graph, maker_of(*graph, "y")->inputs[2]), (std::vector<float>{2, 4, 6, 8}));
}

TEST(ImportVersions, ConstantsInEveryForm) {
  const auto import_with = [](auto fill) {
    ModelMaker model(13);
    model.input("x", {int64_t{2}}).output("y");
    auto node = model.node("Constant", {}, {"c"});
    fill(node);
    model.node("Identity", {"c"}, {"y"});
    return model.import();
  };
  auto graph = import_with([](NodeMaker& node) { node.numbers("value_floats", {1, 2}); });
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(constant_of<float>(*graph, graph->find_value("c")), (std::vector<float>{1, 2}));
  graph = import_with([](NodeMaker& node) { node.integer("value_int", 7); });
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(constant_of<int64_t>(*graph, graph->find_value("c")), (std::vector<int64_t>{7}));
  EXPECT_EQ(shape_of(*graph, "c").rank, 0);
  graph = import_with([](NodeMaker& node) {
    auto& tensor = *node.attribute("value", onnx::AttributeProto::TENSOR).mutable_t();
    fill_tensor<float>(tensor, {2, 1}, {3, 4});
  });
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(shape_of(*graph, "c"), (Shape{2, 1}));
  graph = import_with([](NodeMaker& node) {
    auto& sparse = *node.attribute("sparse_value", onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor();
    fill_tensor<float>(*sparse.mutable_values(), {2}, {3, 4});
    fill_tensor<int64_t>(*sparse.mutable_indices(), {2, 2}, {0, 1, 1, 0});
    sparse.add_dims(2);
    sparse.add_dims(2);
  });
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(constant_of<float>(*graph, graph->find_value("c")), (std::vector<float>{0, 3, 4, 0}));
  graph = import_with([](NodeMaker& node) { node.numbers("value_floats", {1}).integer("value_int", 7); });
  EXPECT_FALSE(graph.ok());
  graph = import_with([](NodeMaker& node) { node.text("value_string", "a"); });
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kUnsupported);
}

TEST(ImportVersions, WeightsListedAmongTheInputs) {
  ModelMaker model = one_input(8);  // IR 3
  model.input("w", {int64_t{5}}).constant<float>("w", {5}, {1, 2, 3, 4, 5}).node("Mul", {"x", "w"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(graph->inputs().size(), 1u);
  EXPECT_TRUE(graph->is_constant(graph->find_value("w")));
}

TEST(ImportVersions, PowOfTwoTypes) {
  ModelMaker model = one_input(12);
  model.constant<int64_t>("e", {}, {2}).node("Pow", {"x", "e"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  const Node* power = maker_of(*graph, "y");
  EXPECT_EQ(graph->value(power->inputs[1]).type.dtype, DataType::kF32);
  EXPECT_EQ(graph->value(graph->find_value("y")).type.dtype, DataType::kF32);
}

TEST(ImportVersions, QLinearConvIsTakenApart) {
  ModelMaker model(13);
  model.input("x", {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{4}}, 2).output("y");
  model.constant<float>("xs", {}, {0.5f}).constant<uint8_t>("xz", {}, {3}).constant<int8_t>("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  model.constant<float>("ws", {2}, {0.25f, 2}).constant<int8_t>("wz", {2}, {0, 0}).constant<float>("ys", {}, {1}).constant<uint8_t>("yz", {}, {0});
  model.constant<int32_t>("b", {2}, {10, 20});
  model.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  const Node* quantize = maker_of(*graph, "y");
  ASSERT_EQ(quantize->kind(), OpKind::kQuantizeLinear);
  const Node* conv = graph->producer(quantize->inputs[0]);
  ASSERT_EQ(conv->kind(), OpKind::kConv);
  ASSERT_EQ(conv->inputs.size(), 3u);
  const Node* weights = graph->producer(conv->inputs[1]);
  const Node* bias = graph->producer(conv->inputs[2]);
  EXPECT_EQ(std::get<DequantizeLinearParams>(weights->params).axis, 0);
  EXPECT_EQ(constant_of<float>(*graph, bias->inputs[1]), (std::vector<float>{0.125f, 1}));
  EXPECT_EQ(graph->value(graph->find_value("y")).type.dtype, DataType::kU8);
  EXPECT_EQ(conv->origins, (std::vector<std::string>{"QLinearConv_0"}));
}

TEST(ImportVersions, QuantizeLinearOutputType) {
  ModelMaker model = one_input(21);
  model.constant<float>("s", {}, {0.5f}).node("QuantizeLinear", {"x", "s"}, {"y"}).integer("output_dtype", 3);
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(graph->value(graph->find_value("y")).type.dtype, DataType::kS8);
}

TEST(ImportVersions, MicrosoftFusedConv) {
  ModelMaker model(13);
  model.input("x", {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{4}}).output("y");
  model.constant<float>("w", {2, 2, 1, 1}, {1, 2, 3, 4}).constant<float>("b", {2}, {1, 2});
  model.node("FusedConv", {"x", "w", "b", "x"}, {"y"}).domain("com.microsoft").text("activation", "LeakyRelu").numbers("activation_params", {0.5f});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  const auto* activation = params_of<UnaryParams>(*graph, "y");
  ASSERT_NE(activation, nullptr);
  EXPECT_EQ(activation->function, UnaryFunction::kLeakyRelu);
  EXPECT_EQ(activation->alpha, 0.5);
}

TEST(ImportVersions, ShapeArithmeticBecomesConstant) {
  ModelMaker model(13);
  model.input("x", {int64_t{2}, int64_t{3}, int64_t{4}}).output("y");
  model.node("Shape", {"x"}, {"s"});
  model.constant<int64_t>("i", {1}, {0}).node("Gather", {"s", "i"}, {"n"});
  model.constant<int64_t>("rest", {1}, {-1}).node("Concat", {"n", "rest"}, {"t"}).integer("axis", 0);
  model.node("Reshape", {"x", "t"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{2, 12}));
  EXPECT_TRUE(graph->is_constant(graph->find_value("t")));
}

TEST(ImportVersions, SizeIsTheProductOfTheDims) {
  ModelMaker model(13);
  model.input("x", {int64_t{2}, int64_t{3}, int64_t{4}}).output("y").node("Size", {"x"}, {"y"});
  auto graph = model.import();
  ASSERT_IMPORTED(graph);
  EXPECT_EQ(constant_of<int64_t>(*graph, graph->find_value("y")), (std::vector<int64_t>{24}));
}

}  // namespace
}  // namespace ingot
