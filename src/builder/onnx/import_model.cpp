// Bodies of import_model.h: checks the model as a whole, then lets each node's importer add its ops to the graph.
#include "builder/onnx/import_model.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "builder/onnx/branches.h"
#include "builder/onnx/importer_table.h"
#include "builder/onnx/inline_functions.h"
#include "builder/onnx/input_shapes.h"
#include "builder/onnx/load_model.h"
#include "builder/onnx/model_problems.h"
#include "builder/onnx/node_importer.h"
#include "builder/onnx/node_order.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

constexpr size_t kLongestName = size_t{1} << 16;
constexpr int64_t kLargestTensor = int64_t{1} << 36;  // bytes; no plan may be larger
constexpr int kMostNestedBranches = 16;
constexpr int64_t kMostInlinedNodes = 1 << 20;  // of all sub-graphs together

Status invalid(std::string what) { return Status(StatusCode::kInvalidModel, std::move(what)); }

Expected<ModelInput> read_input(const onnx::ValueInfoProto& info) {
  const std::string where = "input " + quoted(info.name());
  if (!info.has_type()) return invalid(where + ": has no type");
  if (!info.type().has_tensor_type())
    return Status(StatusCode::kUnsupported, where + ": only tensors are supported: got a sequence, map or optional value");
  const auto& tensor = info.type().tensor_type();
  ModelInput input;
  input.name = info.name();
  auto dtype = data_type_from_onnx(tensor.elem_type());
  if (!dtype.ok()) return dtype.take_status().with_context(where);
  input.dtype = *dtype;
  if (!tensor.has_shape())
    return Status(StatusCode::kUnsupported, where + ": has no shape, not even a number of dims; export the model with input shapes");
  if (tensor.shape().dim_size() > Shape::kMaxRank)
    return Status(StatusCode::kUnsupported, where + ": too many dims: got " + std::to_string(tensor.shape().dim_size()) +
                                                ", need ≤ " + std::to_string(Shape::kMaxRank));
  std::vector<int64_t> dims;
  for (const auto& dim : tensor.shape().dim()) {
    const bool fixed = dim.has_dim_value() && dim.dim_value() != Shape::kDynamic;
    if (fixed && dim.dim_value() < 0)
      return invalid(where + ": has a negative dim: got " + std::to_string(dim.dim_value()));
    dims.push_back(fixed ? dim.dim_value() : Shape::kDynamic);
    input.dim_names.push_back(dim.has_dim_param() ? dim.dim_param() : "");
  }
  std::vector<int64_t> fixed_dims = dims;
  std::replace(fixed_dims.begin(), fixed_dims.end(), Shape::kDynamic, int64_t{1});
  if (!checked_elements(fixed_dims)) return invalid(where + ": has more elements than can be counted");
  input.shape = Shape::of(dims);
  return input;
}

// The graph's inputs without those that have an initialiser: IR 3 lists the weights among the inputs.
std::vector<ModelInput> read_inputs(const onnx::GraphProto& graph, ModelProblems& problems) {
  std::unordered_set<std::string> initialisers, seen;
  for (const auto& tensor : graph.initializer()) initialisers.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) initialisers.insert(tensor.values().name());
  std::vector<ModelInput> inputs;
  for (const auto& info : graph.input()) {
    if (info.name().empty()) {
      problems.add(StatusCode::kInvalidModel, "an input has no name");
    } else if (!seen.insert(info.name()).second) {
      problems.add(StatusCode::kInvalidModel, "input " + quoted(info.name()) + " is there twice");
    } else if (!initialisers.contains(info.name())) {
      auto input = read_input(info);
      if (input.ok()) inputs.push_back(*std::move(input));
      else problems.add(input.status().code(), input.status().message());
    }
  }
  return inputs;
}

