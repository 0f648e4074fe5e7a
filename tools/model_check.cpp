// The builder's JSON laid out in lines.
#include "model_check.h"

#include <nlohmann/json.hpp>

namespace ingot::cli {
namespace {

// Problems come one a line below the first, or alone.
nlohmann::json problems_of(const Status& status) {
  nlohmann::json report = {{"supported", false}, {"status", to_string(status.code())}, {"problems", nlohmann::json::array()}};
  const std::string_view text = status.message();
  size_t at = text.find("\n  ");
  if (at == std::string_view::npos) report["problems"].push_back(text);
  while (at != std::string_view::npos) {
    const size_t end = text.find("\n  ", at + 1);
    report["problems"].push_back(text.substr(at + 3, end == std::string_view::npos ? end : end - at - 3));
    at = end;
  }
  return report;
}

std::string type_of(const nlohmann::json& tensor) { return tensor[tensor.contains("formula") ? "formula" : "type"].get<std::string>(); }

void print(const std::string& model, const nlohmann::json& report) {
  const auto& summary = report["summary"];
  std::printf("%s: supported; %d layers, %d in int8, %d by reference code (slow)\n", model.c_str(), summary["layers"].get<int>(),
              summary["int8_layers"].get<int>(), summary["reference_layers"].get<int>());
  const std::string ranges = report["int8_ranges"].get<std::string>();
  if (ranges == "assumed") std::printf("int8 without data: ranges are assumed; what a layer loses by them only --calib and engine-check show\n");
  if (ranges == "model") std::printf("int8 by the model's own Q/DQ\n");
  for (const char* list : {"inputs", "outputs"})
    for (const auto& tensor : report[list])
      std::printf("%-7s %s: %s\n", list == std::string_view("inputs") ? "input" : "output", tensor["name"].get<std::string>().c_str(), type_of(tensor).c_str());
  for (const auto& [name, range] : report["symbols"].items()) std::printf("dim     %s: %s\n", name.c_str(), range.get<std::string>().c_str());
  for (const auto& [name, range] : report["unknown"].items()) std::printf("unknown %s in %s\n", name.c_str(), range.get<std::string>().c_str());
  std::printf("\n%-9s  %-18s %-50s %s\n", "precision", "op", "kernel", "layer");
  for (const auto& layer : report["layers"]) {
    std::printf("%-9s  %-18s %-50s %s\n", layer["precision"].get<std::string>().c_str(), layer["op"].get<std::string>().c_str(),
                layer["tactic"].get<std::string>().c_str(), layer["name"].get<std::string>().c_str());
    if (layer.contains("notes"))
      for (const auto& note : layer["notes"]) std::printf("%10s - %s\n", "", note.get<std::string>().c_str());
    if (layer.contains("formulas"))
      for (const auto& formula : layer["formulas"]) std::printf("%10s > %s\n", "", formula.get<std::string>().c_str());
  }
}

}  // namespace

int check_and_print(std::string_view tool, const std::string& model, const BuildOptions& options, const StandardOptions& standard) {
  const auto checked = check_model(model, options);
  const bool is_verdict = checked.ok() || checked.status().code() == StatusCode::kUnsupported || checked.status().code() == StatusCode::kInvalidModel;
  const nlohmann::json report = checked.ok() ? nlohmann::json::parse(*checked) : problems_of(checked.status());
  if (is_verdict)
    if (Status status = write_json(standard, report); !status.ok()) return fail(tool, status);
  if (!checked.ok()) return fail(tool, checked.status());
  print(model, report);
  return finish(tool, {});
}

}  // namespace ingot::cli
