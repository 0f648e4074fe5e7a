// The wrapper around every pass.
#include "builder/run_passes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "builder/graph/graph_editor.h"
#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"

namespace ingot {
namespace {

// Dumps of one build are numbered in the order of the passes, over all lists.
Status dump(const Graph& graph, std::string_view pass, const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  int number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) number += entry.path().extension() == ".graph";
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%02d_", number);
  const std::string path = dir + '/' + prefix + std::string(pass) + ".graph";
  std::ofstream file(path);
  file << to_text(graph, true);
  file.close();
  if (!file) return Status(StatusCode::kDeviceError, "'" + path + "': cannot be written");
  return {};
}

// A pass sees one graph at a time: bodies after the graph around them.
Status run_everywhere(Graph& graph, const Pass& pass, const BuildOptions& options) {
  INGOT_TRY(pass.run(graph, options));
  GraphEditor editor(graph);
  for (NodeId id = 0; pass.in_bodies && id < graph.node_count(); ++id)
    for (size_t i = 0; i < graph.node(id).bodies.size(); ++i)
      if (Status status = run_everywhere(editor.body(id, i), pass, options); !status.ok())
        return std::move(status).with_context("body of '" + graph.node(id).name + "'");
  return {};
}

}  // namespace

Status check_pass_names(std::span<const std::string> names) {
  std::vector<std::string_view> known;
  for (std::span<const Pass> list : {std::span<const Pass>(kCanonicalisePasses), std::span<const Pass>(kFusePasses), std::span<const Pass>(kQuantisePasses)})
    for (const Pass& pass : list)
      if (std::find(known.begin(), known.end(), pass.name) == known.end()) known.push_back(pass.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (std::string_view pass : known) list += (list.empty() ? "" : ", ") + std::string(pass);
    return Status(StatusCode::kInvalidArgument, "no pass is called '" + name + "': need one of " + list);
  }
  return {};
}

Status run_passes(Graph& graph, std::span<const Pass> passes, const BuildOptions& options) {
  for (const Pass& pass : passes) {
    if (options.stop && *options.stop) return Status(StatusCode::kInterrupted, "build: interrupted before " + std::string(pass.name));
    if (std::find(options.disabled_passes.begin(), options.disabled_passes.end(), pass.name) != options.disabled_passes.end()) continue;
    if (Status status = run_everywhere(graph, pass, options); !status.ok()) return std::move(status).with_context(pass.name);
    if (Status status = verify_graph(graph); !status.ok()) return std::move(status).with_context("after " + std::string(pass.name));
    if (!options.dump_graphs_dir.empty()) INGOT_TRY(dump(graph, pass.name, options.dump_graphs_dir));
  }
  return {};
}

}  // namespace ingot