class ModelImporter {
 public:
  ModelImporter(LoadedModel& model, const ImportOptions& options)
      : model_(model),
        proto_(*model.proto.mutable_graph()),
        options_(options),
        editor_(graph_),
        scope_{editor_, {model.base_dir, options.max_sparse_bytes}, {}, {}} {
    scope_.import_body = [this](const onnx::GraphProto& body, const std::vector<ValueId>& inputs) -> Expected<std::vector<ValueId>> {
      return import_subgraph(body, inputs, current_label_, current_index_, current_depth_);
    };
  }

  Expected<Graph> run() {
    INGOT_ASSIGN(origins_, inline_functions(model_.proto));
    INGOT_TRY(read_opsets());
    check_names();
    const std::vector<ModelInput> inputs = read_inputs(proto_, problems_);
    std::unordered_set<std::string> given;
    for (const auto& [name, index] : initialisers_) given.insert(name);
    for (const auto& input : proto_.input()) {
      given.insert(input.name());
      if (!initialisers_.contains(input.name())) continue;
      // A declaration that cannot be read, as one without a shape, declares nothing.
      if (auto declared = read_input(input); declared.ok()) declared_.emplace(input.name(), *std::move(declared));
    }
    const std::vector<int> order = order_nodes(proto_, given, problems_);
    if (Status status = add_inputs(inputs); !status.ok()) problems_.add(status.code(), status.message());
    // What a malformed part would have made is unknown; the nodes that do not need it are looked at all the same.
    for (int index : order) INGOT_TRY(import_node(proto_.node(index), index, 0));
    if (!problems_.empty()) return problems_.status(order.size());
    for (const auto& output : proto_.output()) INGOT_TRY(add_output(output.name()));
    if (!problems_.empty()) return problems_.status(order.size());
    graph_.set_model_hash(model_.hash);
    return std::move(graph_);
  }

 private:
  Status read_opsets() {
    for (const auto& opset : model_.proto.opset_import()) {
      const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
      const auto [place, is_new] = opsets_.emplace(domain, opset.version());
      if (!is_new && place->second != opset.version())
        return invalid("opset of domain " + quoted(opset.domain()) + " is given twice: got " + std::to_string(place->second) +
                       " and " + std::to_string(opset.version()));
    }
    const auto place = opsets_.find("");
    if (place == opsets_.end()) {
      const auto is_default = [](const onnx::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; };
      if (std::none_of(proto_.node().begin(), proto_.node().end(), is_default)) return {};
      return invalid("names no opset version for the domain ai.onnx");
    }
    return {};
  }

  void check_names() {
    const auto wrong = [&](const std::string& what) { problems_.add(StatusCode::kInvalidModel, what); };
    const auto check = [&](const std::string& name, bool is_tensor) {
      if (name.size() > kLongestName)
        wrong("a name is too long: got " + std::to_string(name.size()) + " bytes, need ≤ " + std::to_string(kLongestName) + ", in " + quoted(name));
      else if (!is_valid_utf8(name)) wrong("a name is not UTF-8: got " + quoted(name));
      if (is_tensor) scope_.tensor_names.insert(name);
    };
    for (const auto& input : proto_.input()) check(input.name(), true);
    for (const auto& node : proto_.node()) {
      check(node.name(), false);
      check(node.op_type(), false);
      check(node.domain(), false);
      for (const std::string& name : node.input()) scope_.tensor_names.insert(name);  // checked where it is made
      for (const std::string& name : node.output()) check(name, true);
    }
    const auto add_initialiser = [&](const std::string& name, int index) {
      check(name, true);
      if (name.empty()) wrong("an initialiser has no name");
      else if (!initialisers_.emplace(name, index).second) wrong("initialiser " + quoted(name) + " is there twice");
    };
    for (int i = 0; i < proto_.initializer_size(); ++i) add_initialiser(proto_.initializer(i).name(), i);
    for (int i = 0; i < proto_.sparse_initializer_size(); ++i) add_initialiser(proto_.sparse_initializer(i).values().name(), -1 - i);
    if (proto_.output_size() == 0) wrong("has no outputs");
    for (const auto& output : proto_.output()) {
      if (output.name().empty()) wrong("an output has no name");
      else if (!scope_.graph_outputs.insert(output.name()).second) wrong("output " + quoted(output.name()) + " is there twice");
    }
  }

