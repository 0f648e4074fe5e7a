// What fuzz_onnx starts from when it is given no files: small models that between them reach every part of the importer. Each is
// imported without an error before it is mutated.
#pragma once

#include <string>
#include <vector>

#include "builder/onnx_model_maker.h"

namespace ingot {

// Convolution, shape arithmetic, quantisation, a loop and a branch in one.
inline ModelMaker mixed_seed() {
  ModelMaker m(13);
  m.input("x", {int64_t{1}, int64_t{2}, int64_t{8}, int64_t{8}}).output("y").output("e").output("l").output("o");
  m.constant<float>("w", {2, 2, 3, 3}, std::vector<float>(36, 0.25f)).constant<int64_t>("i", {1}, {1}).constant<float>("s", {}, {0.5f});
  m.constant<int64_t>("one", {1}, {1}).constant<uint8_t>("z", {}, {7});
  m.node("Conv", {"x", "w"}, {"a"}).integers("pads", {1, 1, 1, 1});
  m.node("MaxPool", {"a"}, {"b"}).integers("kernel_shape", {2, 2});
  m.node("Shape", {"b"}, {"c"});
  m.node("Gather", {"c", "i"}, {"d"});
  m.node("Expand", {"s", "d"}, {"e"});
  m.node("QuantizeLinear", {"b", "s", "z"}, {"f"});
  m.node("DequantizeLinear", {"f", "s", "z"}, {"g"});
  m.node("Mul", {"g", "s"}, {"h"});
  m.node("Softmax", {"h"}, {"y"});
  set_body(m.node("Loop", {"one", "", "h"}, {"k", "l"}),
           Body().input("n").input("go").input("v").node("Add", {"v", "s"}, {"v2"}).node("Mul", {"v2", "h"}, {"v3"}).output("go").output("v2").output("v3"));
  m.node("ReduceMax", {"h"}, {"m"});
  m.node("Cast", {"m"}, {"q"}).integer("to", 9);
  m.node("Reshape", {"q", "one"}, {"r"});
  set_branches(m.node("If", {"r"}, {"o"}), Body().node("Relu", {"k"}, {"t"}).output("t"), Body().node("Neg", {"k"}, {"u"}).output("u"));
  return m;
}

// Sequences and optional values, which fold away.
inline ModelMaker sequence_seed() {
  ModelMaker m(18);
  m.input("x", {int64_t{4}, int64_t{3}}).input("v", {int64_t{4}, int64_t{3}}).output("y").output("z");
  m.constant<int64_t>("one", {}, {1}).constant<int64_t>("parts", {2}, {1, 3}).constant<int64_t>("minus", {}, {-1});
  m.node("SplitToSequence", {"x", "parts"}, {"s"}).integer("axis", 0);
  m.node("SequenceConstruct", {"x", "v"}, {"t"});
  m.node("SequenceInsert", {"s", "v", "one"}, {"u"});
  m.node("SequenceErase", {"u", "minus"}, {"e"});
  m.node("SequenceAt", {"e", "one"}, {"a"});
  m.node("SequenceLength", {"u"}, {"n"});
  m.node("ConcatFromSequence", {"t"}, {"c"}).integer("axis", 1);
  m.node("Optional", {"c"}, {"p"});
  m.node("OptionalGetElement", {"p"}, {"g"});
  set_body(m.node("SequenceMap", {"t"}, {"w"}), Body().input("in").node("Relu", {"in"}, {"out"}).output("out"));
  m.node("SequenceAt", {"w", "one"}, {"b"});
  m.node("Add", {"a", "b"}, {"y"});
  m.node("Neg", {"g"}, {"z"});
  return m;
}

// States, scanned and stacked tensors, axes, directions, a bidirectional LSTM.
inline ModelMaker scan_seed() {
  ModelMaker m(16);
  m.input("x", {int64_t{3}, int64_t{5}}).input("z", {int64_t{5}, int64_t{3}}).input("h", {int64_t{3}}).output("p").output("q").output("r");
  m.constant<float>("w", {2, 8, 3}, std::vector<float>(48, 0.5f)).constant<float>("rr", {2, 8, 2}, std::vector<float>(32, 0.25f));
  m.constant<int64_t>("axis", {1}, {1}).constant<int32_t>("lengths", {1}, {4});
  auto scan = m.node("Scan", {"h", "x", "z"}, {"p", "q"});
  set_body(scan, Body().input("a").input("e").input("f").node("Add", {"a", "e"}, {"b"}).node("Mul", {"b", "f"}, {"c"}).output("b").output("c"));
  scan.integer("num_scan_inputs", 2).integers("scan_input_axes", {1, 0}).integers("scan_input_directions", {0, 1}).integers("scan_output_axes", {1});
  m.node("Unsqueeze", {"z", "axis"}, {"u"});
  m.node("LSTM", {"u", "w", "rr", "", "lengths"}, {"r"}).integer("hidden_size", 2).text("direction", "bidirectional");
  return m;
}

// What detectors end in: sizes that depend on data.
inline ModelMaker detection_seed() {
  ModelMaker m(17);
  m.input("boxes", {int64_t{1}, int64_t{20}, int64_t{4}}).input("scores", {int64_t{1}, int64_t{2}, int64_t{20}}).output("y").output("t").output("n");
  m.constant<int64_t>("most", {1}, {5}).constant<float>("iou", {1}, {0.5f}).constant<float>("low", {1}, {0.1f}).constant<int64_t>("two", {1}, {2});
  m.constant<int64_t>("zero", {1}, {0}).constant<int64_t>("three", {1}, {3}).constant<int64_t>("four", {}, {4});
  m.node("NonMaxSuppression", {"boxes", "scores", "most", "iou", "low"}, {"k"});
  m.node("Slice", {"k", "two", "three", "one_axis"}, {"i"});
  m.constant<int64_t>("one_axis", {1}, {1});
  m.node("Squeeze", {"i", "one_axis"}, {"j"});
  m.node("Gather", {"boxes", "j"}, {"b"}).integer("axis", 1);
  m.node("Neg", {"b"}, {"y"});
  m.node("NonZero", {"scores"}, {"z"});
  m.node("Shape", {"z"}, {"n"});
  m.node("TopK", {"scores", "most"}, {"t", "ti"});
  return m;
}

// Sparse and oddly encoded initialisers, an einsum, indexed writes.
inline ModelMaker sparse_seed() {
  ModelMaker m(18);
  m.input("x", {int64_t{3}, int64_t{4}}).output("y").output("s");
  auto& sparse = *m.graph().add_sparse_initializer();
  fill_tensor<float>(*sparse.mutable_values(), {2}, {1.5f, -2});
  sparse.mutable_values()->set_name("w");
  fill_tensor<int64_t>(*sparse.mutable_indices(), {2}, {1, 11});
  sparse.add_dims(4);
  sparse.add_dims(3);
  auto& typed = *m.graph().add_initializer();
  typed.set_name("half");
  typed.set_data_type(10);
  typed.add_dims(2);
  typed.add_int32_data(0x3c00);
  typed.add_int32_data(0x4000);
  m.constant<int64_t>("i", {2, 1}, {2, 0}).constant<float>("u", {2, 3}, {1, 2, 3, 4, 5, 6});
  m.node("Einsum", {"x", "w"}, {"m"}).text("equation", "ij,jk->ik");
  m.node("ScatterND", {"m", "i", "u"}, {"y"}).text("reduction", "add");
  m.node("Cast", {"half"}, {"h"}).integer("to", 1);
  m.node("Resize", {"x", "", "", "sizes"}, {"r"}).text("mode", "linear");
  m.constant<int64_t>("sizes", {2}, {6, 8});
  m.node("ReduceSum", {"r"}, {"t"}).integer("keepdims", 0);
  m.node("Mul", {"t", "h"}, {"s"});
  return m;
}

// Functions of the model's own, one within the other, with an attribute handed on.
inline ModelMaker function_seed() {
  ModelMaker m(17);
  m.set_opset("local", 1);
  m.input("x", {int64_t{2}, int64_t{3}}).output("y");
  const auto function = [&](const char* name) -> onnx::FunctionProto& {
    auto& f = *m.model.add_functions();
    f.set_domain("local");
    f.set_name(name);
    f.add_input("a");
    f.add_output("b");
    f.add_opset_import()->set_version(17);
    auto& own = *f.add_opset_import();
    own.set_domain("local");
    own.set_version(1);
    return f;
  };
  auto& inner = function("Inner");
  inner.add_attribute("slope");
  auto& leaky = *inner.add_node();
  leaky.set_op_type("LeakyRelu");
  leaky.add_input("a");
  leaky.add_output("b");
  auto& slope = *leaky.add_attribute();
  slope.set_name("alpha");
  slope.set_ref_attr_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  auto& outer = function("Outer");
  auto& call = *outer.add_node();
  call.set_op_type("Inner");
  call.set_domain("local");
  call.add_input("a");
  call.add_output("c");
  NodeMaker(call).number("slope", 0.125f);
  auto& sum = *outer.add_node();
  sum.set_op_type("Add");
  sum.add_input("c");
  sum.add_input("a");
  sum.add_output("b");
  m.node("Outer", {"x"}, {"t"}).domain("local");
  m.node("Inner", {"t"}, {"y"}).domain("local").number("slope", 0.5f);
  return m;
}

// Both forms of quantised models, and operators of com.microsoft.
inline ModelMaker quantised_seed() {
  ModelMaker m(21);
  m.input("x", {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{5}}, 2).output("y").output("z");
  m.constant<uint8_t>("w", {4, 2, 3, 3}, std::vector<uint8_t>(72, 130)).constant<float>("s", {}, {0.02f}).constant<uint8_t>("p", {}, {128});
  m.constant<int32_t>("bias", {4}, {1, -2, 3, 4}).constant<float>("sw", {4}, {0.01f, 0.02f, 0.03f, 0.04f});
  m.constant<int8_t>("ws", {8, 4}, std::vector<int8_t>(32, -3)).constant<float>("blocks", {2, 4}, std::vector<float>(8, 0.5f)).constant<int64_t>("flat", {2}, {1, -1});
  m.node("QLinearConv", {"x", "s", "p", "w", "s", "p", "s", "p", "bias"}, {"a"}).integers("pads", {1, 1, 1, 1});
  m.node("QLinearAdd", {"a", "s", "p", "a", "s", "p", "s", "p"}, {"b"}).domain("com.microsoft");
  m.node("QLinearGlobalAveragePool", {"b", "s", "p", "s", "p"}, {"c"}).domain("com.microsoft").integer("channels_last", 0);
  m.node("DequantizeLinear", {"c", "s", "p"}, {"d"});
  m.node("Reshape", {"d", "flat"}, {"e"});
  m.node("DequantizeLinear", {"ws", "blocks"}, {"f"}).integer("axis", 0).integer("block_size", 4);
  m.node("Transpose", {"f"}, {"g"});
  m.node("MatMul", {"e", "g"}, {"y"});
  m.node("DynamicQuantizeLinear", {"e"}, {"h", "hs", "hp"});
  m.node("ConvInteger", {"x", "w", "p", "p"}, {"i"});
  m.node("ReduceMax", {"i"}, {"j"}).integer("keepdims", 0);
  m.node("Add", {"j", "j"}, {"z"});
  return m;
}

inline std::vector<std::string> seed_models() {
  std::vector<std::string> seeds;
  for (const ModelMaker& maker : {mixed_seed(), sequence_seed(), scan_seed(), detection_seed(), sparse_seed(), function_seed(), quantised_seed()})
    seeds.push_back(maker.bytes());
  return seeds;
}

}  // namespace ingot
