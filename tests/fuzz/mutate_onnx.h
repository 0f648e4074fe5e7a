// Seeded mutations of ONNX models: of the bytes, and of the structure, which reaches deeper.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "builder/onnx/onnx_proto.h"

namespace ingot {

inline std::string mutate_bytes(const std::string& original, std::mt19937_64& random) {
  std::string bytes = original;
  for (uint64_t edits = 1 + random() % 4; edits-- > 0 && !bytes.empty();) {
    const size_t at = random() % bytes.size();
    switch (random() % 6) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 2: bytes[at] = static_cast<char>(random() % 2 ? 0xFF : 0x7F); break;
      case 3: bytes.erase(at, 1 + random() % 8); break;
      case 4: bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 16)); break;
      default: {
        const size_t from = random() % bytes.size();
        const size_t count = std::min<size_t>(random() % 12, bytes.size() - std::max(at, from));
        bytes.replace(at, count, bytes.substr(from, count));
      }
    }
  }
  return bytes;
}

inline int64_t odd_number(std::mt19937_64& random) {
  constexpr int64_t kOdd[] = {0, 1, -1, 2, -2, 3, 4, 7, 8, 16, 255, 1 << 20, INT32_MAX, INT32_MIN, int64_t{1} << 40,
                              INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
  return random() % 4 == 0 ? static_cast<int64_t>(random() % 12) - 4 : kOdd[random() % std::size(kOdd)];
}

inline const char* any_operator(std::mt19937_64& random) {
  constexpr const char* kOperators[] = {
#define INGOT_ONNX(op, function) #op,
#define INGOT_MICROSOFT(op, function) #op,
#define INGOT_PREVIEW(op, function) #op,
#include "builder/onnx/importers.inc"
#undef INGOT_ONNX
#undef INGOT_MICROSOFT
#undef INGOT_PREVIEW
      "If", "Loop", "Scan", "Unknown"};
  return kOperators[random() % std::size(kOperators)];
}

inline void mutate_tensor(onnx::TensorProto& tensor, std::mt19937_64& random) {
  switch (random() % 6) {
    case 0: tensor.set_data_type(static_cast<int32_t>(random() % 28)); break;
    case 1:
      if (tensor.dims_size()) tensor.set_dims(static_cast<int>(random() % static_cast<uint64_t>(tensor.dims_size())), odd_number(random));
      break;
    case 2: tensor.add_dims(odd_number(random)); break;
    case 3: tensor.clear_dims(); break;
    case 4: tensor.add_int64_data(odd_number(random)); break;
    default: {  // another value of the same size, as s64
      std::string raw = tensor.raw_data();
      const int64_t value = odd_number(random);
      for (size_t i = 0; i < raw.size() && i < 8; ++i) raw[i] = static_cast<char>(static_cast<uint64_t>(value) >> 8 * i);
      tensor.set_raw_data(raw);
    }
  }
}

inline void mutate_attribute(onnx::AttributeProto& attribute, std::mt19937_64& random) {
  const auto at = [&](int size) { return static_cast<int>(random() % static_cast<uint64_t>(std::max(size, 1))); };
  switch (random() % 5) {
    case 0: attribute.set_i(odd_number(random)); break;
    case 1: attribute.add_ints(odd_number(random)); break;
    case 2:
      if (attribute.ints_size()) attribute.set_ints(at(attribute.ints_size()), odd_number(random));
      break;
    case 3:
      if (attribute.ints_size()) attribute.mutable_ints()->RemoveLast();
      break;
    default: attribute.set_f(random() % 2 ? 0.0f / 0.0f : static_cast<float>(odd_number(random))); break;
  }
}

// The graph itself, or one inside it.
inline onnx::GraphProto& any_graph(onnx::GraphProto& graph, std::mt19937_64& random) {
  std::vector<onnx::GraphProto*> inside;
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) inside.push_back(attribute.mutable_g());
  if (inside.empty() || random() % 2) return graph;
  return any_graph(*inside[random() % inside.size()], random);
}

inline void mutate_function(onnx::FunctionProto& function, std::mt19937_64& random) {
  if (function.node_size() == 0) return;
  auto& node = *function.mutable_node(static_cast<int>(random() % static_cast<uint64_t>(function.node_size())));
  switch (random() % 5) {
    case 0: node.set_op_type(random() % 2 ? function.name() : any_operator(random)); break;  // the first calls itself
    case 1: node.set_domain(random() % 2 ? function.domain() : ""); break;
    case 2: node.add_input(function.input_size() ? function.input(0) : "x"); break;
    case 3: function.add_output(node.output_size() ? node.output(0) : "y"); break;
    default:
      if (node.attribute_size()) mutate_attribute(*node.mutable_attribute(0), random);
  }
}

inline void mutate_model(onnx::ModelProto& model, std::mt19937_64& random) {
  if (model.functions_size() && random() % 4 == 0)
    mutate_function(*model.mutable_functions(static_cast<int>(random() % static_cast<uint64_t>(model.functions_size()))), random);
  if (model.graph().sparse_initializer_size() && random() % 4 == 0) {
    auto& sparse = *model.mutable_graph()->mutable_sparse_initializer(0);
    if (random() % 3 == 0) sparse.add_dims(odd_number(random));
    else mutate_tensor(random() % 2 ? *sparse.mutable_values() : *sparse.mutable_indices(), random);
  }
  auto& graph = any_graph(*model.mutable_graph(), random);
  std::vector<std::string> names;
  for (const auto& input : model.graph().input()) names.push_back(input.name());
  for (const auto& node : graph.node())
    for (const auto& name : node.output()) names.push_back(name);
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const auto& input : graph.input()) names.push_back(input.name());
  const auto any = [&](int size) { return static_cast<int>(random() % static_cast<uint64_t>(std::max(size, 1))); };
  for (uint64_t edits = 1 + random() % 3; edits-- > 0;) {
    auto* node = graph.node_size() ? graph.mutable_node(any(graph.node_size())) : nullptr;
    switch (random() % 9) {
      case 0:
        if (node) node->set_op_type(any_operator(random));
        break;
      case 1:
        if (node && node->input_size() && !names.empty()) node->set_input(any(node->input_size()), names[random() % names.size()]);
        break;
      case 2:
        if (node && node->input_size()) node->mutable_input()->RemoveLast();
        break;
      case 3:
        if (node && !names.empty()) node->add_input(names[random() % names.size()]);
        break;
      case 4: case 5:
        if (node && node->attribute_size()) mutate_attribute(*node->mutable_attribute(any(node->attribute_size())), random);
        break;
      case 6: case 7:
        if (graph.initializer_size()) mutate_tensor(*graph.mutable_initializer(any(graph.initializer_size())), random);
        break;
      default:
        if (random() % 2 && model.opset_import_size()) {
          model.mutable_opset_import(0)->set_version(6 + static_cast<int64_t>(random() % 20));
        } else if (graph.input_size()) {
          auto& tensor = *graph.mutable_input(any(graph.input_size()))->mutable_type()->mutable_tensor_type();
          if (random() % 4 == 0) tensor.set_elem_type(static_cast<int32_t>(random() % 18));
          else if (tensor.shape().dim_size()) tensor.mutable_shape()->mutable_dim(any(tensor.shape().dim_size()))->set_dim_value(odd_number(random));
        }
    }
  }
}

}  // namespace ingot