  Status add_inputs(const std::vector<ModelInput>& inputs) {
    INGOT_ASSIGN(auto shapes, resolve_input_shapes(inputs, options_.profiles));
    for (size_t i = 0; i < inputs.size(); ++i)
      for (const Shape& shape : shapes[i])
        if (!checked_elements(shape.span()))
          return Status(StatusCode::kInvalidArgument, "profile of input " + quoted(inputs[i].name) +
                                                          " has more elements than can be counted: got " + to_string(shape));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (shapes[i].size() > 1)
        profile_text_ += " " + printable(inputs[i].name) + "=" + to_string(shapes[i][kProbeMin]) + ":" +
                         to_string(shapes[i][kProbeOpt]) + ":" + to_string(shapes[i][kProbeMax]);
      values_[inputs[i].name] = editor_.add_input(inputs[i].name, inputs[i].dtype, std::move(shapes[i]));
    }
    return {};
  }

  // An input that goes out again does so as a copy under a name of its own, since names of inputs and outputs are unique.
  Status add_output(const std::string& name) {
    INGOT_ASSIGN(ValueId id, value_of(name));
    if (id == kNone) return {};
    if (is_aggregate(id)) {
      problems_.add(StatusCode::kUnsupported, "output " + quoted(name) + " is a sequence or optional value: need a tensor");
      return {};
    }
    const Value& value = graph_.value(id);
    if (value.is_input || value.is_output) {
      INGOT_ASSIGN(id, editor_.add_op(name + ".copy", IdentityParams{}, {id}, value.is_input ? name + ".output" : name));
    }
    editor_.mark_output(id);
    return {};
  }

  // The value behind a name; kNone if its node could not be imported or the name is wrong. Initialisers are read at their
  // first use and their bytes dropped from the model, so that weights are in memory once.
  Expected<ValueId> value_of(const std::string& name) {
    if (const auto place = values_.find(name); place != values_.end()) return place->second;
    const auto place = initialisers_.find(name);
    if (place == initialisers_.end()) {
      if (problems_.empty()) problems_.add(StatusCode::kInvalidModel, "tensor " + quoted(name) + " is made by no node");
      return values_[name] = kNone;
    }
    const int index = place->second;
    if (index < 0) {
      INGOT_ASSIGN(values_[name], add_initialiser(name, read_sparse_tensor(proto_.sparse_initializer(-1 - index), scope_.source, initialiser(name))));
    } else {
      onnx::TensorProto& tensor = *proto_.mutable_initializer(index);
      INGOT_ASSIGN(values_[name], add_initialiser(name, read_tensor(tensor, scope_.source, initialiser(name))));
      tensor = onnx::TensorProto();
    }
    return values_[name];
  }

  static std::string difference(const TensorType& got, const ModelInput& need) {
    bool same = got.dtype == need.dtype && got.shape.rank == need.shape.rank;
    for (int i = 0; same && i < got.shape.rank; ++i) same = need.shape[i] == Shape::kDynamic || need.shape[i] == got.shape[i];
    return same ? std::string() : "got " + to_string(got) + ", need " + to_string(TensorType{need.dtype, need.shape, Layout::kLinear, {}});
  }

  static std::string initialiser(const std::string& name) { return "initialiser " + quoted(name); }
  // What is wrong with the tensor itself is a problem of the model; a file that cannot be read ends the import.
  Expected<ValueId> add_initialiser(const std::string& name, Expected<TensorContent> content) {
    if (const auto declared = declared_.find(name); content.ok() && declared != declared_.end())
      if (std::string wrong = difference(content->type, declared->second); !wrong.empty()) {
        problems_.add(StatusCode::kInvalidModel, initialiser(name) + ": differs from the input of its name: " + wrong);
        return kNone;
      }
    if (content.ok()) return editor_.add_constant(name, std::move(content->type), std::move(content->bytes));
    Status status = content.take_status();
    if (status.code() != StatusCode::kInvalidModel && status.code() != StatusCode::kUnsupported) return status;
    problems_.add(status.code(), status.message());
    return kNone;
  }

  // index: of the graph's node, for a node inside a branch that of the outermost If.
  Status import_node(const onnx::NodeProto& node, int index, int depth) {
    std::vector<ValueId> inputs;
    bool known = true;
    for (const std::string& name : node.input()) {
      inputs.push_back(kNone);
      if (name.empty()) continue;
      INGOT_ASSIGN(inputs.back(), value_of(name));
      known = known && inputs.back() != kNone;
    }
    for (const std::string& name : node.output()) values_[name] = kNone;
    const bool is_branch = node.op_type() == "If" && (node.domain().empty() || node.domain() == "ai.onnx");
    // Behind a node that was refused nothing is known; the node itself may be fine.
    if (!known && (is_branch || find_importer(node.domain(), node.op_type()))) return {};
    if (is_branch && inputs.size() == 1)
      if (const auto condition = known_condition(inputs[0])) return import_branch(node, index, *condition, depth);
    return dispatch(node, index, std::move(inputs), known, depth);
  }

  // A function's nodes follow the opsets that the function names, those it does not name the model's.
  int64_t version_of(const onnx::NodeProto& node, int index) const {
    const std::string key = node.domain() == "ai.onnx" ? "" : node.domain();
    int64_t origin = origins_[static_cast<size_t>(index)];
    for (const auto& attribute : node.attribute())
      if (attribute.name() == kFunctionMark && attribute.i() < model_.proto.functions_size()) origin = attribute.i();
    if (origin >= 0)
      for (const auto& opset : model_.proto.functions(static_cast<int>(origin)).opset_import())
        if ((opset.domain() == "ai.onnx" ? "" : opset.domain()) == key) return opset.version();
    const auto opset = opsets_.find(key);
    return opset == opsets_.end() ? 1 : opset->second;
  }

  std::optional<bool> known_condition(ValueId id) const {
    if (id == kNone || is_aggregate(id) || !graph_.is_constant(id)) return std::nullopt;
    const Value& value = graph_.value(id);
    if (value.type.dtype != DataType::kBool || value.type.shape.elements() != 1) return std::nullopt;
    return (*value.constant)[0] != std::byte{0};
  }

  // If with a condition that is known now: the branch's nodes stand in for it.
  Status import_branch(const onnx::NodeProto& node, int index, bool condition, int depth) {
    const std::string label = node_label(node, index), where = "node " + quoted(label) + " (If)";
    const onnx::GraphProto* chosen = nullptr;
    for (const auto& attribute : node.attribute())
      if (attribute.name() == (condition ? "then_branch" : "else_branch") && attribute.has_g()) chosen = &attribute.g();
    if (!chosen || chosen->output_size() != node.output_size())
      return invalid(where + ": needs a then_branch and an else_branch with as many outputs as the node");
    auto results = import_subgraph(*chosen, {}, label, index, depth);
    if (!results.ok()) return std::move(results.take_status()).with_context(where);
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) continue;
      ValueId id = (*results)[static_cast<size_t>(i)];
      // A graph output must exist under its own name.
      if (id != kNone && !is_aggregate(id) && scope_.graph_outputs.contains(name)) {
        INGOT_ASSIGN(id, editor_.add_op(label, IdentityParams{}, {id}, name));
      }
      values_[name] = id;
    }
    return {};
  }

  // The nodes of a sub-graph where its node stands, with values for its inputs; gives its outputs.
  Expected<std::vector<ValueId>> import_subgraph(const onnx::GraphProto& graph, const std::vector<ValueId>& inputs, const std::string& label,
                                                 int index, int depth) {
    if (depth == kMostNestedBranches)
      return Status(StatusCode::kUnsupported, "branches nested too deep: need at most " + std::to_string(kMostNestedBranches));
    if ((inlined_nodes_ += graph.node_size()) > kMostInlinedNodes)
      return Status(StatusCode::kUnsupported, "sub-graphs have too many nodes together: need at most " + std::to_string(kMostInlinedNodes));
    INGOT_ASSIGN(const onnx::GraphProto branch, branch_with_own_names(graph, label, scope_.tensor_names, inputs.size()));
    for (size_t i = 0; i < inputs.size(); ++i) values_[branch.input(static_cast<int>(i)).name()] = inputs[i];
    for (const auto& tensor : branch.initializer()) {
      INGOT_ASSIGN(values_[tensor.name()], add_initialiser(tensor.name(), read_tensor(tensor, scope_.source, initialiser(tensor.name()))));
    }
    for (const auto& tensor : branch.sparse_initializer()) {
      const std::string& name = tensor.values().name();
      INGOT_ASSIGN(values_[name], add_initialiser(name, read_sparse_tensor(tensor, scope_.source, initialiser(name))));
    }
    for (const auto& inner : branch.node()) INGOT_TRY(import_node(inner, index, depth + 1));
    std::vector<ValueId> results;
    for (const auto& output : branch.output()) {
      INGOT_ASSIGN(const ValueId id, value_of(output.name()));
      results.push_back(id);
    }
    return results;
  }

  Status dispatch(const onnx::NodeProto& node, int index, std::vector<ValueId> inputs, bool inputs_known, int depth) {
    const int64_t version = version_of(node, index);
    const std::string label = node_label(node, index);
    const auto refuse = [&](std::string_view reason, StatusCode code = StatusCode::kUnsupported) {
      problems_.add_node(code, quoted(label) + " (" + printable(node.op_type()) + ", " + (node.domain().empty() ? "ai.onnx" : printable(node.domain())) +
                                   " " + std::to_string(version) + ", inputs " + (inputs_known ? describe(inputs) : "unknown") + ")", reason);
    };
    const ImporterFunction importer = find_importer(node.domain(), node.op_type());
    if (!importer) {
      refuse(reason_refused(node.domain(), node.op_type()));
      return {};
    }
    if (const std::string reason = reason_too_old(node.domain(), node.op_type(), version); !reason.empty()) {
      refuse(reason);
      return {};
    }
    if (!takes_aggregates(node.op_type()) && std::any_of(inputs.begin(), inputs.end(), is_aggregate)) {
      refuse("its input is a sequence or an optional value: need a tensor");
      return {};
    }
    NodeImporter view(scope_, node, label, version, std::move(inputs));
    const auto outer = std::tuple(std::exchange(current_label_, label), std::exchange(current_index_, index), std::exchange(current_depth_, depth));
    importer(view);
    std::tie(current_label_, current_index_, current_depth_) = outer;
    Status status = view.finish();
    inputs = view.inputs();
    for (ValueId id : view.outputs())
      if (status.ok()) status = check_size(id);
    if (status.ok()) {
      for (int i = 0; i < node.output_size(); ++i)
        if (!node.output(i).empty()) values_[node.output(i)] = view.outputs()[static_cast<size_t>(i)];
      return {};
    }
    if (status.code() != StatusCode::kInvalidModel && status.code() != StatusCode::kUnsupported && status.code() != StatusCode::kInvalidArgument)
      return std::move(status).with_context("node " + quoted(label));
    const bool by_profile = status.code() != StatusCode::kUnsupported && !profile_text_.empty();
    refuse(std::string(status.message()) + (by_profile ? "; with the profile" + profile_text_ : ""), status.code());
    return {};
  }

  // Nothing is allocated for results at import, so their size is looked at here.
  Status check_size(ValueId id) const {
    if (id == kNone || is_aggregate(id)) return {};
    const Value& value = graph_.value(id);
    for (const Shape& shape : value.probe_shapes)
      if (shape.elements() > kLargestTensor / static_cast<int64_t>(element_bytes(value.type.dtype)))
        return Status(StatusCode::kUnsupported, "result " + quoted(value.name) + " is too large: got " + to_string(shape) + " of " +
                                                    std::string(to_string(value.type.dtype)) + ", need ≤ " + std::to_string(kLargestTensor >> 30) +
                                                    " GiB for a tensor; use smaller dims or a smaller --profile");
    return {};
  }

  std::string describe(const std::vector<ValueId>& inputs) const {
    std::string text;
    for (ValueId id : inputs) {
      if (!text.empty()) text += ", ";
      if (id == kNone) {
        text += "none";
        continue;
      }
      if (is_aggregate(id)) {
        const Aggregate& aggregate = scope_.aggregates[id - kFirstAggregate];
        text += aggregate.is_sequence ? "sequence of " + std::to_string(aggregate.items.size()) : "empty optional";
        continue;
      }
      const TensorType& type = graph_.value(id).type;
      text += std::string(to_string(type.dtype)) + "[" + (type.shape.rank ? to_string(type.shape) : "") + "]";
    }
    return text.empty() ? "none" : text;
  }

  LoadedModel& model_;
  onnx::GraphProto& proto_;
  const ImportOptions& options_;
  Graph graph_;
  GraphEditor editor_;
  ImportScope scope_;
  std::unordered_map<std::string, int64_t> opsets_;
  std::vector<int> origins_;                           // of each node: the model's function it came from, or −1
  std::unordered_map<std::string, int> initialisers_;  // index; −1 − index for sparse ones
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_map<std::string, ModelInput> declared_;  // inputs that have an initialiser
  ModelProblems problems_;
  std::string profile_text_;
  std::string current_label_;  // of the node whose importer runs, for the sub-graphs it asks for
  int current_index_ = 0, current_depth_ = 0;
  int64_t inlined_nodes_ = 0;
};

