// The stages before tuning: what runs when, whatever the lists in passes.h hold.
#pragma once

#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

// What the model means, spelled one way; then what runs as one layer. Float fusion comes before quantisation, so that nothing
// inside a fused group is ever quantised, and batch norm is folded before ranges are observed.
Status run_float_passes(Graph& graph, const BuildOptions& options);
// Q/DQ from the calibration table or from the model, then integer layers; weights in half if asked.
Status run_quantise_passes(Graph& graph, const BuildOptions& options);

// The options with one profile that holds all: what calibration runs in.
BuildOptions with_widest_profile(const BuildOptions& options);
// The graph as a fused float network: what is calibrated, and what quantisation starts from. Of several profiles the first counts.
Expected<Graph> make_float_graph(const std::string& model_path, const BuildOptions& options);
bool has_quantisation(const Graph& graph);
// A name in float_layers that nothing bears is a typo, and would quietly quantise the layer that was meant.
Status check_float_layers(const Graph& graph, const std::vector<std::string>& names);

}  // namespace ingot
