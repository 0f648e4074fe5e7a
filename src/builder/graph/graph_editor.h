// GraphEditor: the only way to change a Graph. Keeps producers, users and inferred types right.
#pragma once

#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/status.h"

namespace ingot {

class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph) : graph_(graph) {}
  Graph& graph() { return graph_; }

  // Names are made unique by a suffix where needed.
  // probe_shapes: one concrete shape for each probe; all inputs of a graph have the same number (1 or 4).
  // dims: a formula for each, which has these sizes at the probes. Without them dims of equal ranges are equal.
  ValueId add_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes, std::vector<DimId> dims = {});
  // An input of a body: what its node is given, an element of it, or a state. Late dims: probe_shapes have an upper bound.
  // dims: their formulas, kNoDim for one that has none.
  ValueId add_body_input(std::string name, DataType dtype, std::vector<Shape> probe_shapes, uint32_t late_dims = 0,
                         std::vector<DimId> dims = {});
  // One that stands for a value outside, with all that is known of it.
  ValueId add_body_input(const Value& outside);
  // Before anything is added: a body has as many probes as the graph around it, whatever its inputs are, and its formulas.
  void begin_body(const Graph& outer) {
    graph_.probe_count_ = outer.probe_count_;
    graph_.symbols_ = outer.symbols_;
  }
  ValueId add_constant(std::string name, TensorType type, Blob bytes);
  ValueId add_constant(std::string name, DataType dtype, Shape shape, std::shared_ptr<const Blob> bytes);
  template <class T>
  ValueId add_constant_of(std::string name, DataType dtype, Shape shape, std::span<const T> values) {
    return add_constant(std::move(name), TensorType{dtype, shape, Layout::kLinear, {}}, to_blob(values));
  }
  // Infers the types of the outputs at every probe, and their values where they are shape arithmetic. An empty output name
  // leaves that output out. The error names the node and what its type rule said; the graph is unchanged then.
  // The values come back in the order of the names (kNone for one left out); a value that turned out constant has no
  // producer, and a node all of whose outputs are constant is dead already. A late dim of an output is held to the graph's limit
  // of that name; one that has no bound at all is refused.
  struct Added {
    NodeId node;
    std::vector<ValueId> outputs;
  };
  Expected<Added> add_node(std::string name, OpParams params, std::vector<ValueId> inputs,
                           std::vector<std::string> output_names, std::vector<Graph> bodies = {});
  // add_node for one output; returns its value.
  Expected<ValueId> add_op(std::string name, OpParams params, std::vector<ValueId> inputs, std::string output_name);

  void mark_output(ValueId value);
  void mark_output(ValueId value, std::string name);  // that users know it by
  void clear_outputs();  // no value is a graph output from now on

  // A node's body, to be edited by an editor of its own; what it takes and makes must stay as it is.
  Graph& body(NodeId node, size_t index) { return graph_.nodes_[node].bodies[index]; }
  // Takes an input of a node, from those its bodies capture, away from it and from its bodies, where it must be unused.
  void remove_capture(NodeId node, size_t input);

  // Changes that keep the node's output types.
  void set_input(NodeId node, size_t index, ValueId value);
  void set_params(NodeId node, OpParams params);
  void set_name(NodeId node, std::string name) { graph_.nodes_[node].name = std::move(name); }
  void trim_inputs(NodeId node, size_t count);  // drops inputs from `count` on
  // Replaces every use of `from` (also as a graph output, which keeps its name and order) by `to`.
  void replace_uses(ValueId from, ValueId to);
  // Lets `node` produce `value` as output `index` instead of what it produces now; the old producer loses it.
  void take_output(NodeId node, size_t index, ValueId value);
  // The node must have no used outputs.
  void remove_node(NodeId node);
  // Removes an input that nothing uses.
  void remove_input(ValueId input);
  // Removes nodes whose outputs are neither used nor graph outputs, and drops constants nobody uses.
  void remove_dead();

  // The storage of a value: element type and quantisation are a pass's decision for quantised values.
  void set_storage(ValueId value, DataType dtype, std::optional<QuantParams> quant);
  void set_constant(ValueId value, TensorType type, Blob bytes);
  void rename(ValueId value, std::string name);
  // Turns a produced value into a constant; its producer loses it.
  void make_constant(ValueId value, std::shared_ptr<const Blob> bytes);

  void add_note(NodeId node, std::string note);
  // `node` now stands for the work of `other` too: takes its origins and notes.
  void absorb_origins(NodeId node, NodeId other);
  void add_origin(NodeId node, std::string origin);

 private:
  std::string unique_name(std::string name);
  void add_use(ValueId value, NodeId node);
  void remove_use(ValueId value, NodeId node);
  Graph& graph_;
};

}  // namespace ingot
