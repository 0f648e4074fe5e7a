// Calibrated quantisation as explicit Q/DQ: activations that integer layers read get QuantizeLinear → DequantizeLinear with
// the table's range, weights become s8 constants behind a DequantizeLinear, biases are corrected for the mean rounding error.
// From here on a calibrated model and a quantisation-aware trained one are the same thing.
#include <algorithm>
#include <map>
#include <numeric>

#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "quant/activation_quantizer.h"
#include "quant/bias_correction.h"
#include "quant/weight_quantizer.h"

namespace ingot {
namespace {

// Values that must share one scale, because an op only moves bytes from one to the other.
class ScaleGroups {
 public:
  explicit ScaleGroups(size_t values) : parent_(values) { std::iota(parent_.begin(), parent_.end(), 0u); }
  ValueId find(ValueId value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  void join(ValueId a, ValueId b) { parent_[std::max(find(a), find(b))] = std::min(find(a), find(b)); }

 private:
  std::vector<ValueId> parent_;
};

class Inserter {
 public:
  Inserter(Graph& graph, const BuildOptions& options)
      : editor_(graph), graph_(graph), options_(options), table_(*options.calibration_table),
        roles_(find_int8_roles(graph, options)), groups_(graph.value_count()) {}

  Status run() {
    const std::vector<NodeId> order = graph_.topological_order();
    choose_scales(order);
    for (NodeId id : order) {
      if (!roles_.reason[id].empty()) editor_.add_note(id, roles_.reason[id]);
      if (!graph_.node(id).bodies.empty()) editor_.add_note(id, "bodies kept in f32: calibration observes nothing inside them");
      if (roles_.node[id] == Int8Role::kCore) INGOT_TRY(quantize_layer(id));
    }
    for (ValueId value = 0; value < roles_.wanted.size(); ++value)
      if (roles_.wanted[value] && scales_.contains(groups_.find(value))) INGOT_TRY(quantize_value(value));
    return {};
  }

 private:
  const CalibrationRange* range_of(ValueId value) const {
    const auto found = table_.ranges.find(graph_.value(value).name);
    return found == table_.ranges.end() ? nullptr : &found->second;
  }

  void choose_scales(const std::vector<NodeId>& order) {
    for (NodeId id : order) {
      if (roles_.node[id] != Int8Role::kMove) continue;
      const Node& node = graph_.node(id);
      for (ValueId output : node.outputs)
        for (size_t i = 0; i < node.inputs.size(); ++i)
          if (output != kNone && is_data_operand(node, i)) groups_.join(output, node.inputs[i]);
    }
    std::map<ValueId, CalibrationRange> ranges;
    for (ValueId value = 0; value < roles_.wanted.size(); ++value) {
      const CalibrationRange* range = roles_.wanted[value] ? range_of(value) : nullptr;
      if (!range) continue;
      CalibrationRange& merged = ranges.try_emplace(groups_.find(value), *range).first->second;
      merged.low = std::min(merged.low, range->low);
      merged.high = std::max(merged.high, range->high);
    }
    for (const auto& [group, range] : ranges) scales_[group] = quantize_range_u8(range);
    const std::vector<bool> by_channel = channel_scaled_values(graph_, roles_);
    for (ValueId value = 0; value < by_channel.size(); ++value) {
      const CalibrationRange* range = by_channel[value] ? range_of(value) : nullptr;
      if (!range) continue;
      std::vector<ActivationQuant> channels = quantize_channels_u8(*range);
      if (!channels.empty() && static_cast<int64_t>(channels.size()) == graph_.value(value).type.shape[1])
        channel_scales_[value] = std::move(channels);
    }
  }

