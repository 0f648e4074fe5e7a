// Bodies of node_order.h.
#include "builder/onnx/node_order.h"

#include <functional>
#include <queue>
#include <string_view>
#include <unordered_map>

#include "builder/onnx/branches.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

std::string described(const onnx::NodeProto& node, int index) {
  return "node " + quoted(node_label(node, index)) + " (" + printable(node.op_type()) + ")";
}

}  // namespace

std::string node_label(const onnx::NodeProto& node, int index) {
  return node.name().empty() ? node.op_type() + "_" + std::to_string(index) : node.name();
}

std::vector<int> order_nodes(const onnx::GraphProto& graph, const std::unordered_set<std::string>& given, ModelProblems& problems) {
  const auto wrong = [&](const std::string& what) { problems.add(StatusCode::kInvalidModel, what); };
  std::unordered_map<std::string_view, int> producer;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (given.contains(output))
        wrong(described(graph.node(i), i) + ": makes tensor " + quoted(output) + ", which is an input or initialiser already");
      else if (const auto [place, is_new] = producer.emplace(output, i); !is_new)
        wrong("tensor " + quoted(output) + " is made twice: by " + described(graph.node(place->second), place->second) +
                       " and " + described(graph.node(i), i));
    }

  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<std::vector<int>> users(count);
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> inside(count);  // nodes whose results a node's sub-graphs read
  for (int i = 0; i < graph.node_size(); ++i) {
    for_each_name_read_inside(graph.node(i), [&](const std::string& name) {
      const auto place = producer.find(name);
      if (place == producer.end() || place->second == i || given.contains(name)) return;
      inside[static_cast<size_t>(i)].push_back(place->second);
      users[static_cast<size_t>(place->second)].push_back(i);
      ++waiting[static_cast<size_t>(i)];
    });
    for (const std::string& input : graph.node(i).input()) {
      if (input.empty() || given.contains(input)) continue;
      const auto place = producer.find(input);
      if (place == producer.end()) {
        wrong(described(graph.node(i), i) + ": input " + quoted(input) + " is made by no node, input or initialiser");
        continue;
      }
      users[static_cast<size_t>(place->second)].push_back(i);
      ++waiting[static_cast<size_t>(i)];
    }
  }
  std::vector<int> pending;
  std::vector<bool> needed(count, false);
  const auto need_node = [&](int node) {
    if (needed[static_cast<size_t>(node)]) return;
    needed[static_cast<size_t>(node)] = true;
    pending.push_back(node);
  };
  const auto need = [&](const std::string& name) {
    if (const auto place = producer.find(name); place != producer.end()) need_node(place->second);
  };
  for (const auto& output : graph.output()) {
    if (!given.contains(output.name()) && !producer.contains(output.name()))
      wrong("graph output " + quoted(output.name()) + " is made by no node");
    need(output.name());
  }
  while (!pending.empty()) {
    const int node = pending.back();
    pending.pop_back();
    for (const std::string& input : graph.node(node).input()) need(input);
    for (int other : inside[static_cast<size_t>(node)]) need_node(other);
  }

  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  size_t done = 0;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    ++done;
    if (needed[static_cast<size_t>(node)]) order.push_back(node);
    for (int user : users[static_cast<size_t>(node)])
      if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
  }
  if (done == count) return order;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waiting[static_cast<size_t>(i)] > 0) {
      wrong(described(graph.node(i), i) + ": is part of a cycle, or behind one: its result feeds back into its inputs; " +
            std::to_string(count - done) + (count - done == 1 ? " node is" : " nodes are"));
      break;
    }
  return order;
}

}  // namespace ingot
