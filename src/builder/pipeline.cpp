// The stages before tuning.
#include "builder/pipeline.h"

#include <algorithm>
#include <set>

#include "builder/calibrate.h"
#include "builder/onnx/import_model.h"
#include "builder/run_passes.h"
#include "builder/passes/passes.h"

namespace ingot {

Status run_float_passes(Graph& graph, const BuildOptions& options) {
  INGOT_TRY(run_passes(graph, kCanonicalisePasses, options));
  return run_passes(graph, kFusePasses, options);
}

Status run_quantise_passes(Graph& graph, const BuildOptions& options) { return run_passes(graph, kQuantisePasses, options); }


bool has_quantisation(const Graph& graph) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (node.alive && node.kind() == OpKind::kDequantizeLinear) return true;
    if (std::any_of(node.bodies.begin(), node.bodies.end(), has_quantisation)) return true;
  }
  return false;
}

namespace {

void collect_names(const Graph& graph, std::set<std::string_view>& known) {
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (!node.alive) continue;
    known.insert(node.name);
    known.insert(node.origins.begin(), node.origins.end());
    for (ValueId output : node.outputs)
      if (output != kNone) known.insert(graph.value(output).name);
    for (const Graph& body : node.bodies) collect_names(body, known);
  }
}

}  // namespace

Status check_float_layers(const Graph& graph, const std::vector<std::string>& names) {
  std::set<std::string_view> known;
  collect_names(graph, known);
  for (const std::string& name : names)
    if (!known.contains(name))
      return Status(StatusCode::kInvalidArgument, "float layers: no layer or tensor is called '" + name + "'; names stand in the build report, as layer, in \"from\", or as output");
  return {};
}

BuildOptions with_widest_profile(const BuildOptions& options) {
  BuildOptions widest = options;
  widest.more_profiles.clear();
  for (const std::vector<ShapeProfile>& bucket : options.more_profiles)
    for (const ShapeProfile& more : bucket) {
      const auto known = std::find_if(widest.profiles.begin(), widest.profiles.end(), [&](const ShapeProfile& p) { return p.input == more.input; });
      if (known == widest.profiles.end()) {
        widest.profiles.push_back(more);
        continue;
      }
      for (int i = 0; i < std::min(known->min.rank, more.min.rank); ++i) {
        known->min[i] = std::min(known->min[i], more.min[i]);
        known->max[i] = std::max(known->max[i], more.max[i]);
      }
    }
  return widest;
}

Expected<Graph> make_float_graph(const std::string& model_path, const BuildOptions& options) {
  ImportOptions import_options;
  INGOT_ASSIGN(import_options.profiles, derive_profiles(model_path, options));
  import_options.limits = options.limits;
  INGOT_ASSIGN(Graph graph, import_model(model_path, import_options));
  if (!options.optimize) return graph;
  INGOT_TRY(run_float_passes(graph, options));
  return graph;
}

}  // namespace ingot
