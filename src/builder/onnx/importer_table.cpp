// Bodies of importer_table.h.
#include "builder/onnx/importer_table.h"

#include <unordered_map>

#include "builder/onnx/node_importer.h"
#include "builder/onnx/text.h"

namespace ingot {

#define INGOT_ONNX(op, function) void function(NodeImporter& node);
#define INGOT_MICROSOFT(op, function) void function(NodeImporter& node);
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT

namespace {

using Table = std::unordered_map<std::string_view, ImporterFunction>;

const Table& onnx_table() {
  static const Table table = {
#define INGOT_ONNX(op, function) {#op, function},
#define INGOT_MICROSOFT(op, function)
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
  };
  return table;
}

const Table& microsoft_table() {
  static const Table table = {
#define INGOT_ONNX(op, function)
#define INGOT_MICROSOFT(op, function) {#op, function},
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
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
  const bool is_default = domain.empty() || domain == "ai.onnx";
  if (!is_default && domain != "com.microsoft") return nullptr;
  const Table& table = is_default ? onnx_table() : microsoft_table();
  const auto place = table.find(op_type);
  return place == table.end() ? nullptr : place->second;
}

std::string reason_refused(std::string_view domain, std::string_view op_type) {
  if (!domain.empty() && domain != "ai.onnx" && domain != "com.microsoft")
    return "operators of domain " + quoted(domain) + " are not supported";
  if (op_type.starts_with("Sequence") || is_one_of(op_type, {"SplitToSequence", "ConcatFromSequence"}))
    return "sequences are not supported";
  if (op_type.starts_with("Optional")) return "optional values are not supported";
  if (op_type.starts_with("String") || op_type.starts_with("Regex") || op_type == "TfIdfVectorizer")
    return "strings are not supported";
  if (op_type.starts_with("Random") || is_one_of(op_type, {"Bernoulli", "Multinomial"}))
    return "random numbers are not supported";
  return "this operator is not supported";
}

}  // namespace ingot
