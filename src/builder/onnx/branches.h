// Sub-graphs of control flow: the names they read from outside, and a branch made ready to stand in for its node.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "builder/onnx/onnx_proto.h"
#include "ingot/status.h"

namespace ingot {

// Calls each for every name that the node's sub-graphs read, at any depth, their own names among them.
void for_each_name_read_inside(const onnx::NodeProto& node, const std::function<void(const std::string&)>& each);

// A copy of a branch or loop body whose own tensors have names that nothing else has: `taken` gains them. Names from outside stay.
Expected<onnx::GraphProto> branch_with_own_names(const onnx::GraphProto& branch, const std::string& prefix,
                                                 std::unordered_set<std::string>& taken);

}  // namespace ingot
