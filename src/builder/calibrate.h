// Calibration of a fused float graph: what calibrate() and build() share.
#pragma once

#include "builder/graph/graph.h"
#include "ingot/builder.h"

namespace ingot {

// Runs the graph over options.calibration and returns the ranges of all values that int8 layers would read, with the channel
// means that bias correction needs. Memory does not grow with the number of samples.
Expected<CalibrationTable> calibrate_graph(const Graph& graph, const BuildOptions& options);

// Profiles for dynamic inputs that options.profiles leaves out, from the shapes of the samples.
Expected<std::vector<ShapeProfile>> derive_profiles(const std::string& model_path, const BuildOptions& options);

}  // namespace ingot
