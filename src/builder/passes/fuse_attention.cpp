// softmax(α·q·kᵀ + mask)·v becomes one Attention, which needs no memory for the scores. Only where q, k and v agree in batch,
// heads and depth by their formulas; nothing is broadcast but the mask. Of rank 3 they are one batch of many heads. A Where that
// drops scores is a mask of −∞, if no row can lose all its keys to a finite number.
#include <array>
#include <limits>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool shapes_agree(const Match& m, bool k_transposed) {
  const Graph& graph = m.graph();
  const int rank = graph.value(m.value("q")).type.shape.rank, last = rank - 1;
  if (rank != 3 && rank != 4) return false;
  for (const char* name : {"q", "k", "v"})
    if (!is_f32(graph, m.value(name)) || graph.value(m.value(name)).type.shape.rank != rank) return false;
  const ValueId q = m.value("q"), k = m.value("k"), v = m.value("v");
  const int depth = k_transposed ? last - 1 : last, keys = k_transposed ? last : last - 1;
  for (int i = 0; i < rank - 2; ++i)
    if (!same_dim(graph, q, i, k, i) || !same_dim(graph, q, i, v, i)) return false;
  return same_dim(graph, q, last, k, depth) && same_dim(graph, v, last, k, depth) && same_dim(graph, v, last - 1, k, keys);
}

bool is_attention(const Match& m) {
  const Graph& graph = m.graph();
  const auto& scores = std::get<MatMulParams>(graph.node(m.node("s")).params);
  const auto& weighted = std::get<MatMulParams>(graph.node(m.root()).params);
  const auto& softmax = std::get<SoftmaxParams>(graph.node(m.node("p")).params);
  if (scores.transpose_a || weighted.transpose_a || weighted.transpose_b || softmax.log) return false;
  const int rank = graph.value(m.value("s")).type.shape.rank;
  if (softmax.axis != -1 && softmax.axis != rank - 1) return false;
  const ValueId mask = m.value("mask");
  if (mask != kNone && (!is_f32(graph, mask) || graph.value(mask).type.shape.rank > rank)) return false;
  return same_shape(graph, m.value("s"), m.value("p")) && shapes_agree(m, !scores.transpose_b);
}

Expected<NodeId> make_attention_with(const Match& m, GraphEditor& editor, ValueId mask) {
  const auto scores = std::get<MatMulParams>(m.graph().node(m.node("s")).params);
  const std::string name = m.graph().node(m.root()).name;
  const AttentionParams params{scores.alpha, !scores.transpose_b};
  std::vector<ValueId> inputs = {m.value("q"), m.value("k"), m.value("v")};
  const bool is_flat = m.graph().value(inputs[0]).type.shape.rank == 3;
  const auto axis = [&] { return editor.add_constant_of<int64_t>(name + ".batch", DataType::kS64, Shape{1}, std::array<int64_t, 1>{0}); };
  if (is_flat)
    for (ValueId& input : inputs) {
      const std::string wide = m.graph().value(input).name + ".heads";
      INGOT_ASSIGN(input, editor.add_op(name, UnsqueezeParams{}, {input, axis()}, wide));
    }
  inputs.push_back(mask);
  if (!is_flat) return replace_root(m, editor, params, std::move(inputs));
  INGOT_ASSIGN(const ValueId y, editor.add_op(name, params, std::move(inputs), m.graph().value(m.result()).name + ".heads"));
  return replace_root(m, editor, SqueezeParams{}, {y, axis()});
}
Expected<NodeId> make_attention(const Match& m, GraphEditor& editor) { return make_attention_with(m, editor, m.value("mask")); }

