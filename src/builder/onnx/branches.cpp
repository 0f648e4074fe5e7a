// Bodies of branches.h.
#include "builder/onnx/branches.h"

#include <unordered_map>

#include "builder/onnx/text.h"

namespace ingot {
namespace {

using Names = std::unordered_map<std::string, std::string>;

void read_inside(const onnx::GraphProto& graph, const std::function<void(const std::string&)>& each) {
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.input()) each(name);
    for_each_name_read_inside(node, each);
  }
  for (const auto& output : graph.output()) each(output.name());
}

void replace(const Names& names, std::string& name) {
  if (const auto place = names.find(name); place != names.end()) name = place->second;
}

// What a nested graph defines itself hides the outer name.
void rename_reads(onnx::GraphProto& graph, Names names) {
  for (const auto& input : graph.input()) names.erase(input.name());
  for (const auto& tensor : graph.initializer()) names.erase(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.erase(tensor.values().name());
  for (const auto& node : graph.node())
    for (const std::string& name : node.output()) names.erase(name);
  for (auto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) replace(names, name);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename_reads(*attribute.mutable_g(), names);
      for (auto& nested : *attribute.mutable_graphs()) rename_reads(nested, names);
    }
  }
  for (auto& output : *graph.mutable_output()) replace(names, *output.mutable_name());
}

}  // namespace

void for_each_name_read_inside(const onnx::NodeProto& node, const std::function<void(const std::string&)>& each) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) read_inside(attribute.g(), each);
    for (const auto& graph : attribute.graphs()) read_inside(graph, each);
  }
}

Expected<onnx::GraphProto> branch_with_own_names(const onnx::GraphProto& branch, const std::string& prefix,
                                                 std::unordered_set<std::string>& taken) {
  Names names;
  std::string broken, twice;
  const auto define = [&](const std::string& name) {
    if (name.empty()) return;
    if (!is_valid_utf8(name)) broken = name;
    std::string own = prefix + "/" + name;
    for (int i = 1; !taken.insert(own).second; ++i) own = prefix + "/" + name + "." + std::to_string(i);
    if (!names.emplace(name, std::move(own)).second) twice = name;
  };
  for (const auto& input : branch.input()) define(input.name());
  for (const auto& tensor : branch.initializer()) define(tensor.name());
  for (const auto& tensor : branch.sparse_initializer()) define(tensor.values().name());
  for (const auto& node : branch.node()) {
    if (!is_valid_utf8(node.name())) broken = node.name();
    for (const std::string& name : node.output()) define(name);
  }
  if (!broken.empty()) return Status(StatusCode::kInvalidModel, "a name in a branch is not UTF-8: got " + quoted(broken));
  if (!twice.empty()) return Status(StatusCode::kInvalidModel, "tensor " + quoted(twice) + " of a branch is made twice");

  onnx::GraphProto copy = branch;
  for (auto& input : *copy.mutable_input()) replace(names, *input.mutable_name());
  for (auto& tensor : *copy.mutable_initializer()) replace(names, *tensor.mutable_name());
  for (auto& tensor : *copy.mutable_sparse_initializer()) replace(names, *tensor.mutable_values()->mutable_name());
  for (auto& node : *copy.mutable_node()) {
    for (std::string& name : *node.mutable_input()) replace(names, name);
    for (std::string& name : *node.mutable_output()) replace(names, name);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename_reads(*attribute.mutable_g(), names);
      for (auto& nested : *attribute.mutable_graphs()) rename_reads(nested, names);
    }
  }
  for (auto& output : *copy.mutable_output()) replace(names, *output.mutable_name());
  return copy;
}

}  // namespace ingot
