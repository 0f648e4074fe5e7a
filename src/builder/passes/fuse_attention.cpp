// softmax(α·q·kᵀ + mask)·v in rank 4 becomes one Attention, which needs no memory for the scores. Only where q, k and v
// agree in batch, heads and depth at every probe; nothing is broadcast but the mask.
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool shapes_agree(const Match& m, bool k_transposed) {
  const Graph& graph = m.graph();
  for (const char* name : {"q", "k", "v"})
    if (!is_f32(graph, m.value(name)) || graph.value(m.value(name)).type.shape.rank != 4) return false;
  for (size_t p = 0; p < graph.probe_count(); ++p) {
    const Shape &q = graph.value(m.value("q")).probe_shapes[p], &k = graph.value(m.value("k")).probe_shapes[p],
                &v = graph.value(m.value("v")).probe_shapes[p];
    const int64_t depth = k[k_transposed ? 2 : 3], keys = k[k_transposed ? 3 : 2];
    for (int i = 0; i < 2; ++i)
      if (q[i] != k[i] || q[i] != v[i]) return false;
    if (q[3] != depth || v[3] != depth || v[2] != keys) return false;
  }
  return true;
}

bool is_attention(const Match& m) {
  const Graph& graph = m.graph();
  const auto& scores = std::get<MatMulParams>(graph.node(m.node("s")).params);
  const auto& weighted = std::get<MatMulParams>(graph.node(m.root()).params);
  const auto& softmax = std::get<SoftmaxParams>(graph.node(m.node("p")).params);
  if (scores.transpose_a || weighted.transpose_a || weighted.transpose_b || softmax.log) return false;
  if (softmax.axis != -1 && softmax.axis != 3) return false;
  const ValueId mask = m.value("mask");
  if (mask != kNone && (!is_f32(graph, mask) || graph.value(mask).type.shape.rank > 4)) return false;
  return same_shape(graph, m.value("s"), m.value("p")) && shapes_agree(m, !scores.transpose_b);
}

Expected<NodeId> make_attention(const Match& m, GraphEditor& editor) {
  const auto& scores = std::get<MatMulParams>(m.graph().node(m.node("s")).params);
  return replace_root(m, editor, AttentionParams{scores.alpha, !scores.transpose_b},
                      {m.value("q"), m.value("k"), m.value("v"), m.value("mask")});
}

const Rewrite kRewrites[] = {
    {"attention", "%s = MatMul(%q, %k, _, %mask?)\n%p = Softmax(%s:once)\n%y = MatMul(%p:once, %v) {alpha=1}", is_attention,
     make_attention, "fused attention"},
    {"attention_with_mask",
     "%s = MatMul(%q, %k)\n%t = Binary.add(%s:once, %mask)\n%p = Softmax(%t:once)\n%y = MatMul(%p:once, %v) {alpha=1}", is_attention,
     make_attention, "fused attention"},
};

}  // namespace

Status fuse_attention(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
