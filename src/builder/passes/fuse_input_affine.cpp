// A constant factor s and term t per channel in front of a Conv or MatMul with constant weights join those:
//   (x·s)∗w = x∗(s·w)      (x + t)∗w + b = x∗w + (b + Σ t·w)
// A term in front of zero padding must stay, but a factor before it can pass: x·s + t = (x + t/s)·s.
#include <cmath>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

// The weight as numbers w[o][c][i], o the output channel, c the summed one within its group, i the place in the kernel.
struct Weight {
  int input_axis = 1;                    // of the layer's input
  int64_t channels = 0;                  // of the layer's input
  int64_t outputs = 0, summed = 0, places = 1, groups = 1;
  bool summed_first = false;             // stored [c][o]
  size_t index(int64_t o, int64_t c, int64_t i) const {
    return static_cast<size_t>((summed_first ? c * outputs + o : o * summed + c) * places + i);
  }
  int64_t channel(int64_t o, int64_t c) const { return o / (outputs / groups) * summed + c; }
};

std::optional<Weight> weight_of(const Match& m) {
  const Graph& graph = m.graph();
  const ValueId w = m.value("w"), b = m.value("b"), y = m.value("y");
  if (!is_f32_constant(graph, w) || (b != kNone && !is_f32_constant(graph, b)) || !is_f32(graph, y)) return std::nullopt;
  const Shape &shape = graph.value(w).type.shape, &input = graph.value(y).type.shape;
  Weight weight;
  if (const auto* conv = std::get_if<ConvParams>(&graph.node(m.root()).params)) {
    weight.groups = conv->groups;
    weight.outputs = shape[0];
    weight.summed = shape[1];
    for (int i = 2; i < shape.rank; ++i) weight.places *= shape[i];
  } else {
    const auto& matmul = std::get<MatMulParams>(graph.node(m.root()).params);
    if (shape.rank != 2 || input.rank < 2 || matmul.transpose_a || matmul.alpha != 1) return std::nullopt;
    weight.input_axis = input.rank - 1;
    weight.summed_first = !matmul.transpose_b;
    weight.outputs = shape[matmul.transpose_b ? 0 : 1];
    weight.summed = shape[matmul.transpose_b ? 1 : 0];
  }
  weight.channels = weight.summed * weight.groups;
  if (weight.channels != input[weight.input_axis] || weight.outputs % weight.groups != 0) return std::nullopt;
  return weight;
}

// The constant operand of the node that makes `result`, one number a channel; a quotient as factor, a difference as term.
std::optional<std::vector<float>> channel_operand(const Match& m, std::string_view result, ValueId x, ValueId constant) {
  const Graph& graph = m.graph();
  const auto weight = weight_of(m);
  if (!weight || !is_f32(graph, x) || !same_shape(graph, x, m.value(result))) return std::nullopt;
  const Node& node = graph.node(m.node(result));
  const auto function = std::get<BinaryParams>(node.params).function;
  const bool inverse = function == BinaryFunction::kDiv || function == BinaryFunction::kSub;
  if (inverse && node.inputs[1] != constant) return std::nullopt;
  auto values = channel_values(graph, constant, graph.value(x).type.shape.rank, weight->input_axis, weight->channels);
  if (!values) return std::nullopt;
  for (float& v : *values) {
    if (function == BinaryFunction::kDiv) v = 1 / v;
    if (function == BinaryFunction::kSub) v = -v;
    if (!std::isfinite(v)) return std::nullopt;
  }
  return values;
}

void scale_weight(const Match& m, GraphEditor& editor, const std::vector<float>& factors) {
  const Weight weight = *weight_of(m);
  const auto old = constant_span<float>(editor.graph(), m.value("w"));
  std::vector<float> scaled(old.begin(), old.end());
  for (int64_t o = 0; o < weight.outputs; ++o)
    for (int64_t c = 0; c < weight.summed; ++c)
      for (int64_t i = 0; i < weight.places; ++i) scaled[weight.index(o, c, i)] *= factors[static_cast<size_t>(weight.channel(o, c))];
  const std::string name = editor.graph().value(m.value("w")).name;
  const Shape shape = editor.graph().value(m.value("w")).type.shape;
  editor.set_input(m.root(), 1, editor.add_constant_of<float>(name, DataType::kF32, shape, scaled));
}

bool has_factor(const Match& m) {
  const auto function = std::get<BinaryParams>(m.graph().node(m.node("y")).params).function;
  return (function == BinaryFunction::kMul || function == BinaryFunction::kDiv) &&
         channel_operand(m, "y", m.value("x"), m.value("c")).has_value();
}
Expected<NodeId> fuse_factor(const Match& m, GraphEditor& editor) {
  scale_weight(m, editor, *channel_operand(m, "y", m.value("x"), m.value("c")));
  editor.set_input(m.root(), 0, m.value("x"));
  return m.root();
}

