// GroupNorm as exporters spell it: x as [N, groups, …], normalised over all but the first two dims by InstanceNorm or (after
// raise_layer_norm) LayerNorm, back in x's shape; then constant factors and terms for each channel. And instance norm as a
// LayerNorm over the picture whose factors belong to channels.
#include "builder/passes/raise_group_norm.h"

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"

namespace ingot {
namespace {

struct Grouping {
  int64_t channels, groups;
};
// Whether x and y are one shape and r is it with its channels split into groups.
std::optional<Grouping> grouping_of(const Match& m) {
  const Graph& graph = m.graph();
  const ValueId x = m.value("x"), r = m.value("r");
  if (!is_f32(graph, x) || graph.value(x).late_dims || !same_shape(graph, x, m.value("z"))) return std::nullopt;
  const Shape &from = graph.value(x).type.shape, &split = graph.value(r).type.shape;
  if (from.rank < 3 || split.rank < 3 || from[1] < 1 || split[1] < 1 || from[1] % split[1] != 0) return std::nullopt;
  if (!same_dim(graph, r, 0, x, 0)) return std::nullopt;
  return Grouping{from[1], split[1]};
}

// A norm's own factors, one for each group; all ones where there are none.
std::optional<std::vector<float>> per_group(const Match& m, std::string_view name, int64_t groups, float fallback) {
  const ValueId id = m.value(name);
  if (id == kNone) return std::vector<float>(static_cast<size_t>(groups), fallback);
  if (!is_f32_constant(m.graph(), id) || m.graph().value(id).type.shape.elements() != groups) return std::nullopt;
  const auto values = constant_span<float>(m.graph(), id);
  return std::vector<float>(values.begin(), values.end());
}

std::vector<float> repeated(const std::vector<float>& values, int64_t times) {
  std::vector<float> wide;
  for (float value : values) wide.insert(wide.end(), static_cast<size_t>(times), value);
  return wide;
}

Expected<NodeId> make_group_norm(const Match& m, GraphEditor& editor, double epsilon, const std::vector<float>& scale, const std::vector<float>& bias) {
  const Grouping g = *grouping_of(m);
  const std::string name = m.graph().node(m.root()).name;
  const ValueId weight = add_vector(editor, name + ".weight", repeated(scale, g.channels / g.groups));
  const ValueId shift = add_vector(editor, name + ".bias", repeated(bias, g.channels / g.groups));
  return replace_root(m, editor, InstanceNormParams{epsilon, g.groups}, {m.value("x"), weight, shift});
}

bool is_group_norm_by_instance(const Match& m) {
  const auto g = grouping_of(m);
  return g && std::get<InstanceNormParams>(m.graph().node(m.node("y")).params).groups == 0 && per_group(m, "w", g->groups, 1) && per_group(m, "b", g->groups, 0);
}
Expected<NodeId> from_instance_norm(const Match& m, GraphEditor& editor) {
  const Grouping g = *grouping_of(m);
  const double epsilon = std::get<InstanceNormParams>(m.graph().node(m.node("y")).params).epsilon;
  return make_group_norm(m, editor, epsilon, *per_group(m, "w", g.groups, 1), *per_group(m, "b", g.groups, 0));
}

bool is_plain_layer_norm(const Match& m, int axis) {
  const auto& params = std::get<LayerNormParams>(m.graph().node(m.node("y")).params);
  const int rank = m.graph().value(m.value("y")).type.shape.rank;
  return !params.rms && (params.axis < 0 ? params.axis + rank : params.axis) == axis && is_filled_with(m.graph(), m.value("w"), 1) && m.value("b") == kNone;
}
bool is_group_norm_by_layer(const Match& m) { return grouping_of(m) && is_plain_layer_norm(m, 2); }
Expected<NodeId> from_layer_norm(const Match& m, GraphEditor& editor) {
  const auto groups = static_cast<size_t>(grouping_of(m)->groups);
  const double epsilon = std::get<LayerNormParams>(m.graph().node(m.node("y")).params).epsilon;
  return make_group_norm(m, editor, epsilon, std::vector<float>(groups, 1), std::vector<float>(groups, 0));
}

// c as one number for each channel of y.
std::optional<std::vector<float>> channel_factors(const Match& m) {
  const Shape& shape = m.graph().value(m.value("y")).type.shape;
  if (shape.rank < 3 || shape[1] < 1) return std::nullopt;
  return channel_values(m.graph(), m.value("c"), shape.rank, 1, shape[1]);
}

bool is_instance_norm(const Match& m) {
  return is_f32(m.graph(), m.value("y")) && is_plain_layer_norm(m, 2) && channel_factors(m) && same_shape(m.graph(), m.value("y"), m.result());
}
Expected<NodeId> make_instance_norm(const Match& m, GraphEditor& editor) {
  const std::vector<float> factors = *channel_factors(m);
  const double epsilon = std::get<LayerNormParams>(m.graph().node(m.node("y")).params).epsilon;
  const std::string name = m.graph().node(m.root()).name;
  const ValueId weight = add_vector(editor, name + ".weight", factors), bias = add_vector(editor, name + ".bias", std::vector<float>(factors.size(), 0));
  return replace_root(m, editor, InstanceNormParams{epsilon, 0}, {m.value("x"), weight, bias});
}

bool joins_norm(const Match& m) {
  return is_f32_constant(m.graph(), m.value("w")) && is_f32_constant(m.graph(), m.value("b")) && channel_factors(m) && same_shape(m.graph(), m.value("y"), m.result());
}
Expected<NodeId> join_norm(const Match& m, GraphEditor& editor) {
  const std::vector<float> factors = *channel_factors(m);
  const NodeId norm = m.node("y");
  const bool product = std::get<BinaryParams>(m.graph().node(m.root()).params).function == BinaryFunction::kMul;
  const std::string name = m.graph().value(m.value("c")).name;
  for (const bool is_bias : {false, true}) {
    if (!product && !is_bias) continue;
    const auto old = constant_span<float>(m.graph(), m.value(is_bias ? "b" : "w"));
    std::vector<float> values(old.begin(), old.end());
    for (size_t i = 0; i < values.size(); ++i) values[i] = product ? values[i] * factors[i] : values[i] + factors[i];
    editor.set_input(norm, is_bias ? 2 : 1, add_vector(editor, name, values));
  }
  fuse_root_into(m, editor, norm);
  return norm;
}

const Rewrite kRewrites[] = {
    {"group_norm_by_instance", "%r = Reshape(%x, %s)\n%y = InstanceNorm(%r, %w:const, %b:const)\n%z = Reshape(%y:once, %t)", is_group_norm_by_instance,
     from_instance_norm, "raised to group norm"},
    {"group_norm_by_layer", "%r = Reshape(%x, %s)\n%y = LayerNorm(%r, %w:const, %b:const?)\n%z = Reshape(%y:once, %t)", is_group_norm_by_layer,
     from_layer_norm, "raised to group norm"},
    {"instance_norm", "%y = LayerNorm(%x, %w:const, %b:const?)\n%z = Binary.mul(%y:once, %c:const)", is_instance_norm, make_instance_norm,
     "raised to instance norm"},
    {"channel_weight", "%y = InstanceNorm(%x, %w:const, %b:const)\n%z = Binary.mul(%y:once, %c:const)", joins_norm, join_norm},
    {"channel_bias", "%y = InstanceNorm(%x, %w:const, %b:const)\n%z = Binary.add(%y:once, %c:const)", joins_norm, join_norm},
};

}  // namespace

Status raise_group_norm(Graph& graph) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
