// Bodies of graph_importer.h.
#include "builder/onnx/graph_importer.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "builder/onnx/branches.h"
#include "builder/onnx/dim_expression.h"
#include "builder/onnx/importer_table.h"
#include "builder/onnx/inline_functions.h"
#include "builder/onnx/input_shapes.h"
#include "builder/onnx/node_order.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

constexpr size_t kLongestName = size_t{1} << 16;
constexpr int64_t kLargestTensor = int64_t{1} << 36;  // bytes; no plan may be larger
constexpr int kMostNestedBranches = 16;
constexpr int64_t kMostInlinedNodes = 1 << 20;  // of all sub-graphs together

Status invalid(std::string what) { return Status(StatusCode::kInvalidModel, std::move(what)); }

std::string difference(const TensorType& got, const ModelInput& need) {
  bool same = got.dtype == need.dtype && got.shape.rank == need.shape.rank;
  for (int i = 0; same && i < got.shape.rank; ++i) same = need.shape[i] == Shape::kDynamic || need.shape[i] == got.shape[i];
  return same ? std::string() : "got " + to_string(got) + ", need " + to_string(TensorType{need.dtype, need.shape, Layout::kLinear, {}});
}

using Sizes = std::array<int64_t, SymbolicDims::kProbePoints>;

// Formulas of the inputs' dims by the model's names for them: a symbol each, made up where it has none or one that exporters
// write for every open dim. A name that is a sum of others is that sum, if the profile agrees.
class InputDims {
 public:
  InputDims(SymbolicDims& symbols, const std::vector<ModelInput>& inputs, const std::vector<std::vector<Shape>>& shapes)
      : symbols_(symbols) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (int d = 0; d < inputs[i].shape.rank; ++d)
        if (const std::string& name = inputs[i].dim_names[static_cast<size_t>(d)]; is_plain(name)) named_.emplace(name, dim_of(name, sizes_of(shapes[i], d)));
  }

  // index: of the input.
  std::vector<DimId> of(size_t index, const ModelInput& input, const std::vector<Shape>& shapes) {
    const std::string owner = input.name.size() <= kLongestDimName ? input.name : "input" + std::to_string(index);
    std::vector<DimId> dims;
    for (int d = 0; d < input.shape.rank; ++d) {
      const std::string& name = input.dim_names[static_cast<size_t>(d)];
      const Sizes sizes = sizes_of(shapes, d);
      DimId dim = is_plain(name) ? dim_of(name, sizes) : sum_of(name, sizes);
      if (dim == kNoDim) dim = dim_of(owner + '.' + std::to_string(d), sizes);
      dims.push_back(dim);
    }
    return dims;
  }

 private:
  static constexpr size_t kLongestDimName = 48;
  static Sizes sizes_of(const std::vector<Shape>& shapes, int d) {
    Sizes sizes{};
    for (size_t p = 0; p < sizes.size(); ++p) sizes[p] = shapes[std::min(p, shapes.size() - 1)][d];
    return sizes;
  }
  static bool is_plain(const std::string& name) {
    return !name.empty() && name != "?" && name != "None" && name != "-1" && name != "unk" && name != "dynamic" &&
           name.size() <= kLongestDimName && name.find_first_of("+*/() ") == std::string::npos;
  }
  DimId dim_of(const std::string& name, const Sizes& sizes) {
    const bool varies = std::any_of(sizes.begin(), sizes.end(), [&](int64_t size) { return size != sizes[0]; });
    return varies ? symbols_.symbol(printable(name), sizes) : symbols_.constant(sizes[0]);
  }
  DimId sum_of(const std::string& name, const Sizes& sizes) {
    const auto terms = parse_dim_expression(name);
    if (!terms) return kNoDim;
    DimId total = symbols_.constant(0);
    for (const DimTerm& term : *terms) {
      DimId product = symbols_.constant(term.factor);
      for (const std::string& factor : term.names) {
        const auto known = named_.find(factor);
        product = symbols_.product(product, known == named_.end() ? kNoDim : known->second);
      }
      total = symbols_.sum(total, product);
    }
    if (total == kNoDim || !std::equal(sizes.begin(), sizes.end(), symbols_.values(total).begin())) return kNoDim;
    return total;
  }

  SymbolicDims& symbols_;
  std::unordered_map<std::string, DimId> named_;
};

std::string initialiser(const std::string& name) { return "initialiser " + quoted(name); }

}  // namespace

