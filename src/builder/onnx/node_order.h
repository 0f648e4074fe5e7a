// Orders the nodes of an ONNX graph and checks its names: each tensor made once, none missing, no cycle.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "builder/onnx/model_problems.h"
#include "builder/onnx/onnx_proto.h"

namespace ingot {

// Indices of the nodes that the graph's outputs need, producers first, otherwise in the model's order. Wrong names go to the
// problems; what can be ordered in spite of them is.
// given: names of inputs and initialisers.
std::vector<int> order_nodes(const onnx::GraphProto& graph, const std::unordered_set<std::string>& given, ModelProblems& problems);
// How messages call a node: its name, or its operator and index.
std::string node_label(const onnx::NodeProto& node, int index);

}  // namespace ingot
