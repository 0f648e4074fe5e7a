// A constant term between a convolution and the quantised form of its sum is a matter of zero points: q = rne((f + b) / s) + z is
// nearly rne(f / s) + z', z' = z + rne(b / s). So the convolution stores f with z' as bytes, and readers take the same bytes for
// f + b with z, whose padding stays what it was. What rounding b / s leaves out, less than half a step and the same everywhere,
// is added to the readers' biases.
#include <algorithm>
#include <cmath>

#include "builder/graph/graph_editor.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"
#include "quant/activation_quantizer.h"

namespace ingot {
namespace {

struct Term {
  NodeId add = kNone, quantizer = kNone, dequantizer = kNone;
  ValueId source = kNone;      // f
  std::vector<float> terms;    // by channel
  QuantParams read, made;      // of f + b and of f
  std::vector<float> lost;     // b − s · rne(b / s)
};

// Σ of weights that each output of a reader gives channel c, times what c lost.
bool correct_reader(GraphEditor& editor, NodeId id, const std::vector<float>& lost, bool only_check) {
  const Graph& graph = editor.graph();
  const Node& node = graph.node(id);
  const auto* conv = std::get_if<ConvParams>(&node.params);
  if (!conv || node.inputs.size() < 3 || !is_f32_constant(graph, graph.input(node, 2))) return false;
  const Node* dq = graph.producer(graph.input(node, 1));
  if (!dq || dq->kind() != OpKind::kDequantizeLinear || dq->inputs.size() != 1 || !graph.is_constant(dq->inputs[0])) return false;
  const TensorType& type = graph.value(dq->inputs[0]).type;
  if (type.dtype != DataType::kS8 || !type.quant || type.quant->axis != 0 || type.shape.rank < 3) return false;
  const int64_t outputs = type.shape[0], summed = type.shape[1];
  if (summed * conv->groups != static_cast<int64_t>(lost.size()) || outputs % conv->groups != 0 ||
      static_cast<int64_t>(type.quant->scales.size()) != outputs)
    return false;
  if (only_check) return true;
  const auto w = constant_span<int8_t>(graph, dq->inputs[0]);
  const auto old = constant_span<float>(graph, node.inputs[2]);
  const int64_t taps = type.shape.elements() / (outputs * summed);
  std::vector<float> bias(old.begin(), old.end());
  for (int64_t o = 0; o < outputs; ++o) {
    double sum = 0;
    for (int64_t c = 0; c < summed; ++c) {
      const double error = static_cast<double>(lost[static_cast<size_t>(o / (outputs / conv->groups) * summed + c)]);
      for (int64_t t = 0; t < taps; ++t) sum += error * w[static_cast<size_t>((o * summed + c) * taps + t)];
    }
    const auto at = static_cast<size_t>(o);
    bias[at] = static_cast<float>(bias[at] + sum * static_cast<double>(type.quant->scales[at]));
  }
  editor.set_input(id, 2, editor.add_constant_of<float>(node.name + ".bias", DataType::kF32, Shape{outputs}, bias));
  return true;
}

// The zero point that f would have.
float zero_of(const Term& term, size_t channel) {
  const size_t at = term.read.axis < 0 ? 0 : channel;
  return static_cast<float>(term.read.zero_points[at]) + std::nearbyintf(term.terms[channel] / term.read.scales[at]);
}

// Where the sum never comes near b, since f is never 0, f's zero point would be no byte. The range then grows to hold b, if that
// takes few levels from what it held.
bool widen(Term& term) {
  const float most = term.read.axis < 0 ? 1.1f : 4.0f;
  std::vector<CalibrationRange> ranges(term.read.scales.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].low = -term.read.scales[i] * static_cast<float>(term.read.zero_points[i]);
    ranges[i].high = term.read.scales[i] * static_cast<float>(255 - term.read.zero_points[i]);
  }
  std::vector<bool> grown(ranges.size(), false);
  for (size_t c = 0; c < term.terms.size(); ++c) {
    const float zero = zero_of(term, c);
    if (zero >= 0 && zero <= 255) continue;
    const size_t at = term.read.axis < 0 ? 0 : c;
    ranges[at].low = std::min(ranges[at].low, term.terms[c]);
    ranges[at].high = std::max(ranges[at].high, term.terms[c]);
    grown[at] = true;
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!grown[i]) continue;
    const ActivationQuant wider = quantize_range_u8(ranges[i]);
    if (!(wider.scale <= most * term.read.scales[i])) return false;
    term.read.scales[i] = wider.scale;
    term.read.zero_points[i] = wider.zero_point;
  }
  return true;
}

