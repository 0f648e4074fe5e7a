// One wrapper around every pass: skip, time, verify, dump.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

struct Pass {
  std::string_view name;
  Status (*run)(Graph&, const BuildOptions&);
};

struct PassRecord {
  std::string_view name;
  bool skipped = false;
  double seconds = 0;
  size_t nodes_before = 0, nodes_after = 0;  // live ones
};

// Runs the passes in order and verifies the graph after each. Passes named in options.disabled_passes are skipped; a name
// there that is neither in `passes` nor in the pipeline is an error, which lists the known ones. Writes NN_pass.graph into
// options.dump_graphs_dir, where NN counts through the pipeline. Stops between passes when options.stop is set.
Status run_passes(Graph& graph, std::span<const Pass> passes, const BuildOptions& options,
                  std::vector<PassRecord>* records = nullptr);

}  // namespace ingot
