// --fp16 on a CPU: float weights are rounded to half precision, so that the engine file can store them in 16 bits without
// further loss; layers still compute in f32.
#include <cmath>

#include "builder/graph/graph_editor.h"
#include "builder/passes/passes.h"
#include "runtime/ops/half.h"

namespace ingot {
namespace {

bool holds_weights(OpKind op) {
  return op == OpKind::kConv || op == OpKind::kConvTranspose || op == OpKind::kMatMul || op == OpKind::kGather;
}

// False where a value leaves the range of half precision: the constant then stays as it is.
bool round_to_half(std::span<const float> from, Blob& to) {
  auto* out = reinterpret_cast<float*>(to.data());
  for (size_t i = 0; i < from.size(); ++i) {
    out[i] = f16_to_f32(f32_to_f16(from[i]));
    if (!std::isfinite(out[i])) return false;
  }
  return true;
}

}  // namespace

Status halve_weights(Graph& graph, const BuildOptions& options) {
  if (!options.fp16) return {};
  GraphEditor editor(graph);
  for (NodeId id : graph.topological_order()) {
    if (!holds_weights(graph.node(id).kind())) continue;
    const Node node = graph.node(id);
    bool halved = false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!graph.is_constant(input) || graph.value(input).type.dtype != DataType::kF32) continue;
      const auto values = constant_span<float>(graph, input);
      Blob rounded(values.size_bytes());
      if (!round_to_half(values, rounded)) {
        editor.add_note(id, "weights kept in f32: a value is beyond the range of half precision");
        continue;
      }
      editor.set_constant(input, graph.value(input).type, std::move(rounded));
      halved = true;
    }
    if (halved) editor.add_note(id, "weights stored in half, computed in f32");
  }
  return {};
}

}  // namespace ingot