GraphImporter::GraphImporter(ModelImport& model, const onnx::GraphProto& proto, GraphImporter* outer)
    : model_(model), proto_(proto), outer_(outer), depth_(outer ? outer->depth_ + 1 : 0), editor_(graph_),
      scope_{editor_, {model.loaded.base_dir, model.options.max_sparse_bytes}, {}, {}} {
  scope_.import_body = [this](const onnx::GraphProto& body, const std::vector<ValueId>& inputs) { return import_inlined(body, inputs); };
  if (!outer) return;
  editor_.begin_body(outer->graph_);
  graph_.set_limits(outer->graph_.limits());
}

void GraphImporter::check_names() {
  const auto wrong = [&](const std::string& what) { model_.problems.add(StatusCode::kInvalidModel, what); };
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
  if (proto_.output_size() == 0 && !outer_) wrong("has no outputs");
  for (const auto& output : proto_.output()) {
    if (output.name().empty()) wrong("an output has no name");
    // Those of a body have no names that anybody outside sees.
    else if (!outer_ && !scope_.graph_outputs.insert(output.name()).second) wrong("output " + quoted(output.name()) + " is there twice");
  }
}

Status GraphImporter::add_inputs(const std::vector<ModelInput>& inputs) {
  INGOT_ASSIGN(auto shapes, resolve_input_shapes(inputs, model_.options.profiles));
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const Shape& shape : shapes[i])
      if (!checked_elements(shape.span()))
        return Status(StatusCode::kInvalidArgument, "profile of input " + quoted(inputs[i].name) +
                                                        " has more elements than can be counted: got " + to_string(shape));
  InputDims dims(graph_.symbols(), inputs, shapes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (shapes[i].size() > 1)
      model_.profile_text += " " + printable(inputs[i].name) + "=" + to_string(shapes[i][kProbeMin]) + ":" +
                       to_string(shapes[i][kProbeOpt]) + ":" + to_string(shapes[i][kProbeMax]);
    std::vector<DimId> formulas = dims.of(i, inputs[i], shapes[i]);
    values_[inputs[i].name] = editor_.add_input(inputs[i].name, inputs[i].dtype, std::move(shapes[i]), std::move(formulas));
  }
  return {};
}

void GraphImporter::declare(const std::string& name, ModelInput input) { declared_.emplace(name, std::move(input)); }

// An input that goes out again does so as a copy, since names of values are unique; the engine calls both as the model does.
Status GraphImporter::add_output(const std::string& name) {
  INGOT_ASSIGN(ValueId id, value_of(name));
  if (id == kNone) return {};
  if (is_aggregate(id)) {
    model_.problems.add(StatusCode::kUnsupported, "output " + quoted(name) + " is a sequence or optional value: need a tensor");
    return {};
  }
  const Value& value = graph_.value(id);
  if (value.is_input || value.is_output) {
    INGOT_ASSIGN(id, editor_.add_op(name + ".copy", IdentityParams{}, {id}, value.is_input ? name + ".output" : name));
  }
  editor_.mark_output(id, name);
  return {};
}

Expected<ValueId> GraphImporter::value_of(const std::string& name) {
  if (const auto place = values_.find(name); place != values_.end()) return place->second;
  const auto place = initialisers_.find(name);
  if (place == initialisers_.end() && outer_) {
    INGOT_ASSIGN(const ValueId outside, outer_->value_of(name));
    if (!is_aggregate(outside)) return values_[name] = outside == kNone ? kNone : capture(outside);
    Aggregate inside = outer_->scope_.aggregates[outside - kFirstAggregate];
    for (ValueId& item : inside.items) item = capture(item);
    scope_.aggregates.push_back(std::move(inside));
    return values_[name] = kFirstAggregate + static_cast<ValueId>(scope_.aggregates.size() - 1);
  }
  if (place == initialisers_.end()) {
    if (model_.problems.empty()) model_.problems.add(StatusCode::kInvalidModel, "tensor " + quoted(name) + " is made by no node");
    return values_[name] = kNone;
  }
  const int index = place->second;
  if (index < 0) {
    INGOT_ASSIGN(values_[name], add_initialiser(name, read_sparse_tensor(proto_.sparse_initializer(-1 - index), scope_.source, initialiser(name))));
  } else {
    INGOT_ASSIGN(values_[name], add_initialiser(name, read_tensor(proto_.initializer(index), scope_.source, initialiser(name))));
    // A body may be read again; the network's weights are in memory once.
    if (!outer_) *model_.loaded.proto.mutable_graph()->mutable_initializer(index) = onnx::TensorProto();
  }
  return values_[name];
}

