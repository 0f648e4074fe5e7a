// Which values of a fused float graph are worth storing as 8-bit integers, and which nodes then compute on them.
// Only what lies between two quantised layers is: activations, norms and softmax stay inside their float group.
#pragma once

#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/builder.h"

namespace ingot {

enum class Int8Role : uint8_t {
  kNone,    // float
  kCore,    // Conv or MatMul with constant weights: multiplies integers
  kMath,    // arithmetic on integers: add, mul, average pool
  kMove,    // same scale in and out: max pool, concat, reshapes, transposes, slices, nearest resize …
};
struct Int8Roles {
  std::vector<Int8Role> node;      // by NodeId; kMath and kMove only where they really run on integers
  std::vector<bool> wanted;        // by ValueId: stored as integers
  std::vector<std::string> reason; // by NodeId: why a node that could be int8 is not; empty otherwise
};

// What a node's kind allows, whatever is around it.
Int8Role possible_role(const Graph& graph, const Node& node);
// Whether a node's results hold elements of its data operands and nothing else, in their order (a maximum takes the largest): so
// any increasing function of one value may be applied before it as well as behind it.
bool moves_elements(const Graph& graph, const Node& node);
// Named by --float-layer: the node itself, an ONNX node that went into it, or one of its results.
bool is_kept_float(const Graph& graph, const Node& node, const BuildOptions& options);
Int8Roles find_int8_roles(const Graph& graph, const BuildOptions& options);

// A Conv that reads one input channel for each output channel.
bool is_depthwise(const Graph& graph, const Node& node);
// By ValueId: may have a scale per channel. Whatever reads its integers is a depthwise convolution, for which that costs
// nothing, and what makes them can do it: a Conv, or a QuantizeLinear behind a float group.
std::vector<bool> channel_scaled_values(const Graph& graph, const Int8Roles& roles);

// Operand positions that carry data (not shapes, axes, sizes) of an op that moves elements; Concat: all of them.
bool is_data_operand(const Node& node, size_t index);

}  // namespace ingot
