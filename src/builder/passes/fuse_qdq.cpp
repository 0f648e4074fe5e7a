// DQ → op → Q becomes an op on integers, by the arithmetic of docs/numerics.md. A layer whose int32 sums could overflow, or
// whose operands are not all quantised, stays in float, with the reason in its notes.
#include <algorithm>

#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "quant/weight_quantizer.h"

namespace ingot {
namespace {

bool is_eight_bit(const TensorType& type) {
  return (type.dtype == DataType::kU8 || type.dtype == DataType::kS8) && type.quant.has_value();
}

class Fuser {
 public:
  explicit Fuser(Graph& graph) : editor_(graph), graph_(graph) {}

  Status run() {
    for (NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (!node.alive) continue;
      switch (node.kind()) {
        case OpKind::kConv: case OpKind::kMatMul: INGOT_TRY(fuse_layer(id)); break;
        case OpKind::kBinary: fuse_math(id, 2); break;
        case OpKind::kPool: case OpKind::kUnary: case OpKind::kReduce: fuse_math(id, 1); break;
        default: break;
      }
    }
    editor_.remove_dead();
    return {};
  }

 private:
  // The quantised value behind a DQ; kNone if there is none.
  ValueId source(ValueId value) const {
    const Node* producer = graph_.producer(value);
    if (!producer || producer->kind() != OpKind::kDequantizeLinear || producer->inputs.size() != 1) return kNone;
    return graph_.value(producer->inputs[0]).type.quant ? producer->inputs[0] : kNone;
  }
  // One scale, or where the reader can take it one per channel.
  ValueId activation_source(ValueId value, bool by_channel = false) const {
    const ValueId q = source(value);
    return q != kNone && is_activation_type(graph_.value(q).type, by_channel) ? q : kNone;
  }
  static bool is_activation_type(const TensorType& type, bool by_channel) {
    return is_eight_bit(type) && (type.quant->axis < 0 || (by_channel && type.quant->axis == 1));
  }
  // The only reader of a node's result, if that is a Q with absorbed parameters; per tensor, but for a Conv.
  NodeId only_quantizer(const Node& node) const {
    const ValueId y = node.outputs[0];
    if (y == kNone || !graph_.has_single_use(y)) return kNone;
    const NodeId user = graph_.value(y).users[0];
    const Node& q = graph_.node(user);
    if (q.kind() != OpKind::kQuantizeLinear || q.inputs.size() != 1) return kNone;
    const TensorType& type = graph_.value(q.outputs[0]).type;
    return is_activation_type(type, node.kind() == OpKind::kConv) ? user : kNone;
  }

  void take_quantized_output(NodeId id, NodeId quantizer) {
    const ValueId q = graph_.node(quantizer).outputs[0];
    editor_.take_output(id, 0, q);
    editor_.absorb_origins(id, quantizer);
    editor_.remove_node(quantizer);
  }

  Status fuse_layer(NodeId id) {
    const Node node = graph_.node(id);
    const ValueId x = activation_source(graph_.input(node, 0), is_depthwise(graph_, node));
    const ValueId w = graph_.input(node, 1) == kNone ? kNone : source(node.inputs[1]);
    if (x == kNone || w == kNone || !graph_.is_constant(w) || !is_eight_bit(graph_.value(w).type)) return {};
    const auto refuse = [&](const std::string& why) { return editor_.add_note(id, "kept in f32: " + why), Status(); };
    const TensorType& weights = graph_.value(w).type;
    const bool is_conv = node.kind() == OpKind::kConv;
    if (!is_conv) {
      const auto& params = std::get<MatMulParams>(node.params);
      if (params.alpha != 1 || params.transpose_a) return refuse("a scaled or transposed first operand");
      const int axis = params.transpose_b ? 0 : 1;
      if (weights.shape.rank != 2 || (weights.quant->axis >= 0 && weights.quant->axis != axis)) return refuse("weights are not quantised per output column");
    } else if (weights.quant->axis > 0) {
      return refuse("weights are not quantised per output channel");
    }
    const WeightLayout layout = is_conv ? WeightLayout::conv(weights.shape)
                                : std::get<MatMulParams>(node.params).transpose_b
                                    ? WeightLayout::matmul_nk(weights.shape[0], weights.shape[1])
                                    : WeightLayout::matmul_kn(weights.shape[0], weights.shape[1]);
    const NodeId quantizer = only_quantizer(node);
    const ValueId residual_float = graph_.input(node, 3);
    ValueId residual = residual_float == kNone ? kNone : activation_source(residual_float);
    // The residual has the kind of the result: integers beside integers, float beside float.
    if (residual_float != kNone && (quantizer != kNone) != (residual != kNone)) {
      if (quantizer != kNone) return refuse("its residual is float but its result is not");
      residual = kNone;
    }

    // Bias in int32 at scale s_x · s_w.
    const TensorType& input = graph_.value(x).type;
    std::vector<float> scales(static_cast<size_t>(layout.channels));
    for (size_t c = 0; c < scales.size(); ++c) scales[c] = weights.quant->scales[weights.quant->scales.size() == 1 ? 0 : c];
    std::vector<int32_t> bias;
    if (const ValueId b = graph_.input(node, 2); b != kNone) {
      const ValueId b_q = source(b);
      if (b_q != kNone && graph_.is_constant(b_q) && graph_.value(b_q).type.dtype == DataType::kS32) {
        bias = rescaled_bias(graph_.value(b_q), constant_span<int32_t>(graph_, b_q), input.quant->scales, scales);
      } else if (graph_.is_constant(b) && graph_.value(b).type.dtype == DataType::kF32) {
        bias = quantize_bias(constant_span<float>(graph_, b), std::span<const float>(input.quant->scales), scales);
      } else {
        return refuse("its bias is computed");
      }
      if (bias.size() != scales.size()) return refuse("its bias does not have one value for each channel");
    }
    if (const std::string channel = overflowing_channel(w, layout, bias, input); !channel.empty())
      return refuse("int32 sums could overflow in output channel " + channel);

    editor_.set_input(id, 0, x);
    editor_.set_input(id, 1, w);
    if (!bias.empty()) {
      TensorType type{DataType::kS32, Shape{layout.channels}, Layout::kLinear, {}};
      editor_.set_input(id, 2, editor_.add_constant(node.name + ".bias_s32", type, to_blob<int32_t>(bias)));
    }
    if (residual != kNone) editor_.set_input(id, 3, residual);
    if (quantizer != kNone) take_quantized_output(id, quantizer);
    editor_.add_note(id, quantizer != kNone ? "int8: integer input, weights and result" : "int8: integer input and weights, f32 result");
    if (graph_.value(x).type.quant->axis >= 0) editor_.add_note(id, "int8: input quantised per channel");
    return {};
  }

