// Removes nodes and constants that no graph output depends on, in bodies first: what they no longer capture may be all that a
// node outside was there for.
#include "builder/graph/graph_editor.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

// How many inputs of a control-flow node come before those that its bodies capture.
size_t first_capture(const Node& node) {
  const auto* loop = std::get_if<LoopParams>(&node.params);
  return loop ? loop->first_capture() : 1;
}

void drop_unused_captures(GraphEditor& editor, NodeId id) {
  const Node& node = editor.graph().node(id);
  for (size_t input = node.inputs.size(); input-- > first_capture(node);) {
    bool used = false;
    for (const Graph& body : node.bodies) {
      const Value& value = body.value(body.inputs()[body.inputs().size() - (node.inputs.size() - input)]);
      used = used || !value.users.empty() || value.is_output;
    }
    if (!used) editor.remove_capture(id, input);
  }
}

void eliminate(Graph& graph) {
  GraphEditor editor(graph);
  editor.remove_dead();
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (graph.node(id).bodies.empty()) continue;
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i) eliminate(editor.body(id, i));
    drop_unused_captures(editor, id);
  }
  editor.remove_dead();
}

}  // namespace

Status eliminate_dead_nodes(Graph& graph, const BuildOptions&) {
  eliminate(graph);
  return Status();
}

}  // namespace ingot
