// The sum of a Conv's or MatMul's result and another value of the same shape is computed where the result is made. No cycle
// can arise: the result is used by the sum alone, so the other operand depends on it only through the sum itself.
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool is_residual(const Match& m) {
  const Graph& graph = m.graph();
  const ValueId y = m.value("y"), r = m.value("r");
  return !graph.is_constant(r) && graph.value(r).type.dtype == graph.value(y).type.dtype && same_shape(graph, r, y) &&
         same_shape(graph, y, m.result()) && is_f32(graph, y) && is_f32(graph, r);
}

Expected<NodeId> add_residual(const Match& m, GraphEditor& editor) {
  const NodeId layer = m.node("y");
  editor.set_input(layer, 3, m.value("r"));
  fuse_root_into(m, editor, layer);
  return layer;
}

const Rewrite kRewrites[] = {
    {"add_residual", "%y = Conv|MatMul(%x, %w, %b?)\n%z = Binary(%y:once, %r) {function=\"add\"}",
     is_residual, add_residual, "fused residual add"},
};

}  // namespace

Status fuse_residual_add(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