bool pads_zeros(const Node& node) {
  const auto* conv = std::get_if<ConvParams>(&node.params);
  if (!conv || conv->auto_pad == AutoPad::kValid) return false;
  if (conv->auto_pad != AutoPad::kNotSet) return true;
  for (int64_t pad : conv->pads)
    if (pad != 0) return true;
  return false;
}
bool has_term(const Match& m) {
  const auto function = std::get<BinaryParams>(m.graph().node(m.node("y")).params).function;
  return (function == BinaryFunction::kAdd || function == BinaryFunction::kSub) && !pads_zeros(m.graph().node(m.root())) &&
         channel_operand(m, "y", m.value("x"), m.value("c")).has_value();
}
Expected<NodeId> fuse_term(const Match& m, GraphEditor& editor) {
  const Weight weight = *weight_of(m);
  const std::vector<float> terms = *channel_operand(m, "y", m.value("x"), m.value("c"));
  const auto w = constant_span<float>(editor.graph(), m.value("w"));
  std::vector<float> bias(static_cast<size_t>(weight.outputs));
  for (int64_t o = 0; o < weight.outputs; ++o) {
    double sum = m.value("b") == kNone ? 0 : constant_span<float>(editor.graph(), m.value("b"))[static_cast<size_t>(o)];
    for (int64_t c = 0; c < weight.summed; ++c)
      for (int64_t i = 0; i < weight.places; ++i)
        sum += static_cast<double>(terms[static_cast<size_t>(weight.channel(o, c))]) * w[weight.index(o, c, i)];
    bias[static_cast<size_t>(o)] = static_cast<float>(sum);
  }
  const std::string name = m.value("b") == kNone ? editor.graph().value(m.value("w")).name + ".bias" : editor.graph().value(m.value("b")).name;
  editor.set_input(m.root(), 2, add_vector(editor, name, bias));
  editor.set_input(m.root(), 0, m.value("x"));
  return m.root();
}

std::optional<std::vector<float>> passed_term(const Match& m) {
  const auto factors = channel_operand(m, "f", m.value("x"), m.value("c"));
  auto terms = channel_operand(m, "y", m.value("f"), m.value("d"));
  if (!factors || !terms || !pads_zeros(m.graph().node(m.root()))) return std::nullopt;
  for (size_t i = 0; i < terms->size(); ++i) {
    (*terms)[i] /= (*factors)[i];
    if (!std::isfinite((*terms)[i])) return std::nullopt;
  }
  return terms;
}
bool can_pass(const Match& m) { return passed_term(m).has_value(); }
Expected<NodeId> pass_factor(const Match& m, GraphEditor& editor) {
  const std::vector<float> terms = *passed_term(m);
  const int rank = editor.graph().value(m.value("x")).type.shape.rank;
  Shape shape;
  shape.rank = rank - 1;
  shape.dims.fill(1);
  shape[0] = static_cast<int64_t>(terms.size());
  const std::string name = editor.graph().value(m.value("d")).name, sum = editor.graph().node(m.node("y")).name;
  const ValueId term = editor.add_constant_of<float>(name, DataType::kF32, shape, terms);
  INGOT_ASSIGN(const ValueId shifted, editor.add_op(sum, BinaryParams{BinaryFunction::kAdd, {}}, {m.value("x"), term}, sum + ".shifted"));
  scale_weight(m, editor, *channel_operand(m, "f", m.value("x"), m.value("c")));
  editor.set_input(m.root(), 0, shifted);
  return m.root();
}

const Rewrite kRewrites[] = {
    {"fuse_factor", "%y = Binary(%x, %c:const)\n%z = Conv|MatMul(%y:once, %w:const, %b:const?, %r?) {activation.function=*}", has_factor,
     fuse_factor, "fused the factor before"},
    {"fuse_term", "%y = Binary(%x, %c:const)\n%z = Conv|MatMul(%y:once, %w:const, %b:const?, %r?) {activation.function=*}", has_term,
     fuse_term, "fused the term before"},
    {"pass_factor",
     R"(%f = Binary.mul(%x, %c:const)
        %y = Binary.add(%f:once, %d:const)
        %z = Conv(%y:once, %w:const, %b:const?, %r?) {activation.function=*})",
     can_pass, pass_factor, "fused the factor before"},
};

}  // namespace

Status fuse_input_affine(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
