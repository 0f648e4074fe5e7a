// Imports one graph of a model: the network, or a body of a control-flow node. What a body reads from outside becomes an
// input of the body and of its node, through as many levels as lie between; what it names itself hides the names outside.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "builder/onnx/import_model.h"
#include "builder/onnx/load_model.h"
#include "builder/onnx/model_problems.h"
#include "builder/onnx/node_importer.h"

namespace ingot {

// What the importers of all graphs of a model share.
struct ModelImport {
  LoadedModel& loaded;
  const ImportOptions& options;
  std::unordered_map<std::string, int64_t> opsets;
  std::vector<int> origins;     // of each node of the network: the model's function it came from, or −1
  ModelProblems problems;
  std::string profile_text;
  size_t nodes = 0;             // of the network and all bodies
  int64_t inlined_nodes = 0;    // of graphs that stand in for a node, together
};

class GraphImporter {
 public:
  // outer: the importer of the graph around; null for the network itself.
  GraphImporter(ModelImport& model, const onnx::GraphProto& proto, GraphImporter* outer);

  Graph& graph() { return graph_; }
  GraphEditor& editor() { return editor_; }
  const onnx::GraphProto& proto() const { return proto_; }

  // In this order. The names first: what the graph itself defines.
  void check_names();
  void declare(const std::string& name, ModelInput input);                        // of the network: an input that has an initialiser
  Status add_inputs(const std::vector<ModelInput>& inputs);                       // of the network
  void give(const std::string& name, ValueId value) { values_[name] = value; }    // of a body: what its node hands it
  Status import_nodes(int outer_index);                                           // index: of the network's node around a body
  Status add_output(const std::string& name);                                     // of the network
  Expected<bool> mark_outputs(int first = 0);                                     // of a body; false: one could not be imported

  // The value in this graph that stands for one of the graph around.
  ValueId capture(ValueId outside);
  const std::vector<ValueId>& captures() const { return captures_; }  // values outside, in the order of the inputs they became
  Expected<ValueId> value_of(const std::string& name);

 private:
  // Importers of control flow: false where a node inside was refused, which stands in the issues then.
  using ControlFlowImporter = Expected<bool> (GraphImporter::*)(NodeImporter&, const onnx::NodeProto&, int);
  static ControlFlowImporter find_control_flow(std::string_view op_type);
  Expected<bool> import_if(NodeImporter& view, const onnx::NodeProto& node, int index);
  Expected<bool> import_loop(NodeImporter& view, const onnx::NodeProto& node, int index);
  Expected<bool> import_scan(NodeImporter& view, const onnx::NodeProto& node, int index);

  Expected<bool> import_body(int index);
  Expected<bool> import_as_loop(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto, int index,
                                bool may_widen);
  struct LoopState {
    std::vector<Shape> shapes;  // at each probe, upper bounds in late dims
    uint32_t late = 0;
    std::vector<DimId> dims;    // their formulas, or empty
  };
  std::vector<int64_t> most_rounds(ValueId count) const;
  Expected<bool> widen_states(const onnx::NodeProto& node, const GraphImporter& body, size_t first_state, ValueId count,
                              std::vector<LoopState>& states) const;
  Expected<bool> unroll_loop(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto, int index, int64_t count);
  Expected<bool> import_scan_body(const std::vector<ValueId>& values, size_t states, int index);
  void share_stacked_limits(const onnx::NodeProto& node, int states, int first);
  Expected<std::vector<ValueId>> add_scan(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto,
                                          const LoopParams& params, const std::vector<ValueId>& values, int index, bool named);
  Expected<std::vector<ValueId>> add_batched_scan(NodeImporter& view, const onnx::GraphProto& proto, const LoopParams& params,
                                                  const std::vector<ValueId>& values, int index);
  Status mask_behind(ValueId length_outside, size_t states);
  static ValueId move_axis(NodeImporter& view, ValueId value, int64_t from, int64_t to);

  bool is_visible(const std::string& name) const;
  Status import_node(const onnx::NodeProto& node, int index, int depth);
  Expected<ValueId> add_initialiser(const std::string& name, Expected<TensorContent> content);
  int64_t version_of(const onnx::NodeProto& node, int index) const;
  std::optional<bool> known_condition(ValueId id) const;
  Status import_branch(const onnx::NodeProto& node, int index, bool condition, int depth);
  Status import_renamed(const onnx::GraphProto& graph, int index, int depth);
  // A sub-graph where its node stands, with values for its inputs; gives its outputs.
  Expected<std::vector<ValueId>> import_inlined(const onnx::GraphProto& graph, const std::vector<ValueId>& inputs);
  Status dispatch(const onnx::NodeProto& node, int index, std::vector<ValueId> inputs, bool inputs_known, int depth);
  Status check_size(ValueId id) const;
  std::string describe(const std::vector<ValueId>& inputs) const;

  ModelImport& model_;
  const onnx::GraphProto& proto_;
  GraphImporter* const outer_;
  const int depth_;
  Graph graph_;
  GraphEditor editor_;
  ImportScope scope_;
  std::unordered_map<std::string, int> initialisers_;  // index; −1 − index for sparse ones
  std::unordered_map<std::string, ValueId> values_;    // kNone: its node could not be imported
  std::unordered_map<std::string, ModelInput> declared_;  // inputs that have an initialiser
  std::unordered_map<ValueId, ValueId> captured_;      // value outside → here
  std::vector<ValueId> captures_;
  std::string current_label_;  // of the node whose importer runs, for the sub-graphs it asks for
  int current_index_ = 0, current_depth_ = 0;
};

}  // namespace ingot
