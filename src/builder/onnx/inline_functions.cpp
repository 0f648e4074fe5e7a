// Bodies of inline_functions.h. Calls are expanded depth first; the names of a body get a prefix of their own for each call.
#include "builder/onnx/inline_functions.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "builder/onnx/node_order.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

constexpr size_t kDeepest = 64;
constexpr int kDeepestSubgraph = 16;
constexpr size_t kMostNodes = 200'000;
constexpr size_t kMostNameBytes = size_t{1} << 28;  // names grow with the nesting

Status invalid(const std::string& what) { return Status(StatusCode::kInvalidModel, what); }

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// Fields that older schemas do not know are read from what they leave over: calls each(bytes) for those with this number.
bool for_each_unknown_field(const std::string& rest, uint32_t number_of_field, const std::function<bool(const std::string&)>& each) {
  const uint32_t kTag = number_of_field << 3 | 2;  // a message or a text
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(rest.data()), static_cast<int>(rest.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    uint32_t size = 0;
    uint64_t number = 0;
    std::string bytes;
    bool read = false;
    switch (tag & 7) {
      case 0: read = stream.ReadVarint64(&number); break;
      case 1: read = stream.Skip(8); break;
      case 2: read = stream.ReadVarint32(&size) && size <= rest.size() && stream.ReadString(&bytes, static_cast<int>(size)); break;
      case 5: read = stream.Skip(4); break;
      default: break;
    }
    if (read && tag == kTag) read = each(bytes);
    if (!read) return false;
  }
  return true;
}

// Default values of a function's attributes.
Status read_defaults(const onnx::FunctionProto& function, std::vector<onnx::AttributeProto>& defaults) {
  if (for_each_unknown_field(function.unknown_fields(), 11, [&](const std::string& bytes) { return defaults.emplace_back().ParseFromString(bytes); }))
    return {};
  return invalid("function " + quoted(function.name()) + " has fields that cannot be read");
}

// Functions of one name are told apart by a further name.
template <class Proto>
std::string overload_of(const Proto& proto, uint32_t field) {
  std::string overload;
  (void)for_each_unknown_field(proto.unknown_fields(), field, [&](const std::string& bytes) { return overload = bytes, true; });
  return overload;
}
template <class Proto>
std::string key_of(const Proto& proto, const std::string& name, uint32_t overload_field) {
  return domain_of(proto.domain()) + ':' + name + ':' + overload_of(proto, overload_field);
}
std::string key_of(const onnx::FunctionProto& function) { return key_of(function, function.name(), 13); }
std::string key_of(const onnx::NodeProto& node) { return key_of(node, node.op_type(), 8); }