  Status quantize_value(ValueId value) {
    const auto by_channel = channel_scales_.find(value);
    const QuantParams quant =
        by_channel != channel_scales_.end() ? channel_params(by_channel->second) : scales_.at(groups_.find(value)).params();
    // A float producer's other float readers keep the unrounded value; an integer layer's readers all see the integers.
    const NodeId producer = graph_.value(value).producer;
    const bool made_as_integer = producer != kNone && roles_.node[producer] != Int8Role::kNone;
    const std::string name = graph_.value(value).name;
    const std::vector<NodeId> users = graph_.value(value).users;
    INGOT_ASSIGN(const ValueId q, editor_.add_op(name + ".quantize", QuantizeLinearParams{}, {value}, name + ".u8"));
    editor_.set_storage(q, DataType::kU8, quant);
    INGOT_ASSIGN(const ValueId dq, editor_.add_op(name + ".dequantize", DequantizeLinearParams{}, {q}, name + ".dequantized"));
    for (NodeId user : users) {
      const Node& node = graph_.node(user);
      const Int8Role role = roles_.node[user];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != value) continue;
        bool reads_integers = role == Int8Role::kMath || role == Int8Role::kMove;
        if (role == Int8Role::kCore)
          reads_integers = i == 0 || (i == 3 && node.outputs[0] != kNone && roles_.wanted[node.outputs[0]]);
        if (reads_integers || made_as_integer) editor_.set_input(user, i, dq);
      }
    }
    return {};
  }

  Status quantize_layer(NodeId id) {
    const Node node = graph_.node(id);
    const ValueId x = node.inputs[0], w = node.inputs[1];
    const Shape shape = graph_.value(w).type.shape;
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
    const ActivationQuant& shared = scales_.at(groups_.find(x));
    const auto by_channel = channel_scales_.find(x);
    const auto input_scale = [&](size_t c) { return by_channel != channel_scales_.end() ? by_channel->second[c].scale : shared.scale; };
    const auto weights = constant_span<float>(graph_, w);
    const ValueId old_bias = graph_.input(node, 2);
    std::vector<float> bias(static_cast<size_t>(layout.channels), 0.0f);
    if (old_bias != kNone) {
      const auto values = constant_span<float>(graph_, old_bias);
      if (values.size() != bias.size()) return Status(StatusCode::kInternal, "insert_qdq: bias of '" + node.name + "' has the wrong size");
      std::copy(values.begin(), values.end(), bias.begin());
    }
    std::vector<float> floors(bias.size());
    for (size_t c = 0; c < bias.size(); ++c) floors[c] = bias_scale_floor(bias[c], input_scale(c));
    WeightQuantOptions options;
    options.min_scales = floors;
    auto quantized = quantize_weights(weights, layout, options);
    if (!quantized.ok()) {
      editor_.add_note(id, "kept in f32: " + std::string(quantized.status().message()));
      roles_.node[id] = Int8Role::kNone;
      return {};
    }
    correct(node, weights, *quantized, layout, groups, bias);

    const std::string name = graph_.value(w).name;
    TensorType type{DataType::kS8, shape, Layout::kLinear, QuantParams{}};
    type.quant->scales = quantized->scales;
    type.quant->zero_points.assign(quantized->scales.size(), 0);
    type.quant->axis = axis;
    const ValueId q = editor_.add_constant(name + ".s8", std::move(type), to_blob<int8_t>(quantized->values));
    INGOT_ASSIGN(const ValueId dq, editor_.add_op(name + ".dequantize", DequantizeLinearParams{}, {q}, name + ".dequantized"));
    editor_.set_input(id, 1, dq);
    editor_.set_input(id, 2, editor_.add_constant_of<float>(node.name + ".bias", DataType::kF32, Shape{layout.channels}, bias));
    return {};
  }

  void correct(const Node& node, std::span<const float> weights, const QuantizedWeights& quantized, const WeightLayout& layout,
               int64_t groups, std::vector<float>& bias) const {
    const CalibrationRange* range = range_of(node.inputs[0]);
    const auto inputs = static_cast<size_t>(groups * layout.inputs);
    if (!range || range->clipped_mean.size() != inputs || range->quantized_mean.size() != inputs) return;
    const std::vector<double> clipped(range->clipped_mean.begin(), range->clipped_mean.end());
    const std::vector<double> after(range->quantized_mean.begin(), range->quantized_mean.end());
    correct_bias(bias, shift_from_input_means(weights, quantized, layout, groups, after, clipped));
  }

  GraphEditor editor_;
  Graph& graph_;
  const BuildOptions& options_;
  const CalibrationTable& table_;
  Int8Roles roles_;
  ScaleGroups groups_;
  std::map<ValueId, ActivationQuant> scales_;  // by group
  std::map<ValueId, std::vector<ActivationQuant>> channel_scales_;  // by value, for those that have one per channel
};

}  // namespace

Status insert_qdq(Graph& graph, const BuildOptions& options) {
  if (!options.int8 || !options.calibration_table) return {};
  return Inserter(graph, options).run();
}

}  // namespace ingot
