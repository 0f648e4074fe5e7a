// Weights of layers whose input is calibrated become s8 constants behind a DequantizeLinear, one scale per output channel;
// biases are corrected for the mean rounding error. Biases stay float until fuse_qdq knows the scales of both operands.
#include <algorithm>

#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "quant/bias_correction.h"
#include "quant/weight_quantizer.h"

namespace ingot {
namespace {

// A layer's input: what the model calls it, and how it is quantised. `quant` is null if it is not, or not by calibration.
struct LayerInput {
  ValueId value = kNone;
  const QuantParams* quant = nullptr;
};
LayerInput calibrated_input(const Graph& graph, const Node& node) {
  const Node* dq = graph.producer(graph.input(node, 0));
  if (!dq || dq->kind() != OpKind::kDequantizeLinear || dq->inputs.size() != 1) return {};
  const Node* q = graph.producer(dq->inputs[0]);
  const auto& quant = graph.value(dq->inputs[0]).type.quant;
  if (!q || q->kind() != OpKind::kQuantizeLinear || !quant || quant->trained) return {};
  return {q->inputs[0], &*quant};
}

void correct(const CalibrationTable& table, const std::string& input, std::span<const float> weights,
             const QuantizedWeights& quantized, const WeightLayout& layout, int64_t groups, std::vector<float>& bias) {
  const auto range = table.ranges.find(input);
  const auto inputs = static_cast<size_t>(groups * layout.inputs);
  if (range == table.ranges.end() || range->second.clipped_mean.size() != inputs || range->second.quantized_mean.size() != inputs) return;
  const auto &before = range->second.clipped_mean, &after = range->second.quantized_mean;
  const std::vector<double> clipped(before.begin(), before.end()), rounded(after.begin(), after.end());
  correct_bias(bias, shift_from_input_means(weights, quantized, layout, groups, rounded, clipped));
}

Status quantize_layer(GraphEditor& editor, NodeId id, const LayerInput& input, const CalibrationTable& table) {
  const Graph& graph = editor.graph();
  const Node node = graph.node(id);
  const ValueId w = node.inputs[1];
  const Shape shape = graph.value(w).type.shape;
  WeightLayout layout;
  int axis = 0;
  int64_t groups = 1;
  if (node.kind() == OpKind::kConv) {
    layout = WeightLayout::conv(shape);
    groups = std::get<ConvParams>(node.params).groups;
  } else if (std::get<MatMulParams>(node.params).transpose_b) {
    layout = WeightLayout::matmul_nk(shape[0], shape[1]);
  } else {
    layout = WeightLayout::matmul_kn(shape[0], shape[1]);
    axis = 1;
  }
  const auto weights = constant_span<float>(graph, w);
  const ValueId old_bias = graph.input(node, 2);
  std::vector<float> bias(static_cast<size_t>(layout.channels), 0.0f);
  if (old_bias != kNone) {
    const auto values = constant_span<float>(graph, old_bias);
    if (values.size() != bias.size()) return Status(StatusCode::kInternal, "bias of '" + node.name + "' has the wrong size");
    std::copy(values.begin(), values.end(), bias.begin());
  }
  std::vector<float> floors(bias.size());
  for (size_t c = 0; c < bias.size(); ++c) floors[c] = bias_scale_floor(bias[c], input.quant->scales[input.quant->axis < 0 ? 0 : c]);
  WeightQuantOptions options;
  options.min_scales = floors;
  auto quantized = quantize_weights(weights, layout, options);
  if (!quantized.ok()) {
    editor.add_note(id, "kept in f32: " + std::string(quantized.status().message()));
    return {};
  }
  correct(table, graph.value(input.value).name, weights, *quantized, layout, groups, bias);

  const std::string name = graph.value(w).name;
  TensorType type{DataType::kS8, shape, Layout::kLinear, QuantParams{}};
  type.quant->scales = quantized->scales;
  type.quant->zero_points.assign(quantized->scales.size(), 0);
  type.quant->axis = axis;
  const ValueId q = editor.add_constant(name + ".s8", std::move(type), to_blob<int8_t>(quantized->values));
  INGOT_ASSIGN(const ValueId dq, editor.add_op(name + ".dequantize", DequantizeLinearParams{}, {q}, name + ".dequantized"));
  editor.set_input(id, 1, dq);
  editor.set_input(id, 2, editor.add_constant_of<float>(node.name + ".bias", DataType::kF32, Shape{layout.channels}, bias));
  return {};
}

}  // namespace

Status quantize_constants(Graph& graph, const BuildOptions& options) {
  if (!options.int8 || !options.calibration_table) return {};
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (possible_role(graph, node) != Int8Role::kCore || is_kept_float(graph, node, options)) continue;
    const LayerInput input = calibrated_input(graph, node);
    if (input.quant) INGOT_TRY(quantize_layer(editor, id, input, *options.calibration_table));
  }
  return {};
}

}  // namespace ingot
