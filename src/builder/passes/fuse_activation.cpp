// An activation function behind Conv, ConvTranspose, MatMul or element-wise arithmetic is applied before the result is stored.
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool can_fuse(const Match& m) {
  const auto function = std::get<UnaryParams>(m.graph().node(m.root()).params).function;
  if (!is_activation(function) || function == UnaryFunction::kIdentity) return false;
  if (const auto* binary = std::get_if<BinaryParams>(&m.graph().node(m.node("y")).params)) {
    if (is_comparison(binary->function) || binary->function > BinaryFunction::kPRelu) return false;
  }
  return is_f32(m.graph(), m.value("y")) && is_f32(m.graph(), m.result());
}

Expected<NodeId> set_activation(const Match& m, GraphEditor& editor) {
  const auto& unary = std::get<UnaryParams>(m.graph().node(m.root()).params);
  const NodeId layer = m.node("y");
  OpParams params = m.graph().node(layer).params;
  std::visit([&](auto& p) {
    if constexpr (requires { p.activation; }) p.activation = {unary.function, unary.alpha, unary.beta};
  }, params);
  editor.set_params(layer, std::move(params));
  fuse_root_into(m, editor, layer);
  editor.add_note(layer, "fused " + std::string(to_string(unary.function)) + " '" + m.graph().node(m.root()).name + "'");
  return layer;
}

const Rewrite kRewrites[] = {
    {"set_activation", "%y = Conv|ConvTranspose|MatMul|Binary(%a, %b, %c?, %d?)\n%z = Unary(%y:once)", can_fuse, set_activation},
};

}  // namespace

Status fuse_activation(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