  // A stored bias at the scale of the products: its own may be another, or have a zero point.
  static std::vector<int32_t> rescaled_bias(const Value& stored, std::span<const int32_t> values, std::span<const float> input_scales,
                                            std::span<const float> weight_scales) {
    const QuantParams& quant = *stored.type.quant;
    std::vector<int32_t> same(values.begin(), values.end());
    if (values.size() != weight_scales.size()) return same;  // refused by the caller
    std::vector<float> real(values.size());
    bool equal = true;
    for (size_t c = 0; c < values.size(); ++c) {
      const size_t own = quant.scales.size() == 1 ? 0 : c;
      const double product = static_cast<double>(input_scales[input_scales.size() == 1 ? 0 : c]) * static_cast<double>(weight_scales[c]);
      const double scale = static_cast<double>(quant.scales[own]);
      equal = equal && quant.zero_points[own] == 0 && std::abs(scale - product) <= 1e-5 * product;
      real[c] = dequantize_value(values[c], quant.scales[own], quant.zero_points[own]);
    }
    return equal ? same : quantize_bias(real, input_scales, weight_scales);
  }

  std::string overflowing_channel(ValueId w, const WeightLayout& layout, std::span<const int32_t> bias, const TensorType& input) const {
    const TensorType& type = graph_.value(w).type;
    const auto bytes = constant_span<uint8_t>(graph_, w);
    const int32_t lo = input.dtype == DataType::kU8 ? 0 : -128, hi = lo + 255;
    std::vector<int64_t> magnitudes(static_cast<size_t>(layout.channels), 0);
    for (int64_t c = 0; c < layout.channels; ++c) {
      const int32_t zero = type.quant->zero_points[type.quant->zero_points.size() == 1 ? 0 : static_cast<size_t>(c)];
      for (int64_t i = 0; i < layout.inputs; ++i)
        for (int64_t t = 0; t < layout.taps; ++t) {
          const uint8_t byte = bytes[static_cast<size_t>(layout.offset(c) + i * layout.input_stride + t * layout.tap_stride)];
          const int32_t q = type.dtype == DataType::kU8 ? byte : static_cast<int8_t>(byte);
          magnitudes[static_cast<size_t>(c)] += std::abs(q - zero);
        }
    }
    int32_t reach = 0;  // of q − z, at the worst zero point
    for (int32_t z : input.quant->zero_points) reach = std::max({reach, hi - z, z - lo});
    const std::vector<bool> proved = prove_no_overflow(magnitudes, bias, reach);
    const auto bad = std::find(proved.begin(), proved.end(), false);
    return bad == proved.end() ? "" : std::to_string(bad - proved.begin());
  }

  // add, mul, average pool, functions of one value: all data operands quantised, the result read by one Q only.
  void fuse_math(NodeId id, size_t operands) {
    const Node node = graph_.node(id);
    const NodeId quantizer = only_quantizer(node);
    if (quantizer == kNone) return;
    if (node.kind() == OpKind::kBinary) {
      const auto& params = std::get<BinaryParams>(node.params);
      if (params.function != BinaryFunction::kAdd && params.function != BinaryFunction::kMul) return;
      if (!is_clamp(params.activation.function)) return;
    }
    if (node.kind() == OpKind::kPool && std::get<PoolParams>(node.params).function != PoolFunction::kAverage) return;
    if (node.kind() == OpKind::kReduce && std::get<ReduceParams>(node.params).function != ReduceFunction::kMean) return;
    std::vector<ValueId> sources;
    const DataType made = graph_.value(graph_.node(quantizer).outputs[0]).type.dtype;
    for (size_t i = 0; i < operands; ++i) {
      const ValueId q = activation_source(node.inputs[i]);
      if (q == kNone || (node.kind() == OpKind::kReduce && graph_.value(q).type.dtype != made)) return;
      sources.push_back(q);
    }
    for (size_t i = 0; i < operands; ++i) editor_.set_input(id, i, sources[i]);
    take_quantized_output(id, quantizer);
    editor_.add_note(id, node.kind() == OpKind::kUnary ? "int8: a table of 256 entries" : "int8: integer operands and result");
  }

  GraphEditor editor_;
  Graph& graph_;
};

}  // namespace

Status fuse_qdq(Graph& graph, const BuildOptions&) { return Fuser(graph).run(); }

}  // namespace ingot