// What is wrong with the tensor itself is a problem of the model; a file that cannot be read ends the import.
Expected<ValueId> GraphImporter::add_initialiser(const std::string& name, Expected<TensorContent> content) {
  if (const auto declared = declared_.find(name); content.ok() && declared != declared_.end())
    if (std::string wrong = difference(content->type, declared->second); !wrong.empty()) {
      model_.problems.add(StatusCode::kInvalidModel, initialiser(name) + ": differs from the input of its name: " + wrong);
      return kNone;
    }
  if (content.ok()) return editor_.add_constant(name, std::move(content->type), std::move(content->bytes));
  Status status = content.take_status();
  if (status.code() != StatusCode::kInvalidModel && status.code() != StatusCode::kUnsupported) return status;
  model_.problems.add(status.code(), status.message());
  return kNone;
}

ValueId GraphImporter::capture(ValueId outside) {
  const auto [place, is_new] = captured_.emplace(outside, kNone);
  if (!is_new) return place->second;
  const Value& value = outer_->graph_.value(outside);
  if (value.constant) {
    place->second = editor_.add_constant(value.name, value.type.dtype, value.type.shape, value.constant);
  } else {
    place->second = editor_.add_body_input(value);
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
  for (const auto& input : proto_.input()) given.insert(input.name());
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
  const std::vector<int> order = order_nodes(proto_, given, model_.problems);
  model_.nodes += order.size();
  for (int index : order) INGOT_TRY(import_node(proto_.node(index), outer_ ? outer_index : index, depth_));
  return {};
}

Expected<bool> GraphImporter::mark_outputs(int first) {
  for (int i = first; i < proto_.output_size(); ++i) {
    INGOT_ASSIGN(ValueId id, value_of(proto_.output(i).name()));
    if (id == kNone) return false;
    if (is_aggregate(id)) {
      model_.problems.add(StatusCode::kUnsupported, "output " + quoted(proto_.output(i).name()) + " of a body is a sequence or optional value: need a tensor");
      return false;
    }
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
  return dispatch(node, index, std::move(inputs), known, depth);
}

// A function's nodes follow the opsets that the function names, those it does not name the model's.
int64_t GraphImporter::version_of(const onnx::NodeProto& node, int index) const {
  const std::string key = node.domain() == "ai.onnx" ? "" : node.domain();
  int64_t origin = model_.origins[static_cast<size_t>(index)];
  for (const auto& attribute : node.attribute())
    if (attribute.name() == kFunctionMark && attribute.i() < model_.loaded.proto.functions_size()) origin = attribute.i();
  if (origin >= 0)
    for (const auto& opset : model_.loaded.proto.functions(static_cast<int>(origin)).opset_import())
      if ((opset.domain() == "ai.onnx" ? "" : opset.domain()) == key) return opset.version();
  const auto opset = model_.opsets.find(key);
  return opset == model_.opsets.end() ? 1 : opset->second;
}

std::optional<bool> GraphImporter::known_condition(ValueId id) const {
  if (id == kNone || is_aggregate(id) || !graph_.is_constant(id)) return std::nullopt;
  const Value& value = graph_.value(id);
  if (value.type.dtype != DataType::kBool || value.type.shape.elements() != 1) return std::nullopt;
  return (*value.constant)[0] != std::byte{0};
}

// Nodes of a graph that stands in for a node of this one; all its names are its own.
Status GraphImporter::import_renamed(const onnx::GraphProto& graph, int index, int depth) {
  for (const auto& tensor : graph.initializer()) {
    INGOT_ASSIGN(values_[tensor.name()], add_initialiser(tensor.name(), read_tensor(tensor, scope_.source, initialiser(tensor.name()))));
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    INGOT_ASSIGN(values_[name], add_initialiser(name, read_sparse_tensor(tensor, scope_.source, initialiser(name))));
  }
  for (const auto& inner : graph.node()) INGOT_TRY(import_node(inner, index, depth));
  return {};
}

Expected<std::vector<ValueId>> GraphImporter::import_inlined(const onnx::GraphProto& graph, const std::vector<ValueId>& inputs) {
  const int depth = current_depth_;
  if (depth >= kMostNestedBranches)
    return Status(StatusCode::kUnsupported, "branches nested too deep: need at most " + std::to_string(kMostNestedBranches));
  if ((model_.inlined_nodes += graph.node_size()) > kMostInlinedNodes)
    return Status(StatusCode::kUnsupported, "sub-graphs have too many nodes together: need at most " + std::to_string(kMostInlinedNodes));
  INGOT_ASSIGN(const onnx::GraphProto renamed, branch_with_own_names(graph, current_label_, scope_.tensor_names));
  for (size_t i = 0; i < inputs.size(); ++i) values_[renamed.input(static_cast<int>(i)).name()] = inputs[i];
  INGOT_TRY(import_renamed(renamed, current_index_, depth + 1));
  std::vector<ValueId> results;
  for (const auto& output : renamed.output()) {
    INGOT_ASSIGN(const ValueId id, value_of(output.name()));
    results.push_back(id);
  }
  return results;
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
  for (int i = 0; i < node.output_size(); ++i) graph_.share_limit(node.output(i), branch.output(i).name());
  INGOT_TRY(import_renamed(branch, index, depth + 1));
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    INGOT_ASSIGN(ValueId id, value_of(branch.output(i).name()));
    // A graph output must exist under its own name.
    if (id != kNone && !is_aggregate(id) && scope_.graph_outputs.contains(name)) {
      INGOT_ASSIGN(id, editor_.add_op(node_label(node, index), IdentityParams{}, {id}, name));
    }
    values_[name] = id;
  }
  return {};
}

Status GraphImporter::dispatch(const onnx::NodeProto& node, int index, std::vector<ValueId> inputs, bool inputs_known, int depth) {
  const int64_t version = version_of(node, index);
  const std::string label = node_label(node, index);
  const auto refuse = [&](std::string_view reason, StatusCode code = StatusCode::kUnsupported) {
    model_.problems.add_node(code, quoted(label) + " (" + printable(node.op_type()) + ", " + (node.domain().empty() ? "ai.onnx" : printable(node.domain())) +
                                 " " + std::to_string(version) + ", inputs " + (inputs_known ? describe(inputs) : "unknown") + ")", reason);
  };
  if (node.output_size() == 0) {
    refuse("it has no outputs; remove it", StatusCode::kInvalidModel);
    return {};
  }
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  const auto control_flow = is_default ? find_control_flow(node.op_type()) : nullptr;
  const ImporterFunction importer = find_importer(node.domain(), node.op_type());
  if (!importer && !control_flow) {
    refuse(reason_refused(node.domain(), node.op_type()));
    return {};
  }
  if (const std::string reason = reason_too_old(node.domain(), node.op_type(), version); !reason.empty()) {
    refuse(reason);
    return {};
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_aggregate(inputs[i]) && !takes_aggregate(node.op_type(), i)) {
      refuse("its input is a sequence or an optional value: need a tensor");
      return {};
    }
  NodeImporter view(scope_, node, label, version, std::move(inputs));
  bool complete = true;
  Status status;
  if (control_flow) {
    auto done = (this->*control_flow)(view, node, index);
    if (done.ok()) complete = *done;
    else status = done.take_status();
  } else {
    const auto outer = std::tuple(std::exchange(current_label_, label), std::exchange(current_index_, index), std::exchange(current_depth_, depth));
    importer(view);
    std::tie(current_label_, current_index_, current_depth_) = outer;
  }
  // A body with a problem in it makes nothing; the node itself may be fine.
  if (status.ok() && !complete && view.ok()) return {};
  if (status.ok()) status = view.finish();
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
  const bool by_profile = status.code() != StatusCode::kUnsupported && !model_.profile_text.empty();
  refuse(std::string(status.message()) + (by_profile ? "; with the profile" + model_.profile_text : ""), status.code());
  return {};
}

// Nothing is allocated for results at import, so their size is looked at here.
Status GraphImporter::check_size(ValueId id) const {
  if (id == kNone || is_aggregate(id)) return {};
  const Value& value = graph_.value(id);
  for (const Shape& shape : value.probe_shapes)
    if (shape.elements() > kLargestTensor / static_cast<int64_t>(element_bytes(value.type.dtype)))
      return Status(StatusCode::kUnsupported, "result " + quoted(value.name) + " is too large: got " + to_string(shape) + " of " +
                                                  std::string(to_string(value.type.dtype)) + ", need ≤ " + std::to_string(kLargestTensor >> 30) +
                                                  " GiB for a tensor; use smaller dims or a smaller --profile");
  return {};
}

std::string GraphImporter::describe(const std::vector<ValueId>& inputs) const {
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

}  // namespace ingot