using NameMap = std::unordered_map<std::string, std::string>;
using Attributes = std::unordered_map<std::string, const onnx::AttributeProto*>;

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& model) : model_(model) {}

  Expected<std::vector<int>> run() {
    auto& graph = *model_.mutable_graph();
    if (model_.functions_size() == 0) return std::vector<int>(static_cast<size_t>(graph.node_size()), -1);
    for (int i = 0; i < model_.functions_size(); ++i) {
      const auto& function = model_.functions(i);
      if (!functions_.emplace(key_of(function), i).second)
        return invalid("function " + quoted(function.name()) + " of domain " + quoted(function.domain()) + " is there twice");
    }
    take_names(graph);
    google::protobuf::RepeatedPtrField<onnx::NodeProto> calls;
    calls.Swap(graph.mutable_node());
    place_ = graph.mutable_node();
    for (int i = 0; i < calls.size(); ++i) INGOT_TRY(expand(calls[i], i, -1));
    return std::move(origins_);
  }

 private:
  void take_names(const onnx::GraphProto& graph) {
    for (const auto& node : graph.node()) names_.insert(node.output().begin(), node.output().end());
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) names_.insert(tensor.values().name());
    for (const auto& node : graph.node())
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) take_names(attribute.g());
        for (const auto& inner : attribute.graphs()) take_names(inner);
      }
  }

  std::string fresh(const std::string& base) {
    std::string name = base;
    while (!names_.insert(name).second) name = base + '.' + std::to_string(++suffix_);
    return name;
  }

  // Appends the node, or what it stands for. `origin`: the function that its text is in.
  Status expand(const onnx::NodeProto& node, int index, int origin) {
    const auto place = functions_.find(key_of(node));
    if (place == functions_.end()) {
      if (++made_ > kMostNodes)
        return Status(StatusCode::kUnsupported, "functions of the model unfold to too many nodes: need at most " + std::to_string(kMostNodes) +
                                                    "; inline them with onnx.inliner if they must");
      onnx::NodeProto& copy = *place_->Add();
      copy = node;
      if (depth_ == 0) origins_.push_back(origin);
      else if (origin >= 0) mark(copy, origin);
      for (auto& attribute : *copy.mutable_attribute()) {
        if (attribute.has_g()) INGOT_TRY(expand_graph(*attribute.mutable_g(), origin));
        for (auto& graph : *attribute.mutable_graphs()) INGOT_TRY(expand_graph(graph, origin));
      }
      return {};
    }
    const std::string where = "node " + quoted(node_label(node, index)) + ": ";
    if (std::find(open_.begin(), open_.end(), place->second) != open_.end())
      return invalid(where + "function " + quoted(node.op_type()) + " calls itself");
    if (open_.size() == kDeepest) return Status(StatusCode::kUnsupported, where + "functions are nested too deeply: need at most 64 levels");
    // A body of no nodes makes no nodes, so calls are counted too.
    if (++calls_ > kMostNodes)
      return Status(StatusCode::kUnsupported, "functions of the model are called too often: need at most " + std::to_string(kMostNodes) + " calls");
    open_.push_back(place->second);
    Status status = expand_call(node, index, place->second);
    open_.pop_back();
    return status;
  }

  static void mark(onnx::NodeProto& node, int origin) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(kFunctionMark);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(origin);
  }

  // The calls inside a sub-graph unfold there.
  Status expand_graph(onnx::GraphProto& graph, int origin) {
    if (depth_ == kDeepestSubgraph) return invalid("graphs are nested too deeply: need at most 16 levels");
    google::protobuf::RepeatedPtrField<onnx::NodeProto> calls;
    calls.Swap(graph.mutable_node());
    google::protobuf::RepeatedPtrField<onnx::NodeProto>* const outer = std::exchange(place_, graph.mutable_node());
    ++depth_;
    Status status;
    for (int i = 0; i < calls.size() && status.ok(); ++i) status = expand(calls[i], i, origin);
    --depth_;
    place_ = outer;
    return status;
  }

  Status expand_call(const onnx::NodeProto& call, int index, int which) {
    const auto& function = model_.functions(which);
    const std::string label = node_label(call, index), where = "node " + quoted(label) + ": function " + quoted(function.name());
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return invalid(where + ": too many inputs or outputs: got " + std::to_string(call.input_size()) + " and " +
                     std::to_string(call.output_size()) + ", need at most " + std::to_string(function.input_size()) + " and " +
                     std::to_string(function.output_size()));
    name_bytes_ += label.size() * static_cast<size_t>(function.node_size());
    if (name_bytes_ > kMostNameBytes) return Status(StatusCode::kUnsupported, where + ": names grow too long");
    Attributes given;
    std::vector<onnx::AttributeProto> defaults;
    INGOT_TRY(read_defaults(function, defaults));
    for (const auto& attribute : defaults) given[attribute.name()] = &attribute;
    for (const auto& attribute : call.attribute()) given[attribute.name()] = &attribute;
    for (const std::string& name : function.attribute())
      if (!given.contains(name)) given[name] = nullptr;
    NameMap names;
    names[""] = "";
    for (int i = 0; i < function.input_size(); ++i)
      if (!names.emplace(function.input(i), i < call.input_size() ? call.input(i) : "").second)
        return invalid(where + ": input " + quoted(function.input(i)) + " is there twice");
    std::vector<std::pair<std::string, std::string>> copies;  // results that are inputs, or that go to two places
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      if (!names.emplace(function.output(i), call.output(i)).second) copies.emplace_back(function.output(i), call.output(i));
    }
    for (int i = 0; i < function.node_size(); ++i) {
      onnx::NodeProto node = function.node(i);
      node.set_name(label + '/' + node_label(node, i));
      INGOT_TRY(bind(node, names, given, label, 0).with_context(where));
      INGOT_TRY(expand(node, i, which));
    }
    for (const auto& [from, to] : copies) {
      onnx::NodeProto copy;
      copy.set_op_type("Identity");
      copy.set_name(label + "/result");
      copy.add_input(names[from]);
      copy.add_output(to);
      INGOT_TRY(expand(copy, 0, which));
    }
    return {};
  }

  // Gives the names and attributes of one call to a node of the body, also inside its subgraphs.
  Status bind(onnx::NodeProto& node, NameMap& names, const Attributes& given, const std::string& label, int depth) {
    const auto rename = [&](std::string& name) {
      const auto [place, is_new] = names.emplace(name, "");
      if (is_new) place->second = fresh(label + '/' + name);
      name = place->second;
    };
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
    for (int i = node.attribute_size() - 1; i >= 0; --i) {
      auto& attribute = *node.mutable_attribute(i);
      if (!attribute.ref_attr_name().empty()) {
        const auto place = given.find(attribute.ref_attr_name());
        if (place == given.end()) return invalid("refers to attribute " + quoted(attribute.ref_attr_name()) + ", which the function does not have");
        if (!place->second) {  // left out by the caller: as if the node did not have it
          node.mutable_attribute()->DeleteSubrange(i, 1);
          continue;
        }
        const std::string name = attribute.name();
        attribute = *place->second;
        attribute.set_name(name);
        continue;  // the caller's own text, which has its names already
      }
      if (attribute.has_g()) INGOT_TRY(bind(*attribute.mutable_g(), names, given, label, depth));
      for (auto& graph : *attribute.mutable_graphs()) INGOT_TRY(bind(graph, names, given, label, depth));
    }
    return {};
  }

  Status bind(onnx::GraphProto& graph, NameMap names, const Attributes& given, const std::string& label, int depth) {
    if (depth == kDeepestSubgraph) return invalid("graphs are nested too deeply: need at most 16 levels");
    // Names that the graph itself makes hide those outside.
    const auto hide = [&](std::string& name) {
      if (!name.empty()) name = names[name] = fresh(label + '/' + name);
    };
    for (auto& input : *graph.mutable_input()) hide(*input.mutable_name());
    for (auto& tensor : *graph.mutable_initializer()) hide(*tensor.mutable_name());
    for (auto& tensor : *graph.mutable_sparse_initializer()) hide(*tensor.mutable_values()->mutable_name());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output())
        if (!output.empty()) names[output] = fresh(label + '/' + output);
    for (auto& node : *graph.mutable_node()) INGOT_TRY(bind(node, names, given, label, depth + 1));
    for (auto& output : *graph.mutable_output())
      if (const auto place = names.find(output.name()); place != names.end()) output.set_name(place->second);
    return {};
  }

  onnx::ModelProto& model_;
  std::unordered_map<std::string, int> functions_;
  std::unordered_set<std::string> names_;
  std::vector<int> origins_, open_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto>* place_ = nullptr;  // where nodes go
  int depth_ = 0;                                                         // of its graph
  size_t calls_ = 0, made_ = 0, name_bytes_ = 0;
  int suffix_ = 0;
};

}  // namespace

Expected<std::vector<int>> inline_functions(onnx::ModelProto& model) { return Inliner(model).run(); }

}  // namespace ingot
