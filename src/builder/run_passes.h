// Runs a list of passes: the one wrapper that may skip, time, verify and dump.
#pragma once

#include <span>

#include "builder/passes/passes.h"

namespace ingot {

// Skips passes named in options.disabled_passes, verifies the graph after each, writes NN_<pass>.graph into
// options.dump_graphs_dir if given, stops when options.stop is set.
Status run_passes(Graph& graph, std::span<const Pass> passes, const BuildOptions& options);

// Whether a pass of that name exists; unknown names in options are a user's typo. The error lists the names.
Status check_pass_names(std::span<const std::string> names);

}  // namespace ingot
