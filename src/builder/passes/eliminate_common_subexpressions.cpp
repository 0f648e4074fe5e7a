// Of nodes with equal parameters and inputs one is enough. Small equal constants are merged first, so that nodes which
// differ only in whose copy of a shape or scale they read become equal.
#include <algorithm>
#include <unordered_map>

#include "builder/graph/graph_text.h"
#include "builder/graph/rewrite.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

constexpr size_t kMaxMergedConstantBytes = 64 << 10;  // larger ones are weights: equal by accident never

void merge_constants(Graph& graph, GraphEditor& editor) {
  std::unordered_multimap<uint64_t, ValueId> seen;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.constant || value.users.empty() || value.is_output || value.constant->size() > kMaxMergedConstantBytes) continue;
    const uint64_t hash = hash_of(*value.constant);
    ValueId same = kNone;
    for (auto [place, end] = seen.equal_range(hash); place != end && same == kNone; ++place) {
      const Value& other = graph.value(place->second);
      if (other.type == value.type && *other.constant == *value.constant) same = place->second;
    }
    if (same == kNone) seen.emplace(hash, id);
    else editor.replace_uses(id, same);
  }
}

uint64_t hash_node(const Node& node) {
  uint64_t hash = hash_of(node.params);
  for (ValueId input : node.inputs) hash = (hash ^ input) * 1099511628211ull;
  return hash;
}

bool can_merge(const Graph& graph, const Node& from, const Node& to) {
  if (is_control_flow(from.kind())) return false;  // bodies are not compared
  if (from.inputs != to.inputs || from.outputs.size() > to.outputs.size() || !equal(from.params, to.params)) return false;
  for (size_t i = 0; i < from.outputs.size(); ++i) {
    if (from.outputs[i] == kNone) continue;
    if (to.outputs[i] == kNone || !can_replace(graph, from.outputs[i], to.outputs[i])) return false;
  }
  // How many outputs a node has may be part of its meaning, as for Split.
  return from.outputs.size() == to.outputs.size();
}

}  // namespace

Status eliminate_common_subexpressions(Graph& graph, const BuildOptions&) {
  GraphEditor editor(graph);
  merge_constants(graph, editor);
  std::unordered_multimap<uint64_t, NodeId> seen;
  for (NodeId id : graph.topological_order()) {
    const uint64_t hash = hash_node(graph.node(id));
    NodeId same = kNone;
    for (auto [place, end] = seen.equal_range(hash); place != end && same == kNone; ++place)
      if (can_merge(graph, graph.node(id), graph.node(place->second))) same = place->second;
    if (same == kNone) {
      seen.emplace(hash, id);
      continue;
    }
    for (size_t i = 0; i < graph.node(id).outputs.size(); ++i)
      if (graph.node(id).outputs[i] != kNone) editor.replace_uses(graph.node(id).outputs[i], graph.node(same).outputs[i]);
    const std::string name = graph.node(id).name;
    editor.absorb_origins(same, id);
    editor.remove_node(id);
    editor.add_note(same, "also stands for '" + name + "'");
  }
  return Status();
}

}  // namespace ingot
