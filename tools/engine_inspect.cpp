// engine-inspect: what is in an engine, and why it is as it is.
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "ingot/runtime.h"
#include "runtime/format/engine_file.h"
#include "runtime/plan.h"

namespace {

using namespace ingot;
constexpr const char* kTool = "engine-inspect";

// " = [batch, 2*seq+1]", by the build report; empty where it does not say.
std::string formula_of(const nlohmann::json& report, const char* list, const std::string& tensor) {
  if (!report.is_object() || !report.contains("dims") || !report["dims"].is_object() || !report["dims"].contains(list)) return {};
  for (const auto& entry : report["dims"][list])
    if (entry.is_object() && entry.contains("name") && entry["name"] == tensor && entry.contains("formula") && entry["formula"].is_string()) {
      const std::string formula = entry["formula"].get<std::string>();
      return formula.find('[') == std::string::npos ? std::string() : " = " + formula.substr(formula.find('['));
    }
  return {};
}

void print_tensors(const char* what, const std::vector<TensorInfo>& tensors, bool with_profile, const nlohmann::json& report) {
  for (const TensorInfo& tensor : tensors) {
    const std::string formula = formula_of(report, with_profile ? "inputs" : "outputs", tensor.name);
    std::printf("%s %s: %s %s%s", what, tensor.name.c_str(), std::string(to_string(tensor.dtype)).c_str(), to_string(tensor.shape).c_str(), formula.c_str());
    if (with_profile && !tensor.shape.is_static())
      std::printf("  (min %s, opt %s, max %s)", to_string(tensor.min).c_str(), to_string(tensor.opt).c_str(), to_string(tensor.max).c_str());
    if (!with_profile && !tensor.shape.is_static()) std::printf("  (at most %s)", to_string(tensor.max).c_str());
    std::printf("\n");
  }
}

void print_layer(const nlohmann::json& layer, bool all, const std::string& indent = "") {
  const auto text = [&](const char* key) { return layer.contains(key) ? layer[key].get<std::string>() : std::string("-"); };
  char time[24] = "-";
  if (layer.contains("microseconds")) std::snprintf(time, sizeof time, "%.1f", layer["microseconds"].get<double>());
  std::string runner_up = "-";
  if (layer.contains("runner_up")) {
    char us[24];
    std::snprintf(us, sizeof us, " (%.1f us)", layer["runner_up"]["microseconds"].get<double>());
    runner_up = layer["runner_up"]["tactic"].get<std::string>() + us;
  }
  std::printf("%-9s %9s  %-34s %-44s %s\n", text("precision").c_str(), time, text("tactic").c_str(), runner_up.c_str(), (indent + text("name")).c_str());
  if (layer.contains("notes"))
    for (const auto& note : layer["notes"]) std::printf("%22s- %s\n", "", note.get<std::string>().c_str());
  if (layer.contains("bodies"))
    for (const auto& body : layer["bodies"])
      for (const auto& inner : body) print_layer(inner, all, indent + "  ");
  if (!all) return;
  if (layer.contains("refused"))
    for (const auto& refusal : layer["refused"])
      std::printf("%22s- %s refused: %s\n", "", refusal["tactic"].get<std::string>().c_str(), refusal["reason"].get<std::string>().c_str());
  if (layer.contains("outputs"))
    for (const auto& output : layer["outputs"]) std::printf("%22s> %s: %s\n", "", output["name"].get<std::string>().c_str(), output[output.contains("formula") ? "formula" : "type"].get<std::string>().c_str());
}

// The plans of a file, of whatever device.
Expected<std::vector<std::string>> targets_of(const std::string& path) {
  INGOT_ASSIGN(const MappedFile file, map_file(path));
  INGOT_ASSIGN(const EngineFile engine, read_engine_file(file.bytes, false));
  std::vector<std::string> names;
  for (const EngineFile::Target& target : engine.targets) names.push_back(target.name);
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows an engine: its layers with precision, tactic, time, runner-up and reasons; its memory and targets.", kTool);
  app.footer("Exit status: 0 ok; 1 the file is not a sound engine; 2 usage; 3 it does not run on this machine.");
  std::string path;
  bool all = false;
  cli::StandardOptions standard;
  app.add_option("engine", path, "the engine file")->required()->type_name("ENGINE");
  app.add_flag("--all", all, "also the tactics that refused, and the types of all results");
  cli::add_standard_options(app, standard);
  if (const auto done = cli::parse(app, argc, argv)) return *done;
  cli::keep_stdout_for_json(standard);
  auto engine = Engine::load_file(path);
  if (!engine.ok()) return cli::fail(kTool, engine.status());
  const auto targets = targets_of(path);
  if (!targets.ok()) return cli::fail(kTool, targets.status());
  cli::note_remark(kTool, *engine);
  const auto report = nlohmann::json::parse(engine->report_json(), nullptr, false);
  std::printf("target %s, model %s\n", std::string(engine->target()).c_str(), std::string(engine->model_hash()).c_str());
  std::printf("targets in the file: ");
  for (size_t i = 0; i < targets->size(); ++i) std::printf("%s%s", i ? ", " : "", (*targets)[i].c_str());
  std::printf("\n");
  print_tensors("input ", engine->inputs(), true, report);
  print_tensors("output", engine->outputs(), false, report);
  auto profiles = nlohmann::json::array();
  for (size_t i = 0; i < engine->profiles(); ++i) {
    nlohmann::json ranges = nlohmann::json::object();
    std::string line;
    for (const TensorInfo& input : engine->inputs(i)) {
      const std::string range = to_string(input.min) + ":" + to_string(input.opt) + ":" + to_string(input.max);
      ranges[input.name] = range;
      line += " " + input.name + "=" + range;
    }
    profiles.push_back(std::move(ranges));
    if (engine->profiles() > 1) std::printf("profile %zu:%s, %zu steps\n", i + 1, line.c_str(), engine->plan(i).steps.size());
  }
  std::printf("arena %.1f KB for each context, weights %.1f KB shared, %zu steps\n", static_cast<double>(engine->arena_bytes()) / 1e3,
              static_cast<double>(engine->weight_bytes()) / 1e3, engine->plan().steps.size());
  if (engine->run_allocates()) std::printf("runs allocate: some layers are oneDNN's, permitted by --tactics\n");
  try {
    if (report.is_object() && report.contains("layers")) {
      const auto& summary = report["summary"];
      std::printf("%d layers, %d in int8, %d reformats; %.1f us expected with %d threads on %s\n\n", summary["layers"].get<int>(),
                  summary["int8_layers"].get<int>(), summary["reformats"].get<int>(), summary["expected_microseconds"].get<double>(),
                  report["device"]["threads"].get<int>(), report["device"]["fingerprint"].get<std::string>().c_str());
      std::printf("%-9s %9s  %-34s %-44s %s\n", "precision", "us", "tactic", "runner-up", "layer");
      for (const auto& layer : report["layers"]) print_layer(layer, all);
    } else {
      std::printf("no build report in this engine\n");
      for (const Step& step : engine->plan().steps) std::printf("  %-34s %s\n", step.tactic.c_str(), step.name.c_str());
    }
  } catch (const nlohmann::json::exception&) {
    return cli::fail(kTool, Status(StatusCode::kInvalidEngine, "'" + path + "': its build report cannot be read"));
  }
  nlohmann::json json = {{"target", engine->target()}, {"targets", *targets}, {"remark", engine->remark()}, {"model_hash", engine->model_hash()}, {"arena_bytes", engine->arena_bytes()},
                         {"weight_bytes", engine->weight_bytes()}, {"run_allocates", engine->run_allocates()}, {"profiles", profiles},
                         {"report", report.is_discarded() ? nlohmann::json() : report}};
  return cli::finish(kTool, cli::write_json(standard, json));
}
