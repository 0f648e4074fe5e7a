// Fuzz target: any bytes as an ONNX model end in a graph or in an error with words. Under clang it is a libFuzzer target;
// otherwise it has a main of its own: fuzz_onnx [--seconds 60] [--seed 1] [model files as seeds], with structural mutations.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "builder/onnx/import_model.h"
#include "builder/onnx/tensor_proto.h"
#include "mutate_onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ingot::ImportOptions options;
  options.max_sparse_bytes = 1 << 20;
  const auto graph = ingot::import_model_bytes(bytes, "", options);
  if (!graph.ok() && (graph.status().message().empty() || graph.status().code() == ingot::StatusCode::kInternal)) {
    std::fprintf(stderr, "bad answer: %s\n", std::string(graph.status().message()).c_str());
    std::abort();
  }
  (void)ingot::parse_tensor(bytes, "tensor").ok();
  return 0;
}

#ifndef INGOT_LIBFUZZER
namespace {

// What to start from when no files are given: convolution, shape arithmetic, quantisation, control flow.
std::string built_in_seed() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  auto& tensor = *graph.add_input();
  tensor.set_name("x");
  tensor.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  for (int64_t dim : {1, 2, 8, 8}) tensor.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
  const auto constant = [&](const char* name, int type, std::vector<int64_t> dims, size_t bytes) {
    auto& proto = *graph.add_initializer();
    proto.set_name(name);
    proto.set_data_type(type);
    for (int64_t dim : dims) proto.add_dims(dim);
    proto.set_raw_data(std::string(bytes, '\1'));
  };
  const auto node = [&](const char* op, std::vector<const char*> inputs, const char* output) -> onnx::NodeProto& {
    auto& proto = *graph.add_node();
    proto.set_op_type(op);
    for (const char* name : inputs) proto.add_input(name);
    proto.add_output(output);
    return proto;
  };
  const auto integers = [](onnx::NodeProto& proto, const char* name, std::vector<int64_t> values) {
    auto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) attribute.add_ints(value);
  };
  constant("w", 1, {2, 2, 3, 3}, 144);
  constant("i", 7, {1}, 8);
  constant("s", 1, {}, 4);
  constant("one", 7, {1}, 8);
  graph.mutable_initializer(graph.initializer_size() - 1)->set_raw_data(std::string("\1\0\0\0\0\0\0\0", 8));
  constant("z", 2, {}, 1);
  integers(node("Conv", {"x", "w"}, "a"), "pads", {1, 1, 1, 1});
  integers(node("MaxPool", {"a"}, "b"), "kernel_shape", {2, 2});
  node("Shape", {"b"}, "c");
  node("Gather", {"c", "i"}, "d");
  node("Expand", {"s", "d"}, "e");
  node("QuantizeLinear", {"b", "s", "z"}, "f");
  node("DequantizeLinear", {"f", "s", "z"}, "g");
  node("Mul", {"g", "s"}, "h");
  node("Softmax", {"h"}, "y");
  const auto body = [](onnx::NodeProto& owner, const char* name, std::vector<const char*> inputs, std::vector<std::vector<const char*>> nodes,
                       std::vector<const char*> outputs) {
    auto& attribute = *owner.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    for (const char* input : inputs) attribute.mutable_g()->add_input()->set_name(input);
    for (const auto& parts : nodes) {  // operator, result, operands
      auto& proto = *attribute.mutable_g()->add_node();
      proto.set_op_type(parts[0]);
      proto.add_output(parts[1]);
      for (size_t i = 2; i < parts.size(); ++i) proto.add_input(parts[i]);
    }
    for (const char* output : outputs) attribute.mutable_g()->add_output()->set_name(output);
  };
  auto& loop = node("Loop", {"one", "", "h"}, "k");
  loop.add_output("l");
  body(loop, "body", {"n", "go", "v"}, {{"Add", "v2", "v", "s"}, {"Mul", "v3", "v2", "h"}}, {"go", "v2", "v3"});
  node("ReduceMax", {"h"}, "m");
  node("Cast", {"m"}, "q").add_attribute()->set_name("to");
  graph.mutable_node(graph.node_size() - 1)->mutable_attribute(0)->set_i(9);
  node("Reshape", {"q", "one"}, "r");
  auto& choice = node("If", {"r"}, "o");
  body(choice, "then_branch", {}, {{"Relu", "t", "k"}}, {"t"});
  body(choice, "else_branch", {}, {{"Concat", "u", "k", "k"}}, {"u"});
  auto& axis = *choice.mutable_attribute(1)->mutable_g()->mutable_node(0)->add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(0);
  for (const char* name : {"y", "e", "l", "o"}) graph.add_output()->set_name(name);
  return model.SerializeAsString();
}

}  // namespace

int main(int count, char** arguments) {
  double seconds = 60;
  uint64_t seed = 1;
  std::vector<std::string> seeds;
  for (int i = 1; i < count; ++i) {
    if (!std::strcmp(arguments[i], "--seconds") && i + 1 < count) seconds = std::atof(arguments[++i]);
    else if (!std::strcmp(arguments[i], "--seed") && i + 1 < count) seed = std::strtoull(arguments[++i], nullptr, 10);
    else {
      std::ifstream file(arguments[i], std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      if (!file.good() && seeds.back().empty()) {
        std::fprintf(stderr, "cannot read '%s'\n", arguments[i]);
        return 2;
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seeds.back().data()), seeds.back().size());
    }
  }
  if (seeds.empty()) seeds.push_back(built_in_seed());
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0;
  std::string input;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string& start = seeds[random() % seeds.size()];
    if (random() % 3 == 0) {
      input = ingot::mutate_bytes(start, random);
    } else {
      onnx::ModelProto model;
      if (!model.ParseFromString(start)) continue;
      ingot::mutate_model(model, random);
      input = model.SerializeAsString();
    }
    // Left behind by a crash, so that it can be replayed: fuzz_onnx --seconds 0 FILE.
    if (std::getenv("FUZZ_KEEP_INPUT")) std::ofstream("fuzz_onnx.input", std::ios::binary) << input;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  std::printf("%llu runs, seed %llu\n", static_cast<unsigned long long>(runs), static_cast<unsigned long long>(seed));
  return 0;
}
#endif
