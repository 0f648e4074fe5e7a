// A constant vector added behind Conv, ConvTranspose or MatMul joins its bias:  b' = b ± c.
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

struct Channels {
  int rank = 0, axis = 0;
  int64_t count = 0;
};
// Where the output channels of the fused layer stand.
Channels output_channels(const Graph& graph, const Node& layer) {
  const Shape& shape = graph.value(layer.outputs[0]).type.shape;
  Channels channels{shape.rank, layer.kind() == OpKind::kMatMul ? shape.rank - 1 : 1, 0};
  if (shape.rank >= 2) channels.count = shape[channels.axis];
  return channels;
}

bool is_bias(const Match& m) {
  const Graph& graph = m.graph();
  const Node& layer = graph.node(m.node("y"));
  const Channels channels = output_channels(graph, layer);
  if (layer.kind() == OpKind::kMatMul && graph.value(m.value("w")).type.shape.rank < 2) return false;
  const ValueId bias = m.value("b");
  return (bias == kNone || is_f32_constant(graph, bias)) && is_f32(graph, m.value("y")) && same_shape(graph, m.value("y"), m.result()) &&
         channel_values(graph, m.value("c"), channels.rank, channels.axis, channels.count).has_value();
}

Expected<NodeId> add_to_bias(const Match& m, GraphEditor& editor) {
  const Graph& graph = m.graph();
  const NodeId layer = m.node("y");
  const Channels channels = output_channels(graph, graph.node(layer));
  auto sum = *channel_values(graph, m.value("c"), channels.rank, channels.axis, channels.count);
  const bool minus = std::get<BinaryParams>(graph.node(m.root()).params).function == BinaryFunction::kSub;
  const ValueId bias = m.value("b");
  for (size_t i = 0; i < sum.size(); ++i) {
    const float old = bias == kNone ? 0 : constant_span<float>(graph, bias)[i];
    sum[i] = minus ? old - sum[i] : old + sum[i];
  }
  const std::string name = graph.value(bias == kNone ? m.value("c") : bias).name;
  editor.set_input(layer, 2, add_vector(editor, name, sum));
  fuse_root_into(m, editor, layer);
  return layer;
}

const Rewrite kRewrites[] = {
    {"add_to_bias", "%y = Conv|ConvTranspose|MatMul(%x, %w, %b:const?)\n%z = Binary(%y:once, %c:const) {function=\"add\"}", is_bias,
     add_to_bias, "fused bias"},
    {"subtract_from_bias", "%y = Conv|ConvTranspose|MatMul(%x, %w, %b:const?)\n%z = Binary(%y:once, %c:const) {function=\"sub\"}",
     is_bias, add_to_bias, "fused bias"},
};

}  // namespace

Status fuse_bias(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
