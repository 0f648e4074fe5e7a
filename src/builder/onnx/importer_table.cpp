// Bodies of importer_table.h.
#include "builder/onnx/importer_table.h"

#include <unordered_map>

#include "builder/onnx/node_importer.h"
#include "builder/onnx/text.h"

namespace ingot {

#define INGOT_ONNX(op, function) void function(NodeImporter& node);
#define INGOT_MICROSOFT(op, function) void function(NodeImporter& node);
#define INGOT_PREVIEW(op, function) void function(NodeImporter& node);
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
#undef INGOT_PREVIEW

namespace {

using Table = std::unordered_map<std::string_view, ImporterFunction>;

const Table& onnx_table() {
  static const Table table = {
#define INGOT_ONNX(op, function) {#op, function},
#define INGOT_MICROSOFT(op, function)
#define INGOT_PREVIEW(op, function)
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
#undef INGOT_PREVIEW
  };
  return table;
}

const Table& microsoft_table() {
  static const Table table = {
#define INGOT_ONNX(op, function)
#define INGOT_MICROSOFT(op, function) {#op, function},
#define INGOT_PREVIEW(op, function)
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
#undef INGOT_PREVIEW
  };
  return table;
}

const Table& preview_table() {
  static const Table table = {
#define INGOT_ONNX(op, function)
#define INGOT_MICROSOFT(op, function)
#define INGOT_PREVIEW(op, function) {#op, function},
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
#undef INGOT_PREVIEW
  };
  return table;
}

bool is_one_of(std::string_view op_type, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (name == op_type) return true;
  return false;
}

}  // namespace

ImporterFunction find_importer(std::string_view domain, std::string_view op_type) {
  const Table* table = domain.empty() || domain == "ai.onnx" ? &onnx_table()
                       : domain == "com.microsoft"           ? &microsoft_table()
                       : domain == "ai.onnx.preview"         ? &preview_table()
                                                             : nullptr;
  if (!table) return nullptr;
  const auto place = table->find(op_type);
  return place == table->end() ? nullptr : place->second;
}

// The first opset whose meaning later ones share but for attributes that no longer do anything.
std::string reason_too_old(std::string_view domain, std::string_view op_type, int64_t version) {
  struct Change {
    std::string_view op_type;
    int64_t since;
  };
  static constexpr Change kChanges[] = {{"Cast", 6}, {"Concat", 4}, {"GRU", 3},     {"GlobalLpPool", 2}, {"LpPool", 2}, {"Pad", 2},
                                        {"Reshape", 5}, {"Split", 2}, {"Tile", 6}};
  if (domain != "" && domain != "ai.onnx") return {};
  for (const Change& change : kChanges)
    if (change.op_type == op_type && version < change.since)
      return "opset is too old for this operator: got " + std::to_string(version) + ", need ≥ " + std::to_string(change.since) +
             "; convert it with onnx.version_converter";
  return {};
}

bool takes_aggregate(std::string_view op_type, size_t input) {
  if (op_type == "SequenceMap" || (op_type == "SequenceInsert" && input == 1)) return true;
  if (input != 0 || op_type == "SequenceConstruct") return false;  // positions and items are tensors
  return op_type.starts_with("Sequence") || op_type.starts_with("Optional") || is_one_of(op_type, {"Identity", "ConcatFromSequence"});
}

std::string reason_refused(std::string_view domain, std::string_view op_type) {
  if (domain == "com.microsoft.nchwc")
    return "layouts of onnxruntime for one kind of CPU are not supported; write the model with its graph optimisation at ORT_ENABLE_EXTENDED or below";
  if (!domain.empty() && !is_one_of(domain, {"ai.onnx", "com.microsoft", "ai.onnx.preview"}))
    return "operators of domain " + quoted(domain) + " are not supported";
  if (op_type.starts_with("String") || op_type.starts_with("Regex")) return "strings are not supported";
  if (op_type == "ImageDecoder") return "decoding of images is not supported";
  if (op_type.starts_with("Random") || is_one_of(op_type, {"Bernoulli", "Multinomial"}))
    return "random numbers are not supported";
  return "this operator is not supported";
}

}  // namespace ingot
