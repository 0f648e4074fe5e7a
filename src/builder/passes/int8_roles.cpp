// Wants flow from readers to makers (reverse order), the ability to make integers from makers to readers.
#include "builder/passes/int8_roles.h"

#include <algorithm>

namespace ingot {
namespace {

bool is_float_constant(const Graph& graph, ValueId id) {
  return graph.is_constant(id) && graph.value(id).type.dtype == DataType::kF32;
}

}  // namespace

bool is_kept_float(const Graph& graph, const Node& node, const BuildOptions& options) {
  for (const std::string& name : options.float_layers) {
    if (node.name == name || std::find(node.origins.begin(), node.origins.end(), name) != node.origins.end()) return true;
    for (ValueId output : node.outputs)
      if (output != kNone && graph.value(output).name == name) return true;
  }
  return false;
}

bool is_data_operand(const Node& node, size_t index) { return index == 0 || node.kind() == OpKind::kConcat; }

bool moves_elements(const Graph& graph, const Node& node) {
  switch (node.kind()) {
    case OpKind::kPool: return std::get<PoolParams>(node.params).function == PoolFunction::kMax && node.outputs.size() == 1;
    case OpKind::kResize: {
      const auto& params = std::get<ResizeParams>(node.params);
      return params.mode == ResizeMode::kNearest && params.coordinates != ResizeCoordinates::kTfCropAndResize;  // which fills in a value
    }
    case OpKind::kConcat:
      return std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return graph.is_constant(input); });
    case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze: case OpKind::kUnsqueeze: case OpKind::kTranspose:
    case OpKind::kSlice: case OpKind::kSplit: case OpKind::kDepthToSpace: case OpKind::kSpaceToDepth: case OpKind::kIdentity:
    case OpKind::kGather: case OpKind::kExpand: case OpKind::kTile:
      return true;
    default: return false;
  }
}

Int8Role possible_role(const Graph& graph, const Node& node) {
  const ValueId x = graph.input(node, 0);
  if (x == kNone || graph.is_constant(x) || graph.value(x).type.dtype != DataType::kF32) return Int8Role::kNone;
  switch (node.kind()) {
    case OpKind::kConv: {
      const ValueId w = graph.input(node, 1), b = graph.input(node, 2);
      return is_float_constant(graph, w) && (b == kNone || is_float_constant(graph, b)) ? Int8Role::kCore : Int8Role::kNone;
    }
    case OpKind::kMatMul: {
      const ValueId w = graph.input(node, 1), b = graph.input(node, 2);
      const auto& params = std::get<MatMulParams>(node.params);
      const bool plain = !params.transpose_a && params.alpha == 1 && graph.value(x).type.shape.rank >= 2;
      return plain && is_float_constant(graph, w) && graph.value(w).type.shape.rank == 2 &&
                     (b == kNone || is_float_constant(graph, b))
                 ? Int8Role::kCore
                 : Int8Role::kNone;
    }
    case OpKind::kPool: {
      if (std::get<PoolParams>(node.params).function == PoolFunction::kAverage) return Int8Role::kMath;
      return moves_elements(graph, node) ? Int8Role::kMove : Int8Role::kNone;
    }
    case OpKind::kBinary: {
      const auto& params = std::get<BinaryParams>(node.params);
      const bool arithmetic = params.function == BinaryFunction::kAdd || params.function == BinaryFunction::kMul;
      return arithmetic && is_clamp(params.activation.function) && !graph.is_constant(node.inputs[1]) ? Int8Role::kMath
                                                                                                       : Int8Role::kNone;
    }
    case OpKind::kGather: case OpKind::kExpand: case OpKind::kTile: return Int8Role::kNone;  // read by float groups, mostly
    default: return moves_elements(graph, node) ? Int8Role::kMove : Int8Role::kNone;
  }
}

Int8Roles find_int8_roles(const Graph& graph, const BuildOptions& options) {
  Int8Roles roles;
  roles.node.assign(graph.node_count(), Int8Role::kNone);
  roles.wanted.assign(graph.value_count(), false);
  roles.reason.assign(graph.node_count(), {});
  const std::vector<NodeId> order = graph.topological_order();
  const auto* table = options.calibration_table ? &*options.calibration_table : nullptr;

  // Values that can be made as integers without quantising the inside of a float group.
  std::vector<bool> makeable(graph.value_count(), false);
  for (ValueId input : graph.inputs()) makeable[input] = graph.value(input).type.dtype == DataType::kF32;
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    Int8Role role = possible_role(graph, node);
    if (role != Int8Role::kNone && is_kept_float(graph, node, options)) {
      roles.reason[id] = "kept in f32: asked for by --float-layer";
      role = Int8Role::kNone;
    }
    bool made = role != Int8Role::kNone;
    if (role == Int8Role::kMath || role == Int8Role::kMove)
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.kind() == OpKind::kBinary || is_data_operand(node, i)) made = made && makeable[node.inputs[i]];
    if (role == Int8Role::kMath && !made) {
      roles.reason[id] = "kept in f32: an operand comes from a float group";
      role = Int8Role::kNone;
    }
    roles.node[id] = role;
    for (ValueId output : node.outputs)
      if (output != kNone) makeable[output] = made;
  }

  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId id = *it;
    const Node& node = graph.node(id);
    Int8Role& role = roles.node[id];
    if (role == Int8Role::kNone) continue;
    const bool result_wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output != kNone && roles.wanted[output];
    });
    if (role == Int8Role::kCore) {
      const std::string& input = graph.value(node.inputs[0]).name;
      if (table && !table->ranges.contains(input)) {
        roles.reason[id] = "kept in f32: the calibration table has no range for '" + input + "'";
        role = Int8Role::kNone;
        continue;
      }
      roles.wanted[node.inputs[0]] = true;
      const ValueId residual = graph.input(node, 3);
      if (residual != kNone && result_wanted) roles.wanted[residual] = true;
    } else if (!result_wanted) {
      roles.reason[id] = "kept in f32: nothing that reads it computes in int8";
      role = Int8Role::kNone;
    } else {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.kind() == OpKind::kBinary || is_data_operand(node, i)) roles.wanted[node.inputs[i]] = true;
    }
    // A result that goes to integer readers but has no range of its own cannot be stored.
  }
  return roles;
}

bool is_depthwise(const Graph& graph, const Node& node) {
  if (node.kind() != OpKind::kConv) return false;
  const Shape &x = graph.value(node.inputs[0]).type.shape, &w = graph.value(node.inputs[1]).type.shape;
  return x.rank >= 3 && w.rank == x.rank && w[1] == 1 && w[0] == std::get<ConvParams>(node.params).groups && x[1] == w[0];
}

std::vector<bool> channel_scaled_values(const Graph& graph, const Int8Roles& roles) {
  std::vector<bool> result(roles.wanted.size(), false);
  for (ValueId id = 0; id < roles.wanted.size(); ++id) {
    const Value& value = graph.value(id);
    if (!roles.wanted[id] || value.is_input || value.producer == kNone || value.users.empty()) continue;
    const bool made_as_integer = roles.node[value.producer] != Int8Role::kNone;
    if (made_as_integer && graph.node(value.producer).kind() != OpKind::kConv) continue;
    result[id] = std::all_of(value.users.begin(), value.users.end(), [&](NodeId user) {
      const Node& node = graph.node(user);
      if (roles.node[user] == Int8Role::kCore) return is_depthwise(graph, node) && graph.input(node, 3) != id;
      return roles.node[user] == Int8Role::kNone && !made_as_integer;  // reads the floats
    });
  }
  return result;
}

}  // namespace ingot
