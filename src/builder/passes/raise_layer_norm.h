// A part of raise_composites: LayerNorm and RMSNorm.
#pragma once

#include "builder/graph/graph.h"
#include "ingot/status.h"

namespace ingot {

Status raise_layer_norm(Graph& graph);

}  // namespace ingot
