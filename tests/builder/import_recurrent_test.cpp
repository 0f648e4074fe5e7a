// RNN, GRU and LSTM: attributes to parameters, outputs that are left out, and what is refused.
#include <gtest/gtest.h>

#include "onnx_model_maker.h"

namespace ingot {
namespace {

constexpr int64_t kSteps = 4, kBatch = 2, kWidth = 3, kHidden = 5;

// One recurrent layer behind x, its weights zeros.
ModelMaker layer(int64_t gates, int64_t directions) {
  ModelMaker model(14);
  model.input("x", {kSteps, kBatch, kWidth});
  model.constant("w", {directions, gates * kHidden, kWidth}, std::vector<float>(static_cast<size_t>(directions * gates * kHidden * kWidth)));
  model.constant("r", {directions, gates * kHidden, kHidden}, std::vector<float>(static_cast<size_t>(directions * gates * kHidden * kHidden)));
  return model;
}

void set_activations(NodeMaker& node, std::initializer_list<const char*> names) {
  auto& attribute = node.attribute("activations", onnx::AttributeProto::STRINGS);
  for (const char* name : names) attribute.add_strings(name);
}

TEST(ImportRecurrent, DefaultsAndMissingOutputs) {
  ModelMaker model = layer(4, 2);
  model.output("h").node("LSTM", {"x", "w", "r"}, {"", "h"}).integer("hidden_size", kHidden).text("direction", "bidirectional");
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto* params = params_of<RecurrentParams>(*graph, "h");
  ASSERT_TRUE(params);
  EXPECT_EQ(params->cell, RecurrentCell::kLstm);
  EXPECT_EQ(params->direction, RecurrentDirection::kBidirectional);
  EXPECT_EQ(params->activations, (std::vector<int64_t>{2, 1, 1, 2, 1, 1}));
  EXPECT_EQ(graph->value(graph->find_value("h")).type.shape, (Shape{2, kBatch, kHidden}));
  EXPECT_EQ(maker_of(*graph, "h")->outputs.size(), 3u);  // the op needs all of them
}

// Values go to the activations that have one, in order; the rest keep their defaults.
TEST(ImportRecurrent, ActivationParameters) {
  ModelMaker model = layer(3, 1);
  NodeMaker node = model.output("y").node("GRU", {"x", "w", "r"}, {"y"});
  node.integer("hidden_size", kHidden).integer("linear_before_reset", 1).number("clip", 2.5f);
  set_activations(node, {"HARDSIGMOID", "leakyRelu"});
  node.numbers("activation_alpha", {0.25f}).numbers("activation_beta", {0.75f});
  auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto* params = params_of<RecurrentParams>(*graph, "y");
  ASSERT_TRUE(params);
  EXPECT_TRUE(params->linear_before_reset);
  EXPECT_EQ(params->clip, 2.5);
  EXPECT_EQ(params->activations, (std::vector<int64_t>{7, 4}));
  EXPECT_EQ(params->alphas, (std::vector<double>{0.25, static_cast<double>(0.01f)}));
  EXPECT_EQ(params->betas, (std::vector<double>{0.75, 0}));
}

TEST(ImportRecurrent, Refusals) {
  const auto error = [](const char* what, auto&& change) {
    ModelMaker model = layer(1, 1);
    NodeMaker node = model.output("y").node("RNN", {"x", "w", "r"}, {"y"});
    change(node);
    auto graph = model.import();
    ASSERT_FALSE(graph.ok()) << what;
    EXPECT_NE(graph.status().message().find(what), std::string::npos) << graph.status().message();
  };
  error("attribute 'hidden_size' is wrong: got 6, need 5", [](NodeMaker& node) { node.integer("hidden_size", 6); });
  error("attribute 'clip' is wrong", [](NodeMaker& node) { node.number("clip", -1); });
  error("attribute 'direction' is not supported: got 'up'", [](NodeMaker& node) { node.text("direction", "up"); });
  error("activation is not supported: got 'Swish'", [](NodeMaker& node) { set_activations(node, {"Swish"}); });
  error("attribute 'activations' has a wrong length: got 2, need 1", [](NodeMaker& node) { set_activations(node, {"Tanh", "Tanh"}); });
  error("wrong number of outputs: got 3, need at most 2", [](NodeMaker& node) {
    node.proto().add_output("h");
    node.proto().add_output("c");
  });
}

}  // namespace
}  // namespace ingot
