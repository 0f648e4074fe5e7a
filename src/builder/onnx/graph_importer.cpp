// Bodies of graph_importer.h.
#include "builder/onnx/graph_importer.h"

#include <algorithm>

#include "builder/onnx/branches.h"
#include "builder/onnx/importer_table.h"
#include "builder/onnx/input_shapes.h"
#include "builder/onnx/node_order.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

constexpr int kMostNestedBranches = 16;

Status invalid(std::string what) { return Status(StatusCode::kInvalidModel, std::move(what)); }

}  // namespace

GraphImporter::GraphImporter(ModelImport& model, const onnx::GraphProto& proto, GraphImporter* outer)
    : model_(model), proto_(proto), outer_(outer), depth_(outer ? outer->depth_ + 1 : 0), editor_(graph_),
      scope_{editor_, {model.loaded.base_dir, model.options.max_sparse_bytes}, {}, {}} {
  if (outer) editor_.set_probe_count(outer->graph_.probe_count());
}

Status GraphImporter::check_names() {
  std::string broken;
  const auto check = [&](const std::string& name, bool is_tensor) {
    if (!is_valid_utf8(name)) broken = name;
    if (is_tensor) scope_.tensor_names.insert(name);
  };
  for (const auto& node : proto_.node()) {
    check(node.name(), false);
    check(node.op_type(), false);
    check(node.domain(), false);
    for (const std::string& name : node.input()) check(name, true);
    for (const std::string& name : node.output()) check(name, true);
  }
  for (const auto& input : proto_.input()) check(input.name(), outer_ != nullptr);
  const auto add_initialiser = [&](const std::string& name, int index) -> Status {
    check(name, true);
    if (name.empty()) return invalid("an initialiser has no name");
    if (!initialisers_.emplace(name, index).second) return invalid("initialiser " + quoted(name) + " is there twice");
    return {};
  };
  for (int i = 0; i < proto_.initializer_size(); ++i) INGOT_TRY(add_initialiser(proto_.initializer(i).name(), i));
  for (int i = 0; i < proto_.sparse_initializer_size(); ++i)
    INGOT_TRY(add_initialiser(proto_.sparse_initializer(i).values().name(), -1 - i));
  if (proto_.output_size() == 0 && !outer_) return invalid("has no outputs");
  for (const auto& output : proto_.output()) {
    check(output.name(), true);
    if (output.name().empty()) return invalid("an output has no name");
    // Of a body they have no names that anybody outside sees.
    if (!outer_ && !scope_.graph_outputs.insert(output.name()).second)
      return invalid("output " + quoted(output.name()) + " is there twice");
  }
  if (!broken.empty()) return invalid("a name is not UTF-8: got " + quoted(broken));
  return {};
}

Status GraphImporter::add_inputs(const std::vector<ModelInput>& inputs) {
  INGOT_ASSIGN(auto shapes, resolve_input_shapes(inputs, model_.options.profiles));
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const Shape& shape : shapes[i])
      if (!checked_elements(shape.span()))
        return Status(StatusCode::kInvalidArgument, "profile of input " + quoted(inputs[i].name) +
                                                        " has more elements than can be counted: got " + to_string(shape));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (shapes[i].size() > 1)
      model_.profile_text += " " + printable(inputs[i].name) + "=" + to_string(shapes[i][kProbeMin]) + ":" +
                       to_string(shapes[i][kProbeOpt]) + ":" + to_string(shapes[i][kProbeMax]);
    values_[inputs[i].name] = editor_.add_input(inputs[i].name, inputs[i].dtype, std::move(shapes[i]));
    scope_.tensor_names.insert(inputs[i].name);
  }
  return {};
}

Expected<ValueId> GraphImporter::value_of(const std::string& name) {
  if (const auto place = values_.find(name); place != values_.end()) return place->second;
  const auto place = initialisers_.find(name);
  if (place == initialisers_.end() && outer_) {
    INGOT_ASSIGN(const ValueId outside, outer_->value_of(name));
    return values_[name] = outside == kNone ? kNone : capture(outside);
  }
  if (place == initialisers_.end()) return invalid("tensor " + quoted(name) + " is made by no node");
  const std::string where = "initialiser " + quoted(name);
  TensorContent content;
  if (place->second >= 0) {
    const onnx::TensorProto& tensor = proto_.initializer(place->second);
    INGOT_ASSIGN(content, read_tensor(tensor, scope_.source, where));
    // A body may be read again; the network's weights are in memory once.
    if (!outer_) *model_.loaded.proto.mutable_graph()->mutable_initializer(place->second) = onnx::TensorProto();
  } else {
    INGOT_ASSIGN(content, read_sparse_tensor(proto_.sparse_initializer(-1 - place->second), scope_.source, where));
  }
  return values_[name] = editor_.add_constant(name, std::move(content.type), std::move(content.bytes));
}

