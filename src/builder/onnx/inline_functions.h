// Functions of the model itself: each call is replaced by the function's nodes before anything else looks at the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "builder/onnx/onnx_proto.h"
#include "ingot/status.h"

namespace ingot {

// For each node of the graph afterwards, the function it came from (index into model.functions()), whose opset versions count
// for it, or −1. A node inside a sub-graph says so itself, by an attribute of this name. Recursion, deep nesting and explosive
// growth end in an error.
inline constexpr const char* kFunctionMark = "ingot.function";
Expected<std::vector<int>> inline_functions(onnx::ModelProto& model);

}  // namespace ingot
