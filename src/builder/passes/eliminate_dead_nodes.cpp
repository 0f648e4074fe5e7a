// Removes nodes and constants that no graph output depends on.
#include "builder/graph/graph_editor.h"
#include "builder/passes/passes.h"

namespace ingot {

Status eliminate_dead_nodes(Graph& graph, const BuildOptions&) {
  GraphEditor(graph).remove_dead();
  return Status();
}

}  // namespace ingot