// The term that node `id` adds, if all is as it must be.
bool find_term(GraphEditor& editor, NodeId id, const CalibrationTable& table, Term& term) {
  const Graph& graph = editor.graph();
  const Node& node = graph.node(id);
  const auto* binary = std::get_if<BinaryParams>(&node.params);
  if (!node.alive || !binary || binary->function != BinaryFunction::kAdd || binary->activation.function != UnaryFunction::kIdentity) return false;
  const ValueId sum = node.outputs[0];
  if (!graph.has_single_use(sum) || graph.value(sum).type.shape.rank < 3) return false;
  for (size_t i = 0; i < 2 && term.source == kNone; ++i) {
    const Node* conv = graph.producer(node.inputs[i]);
    auto terms = channel_values(graph, node.inputs[1 - i], graph.value(sum).type.shape.rank, 1, graph.value(sum).type.shape[1]);
    if (!conv || conv->kind() != OpKind::kConv || !graph.has_single_use(node.inputs[i]) || !terms ||
        graph.value(node.inputs[i]).type.shape != graph.value(sum).type.shape)
      continue;
    term.source = node.inputs[i];
    term.terms = std::move(*terms);
  }
  if (term.source == kNone) return false;
  term.add = id;
  term.quantizer = graph.value(sum).users[0];
  const Node& q = graph.node(term.quantizer);
  if (q.kind() != OpKind::kQuantizeLinear || q.inputs.size() != 1 || !graph.has_single_use(q.outputs[0])) return false;
  const TensorType& type = graph.value(q.outputs[0]).type;
  if (type.dtype != DataType::kU8 || !type.quant || type.quant->trained || (type.quant->axis >= 0 && type.quant->axis != 1)) return false;
  term.dequantizer = graph.value(q.outputs[0]).users[0];
  const Node& dq = graph.node(term.dequantizer);
  if (dq.kind() != OpKind::kDequantizeLinear || dq.inputs.size() != 1) return false;
  term.read = *type.quant;
  if (!widen(term)) return false;
  term.made.axis = 1;
  for (size_t c = 0; c < term.terms.size(); ++c) {
    const size_t at = term.read.axis < 0 ? 0 : c;
    const float scale = term.read.scales[at];
    const auto zero = static_cast<int32_t>(std::clamp(zero_of(term, c), 0.0f, 255.0f));  // a widened range may miss by rounding
    term.made.scales.push_back(scale);
    term.made.zero_points.push_back(zero);
    term.lost.push_back(term.terms[c] - scale * static_cast<float>(zero - term.read.zero_points[at]));
  }
  // Readers' biases were corrected for the mean error of rounding f + b. Of f, which is 0 so often, and 0 is exact, it is none.
  const auto range = table.ranges.find(graph.value(sum).name);
  if (range != table.ranges.end() && range->second.clipped_mean.size() == term.lost.size() && range->second.quantized_mean.size() == term.lost.size())
    for (size_t c = 0; c < term.lost.size(); ++c) term.lost[c] += range->second.quantized_mean[c] - range->second.clipped_mean[c];
  for (NodeId reader : graph.value(dq.outputs[0]).users) {
    const auto& inputs = graph.node(reader).inputs;
    if (inputs[0] != dq.outputs[0] || std::count(inputs.begin(), inputs.end(), inputs[0]) != 1 || !correct_reader(editor, reader, term.lost, true))
      return false;
  }
  return true;
}

}  // namespace

Status fold_terms_into_zero_points(Graph& graph, const BuildOptions& options) {
  if (!options.int8 || !options.calibration_table) return {};
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    Term term;
    if (!find_term(editor, id, *options.calibration_table, term)) continue;
    const std::string name = graph.value(graph.node(id).outputs[0]).name;
    const std::vector<NodeId> readers = graph.value(graph.node(term.dequantizer).outputs[0]).users;
    for (NodeId reader : readers) correct_reader(editor, reader, term.lost, false);
    const ValueId old = graph.node(term.quantizer).outputs[0];
    INGOT_ASSIGN(const ValueId made, editor.add_op(name + ".quantize", QuantizeLinearParams{}, {term.source}, name + ".before"));
    editor.set_storage(made, DataType::kU8, term.made);
    INGOT_ASSIGN(const GraphEditor::Added same, editor.add_node(name, IdentityParams{}, {made}, {name + ".bytes"}));
    editor.set_storage(same.outputs[0], DataType::kU8, term.read);
    editor.absorb_origins(same.node, id);
    editor.add_note(same.node, "int8: a term became a zero point");
    editor.replace_uses(old, same.outputs[0]);
  }
  editor.remove_dead();
  return {};
}

}  // namespace ingot
