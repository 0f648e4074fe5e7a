// NodeImporter: what one importer function sees of its ONNX node, and how it adds ops for it. The first error sticks: after
// it, reads give defaults and additions do nothing, so importer functions read straight down without checking each step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "builder/graph/graph_editor.h"
#include "builder/onnx/onnx_proto.h"
#include "builder/onnx/tensor_proto.h"

namespace ingot {

// A sequence, or an optional that holds nothing. It exists at import alone, where it is taken apart into its tensors. Its
// handle stands among value ids, but is none: only importers that takes_aggregate() names ever see one.
struct Aggregate {
  bool is_sequence = true;
  std::vector<ValueId> items;
};
inline constexpr ValueId kFirstAggregate = 0x80000000;
inline bool is_aggregate(ValueId id) { return id != kNone && id >= kFirstAggregate; }

// What the importers of all nodes share.
struct ImportScope {
  GraphEditor& editor;
  TensorSource source;
  std::unordered_set<std::string> tensor_names;   // every name the model uses; made-up names avoid them
  std::unordered_set<std::string> graph_outputs;
  std::vector<Aggregate> aggregates = {};
  // Imports a sub-graph in place with values for its inputs; gives those of its outputs, kNone where a node was refused.
  std::function<Expected<std::vector<ValueId>>(const onnx::GraphProto&, const std::vector<ValueId>&)> import_body = {};
};

// One element as a number; `integer` is exact for integer types.
struct ElementNumber {
  double real = 0;
  int64_t integer = 0;
};
ElementNumber element_number(DataType dtype, const std::byte* bytes);

class NodeImporter {
 public:
  NodeImporter(ImportScope& scope, const onnx::NodeProto& proto, std::string name, int64_t version,
               std::vector<ValueId> inputs);

  // The node.
  std::string_view op_type() const { return proto_.op_type(); }
  const std::string& name() const { return name_; }
  int64_t version() const { return version_; }  // opset of the node's domain
  const std::vector<ValueId>& inputs() const { return inputs_; }  // as given; does not count as read
  size_t input_count() const { return inputs_.size(); }
  ValueId input(size_t i) const {
    if (i >= inputs_.size()) return kNone;
    input_seen_[i] = true;
    return inputs_[i];
  }
  ValueId required(size_t i);                   // an error where it is left out
  std::vector<ValueId> all_inputs();            // at least one, none left out
  size_t output_count() const { return outputs_.size(); }
  bool has_output(size_t i) const { return i < static_cast<size_t>(proto_.output_size()) && !proto_.output(static_cast<int>(i)).empty(); }

  // Attributes. One that no importer asks for is refused, since it might change the result; inputs are too.
  bool has_attribute(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t fallback);
  bool flag(std::string_view name, bool fallback);  // 0 or 1
  double number(std::string_view name, double fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name);  // empty if absent
  std::vector<double> numbers(std::string_view name);
  const onnx::AttributeProto* attribute(std::string_view name);
  void ignore(std::initializer_list<std::string_view> names);
  void ignore_input(size_t i) { (void)input(i); }  // one that cannot change the result
  // The index of a text attribute in `choices`; another text is refused.
  size_t choice(std::string_view name, std::string_view fallback, std::initializer_list<std::string_view> choices);

  // Values.
  const TensorSource& source() const { return scope_.source; }
  const Graph& graph() const { return scope_.editor.graph(); }
  const TensorType& type(ValueId id) const;
  int rank(ValueId id) const { return type(id).shape.rank; }
  DataType dtype(ValueId id) const { return type(id).dtype; }
  // The elements of a constant as numbers; nullopt when the value is not constant or has more than `most` elements.
  std::optional<std::vector<double>> constant_numbers(ValueId id, int64_t most = 4096) const;
  std::optional<double> constant_scalar(ValueId id) const;
  bool is_empty(ValueId id) const { return id == kNone || type(id).shape.elements() == 0; }
  // The sequence or empty optional behind an id; null for a tensor.
  const Aggregate* aggregate(ValueId id) const { return is_aggregate(id) ? &scope_.aggregates[id - kFirstAggregate] : nullptr; }
  // A negative axis counted from the end; an error where out of range. `beyond`: axis == rank is allowed too.
  int64_t axis(int64_t axis, int rank, bool beyond = false);

