// The operators Ingot imports, from importers.inc, and why the well-known others are refused.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

class NodeImporter;
using ImporterFunction = void (*)(NodeImporter&);

// Null if Ingot does not have the operator. "ai.onnx" is the default domain "".
ImporterFunction find_importer(std::string_view domain, std::string_view op_type);
std::string reason_refused(std::string_view domain, std::string_view op_type);

}  // namespace ingot
