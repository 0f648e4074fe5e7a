// A constant factor before or behind a MatMul becomes its alpha; alpha goes into b where b is a constant of its own.
//   (s·a)·b = a·(s·b) = s·(a·b)
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

// The number that the Binary multiplies x with, if it is one.
std::optional<double> factor(const Match& m, NodeId node, ValueId x, ValueId s) {
  const auto function = std::get<BinaryParams>(m.graph().node(node).params).function;
  const auto scale = scalar_value(m.graph(), s);
  if (!scale || (function != BinaryFunction::kMul && function != BinaryFunction::kDiv)) return std::nullopt;
  if (function == BinaryFunction::kDiv && (*scale == 0 || m.graph().node(node).inputs[1] != s)) return std::nullopt;
  if (!is_f32(m.graph(), x) || m.graph().value(s).type.shape.rank > m.graph().value(x).type.shape.rank) return std::nullopt;
  return function == BinaryFunction::kMul ? *scale : 1 / *scale;
}

void multiply_alpha(GraphEditor& editor, NodeId matmul, double scale) {
  auto params = std::get<MatMulParams>(editor.graph().node(matmul).params);
  params.alpha *= scale;
  editor.set_params(matmul, params);
}

bool scales_result(const Match& m) { return factor(m, m.root(), m.value("y"), m.value("s")).has_value(); }
Expected<NodeId> scale_result(const Match& m, GraphEditor& editor) {
  const NodeId matmul = m.node("y");
  multiply_alpha(editor, matmul, *factor(m, m.root(), m.value("y"), m.value("s")));
  fuse_root_into(m, editor, matmul);
  return matmul;
}

bool scales_operand(const Match& m) { return factor(m, m.node("y"), m.value("x"), m.value("s")).has_value(); }
Expected<NodeId> scale_operand(const Match& m, GraphEditor& editor) {
  multiply_alpha(editor, m.root(), *factor(m, m.node("y"), m.value("x"), m.value("s")));
  const auto& inputs = editor.graph().node(m.root()).inputs;
  const size_t side = inputs[0] == m.value("y") ? 0 : 1;
  editor.set_input(m.root(), side, m.value("x"));
  return m.root();
}

// A weight that others read too would have to be stored twice.
bool has_own_weight(const Match& m) {
  return std::get<MatMulParams>(m.graph().node(m.root()).params).alpha != 1 && is_f32_constant(m.graph(), m.value("b")) &&
         m.graph().has_single_use(m.value("b"));
}
Expected<NodeId> scale_weight(const Match& m, GraphEditor& editor) {
  auto params = std::get<MatMulParams>(editor.graph().node(m.root()).params);
  const auto values = constant_span<float>(editor.graph(), m.value("b"));
  std::vector<float> scaled(values.begin(), values.end());
  for (float& value : scaled) value = static_cast<float>(value * params.alpha);
  const Value& weight = editor.graph().value(m.value("b"));
  const std::string name = weight.name;
  const Shape shape = weight.type.shape;
  editor.set_input(m.root(), 1, editor.add_constant_of<float>(name, DataType::kF32, shape, scaled));
  params.alpha = 1;
  editor.set_params(m.root(), params);
  return m.root();
}

const Rewrite kRewrites[] = {
    {"scale_result", "%y = MatMul(%a, %b)\n%z = Binary(%y:once, %s:const)", scales_result, scale_result, "fused scale"},
    {"scale_left", "%y = Binary(%x, %s:const)\n%z = MatMul(%y:once, %b, %c?, %d?) {activation.function=*}", scales_operand, scale_operand,
     "fused the scale of an operand into"},
    {"scale_right", "%y = Binary(%x, %s:const)\n%z = MatMul(%a, %y:once, %c?, %d?) {activation.function=*}", scales_operand, scale_operand,
     "fused the scale of an operand into"},
    {"scale_weight", "%z = MatMul(%a, %b:const, %c?, %d?) {activation.function=*}", has_own_weight, scale_weight, "folded alpha into the weight of"},
};

}  // namespace

Status fuse_scale_into_matmul(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