  // Additions.
  ValueId add(OpParams params, std::vector<ValueId> inputs);     // an intermediate value
  std::vector<ValueId> add_all(OpParams params, std::vector<ValueId> inputs, size_t outputs);  // kNone on an error
  void result(OpParams params, std::vector<ValueId> inputs);     // its outputs are the node's
  // The same for an op that makes more outputs than the node may ask for.
  void result_of(OpParams params, std::vector<ValueId> inputs, size_t outputs);
  void alias(ValueId value, size_t output = 0);                  // output is `value`: an input, or made by add()
  // `named`: the node's own names for its outputs, so that limits of them are found.
  std::vector<ValueId> add_control_flow(OpParams params, std::vector<ValueId> inputs, std::vector<Graph> bodies, size_t outputs,
                                        bool named = false);
  void results(const std::vector<ValueId>& values);  // the node's outputs are the first of these
  void result_constant(TensorContent content);
  void result_aggregate(Aggregate aggregate, size_t output = 0);
  // The nodes of a graph attribute in place, its inputs being `inputs`; its outputs, kNone each on an error.
  std::vector<ValueId> inline_body(std::string_view attribute_name, const std::vector<ValueId>& inputs);
  ValueId integers_constant(std::string_view role, const std::vector<int64_t>& values);  // s64 [n]
  ValueId floats_constant(std::string_view role, const std::vector<float>& values);      // f32 [n]
  ValueId scalar_constant(std::string_view role, DataType dtype, double value);          // rank 0
  ValueId filled_constant(std::string_view role, DataType dtype, Shape shape, double value);
  ValueId unary(UnaryFunction function, ValueId x, double alpha = 0, double beta = 0) {
    return add(UnaryParams{function, alpha, beta}, {x});
  }
  ValueId binary(BinaryFunction function, ValueId a, ValueId b) { return add(BinaryParams{function, {}}, {a, b}); }

  ValueId cast(ValueId x, DataType to);  // x itself where it has the type
  ValueId reshape(ValueId x, const std::vector<int64_t>& dims);
  ValueId transpose(ValueId x, const std::vector<int64_t>& perm) { return add(TransposeParams{perm}, {x}); }
  ValueId unsqueeze(ValueId x, const std::vector<int64_t>& axes);
  ValueId squeeze(ValueId x, const std::vector<int64_t>& axes);
  ValueId slice(ValueId x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  ValueId reduce(ReduceFunction function, ValueId x, const std::vector<int64_t>& axes, bool keepdims);
  // Dims start…end of x as s64 [n]; a constant where they are fixed, shape arithmetic where not.
  ValueId dims_of(ValueId x, int64_t start, int64_t end) { return add(ShapeParams{start, end}, {x}); }
  ValueId concat(std::vector<ValueId> parts, int64_t axis);  // one part is returned as it is

  // Outcome.
  bool ok() const { return status_.ok(); }
  void fail(StatusCode code, std::string reason);
  void invalid(std::string reason) { fail(StatusCode::kInvalidModel, std::move(reason)); }
  void unsupported(std::string reason) { fail(StatusCode::kUnsupported, std::move(reason)); }
  Status take_status() { return std::exchange(status_, Status()); }  // as if it had not happened: for another attempt
  // Also checks that each output was made and each attribute understood.
  Status finish();
  const std::vector<ValueId>& outputs() const { return outputs_; }

 private:
  const onnx::AttributeProto* find(std::string_view name) const;
  const onnx::AttributeProto* expect(std::string_view name, onnx::AttributeProto::AttributeType type, bool has_field);
  std::string fresh_name(std::string_view role);
  void take(Status status);

  ImportScope& scope_;
  const onnx::NodeProto& proto_;
  std::string name_;
  int64_t version_;
  std::vector<ValueId> inputs_, outputs_;
  std::vector<bool> attribute_seen_;
  mutable std::vector<bool> input_seen_;
  std::vector<ValueId> made_;  // intermediates, which may become outputs
  int made_up_ = 0;
  Status status_;
};

}  // namespace ingot
