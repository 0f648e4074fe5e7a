// BatchNorm is y·s + t with s = γ/√(σ²+ε), t = β − μ·s. Behind Conv, ConvTranspose or MatMul it goes into their constants:
//   w' = w·s   b' = b·s + t
// as does any other constant factor per channel. A BatchNorm with nothing to join becomes a product and a sum.
#include <cmath>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

struct Affine {
  std::vector<float> scale, shift;
};

std::optional<Affine> batch_norm_affine(const Match& m, NodeId id) {
  const Graph& graph = m.graph();
  const Node& node = graph.node(id);
  for (const char* name : {"scale", "shift", "mean", "variance"})
    if (!is_f32_constant(graph, m.value(name))) return std::nullopt;
  const auto gamma = constant_span<float>(graph, m.value("scale")), beta = constant_span<float>(graph, m.value("shift")),
             mean = constant_span<float>(graph, m.value("mean")), variance = constant_span<float>(graph, m.value("variance"));
  const double epsilon = std::get<BatchNormParams>(node.params).epsilon;
  Affine affine;
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double scale = gamma[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    affine.scale.push_back(static_cast<float>(scale));
    affine.shift.push_back(static_cast<float>(beta[c] - mean[c] * scale));
  }
  return affine;
}

// Where the layer's output channels stand in its output and in its weight.
struct LayerChannels {
  int output_rank = 0, output_axis = 1, weight_axis = 0;
  int64_t groups = 1, count = 0;
};
std::optional<LayerChannels> layer_channels(const Match& m) {
  const Graph& graph = m.graph();
  const Node& layer = graph.node(m.node("y"));
  const ValueId w = m.value("w"), b = m.value("b");
  if (!is_f32_constant(graph, w) || (b != kNone && !is_f32_constant(graph, b)) || !is_f32(graph, m.value("y"))) return std::nullopt;
  const Shape &output = graph.value(layer.outputs[0]).type.shape, &weight = graph.value(w).type.shape;
  LayerChannels channels;
  channels.output_rank = output.rank;
  if (const auto* transposed = std::get_if<ConvTransposeParams>(&layer.params)) {
    channels.weight_axis = 1;
    channels.groups = transposed->groups;
  } else if (const auto* matmul = std::get_if<MatMulParams>(&layer.params)) {
    if (output.rank < 2 || weight.rank != 2) return std::nullopt;
    channels.weight_axis = matmul->transpose_b ? 0 : 1;
    channels.output_axis = output.rank - 1;
  }
  channels.count = output[channels.output_axis];
  if (channels.count <= 0 || weight[channels.weight_axis] * channels.groups != channels.count) return std::nullopt;
  return channels;
}

NodeId fold(const Match& m, GraphEditor& editor, const Affine& affine) {
  const NodeId layer = m.node("y");
  const LayerChannels channels = *layer_channels(m);
  const ValueId bias = m.value("b");
  editor.set_input(layer, 1, scale_channels(editor, m.value("w"), channels.weight_axis, affine.scale, channels.groups));
  if (bias != kNone || !affine.shift.empty()) {
    std::vector<float> folded(affine.scale.size());
    for (size_t c = 0; c < folded.size(); ++c) {
      const double old = bias == kNone ? 0 : constant_span<float>(editor.graph(), bias)[c];
      folded[c] = static_cast<float>(old * affine.scale[c] + (affine.shift.empty() ? 0 : affine.shift[c]));
    }
    const std::string name = bias == kNone ? editor.graph().value(m.value("w")).name + ".bias" : editor.graph().value(bias).name;
    editor.set_input(layer, 2, add_vector(editor, name, folded));
  }
  fuse_root_into(m, editor, layer);
  return layer;
}

bool normalises_layer(const Match& m) {
  const auto channels = layer_channels(m);
  return channels && channels->output_axis == 1 && batch_norm_affine(m, m.root()).has_value();
}
Expected<NodeId> fold_batch_norm(const Match& m, GraphEditor& editor) {
  return fold(m, editor, *batch_norm_affine(m, m.root()));
}

std::optional<Affine> channel_factor(const Match& m) {
  const Graph& graph = m.graph();
  const auto function = std::get<BinaryParams>(graph.node(m.root()).params).function;
  const auto channels = layer_channels(m);
  if (!channels || (function != BinaryFunction::kMul && function != BinaryFunction::kDiv)) return std::nullopt;
  if (!same_shape(graph, m.value("y"), m.result())) return std::nullopt;
  auto factors = channel_values(graph, m.value("c"), channels->output_rank, channels->output_axis, channels->count);
  if (!factors) return std::nullopt;
  if (function == BinaryFunction::kDiv) {
    for (float& f : *factors) {
      if (f == 0 || graph.node(m.root()).inputs[1] != m.value("c")) return std::nullopt;
      f = 1 / f;
    }
  }
  return Affine{*std::move(factors), {}};
}
bool scales_layer(const Match& m) { return channel_factor(m).has_value(); }
Expected<NodeId> fold_factor(const Match& m, GraphEditor& editor) { return fold(m, editor, *channel_factor(m)); }

bool stands_alone(const Match& m) {
  return is_f32(m.graph(), m.value("x")) && batch_norm_affine(m, m.root()).has_value();
}
Expected<NodeId> spell_out_batch_norm(const Match& m, GraphEditor& editor) {
  const Affine affine = *batch_norm_affine(m, m.root());
  Shape shape;
  shape.rank = std::max(editor.graph().value(m.value("x")).type.shape.rank - 1, 1);
  shape.dims.fill(1);
  shape[0] = static_cast<int64_t>(affine.scale.size());
  const std::string name = editor.graph().node(m.root()).name;
  const ValueId scale = editor.add_constant_of<float>(name + ".scale", DataType::kF32, shape, affine.scale);
  const ValueId shift = editor.add_constant_of<float>(name + ".shift", DataType::kF32, shape, affine.shift);
  INGOT_ASSIGN(const ValueId scaled,
               editor.add_op(name + ".mul", BinaryParams{BinaryFunction::kMul, {}}, {m.value("x"), scale}, name + ".scaled"));
  return replace_root(m, editor, BinaryParams{BinaryFunction::kAdd, {}}, {scaled, shift});
}

const Rewrite kRewrites[] = {
    {"fold_batch_norm",
     R"(%y = Conv|ConvTranspose|MatMul(%x, %w:const, %b:const?)
        %z = BatchNorm(%y:once, %scale:const, %shift:const, %mean:const, %variance:const))",
     normalises_layer, fold_batch_norm, "folded batch norm"},
    {"fold_factor",
     R"(%y = Conv|ConvTranspose|MatMul(%x, %w:const, %b:const?)
        %z = Binary(%y:once, %c:const))",
     scales_layer, fold_factor, "folded factor"},
};
// Only when nothing can take it in: another rewrite may first bring a layer and its BatchNorm together.
const Rewrite kLeftOver[] = {
    {"spell_out_batch_norm", "%y = BatchNorm(%x, %scale:const, %shift:const, %mean:const, %variance:const)", stands_alone,
     spell_out_batch_norm, "spelled out batch norm"},
};

}  // namespace

Status fuse_conv_batchnorm(Graph& graph, const BuildOptions&) {
  INGOT_TRY(apply_rewrites(graph, kRewrites));
  return apply_rewrites(graph, kLeftOver);
}

}  // namespace ingot