ValueId GraphImporter::capture(ValueId outside) {
  const auto [place, is_new] = captured_.emplace(outside, kNone);
  if (!is_new) return place->second;
  const Value& value = outer_->graph_.value(outside);
  if (value.constant) {
    place->second = editor_.add_constant(value.name, value.type.dtype, value.type.shape, value.constant);
  } else {
    place->second = editor_.add_body_input(value.name, value.type.dtype, value.probe_shapes, value.probe_values);
    captures_.push_back(outside);
  }
  return place->second;
}

bool GraphImporter::is_visible(const std::string& name) const {
  return values_.contains(name) || initialisers_.contains(name) || (outer_ && outer_->is_visible(name));
}

Status GraphImporter::import_nodes(int outer_index) {
  std::unordered_set<std::string> given;
  for (const auto& [name, index] : initialisers_) given.insert(name);
  for (const auto& [name, value] : values_) given.insert(name);
  if (outer_) {
    std::unordered_set<std::string> own;
    for (const auto& node : proto_.node()) own.insert(node.output().begin(), node.output().end());
    const auto read = [&](const std::string& name) {
      if (!own.contains(name) && outer_->is_visible(name)) given.insert(name);
    };
    for (const auto& node : proto_.node())
      for (const std::string& name : node.input()) read(name);
    for (const auto& output : proto_.output()) read(output.name());
  }
  INGOT_ASSIGN(const std::vector<int> order, order_nodes(proto_, given));
  model_.nodes += order.size();
  for (int index : order) INGOT_TRY(import_node(proto_.node(index), outer_ ? outer_index : index, depth_));
  return {};
}

Expected<bool> GraphImporter::mark_outputs(int first) {
  for (int i = first; i < proto_.output_size(); ++i) {
    INGOT_ASSIGN(ValueId id, value_of(proto_.output(i).name()));
    if (id == kNone) return false;
    if (outer_) {
      // What a body makes is a value of its own, each time.
      const Value& value = graph_.value(id);
      if (value.is_input || value.is_output || value.constant) {
        INGOT_ASSIGN(id, editor_.add_op(proto_.output(i).name(), IdentityParams{}, {id}, proto_.output(i).name()));
      }
    }
    editor_.mark_output(id);
  }
  return true;
}

Status GraphImporter::import_node(const onnx::NodeProto& node, int index, int depth) {
  std::vector<ValueId> inputs;
  bool known = true;
  for (const std::string& name : node.input()) {
    inputs.push_back(kNone);
    if (name.empty()) continue;
    INGOT_ASSIGN(inputs.back(), value_of(name));
    known = known && inputs.back() != kNone;
  }
  for (const std::string& name : node.output()) values_[name] = kNone;
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  const bool is_branch = is_default && node.op_type() == "If";
  const bool has_bodies = is_branch || (is_default && (node.op_type() == "Loop" || node.op_type() == "Scan"));
  // Behind a node that was refused nothing is known; the node itself may be fine.
  if (!known && (has_bodies || find_importer(node.domain(), node.op_type()))) return {};
  if (is_branch && inputs.size() == 1)
    if (const auto condition = known_condition(inputs[0])) return import_branch(node, index, *condition, depth);
  return dispatch(node, index, std::move(inputs), known);
}

int64_t GraphImporter::version_of(const std::string& domain, int index) const {
  const std::string key = domain == "ai.onnx" ? "" : domain;
  if (const int origin = model_.origins[static_cast<size_t>(index)]; origin >= 0)
    for (const auto& opset : model_.loaded.proto.functions(origin).opset_import())
      if ((opset.domain() == "ai.onnx" ? "" : opset.domain()) == key) return opset.version();
  const auto opset = model_.opsets.find(key);
  return opset == model_.opsets.end() ? 1 : opset->second;
}

std::optional<bool> GraphImporter::known_condition(ValueId id) const {
  if (id == kNone || !graph_.is_constant(id)) return std::nullopt;
  const Value& value = graph_.value(id);
  if (value.type.dtype != DataType::kBool || value.type.shape.elements() != 1) return std::nullopt;
  return (*value.constant)[0] != std::byte{0};
}

