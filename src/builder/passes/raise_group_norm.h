// Norms over groups of channels, or over each channel's own picture.
#pragma once

#include "builder/graph/graph.h"
#include "ingot/status.h"

namespace ingot {

// After raise_layer_norm, whose LayerNorms it looks for too.
Status raise_group_norm(Graph& graph);

}  // namespace ingot
