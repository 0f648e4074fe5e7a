// The wrapper; passes themselves know nothing of options that concern all of them.
#include "builder/pass_manager.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"
#include "builder/pipeline.h"

namespace ingot {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_names(std::span<const Pass> passes, const BuildOptions& options) {
  std::set<std::string_view> known;
  for (const auto& list : {passes, canonicalise_passes(), fuse_passes(), quantise_passes()})
    for (const Pass& pass : list) known.insert(pass.name);
  for (const std::string& name : options.disabled_passes) {
    if (known.count(name)) continue;
    std::string names;
    for (std::string_view pass : known) names += (names.empty() ? "" : ", ") + std::string(pass);
    return Status(StatusCode::kInvalidArgument, "disabled passes: no pass of this name: got '" + name + "', need one of " + names);
  }
  return Status();
}

// So that the dumps of a whole build sort in the order they were made.
size_t first_number(std::span<const Pass> passes) {
  size_t number = 0;
  for (const auto& list : {canonicalise_passes(), fuse_passes(), quantise_passes()}) {
    if (list.data() == passes.data()) return number;
    number += list.size();
  }
  return 0;
}

size_t live_nodes(const Graph& graph) {
  size_t count = 0;
  for (NodeId id = 0; id < graph.node_count(); ++id) count += graph.node(id).alive;
  return count;
}

Status dump(const Graph& graph, const std::string& directory, size_t number, std::string_view pass) {
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "/%02zu_", number);
  const std::string path = directory + prefix + std::string(pass) + ".graph", text = to_text(graph);
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace

Status run_passes(Graph& graph, std::span<const Pass> passes, const BuildOptions& options, std::vector<PassRecord>* records) {
  INGOT_TRY(check_names(passes, options));
  size_t number = first_number(passes);
  for (const Pass& pass : passes) {
    if (options.stop && options.stop->load(std::memory_order_relaxed))
      return Status(StatusCode::kInterrupted, "build: interrupted before pass '" + std::string(pass.name) + "'");
    PassRecord record{pass.name, contains(options.disabled_passes, pass.name), 0, live_nodes(graph), 0};
    const std::string where = "pass '" + std::string(pass.name) + "'";
    if (!record.skipped) {
      const auto begin = std::chrono::steady_clock::now();
      if (Status status = pass.run(graph, options); !status.ok()) return std::move(status).with_context(where);
      record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (Status status = verify_graph(graph); !status.ok()) return std::move(status).with_context("after " + where);
      if (!options.dump_graphs_dir.empty()) INGOT_TRY(dump(graph, options.dump_graphs_dir, number, pass.name));
    }
    record.nodes_after = live_nodes(graph);
    if (records) records->push_back(record);
    ++number;
  }
  return Status();
}

}  // namespace ingot
