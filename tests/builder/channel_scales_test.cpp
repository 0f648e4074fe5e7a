// Which activations get a scale per channel, and what becomes of the graph then: insert_qdq, propagate_qdq, fuse_qdq.
#include <gtest/gtest.h>

#include "builder/graph/graph_text.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "builder/run_passes.h"

namespace ingot {
namespace {

// A 1×1 convolution (%a), a depthwise one that reads it (%d), and one that reads that (%y).
constexpr const char* kHead =
    "%x = input f32[1x3x6x6]\n"
    "%w1 = const f32[4x3x1x1] random(1)\n"
    "%w2 = const f32[4x1x3x3] random(2)\n"
    "%w3 = const f32[2x4x1x1] random(3)\n"
    "%b2 = const f32[4] [1,-2,3,-4]\n"
    "%a = Conv(%x, %w1)\n"
    "%d = Conv(%a, %w2, %b2) {groups=4, pads=[1,1,1,1]}\n";
constexpr const char* kPlain = "%y = Conv(%d, %w3)\noutput %y\n";

BuildOptions options_with(std::initializer_list<const char*> names) {
  CalibrationTable table;
  for (const char* name : names) {
    CalibrationRange& range = table.ranges[name] = {-2, 2, -2, 2};
    range.channel_low = {-2, -0.5f, 0, 0};
    range.channel_high = {0, 0.5f, 1, 0};
  }
  BuildOptions options;
  options.int8 = true;
  options.calibration_table = table;
  return options;
}

struct Built {
  std::string text, error;
  Graph graph;
};

Built quantised(const std::string& text, const BuildOptions& options) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  Built built{"", "", std::move(parsed->graph)};
  built.error = run_passes(built.graph, kQuantisePasses, options).message();
  built.text = to_text(built.graph);
  return built;
}

std::vector<std::string> channel_scaled(const std::string& text) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  std::vector<std::string> names;
  const auto values = channel_scaled_values(parsed->graph, find_int8_roles(parsed->graph, {}));
  for (ValueId id = 0; id < values.size(); ++id)
    if (values[id]) names.push_back(parsed->graph.value(id).name);
  return names;
}

TEST(ChannelScales, AreForWhatOnlyDepthwiseConvolutionsRead) {
  const std::string head = kHead;
  EXPECT_EQ(channel_scaled(head + kPlain), (std::vector<std::string>{"a"}));
  // A second reader of another kind, and a residual.
  EXPECT_EQ(channel_scaled(head + "%z = Conv(%a, %w3)\noutput %z\n" + kPlain), std::vector<std::string>{});
  EXPECT_EQ(channel_scaled(head + "%r = Binary.add(%d, %a)\n%y = Conv(%r, %w3)\noutput %y\n"), std::vector<std::string>{});
  // A float reader would have to read the integers too, since a Conv makes nothing else.
  EXPECT_EQ(channel_scaled(head + "%z = Unary.exp(%a)\noutput %z\n" + kPlain), std::vector<std::string>{});
  // Behind a float group it has the floats.
  const std::string behind = "%x = input f32[1x4x6x6]\n%w2 = const f32[4x1x3x3] random(2)\n%a = Unary.exp(%x)\n%d = Conv(%a, %w2) {groups=4}\n";
  EXPECT_EQ(channel_scaled(behind + "%z = Unary.exp(%a)\noutput %z\noutput %d\n"), (std::vector<std::string>{"a"}));
  // A graph input, what max pooling passes on, two results a channel.
  EXPECT_EQ(channel_scaled("%x = input f32[1x4x6x6]\n%w2 = const f32[4x1x3x3] random(2)\n%d = Conv(%x, %w2) {groups=4}\noutput %d\n"), std::vector<std::string>{});
  EXPECT_EQ(channel_scaled("%x = input f32[1x4x6x6]\n%w = const f32[4x4x1x1] random(1)\n%w2 = const f32[4x1x3x3] random(2)\n%a = Conv(%x, %w)\n"
                           "%p = Pool.max(%a) {kernel=[2,2]}\n%d = Conv(%p, %w2) {groups=4}\noutput %d\n"), std::vector<std::string>{});
  EXPECT_EQ(channel_scaled("%x = input f32[1x4x6x6]\n%w = const f32[4x4x1x1] random(1)\n%w2 = const f32[8x1x3x3] random(2)\n%a = Conv(%x, %w)\n"
                           "%d = Conv(%a, %w2) {groups=4}\noutput %d\n"), std::vector<std::string>{});
}

TEST(ChannelScales, ReachTheFusedLayers) {
  const Built built = quantised(std::string(kHead) + kPlain, options_with({"x", "a", "d"}));
  ASSERT_EQ(built.error, "");
  const QuantParams* quant = nullptr;
  for (NodeId id : built.graph.topological_order()) {
    const Node& node = built.graph.node(id);
    if (node.kind() != OpKind::kConv || std::get<ConvParams>(node.params).groups != 4) continue;
    const Value& input = built.graph.value(node.inputs[0]);
    ASSERT_EQ(input.type.dtype, DataType::kU8) << built.text;
    quant = &*input.type.quant;
    EXPECT_EQ(built.graph.producer(node.inputs[0])->kind(), OpKind::kConv) << built.text;
    EXPECT_NE(std::find(node.notes.begin(), node.notes.end(), "int8: input quantised per channel"), node.notes.end());
    // The bias is in steps of s_x[c] · s_w[c].
    const auto bias = constant_span<int32_t>(built.graph, node.inputs[2]);
    const QuantParams& weights = *built.graph.value(node.inputs[1]).type.quant;
    const float real[] = {1, -2, 3, -4};
    for (size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(static_cast<float>(bias[c]) * quant->scales[c] * weights.scales[c], real[c], 1e-3f);
  }
  ASSERT_TRUE(quant) << built.text;
  EXPECT_EQ(quant->axis, 1);
  ASSERT_EQ(quant->scales.size(), 4u);
  EXPECT_EQ(quant->scales[1], 1.0f / 255);
  EXPECT_EQ(quant->scales[3], 2.0f / 64 / 255);  // a dead channel
  EXPECT_EQ(quant->zero_points[0], 255);
  EXPECT_EQ(quant->zero_points[2], 0);
  // The result of the depthwise layer has one scale.
  int per_channel = 0;
  for (ValueId id = 0; id < built.graph.value_count(); ++id) {
    const Value& value = built.graph.value(id);
    if (value.type.dtype == DataType::kU8 && value.type.quant && value.type.quant->axis >= 0 && !value.users.empty()) ++per_channel;
  }
  EXPECT_EQ(per_channel, 1);
}

TEST(ChannelScales, NeedChannelsInTheTable) {
  BuildOptions options = options_with({"x", "a", "d"});
  const auto axes = [&] {
    const Built built = quantised(std::string(kHead) + kPlain, options);
    EXPECT_EQ(built.error, "");
    int count = 0;
    for (ValueId id = 0; id < built.graph.value_count(); ++id) {
      const auto& type = built.graph.value(id).type;
      if (type.dtype == DataType::kU8 && type.quant && type.quant->axis >= 0) ++count;
    }
    return count;
  };
  EXPECT_GT(axes(), 0);
  options.calibration_table->ranges["a"].channel_low.pop_back();
  EXPECT_EQ(axes(), 0);
  options.calibration_table->ranges["a"].channel_low.clear();
  options.calibration_table->ranges["a"].channel_high.clear();
  EXPECT_EQ(axes(), 0);
}

}  // namespace
}  // namespace ingot