Expected<Graph> to_graph(LoadedModel& model, const ImportOptions& options) {
  if (!model.proto.has_graph()) return invalid("has no graph");
  return ModelImporter(model, options).run();
}

// Runs a stage that uses protobuf, turning what it throws into a status, and says which model it was.
template <class Function>
auto guarded(const std::string& label, Function function) -> decltype(function()) {
  try {
    auto result = function();
    if (!result.ok()) return result.take_status().with_context(label);
    return result;
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, label + ": not enough memory to import it");
  } catch (const std::exception& error) {
    return Status(StatusCode::kInvalidModel, label + ": cannot be read: " + error.what());
  }
}

std::string label_of(const std::string& path) { return "model " + quoted(path); }

}  // namespace

Expected<Graph> import_model(const std::string& path, const ImportOptions& options) {
  return guarded(label_of(path), [&]() -> Expected<Graph> {
    INGOT_ASSIGN(LoadedModel model, load_model(path, options.max_model_bytes));
    return to_graph(model, options);
  });
}

Expected<Graph> import_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir,
                                   const ImportOptions& options) {
  return guarded("model", [&]() -> Expected<Graph> {
    INGOT_ASSIGN(LoadedModel model, load_model_bytes(bytes, base_dir, options.max_model_bytes));
    return to_graph(model, options);
  });
}

Expected<std::vector<ModelInput>> read_model_inputs(const std::string& path) {
  return guarded(label_of(path), [&]() -> Expected<std::vector<ModelInput>> {
    INGOT_ASSIGN(const LoadedModel model, load_model(path, INT32_MAX));
    if (!model.proto.has_graph()) return invalid("has no graph");
    ModelProblems problems;
    std::vector<ModelInput> inputs = read_inputs(model.proto.graph(), problems);
    INGOT_TRY(problems.status(0));
    return inputs;
  });
}

Expected<std::string> model_hash(const std::string& path) {
  return guarded(label_of(path), [&]() -> Expected<std::string> {
    INGOT_ASSIGN(LoadedModel model, load_model(path, INT32_MAX));
    return std::move(model.hash);
  });
}

}  // namespace ingot
