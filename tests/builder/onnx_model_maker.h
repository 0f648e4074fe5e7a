// Makes small ONNX models in memory for the tests of the importer.
#pragma once

#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "builder/onnx/import_model.h"
#include "builder/onnx/onnx_proto.h"

namespace ingot {

// A dim: a number, or the name of an open one.
using TestDim = std::variant<int64_t, std::string>;
inline TestDim open(const char* name) { return std::string(name); }

class NodeMaker {
 public:
  explicit NodeMaker(onnx::NodeProto& node) : node_(node) {}
  NodeMaker& named(const std::string& name) { return node_.set_name(name), *this; }
  NodeMaker& domain(const std::string& domain) { return node_.set_domain(domain), *this; }
  NodeMaker& integer(const char* name, int64_t value) {
    auto& a = attribute(name, onnx::AttributeProto::INT);
    return a.set_i(value), *this;
  }
  NodeMaker& number(const char* name, float value) {
    auto& a = attribute(name, onnx::AttributeProto::FLOAT);
    return a.set_f(value), *this;
  }
  NodeMaker& text(const char* name, const std::string& value) {
    auto& a = attribute(name, onnx::AttributeProto::STRING);
    return a.set_s(value), *this;
  }
  NodeMaker& integers(const char* name, const std::vector<int64_t>& values) {
    auto& a = attribute(name, onnx::AttributeProto::INTS);
    for (int64_t value : values) a.add_ints(value);
    return *this;
  }
  NodeMaker& numbers(const char* name, const std::vector<float>& values) {
    auto& a = attribute(name, onnx::AttributeProto::FLOATS);
    for (float value : values) a.add_floats(value);
    return *this;
  }
  onnx::AttributeProto& attribute(const char* name, onnx::AttributeProto::AttributeType type) {
    auto& a = *node_.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }
  onnx::NodeProto& proto() { return node_; }

 private:
  onnx::NodeProto& node_;
};

template <class T>
constexpr int onnx_type() {
  if constexpr (std::is_same_v<T, float>) return 1;
  else if constexpr (std::is_same_v<T, uint8_t>) return 2;
  else if constexpr (std::is_same_v<T, int8_t>) return 3;
  else if constexpr (std::is_same_v<T, int32_t>) return 6;
  else if constexpr (std::is_same_v<T, int64_t>) return 7;
  else if constexpr (std::is_same_v<T, bool>) return 9;
  else return 11;
}

template <class T>
void fill_tensor(onnx::TensorProto& tensor, std::initializer_list<int64_t> dims, const std::vector<T>& values) {
  tensor.set_data_type(onnx_type<T>());
  for (int64_t dim : dims) tensor.add_dims(dim);
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
}

class ModelMaker {
 public:
  explicit ModelMaker(int64_t opset) {
    model.set_ir_version(8);
    set_opset("", opset);
    set_opset("com.microsoft", 1);
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  void set_opset(const std::string& domain, int64_t version) {
    auto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  ModelMaker& input(const std::string& name, const std::vector<TestDim>& dims, int type = 1) {
    auto& info = *graph().add_input();
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const TestDim& dim : dims) {
      auto& proto = *tensor.mutable_shape()->add_dim();
      if (const auto* number = std::get_if<int64_t>(&dim)) proto.set_dim_value(*number);
      else proto.set_dim_param(std::get<std::string>(dim));
    }
    return *this;
  }
  ModelMaker& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  NodeMaker node(const std::string& op, std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs) {
    auto& proto = *graph().add_node();
    proto.set_op_type(op);
    for (const char* name : inputs) proto.add_input(name);
    for (const char* name : outputs) proto.add_output(name);
    return NodeMaker(proto);
  }
  template <class T>
  ModelMaker& constant(const std::string& name, std::initializer_list<int64_t> dims, const std::vector<T>& values) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    fill_tensor(tensor, dims, values);
    return *this;
  }
  std::string bytes() const { return model.SerializeAsString(); }
  Expected<Graph> import(const ImportOptions& options = {}, const std::string& base_dir = "") const {
    const std::string serialised = bytes();
    return import_model_bytes(std::as_bytes(std::span(serialised)), base_dir, options);
  }

  onnx::ModelProto model;
};

// The graph of a branch or a loop.
class Body {
 public:
  Body& input(const std::string& name) { return graph_.add_input()->set_name(name), *this; }
  Body& output(const std::string& name) { return graph_.add_output()->set_name(name), *this; }
  Body& node(const std::string& op, std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs) {
    last(op, inputs, outputs);
    return *this;
  }
  Body& choice(const char* condition, const char* result, const Body& on_true, const Body& on_false) {
    NodeMaker node(last("If", {condition}, {result}));
    *node.attribute("then_branch", onnx::AttributeProto::GRAPH).mutable_g() = on_true.graph_;
    *node.attribute("else_branch", onnx::AttributeProto::GRAPH).mutable_g() = on_false.graph_;
    return *this;
  }
  template <class T>
  Body& constant(const std::string& name, std::initializer_list<int64_t> dims, const std::vector<T>& values) {
    auto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    fill_tensor(tensor, dims, values);
    return *this;
  }
  const onnx::GraphProto& graph() const { return graph_; }

 private:
  onnx::NodeProto& last(const std::string& op, std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs) {
    auto& node = *graph_.add_node();
    node.set_op_type(op);
    for (const char* name : inputs) node.add_input(name);
    for (const char* name : outputs) node.add_output(name);
    return node;
  }
  onnx::GraphProto graph_;
};

inline void set_branches(NodeMaker node, const Body& on_true, const Body& on_false) {
  *node.attribute("then_branch", onnx::AttributeProto::GRAPH).mutable_g() = on_true.graph();
  *node.attribute("else_branch", onnx::AttributeProto::GRAPH).mutable_g() = on_false.graph();
}
inline void set_body(NodeMaker node, const Body& body) { *node.attribute("body", onnx::AttributeProto::GRAPH).mutable_g() = body.graph(); }

// The one live node that makes the value, null if there is none.
inline const Node* maker_of(const Graph& graph, const std::string& value) { return graph.producer(graph.find_value(value)); }
template <class Params>
const Params* params_of(const Graph& graph, const std::string& value) {
  const Node* node = maker_of(graph, value);
  return node ? std::get_if<Params>(&node->params) : nullptr;
}
template <class T>
std::vector<T> constant_of(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id)) return {};
  const auto span = constant_span<T>(graph, id);
  return {span.begin(), span.end()};
}

}  // namespace ingot
