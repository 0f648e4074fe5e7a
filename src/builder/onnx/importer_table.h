// The operators Ingot imports, from importers.inc, and why the well-known others are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ingot {

class NodeImporter;
using ImporterFunction = void (*)(NodeImporter&);

// Null if Ingot does not have the operator. "ai.onnx" is the default domain "".
ImporterFunction find_importer(std::string_view domain, std::string_view op_type);
std::string reason_refused(std::string_view domain, std::string_view op_type);
// Why the meaning that an operator had at an opset before 6 is not imported; empty where it is what later opsets mean.
std::string reason_too_old(std::string_view domain, std::string_view op_type, int64_t version);
// Whether the importer may see a sequence or an empty optional value (Aggregate) as this input.
bool takes_aggregate(std::string_view op_type, size_t input);

}  // namespace ingot
