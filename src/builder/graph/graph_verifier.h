// Checks a graph's invariants; run after every pass.
#pragma once

#include "builder/graph/graph.h"
#include "ingot/status.h"

namespace ingot {

// Producers and users agree, no cycle, outputs exist, and every shape (and the element type, unless something quantised is
// involved) is what the op's type rule says at each probe. Near-linear. An error names the node or value at fault.
Status verify_graph(const Graph& graph);

}  // namespace ingot
