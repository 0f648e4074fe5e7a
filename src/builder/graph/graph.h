// Graph: the builder's one representation of a network, from import to planning. Ids are stable; only GraphEditor mutates.
//
// Dynamic dimensions are handled by probes: all types are inferred at a few concrete input shapes (the profile's min, opt,
// max and a point between). What agrees at every probe is static, what differs is kDynamic. Values of shape arithmetic are
// computed at every probe too; one that agrees everywhere is a constant. Beside that every dim that varies, and every element of
// shape arithmetic, is a formula over the inputs' dims where one is known (symbolic_dims.h): dims that agree at the probes by
// chance have different formulas, and only equal formulas count as equal.
//
// Late dimensions depend on data: what NonZero finds, say. A probe's shape has their upper bound, and the merged type kDynamic;
// shape arithmetic on them has bounds in place of values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "builder/graph/symbolic_dims.h"
#include "ingot/kernel.h"
#include "ingot/types.h"
#include "runtime/ops/op.h"

namespace ingot {

using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t kNone = ~uint32_t{0};  // no value (an optional input left out), no node

// Order of the probes of a graph with dynamic inputs. A static graph has one probe, number 0.
enum Probe : size_t { kProbeMin = 0, kProbeOpt = 1, kProbeMax = 2, kProbeBetween = 3 };

struct Value {
  std::string name;                       // the model's tensor name; unique in the graph
  TensorType type;                        // merged over the probes; layout is kLinear until planning
  NodeId producer = kNone;                // kNone: graph input or constant
  uint32_t output_index = 0;              // which output of the producer
  std::vector<NodeId> users;              // one entry for each use
  std::shared_ptr<const Blob> constant;   // row-major bytes
  std::vector<Shape> probe_shapes;        // concrete, one for each probe
  std::vector<std::shared_ptr<const Blob>> probe_values;  // shape arithmetic: its value at each probe; empty if unknown
  uint32_t late_dims = 0;                 // bit i: dim i depends on data; probe_shapes have an upper bound of it
  // Shape arithmetic on late dims: bounds of its value at each probe; empty if unknown, or known exactly.
  struct Bounds {
    std::shared_ptr<const Blob> least, most;
  };
  std::vector<Bounds> probe_bounds;
  std::vector<DimId> dims;                // where dims vary: a formula for each
  std::vector<DimId> elements;            // of shape arithmetic: a formula for each element; empty: not known
  bool is_input = false, is_output = false;
};

class Graph;

struct Node {
  std::string name;
  OpParams params;
  std::vector<ValueId> inputs;    // kNone for an optional input left out; trailing ones are trimmed
  std::vector<ValueId> outputs;   // kNone for an optional output left out
  std::vector<std::string> origins;  // names of the ONNX nodes that went into it
  std::vector<std::string> notes;    // reasons for the build report: "kept in f32: …", "fused relu1"
  std::vector<Graph> bodies;         // of control flow: what each takes and makes stands in runtime/ops/control_flow.h
  bool alive = true;
  OpKind kind() const { return kind_of(params); }
};

class Graph {
 public:
  size_t node_count() const { return nodes_.size(); }   // dead ones included: the bound of NodeId
  size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  size_t probe_count() const { return probe_count_; }
  // The formulas that dims and elements name; those of a graph and of the bodies in it are in one place.
  SymbolicDims& symbols() const { return *symbols_; }
  const std::string& model_hash() const { return model_hash_; }
  void set_model_hash(std::string hash) { model_hash_ = std::move(hash); }
  // The user's limits of late dims, by tensor: kDynamic in a dim without one.
  const std::map<std::string, Shape>& limits() const { return limits_; }
  void set_limits(std::map<std::string, Shape> limits) { limits_ = std::move(limits); }
  // A tensor of this graph that is also known by another name, as a body's output by that of the node: what limits that one,
  // from dim `first_dim` on, limits it too.
  void share_limit(const std::string& name, const std::string& tensor, int first_dim = 0);
  std::vector<std::string> unused_limits() const;  // of this graph and the bodies in it
  // What the model calls an output. Its value has another name where an input has that one already.
  const std::string& output_name(ValueId output) const;

  // Live nodes, producers before users; ties by id.
  std::vector<NodeId> topological_order() const;

  bool is_constant(ValueId id) const { return id != kNone && values_[id].constant != nullptr; }
  // The input value of a node, kNone beyond its end.
  ValueId input(const Node& node, size_t i) const { return i < node.inputs.size() ? node.inputs[i] : kNone; }
  const Node* producer(ValueId id) const {
    return id == kNone || values_[id].producer == kNone ? nullptr : &nodes_[values_[id].producer];
  }
  // Used by exactly one input of one node, and not a graph output.
  bool has_single_use(ValueId id) const { return values_[id].users.size() == 1 && !values_[id].is_output; }
  // The shape at a probe; for a static graph every probe is the same.
  const Shape& shape_at(ValueId id, Probe probe) const {
    const auto& shapes = values_[id].probe_shapes;
    return shapes[shapes.size() > static_cast<size_t>(probe) ? static_cast<size_t>(probe) : 0];
  }
  // No dim grows beyond: the largest size at any of the points where formulas have values.
  Shape largest_shape(ValueId id) const;
  // "f32[batch, 2*seq+1, 64]"
  std::string formula_text(ValueId id) const;
  // Known at every probe but not constant: shape arithmetic that the runtime does when shapes are set.
  bool is_shape_value(ValueId id) const {
    return id != kNone && !values_[id].constant && !values_[id].probe_values.empty();
  }
  // Whether the shapes of a node's outputs are known in the run only: it reads or makes a tensor with late dims, or its type rule
  // needs a value that is data.
  bool is_late(const Node& node) const;
  ValueId find_value(std::string_view name) const;  // linear; for tests and options

 private:
  friend class GraphEditor;
  void note_used_limit(const std::string& tensor);
  void add_used_limits(std::set<std::string>& used) const;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_, outputs_;
  size_t probe_count_ = 1;
  std::shared_ptr<SymbolicDims> symbols_ = std::make_shared<SymbolicDims>();
  std::string model_hash_;
  std::map<std::string, Shape> limits_;
  std::map<std::string, std::string> output_names_;  // by value name, where they differ
  std::set<std::string> used_limits_;
  std::map<std::string, std::string> shared_limits_;  // tensor → the name that the limit was given for
  std::unordered_map<std::string, uint32_t> names_;  // taken names → last suffix given
};

// Elements of a constant as numbers; T must match the dtype.
template <class T>
std::span<const T> constant_span(const Graph& graph, ValueId id) {
  const Blob& blob = *graph.value(id).constant;
  return {reinterpret_cast<const T*>(blob.data()), blob.size() / sizeof(T)};
}
template <class T>
Blob to_blob(std::span<const T> values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return Blob(bytes, bytes + values.size_bytes());
}

}  // namespace ingot
