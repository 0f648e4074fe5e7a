// Collects what the stages noted on the graph and in the selection.
#include "builder/build_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "builder/dims_report.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string precision_of(const Graph& graph, const Node& node) {
  for (ValueId id : node.inputs)
    if (id != kNone && graph.value(id).type.quant &&
        (graph.value(id).type.dtype == DataType::kU8 || graph.value(id).type.dtype == DataType::kS8) &&
        node.kind() != OpKind::kDequantizeLinear && node.kind() != OpKind::kPointwiseChain)
      return "int8";
  const ValueId result = node.outputs.empty() ? kNone : node.outputs[0];
  return result == kNone ? "none" : node.kind() == OpKind::kQuantizeLinear || (node.kind() == OpKind::kPointwiseChain && graph.value(result).type.quant) ? "f32" : std::string(to_string(graph.value(result).type.dtype));
}

namespace {

// Layers in all, and those in 8 bits, bodies included.
struct LayerCounts {
  int64_t all = 0, int8 = 0, reformats = 0;
  bool run_allocates = false;  // in some layer
};

Json layer_list(const Graph& graph, const Selection& selection, const EmittedPlan& emitted, const Plan& plan, LayerCounts& counts) {
  counts.reformats += static_cast<int64_t>(selection.reformats.size());
  Json layers = Json::array();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const NodeId id = emitted.step_nodes[i];
    const Tactic* tactic = TacticRegistry::builtin().find(step.tactic);
    counts.run_allocates = counts.run_allocates || (tactic && !tactic->info().library.empty());
    Json layer;
    layer["name"] = step.name;
    layer["op"] = to_string(kind_of(step.params));
    if (id == kNone) {
      layer["precision"] = "none";
      layer["tactic"] = step.tactic;
      layers.push_back(std::move(layer));
      continue;
    }
    const Node& node = graph.node(id);
    layer["precision"] = step.shape_step ? "shape" : precision_of(graph, node);
    layer["tactic"] = step.tactic;
    if (const auto choice = selection.nodes.find(id); choice != selection.nodes.end()) {
      ++counts.all;
      if (layer["precision"] == "int8") ++counts.int8;
      const Candidate& chosen = choice->second.chosen;
      layer["layout"] = to_string(chosen.outputs);
      layer["microseconds"] = chosen.microseconds;
      const Candidate* runner_up = nullptr;
      for (const Candidate& option : choice->second.options)
        if (option.tactic != chosen.tactic && (!runner_up || option.microseconds < runner_up->microseconds)) runner_up = &option;
      if (runner_up)
        layer["runner_up"] = {{"tactic", runner_up->tactic->info().name}, {"microseconds", runner_up->microseconds}};
      Json refused = Json::array();
      for (const Refusal& refusal : choice->second.refusals) refused.push_back({{"tactic", refusal.tactic}, {"reason", refusal.reason}});
      if (!refused.empty()) layer["refused"] = std::move(refused);
    }
    std::vector<std::string> origins = node.origins;
    std::sort(origins.begin(), origins.end());
    origins.erase(std::unique(origins.begin(), origins.end()), origins.end());
    layer["from"] = origins;
    std::vector<std::string> notes = node.notes;
    for (uint32_t slot : step.outputs)
      if (step.late && slot != kNoIndex && !plan.slots[slot].type.shape.is_static())
        notes.push_back("size depends on data: at most " + to_string(plan.slots[slot].max_shape));
    if (!notes.empty()) layer["notes"] = notes;
    layer["inputs"] = value_list(graph, node.inputs);
    layer["outputs"] = value_list(graph, node.outputs);
    for (size_t k = 0; k < step.bodies.size(); ++k)
      layer["bodies"].push_back(layer_list(node.bodies[k], selection.bodies.at(id)[k], emitted.bodies[step.bodies[k]],
                                           plan.bodies[step.bodies[k]], counts));
    layers.push_back(std::move(layer));
  }
  return layers;
}

void add_blobs(const Plan& plan, std::set<const std::byte*>& seen, uint64_t& bytes) {
  for (const auto& blob : plan.blobs)
    if (seen.insert(blob.data()).second) bytes += blob.size();
  for (const Plan& body : plan.bodies) add_blobs(body, seen, bytes);
}

}  // namespace

std::string build_report_json(const Graph& graph, const Selection& selection, const EmittedPlan& plan,
                              const DeviceInfo& device, const BuildOptions& options, const VerifyResult& verified) {
  Json report;
  report["ingot"] = version();
  report["model_hash"] = graph.model_hash();
  report["device"] = {{"name", device.name}, {"fingerprint", device.fingerprint}, {"threads", device.threads}};
  LayerCounts counts;
  Json layers = layer_list(graph, selection, plan, plan.owned.plan, counts);
  uint64_t weights = 0;
  std::set<const std::byte*> seen;
  add_blobs(plan.owned.plan, seen, weights);
  report["summary"] = {{"layers", counts.all},
                       {"int8_layers", counts.int8},
                       {"reformats", counts.reformats},
                       {"expected_microseconds", selection.total_microseconds}};
  report["run_allocates"] = counts.run_allocates;
  report["memory"] = {{"arena_bytes", plan.owned.plan.arena_bytes}, {"peak_live_bytes", plan.peak_live_bytes}, {"weight_bytes", weights}};
  if (options.calibration_table)
    report["calibration"] = {{"method", options.calibration_table->method},
                             {"samples", options.calibration_table->samples},
                             {"tensors", options.calibration_table->ranges.size()}};
  if (options.fp16)
    report["fp16"] = device.backend == Backend::kCpu ? "weights are stored in half precision and computed in f32: the CPU backend has no f16 arithmetic"
                                                     : "convolutions and matrix products with constant weights may compute in half precision with f32 sums";
  if (options.bf16)
    report["bf16"] = device.backend == Backend::kCpu ? "plans for a CPU are the same: its backend has no bf16 arithmetic"
                                                     : "convolutions and matrix products with constant weights may compute in bf16 with f32 sums";
  report["verified"] = {{"steps", verified.steps}, {"exact_steps", verified.exact_steps}, {"largest_float_error", verified.largest_error}};
  if (Json dims = dims_report(graph); !dims["symbols"].empty() || !dims["unknown"].empty()) report["dims"] = std::move(dims);
  report["layers"] = std::move(layers);
  return report.dump(1);
}

}  // namespace ingot