// Where(allowed, scores, dropped), or the other way round.
struct Selection {
  bool keeps_true;
  double dropped;
};
std::optional<Selection> selection_of(const Match& m) {
  const Node& where = m.graph().node(m.node("t"));
  const bool keeps_true = where.inputs[1] == m.value("s");
  const auto dropped = scalar_value(m.graph(), m.value("drop"));
  if (!dropped || m.graph().value(m.value("drop")).type.shape.rank > 4) return std::nullopt;
  return Selection{keeps_true, *dropped};
}
// Whether a constant condition leaves each row a key: then what is dropped weighs 0 whatever its number, if that is low.
bool leaves_each_row_a_key(const Graph& graph, ValueId condition, bool keeps_true) {
  if (!graph.is_constant(condition)) return false;
  const Shape& shape = graph.value(condition).type.shape;
  const int64_t row = shape.rank > 0 ? shape[shape.rank - 1] : 1;
  const auto allowed = constant_span<uint8_t>(graph, condition);
  for (size_t at = 0; at < allowed.size(); at += static_cast<size_t>(row)) {
    bool any = false;
    for (size_t i = at; i < at + static_cast<size_t>(row); ++i) any = any || (allowed[i] != 0) == keeps_true;
    if (!any) return false;
  }
  return true;
}
bool is_selected_attention(const Match& m) {
  constexpr double kLow = -1e9;  // no score of use comes near
  const auto selection = selection_of(m);
  if (!selection || !is_attention(m) || m.graph().value(m.value("allowed")).type.dtype != DataType::kBool) return false;
  if (!same_shape(m.graph(), m.value("s"), m.value("t"))) return false;
  return selection->dropped == -std::numeric_limits<double>::infinity() ||
         (selection->dropped <= kLow && leaves_each_row_a_key(m.graph(), m.value("allowed"), selection->keeps_true));
}
Expected<NodeId> make_selected_attention(const Match& m, GraphEditor& editor) {
  const bool keeps_true = selection_of(m)->keeps_true;
  const std::string name = m.graph().node(m.root()).name;
  const auto number = [&](const char* role, float value) {
    return editor.add_constant_of<float>(name + role, DataType::kF32, Shape{}, std::array<float, 1>{value});
  };
  const ValueId keep = number(".keep", 0), drop = number(".drop", -std::numeric_limits<float>::infinity());
  const ValueId allowed = m.value("allowed");
  INGOT_ASSIGN(const ValueId mask, editor.add_op(name, WhereParams{}, {allowed, keeps_true ? keep : drop, keeps_true ? drop : keep}, name + ".mask"));
  return make_attention_with(m, editor, mask);
}

// Keys that a Transpose brings into place are read where they are.
bool swaps_last_dims(const Match& m) {
  const auto& perm = std::get<TransposeParams>(m.graph().node(m.node("t")).params).perm;
  return perm == std::vector<int64_t>{0, 1, 3, 2} && is_f32(m.graph(), m.value("k"));
}
Expected<NodeId> read_keys_in_place(const Match& m, GraphEditor& editor) {
  auto params = std::get<AttentionParams>(m.graph().node(m.root()).params);
  params.k_transposed = !params.k_transposed;
  return replace_root(m, editor, params, {m.value("q"), m.value("k"), m.value("v"), m.value("mask")});
}

const Rewrite kRewrites[] = {
    {"attention", "%s = MatMul(%q, %k, _, %mask?)\n%p = Softmax(%s:once)\n%y = MatMul(%p:once, %v) {alpha=1}", is_attention,
     make_attention, "fused attention"},
    {"attention_with_mask",
     "%s = MatMul(%q, %k)\n%t = Binary.add(%s:once, %mask)\n%p = Softmax(%t:once)\n%y = MatMul(%p:once, %v) {alpha=1}", is_attention,
     make_attention, "fused attention"},
    {"attention_with_selection",
     "%s = MatMul(%q, %k)\n%t = Where(%allowed, %s:once, %drop:const)\n%p = Softmax(%t:once)\n%y = MatMul(%p:once, %v) {alpha=1}",
     is_selected_attention, make_selected_attention, "fused attention"},
    {"attention_with_dropping",
     "%s = MatMul(%q, %k)\n%t = Where(%allowed, %drop:const, %s:once)\n%p = Softmax(%t:once)\n%y = MatMul(%p:once, %v) {alpha=1}",
     is_selected_attention, make_selected_attention, "fused attention"},
    {"transposed_keys", "%t = Transpose(%k)\n%y = Attention(%q, %t, %v, %mask?)", swaps_last_dims, read_keys_in_place, "fused the transpose of keys into"},
};

}  // namespace

Status fuse_attention(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