// Nodes of a graph that stands in for a node of this one; all its names are its own.
Status GraphImporter::import_renamed(const onnx::GraphProto& graph, int index, int depth) {
  for (const auto& tensor : graph.initializer()) {
    INGOT_ASSIGN(TensorContent content, read_tensor(tensor, scope_.source, "initialiser " + quoted(tensor.name())));
    values_[tensor.name()] = editor_.add_constant(tensor.name(), std::move(content.type), std::move(content.bytes));
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    INGOT_ASSIGN(TensorContent content, read_sparse_tensor(tensor, scope_.source, "initialiser " + quoted(name)));
    values_[name] = editor_.add_constant(name, std::move(content.type), std::move(content.bytes));
  }
  for (const auto& inner : graph.node()) INGOT_TRY(import_node(inner, index, depth));
  return {};
}

// If with a condition that is known now: the branch's nodes stand in for it.
Status GraphImporter::import_branch(const onnx::NodeProto& node, int index, bool condition, int depth) {
  const std::string where = "node " + quoted(node_label(node, index)) + " (If): ";
  if (depth == kMostNestedBranches)
    return Status(StatusCode::kUnsupported, where + "branches nested too deep: need at most " + std::to_string(kMostNestedBranches));
  const onnx::GraphProto* chosen = nullptr;
  for (const auto& attribute : node.attribute())
    if (attribute.name() == (condition ? "then_branch" : "else_branch") && attribute.has_g()) chosen = &attribute.g();
  if (!chosen || chosen->output_size() != node.output_size())
    return invalid(where + "needs a then_branch and an else_branch with as many outputs as the node");
  if (chosen->input_size() != 0)
    return invalid(where + "a branch has inputs of its own: got " + std::to_string(chosen->input_size()) + ", need none");
  auto renamed = branch_with_own_names(*chosen, node_label(node, index), scope_.tensor_names);
  if (!renamed.ok()) return std::move(renamed.take_status()).with_context("node " + quoted(node_label(node, index)) + " (If)");
  const onnx::GraphProto& branch = *renamed;
  INGOT_TRY(import_renamed(branch, index, depth + 1));
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    INGOT_ASSIGN(ValueId id, value_of(branch.output(i).name()));
    // A graph output must exist under its own name.
    if (id != kNone && scope_.graph_outputs.contains(name)) {
      INGOT_ASSIGN(id, editor_.add_op(node_label(node, index), IdentityParams{}, {id}, name));
    }
    values_[name] = id;
  }
  return {};
}

Status GraphImporter::dispatch(const onnx::NodeProto& node, int index, std::vector<ValueId> inputs, bool inputs_known) {
  const int64_t version = version_of(node.domain(), index);
  ModelImport::Issue issue{node_label(node, index), "", version, ""};
  const auto refuse = [&](std::string_view reason) {
    issue.text = printable(node.op_type()) + ", " + (node.domain().empty() ? "ai.onnx" : printable(node.domain())) + " " +
                 std::to_string(version) + ", inputs " + (inputs_known ? describe(inputs) : "unknown");
    issue.reason = reason;
    model_.issues.push_back(std::move(issue));
  };
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  const auto control_flow = is_default ? find_control_flow(node.op_type()) : nullptr;
  const ImporterFunction importer = find_importer(node.domain(), node.op_type());
  if (!importer && !control_flow) {
    refuse(reason_refused(node.domain(), node.op_type()));
    return {};
  }
  NodeImporter view(scope_, node, issue.name, version, std::move(inputs));
  bool complete = true;
  Status status;
  if (control_flow) {
    auto done = (this->*control_flow)(view, node, index);
    if (done.ok()) complete = *done;
    else status = done.take_status();
  } else {
    importer(view);
  }
  // A body in which a node was refused makes nothing; the node itself may be fine.
  if (status.ok() && !complete && view.ok()) return {};
  if (status.ok()) status = view.finish();
  if (status.ok()) {
    for (int i = 0; i < node.output_size(); ++i)
      if (!node.output(i).empty()) values_[node.output(i)] = view.outputs()[static_cast<size_t>(i)];
    return {};
  }
  inputs = view.inputs();
  if (status.code() == StatusCode::kUnsupported) {
    refuse(status.message());
    return {};
  }
  std::string what = std::string(status.message()) + " (" + printable(node.op_type()) + ", inputs " + describe(inputs) + ")";
  if (!model_.profile_text.empty()) what += "; with the profile" + model_.profile_text;
  return Status(status.code(), "node " + quoted(issue.name) + ": " + what);
}

std::string GraphImporter::describe(const std::vector<ValueId>& inputs) const {
  std::string text;
  for (ValueId id : inputs) {
    if (!text.empty()) text += ", ";
    if (id == kNone) {
      text += "none";
      continue;
    }
    const TensorType& type = graph_.value(id).type;
    text += std::string(to_string(type.dtype)) + "[" + (type.shape.rank ? to_string(type.shape) : "") + "]";
  }
  return text.empty() ? "none" : text;
}

}  // namespace ingot
