// Runs the pipeline up to the choice of kernels and lists what came out.
#include "builder/check_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "builder/build_report.h"
#include "builder/dims_report.h"
#include "builder/pipeline.h"
#include "builder/run_passes.h"
#include "builder/tune/cost_model.h"
#include "builder/tune/select_tactics.h"
#include "runtime/engine.h"

namespace ingot {
namespace {

using Json = nlohmann::ordered_json;

// Where no data is, any range does: which layers can be int8 depends on the graph, not on how wide a range is.
CalibrationTable assumed_ranges(const Graph& graph) {
  CalibrationTable table;
  table.method = "assumed";
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.constant && value.type.dtype == DataType::kF32) table.ranges[value.name] = {-1, 1, -1, 1};
  }
  return table;
}

struct Counts {
  int64_t layers = 0, int8 = 0, reference = 0;
};

// The layers of a graph, and of the bodies of its control flow behind their node.
void add_layers(const Graph& graph, const Selection& selection, const std::string& within, Json& layers, Counts& counts) {
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    Json layer;
    layer["name"] = within + node.name;
    layer["op"] = to_string(node.kind());
    const auto choice = selection.nodes.find(id);
    layer["precision"] = choice == selection.nodes.end() ? "shape" : precision_of(graph, node);
    layer["tactic"] = choice == selection.nodes.end() ? "shape arithmetic" : choice->second.chosen.tactic->info().name;
    if (choice != selection.nodes.end()) {
      ++counts.layers;
      counts.int8 += layer["precision"] == "int8";
      counts.reference += choice->second.chosen.tactic->info().name.ends_with(".reference");
    }
    std::vector<std::string> origins = node.origins;
    std::sort(origins.begin(), origins.end());
    origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
    layer["from"] = origins;
    for (ValueId id : node.outputs)
      if (id != kNone && !graph.value(id).dims.empty()) layer["formulas"].push_back(graph.formula_text(id));
    if (!node.notes.empty()) layer["notes"] = node.notes;
    layers.push_back(std::move(layer));
    for (size_t i = 0; i < node.bodies.size(); ++i)
      add_layers(node.bodies[i], selection.bodies.at(id)[i], within + node.name + " / ", layers, counts);
  }
}

}  // namespace

Expected<std::string> check_report_json(const std::string& model_path, const BuildOptions& given) {
  BuildOptions options = given;
  INGOT_TRY(check_pass_names(options.disabled_passes));
  INGOT_ASSIGN(Graph graph, make_float_graph(model_path, options));
  INGOT_TRY(check_float_layers(graph, options.float_layers));
  const bool trained = has_quantisation(graph);
  std::string ranges = trained ? "model" : "none";
  if (trained) options.calibration_table.reset();
  if (options.int8 && !trained) {
    ranges = options.calibration_table ? "table" : "assumed";
    if (!options.calibration_table) options.calibration_table = assumed_ranges(graph);
  }
  INGOT_TRY(run_quantise_passes(graph, options));
  const DeviceInfo device = cpu_device({options.threads, options.cpu_level, true});
  const auto costs = make_estimated_cost(device);
  INGOT_ASSIGN(const Selection selection, select_tactics(graph, *costs, device, options));

  Json report;
  report["supported"] = true;
  report["model_hash"] = graph.model_hash();
  report["int8_ranges"] = ranges;
  const Json dims = dims_report(graph);
  for (const char* key : {"inputs", "outputs", "symbols", "unknown"}) report[key] = dims[key];
  Json layers = Json::array();
  Counts counts;
  add_layers(graph, selection, "", layers, counts);
  report["summary"] = {{"layers", counts.layers}, {"int8_layers", counts.int8}, {"reference_layers", counts.reference}};
  report["layers"] = std::move(layers);
  return report.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ingot
