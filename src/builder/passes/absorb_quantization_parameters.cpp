// QuantizeLinear and DequantizeLinear with constant scale and zero point: the parameters move into the type of the quantised
// value, where every later stage looks for them. Q of a constant becomes an integer constant.
#include <algorithm>
#include <cmath>

#include "builder/graph/graph_editor.h"
#include "builder/passes/passes.h"
#include "runtime/ops/op.h"

namespace ingot {
namespace {

// Reads scale and zero point operands; nullopt where they are not constants this pass can carry.
std::optional<QuantParams> read_params(const Graph& graph, const Node& node, int64_t axis, int64_t block_size, int rank) {
  const ValueId scale = graph.input(node, 1), zero = graph.input(node, 2);
  if (!graph.is_constant(scale) || graph.value(scale).type.dtype != DataType::kF32 || block_size != 0) return std::nullopt;
  if (zero != kNone && !graph.is_constant(zero)) return std::nullopt;
  QuantParams quant;
  const auto scales = constant_span<float>(graph, scale);
  quant.scales.assign(scales.begin(), scales.end());
  for (float s : quant.scales)
    if (!(s > 0) || !std::isfinite(s)) return std::nullopt;
  quant.zero_points.assign(scales.size(), 0);
  if (zero != kNone) {
    const Value& value = graph.value(zero);
    OpInput operand{value.type.dtype, value.type.shape, value.constant->data(), true};
    if (value.type.shape.elements() != static_cast<int64_t>(scales.size()) || !is_integer(value.type.dtype)) return std::nullopt;
    for (size_t i = 0; i < scales.size(); ++i) quant.zero_points[i] = static_cast<int32_t>(read_index(operand, static_cast<int64_t>(i)));
  }
  if (graph.value(scale).type.shape.rank > 0 && scales.size() > 1) quant.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  quant.trained = true;
  return quant;
}

// Whether all that reads the value means s·(q − z) by it: DequantizeLinear does, anything else may work on bare integers.
bool is_read_as_quantised(const Graph& graph, ValueId q) {
  return std::all_of(graph.value(q).users.begin(), graph.value(q).users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (node.kind() == OpKind::kShape) return true;
    return node.kind() == OpKind::kDequantizeLinear && std::count(node.inputs.begin(), node.inputs.end(), q) == 1 && node.inputs[0] == q;
  });
}

}  // namespace

Status absorb_quantization_parameters(Graph& graph, const BuildOptions&) {
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (node.inputs.size() < 2) continue;
    if (const auto* params = std::get_if<QuantizeLinearParams>(&node.params)) {
      const ValueId x = node.inputs[0], q = node.outputs[0];
      const Value& result = graph.value(q);
      if (result.type.dtype != DataType::kU8 && result.type.dtype != DataType::kS8) continue;
      if (graph.value(x).type.dtype != DataType::kF32 || !is_read_as_quantised(graph, q)) continue;
      auto quant = read_params(graph, node, params->axis, params->block_size, result.type.shape.rank);
      if (!quant) continue;
      editor.set_storage(q, result.type.dtype, quant);
      editor.trim_inputs(id, 1);
      if (graph.is_constant(x)) {
        const TensorType from = graph.value(x).type, to = graph.value(q).type;
        auto bytes = std::make_shared<Blob>(static_cast<size_t>(to.bytes()));
        const ConstTensorRef in[] = {{&from, graph.value(x).constant->data()}};
        const TensorRef out[] = {{&to, bytes->data()}};
        INGOT_TRY(run_reference(node.params, in, out));
        editor.make_constant(q, std::move(bytes));
      }
    } else if (const auto* dq = std::get_if<DequantizeLinearParams>(&node.params)) {
      const ValueId q = node.inputs[0];
      const Value& source = graph.value(q);
      const DataType dtype = source.type.dtype;
      if (dtype != DataType::kU8 && dtype != DataType::kS8 && dtype != DataType::kS32) continue;
      auto quant = read_params(graph, node, dq->axis, dq->block_size, source.type.shape.rank);
      if (!quant) continue;
      if (source.type.quant) {
        if (source.type.quant->scales == quant->scales && source.type.quant->zero_points == quant->zero_points)
          editor.trim_inputs(id, 1);
        continue;  // read with other parameters than it was made with: the operands stay
      }
      if (!graph.is_constant(q)) continue;  // a quantised graph input: its operands stay
      ValueId own = q;
      if (source.users.size() > 1) {
        own = editor.add_constant(source.name, dtype, source.type.shape, source.constant);
        editor.set_input(id, 0, own);
      }
      editor.set_storage(own, dtype, quant);
      editor.trim_inputs(id, 1);
    }
  }
  return {};
}

}  // namespace ingot
