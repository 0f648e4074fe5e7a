// Every element type in every encoding, from the model's bytes to the result of a run; integers of 64 bits stay integers.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "builder/onnx/tensor_proto.h"
#include "guarded_build.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// The first output of a run of the built model. `name`: of the file, where external data lies beside it.
std::vector<std::byte> run_file(const std::string& path, const std::vector<NamedTensor>& feed, bool optimize = true) {
  BuildOptions options;
  options.tune = false;
  options.optimize = optimize;
  auto engine = build_and_load(path, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) return {};
  auto context = engine->create_context();
  EXPECT_TRUE(context.ok());
  const TensorInfo output = engine->outputs()[0];
  const Buffer buffer = context->output_buffer(output.name);
  const Status fed = feed.empty() ? Status() : feed_sample(*context, *engine, feed);
  EXPECT_TRUE(fed.ok()) << fed.message();
  const Status status = context->run();
  EXPECT_TRUE(status.ok()) << status.message();
  const auto* begin = static_cast<const std::byte*>(buffer.data);
  return {begin, begin + static_cast<size_t>(context->shape(output.name)->elements()) * element_bytes(output.dtype)};
}
std::vector<std::byte> run(const ModelMaker& model, const std::vector<NamedTensor>& feed = {}, bool optimize = true) {
  const ScratchFolder folder;
  return run_file(folder.write("model.onnx", model.bytes()), feed, optimize);
}

struct Encoded {
  int type;
  std::vector<int64_t> field;     // what the typed field holds; of 4 and 2 bits the packed bytes
  std::string raw;                // what raw_data holds
  std::vector<std::byte> values;  // one element after the other, as Ingot stores them
};

template <class T>
Encoded plain(int type, const std::vector<T>& values) {
  Encoded encoded{type, {}, {}, bytes_of(values)};
  for (T value : values) encoded.field.push_back(static_cast<int64_t>(value));
  encoded.raw.assign(reinterpret_cast<const char*>(encoded.values.data()), encoded.values.size());
  return encoded;
}
Encoded packed(int type, const std::vector<uint8_t>& stored, const std::vector<int8_t>& values) {
  Encoded encoded{type, {}, {}, bytes_of(values)};
  for (uint8_t byte : stored) encoded.field.push_back(byte);
  encoded.raw.assign(stored.begin(), stored.end());
  return encoded;
}

std::vector<Encoded> all_encodings() {
  return {plain<uint8_t>(2, {0, 1, 255}),
          plain<int8_t>(3, {-128, 0, 127}),
          plain<uint16_t>(4, {0, 1, 65535}),
          plain<int16_t>(5, {-32768, 0, 32767}),
          plain<int32_t>(6, {INT32_MIN, 0, INT32_MAX}),
          plain<int64_t>(7, {INT64_MIN, 0, (int64_t{1} << 53) + 1, INT64_MAX}),
          plain<uint8_t>(9, {0, 1, 1}),
          plain<uint16_t>(10, {0x3C00, 0xBC00, 0x7C00}),
          plain<uint32_t>(12, {0, 1, UINT32_MAX}),
          plain<uint64_t>(13, {0, 1, UINT64_MAX}),
          plain<uint16_t>(16, {0x3F80, 0xBF80, 0x7F80}),
          plain<uint8_t>(17, {0x38, 0xB8, 0x7E}),
          plain<uint8_t>(18, {0x40, 0xC0, 0x7F}),
          plain<uint8_t>(19, {0x3C, 0xBC, 0x7B}),
          plain<uint8_t>(20, {0x40, 0xC0, 0x7F}),
          plain<uint8_t>(24, {0x7F, 0x80, 0}),
          packed(21, {0x8F, 0x07}, {15, 8, 7}),
          packed(22, {0x8F, 0x07}, {-1, -8, 7}),
          packed(23, {0x21, 0x0F}, {1, 2, 15}),
          packed(25, {0xE4, 0x01}, {0, 1, 2, 3, 1}),
          packed(26, {0xE4, 0x01}, {0, 1, -2, -1, 1})};
}

onnx::TensorProto tensor_of(const Encoded& encoded, bool typed) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(encoded.type);
  const size_t size = element_bytes(*data_type_from_onnx(encoded.type));
  tensor.add_dims(static_cast<int64_t>(encoded.values.size() / size));
  if (!typed) tensor.set_raw_data(encoded.raw);
  for (int64_t value : encoded.field) {
    if (!typed) break;
    if (encoded.type == 7) tensor.add_int64_data(value);
    else if (encoded.type == 12 || encoded.type == 13) tensor.add_uint64_data(static_cast<uint64_t>(value));
    else tensor.add_int32_data(static_cast<int32_t>(value));
  }
  return tensor;
}

TEST(ImportTypes, EveryTypeInEveryEncodingReachesTheResult) {
  for (const Encoded& encoded : all_encodings())
    for (bool typed : {false, true})
      for (bool as_node : {false, true}) {
        SCOPED_TRACE("type " + std::to_string(encoded.type) + (typed ? ", typed field" : ", raw_data"));
        ModelMaker model(21);
        model.output("y");
        if (as_node) {
          *model.node("Constant", {}, {"w"}).attribute("value", onnx::AttributeProto::TENSOR).mutable_t() = tensor_of(encoded, typed);
        } else {
          *model.graph().add_initializer() = tensor_of(encoded, typed);
        }
        model.node("Identity", {"w"}, {"y"});
        EXPECT_EQ(run(model), encoded.values);
      }
}

TEST(ImportTypes, FloatsInBothEncodings) {
  for (bool typed : {false, true}) {
    ModelMaker model(21);
    model.output("y").node("Identity", {"w"}, {"y"});
    auto& tensor = *model.graph().add_initializer();
    tensor.set_name("w");
    fill_tensor<double>(tensor, {2}, {0.1, -1e300});
    if (typed) {
      tensor.clear_raw_data();
      for (double value : {0.1, -1e300}) tensor.add_double_data(value);
    }
    EXPECT_EQ(values_of<double>(run(model)), (std::vector<double>{0.1, -1e300}));
    fill_tensor<float>(tensor, {}, {0.1f, -1e30f});
    if (typed) {
      tensor.clear_raw_data();
      tensor.clear_double_data();
      for (float value : {0.1f, -1e30f}) tensor.add_float_data(value);
    }
    EXPECT_EQ(values_of<float>(run(model)), (std::vector<float>{0.1f, -1e30f}));
  }
}

// A field wider than the element type may hold what does not fit: nothing is cut off silently.
TEST(ImportTypes, ValuesThatDoNotFitAreRefused) {
  const std::pair<int, int32_t> wrong[] = {{2, 256}, {2, -1}, {3, 128}, {3, -129}, {4, 65536}, {4, -1}, {5, 32768}, {9, 2}, {10, 65536}, {16, -32769},
                                           {17, 256}, {21, 256}, {22, -129}};
  for (const auto& [type, value] : wrong) {
    onnx::TensorProto tensor;
    tensor.set_data_type(type);
    tensor.add_dims(type == 21 || type == 22 ? 2 : 1);
    tensor.add_int32_data(value);
    const auto content = read_tensor(tensor, {}, "tensor");
    if (type == 9) {
      EXPECT_TRUE(content.ok());  // any number but 0 is true
      continue;
    }
    ASSERT_FALSE(content.ok()) << type << " " << value;
    EXPECT_NE(content.status().message().find("element 0 does not fit"), std::string::npos) << content.status().message();
  }
  onnx::TensorProto wide;
  wide.set_data_type(12);
  wide.add_dims(1);
  wide.add_uint64_data(uint64_t{1} << 32);
  EXPECT_FALSE(read_tensor(wide, {}, "tensor").ok());
}

TEST(ImportTypes, NodesWithPlainValues) {
  const auto constant = [](auto fill) {
    ModelMaker model(13);
    model.output("y");
    NodeMaker node = model.node("Constant", {}, {"y"});
    fill(node);
    return run(model);
  };
  EXPECT_EQ(values_of<float>(constant([](NodeMaker& n) { n.number("value_float", 1.5f); })), (std::vector<float>{1.5f}));
  EXPECT_EQ(values_of<float>(constant([](NodeMaker& n) { n.numbers("value_floats", {1.5f, 2}); })), (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(values_of<int64_t>(constant([](NodeMaker& n) { n.integer("value_int", INT64_MIN); })), (std::vector<int64_t>{INT64_MIN}));
  EXPECT_EQ(values_of<int64_t>(constant([](NodeMaker& n) { n.integers("value_ints", {INT64_MAX, 3}); })), (std::vector<int64_t>{INT64_MAX, 3}));
  EXPECT_TRUE(constant([](NodeMaker& n) { n.integers("value_ints", {}); }).empty());
}

onnx::SparseTensorProto sparse(std::initializer_list<int64_t> dims, const std::vector<float>& values, std::initializer_list<int64_t> index_dims,
                               const std::vector<int64_t>& indices) {
  onnx::SparseTensorProto proto;
  fill_tensor<float>(*proto.mutable_values(), {static_cast<int64_t>(values.size())}, values);
  proto.mutable_values()->set_name("w");
  fill_tensor<int64_t>(*proto.mutable_indices(), index_dims, indices);
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(ImportTypes, SparseTensors) {
  const auto result = [](const onnx::SparseTensorProto& proto, bool as_node) {
    ModelMaker model(13);
    model.output("y");
    if (as_node) *model.node("Constant", {}, {"w"}).attribute("sparse_value", onnx::AttributeProto::SPARSE_TENSOR).mutable_sparse_tensor() = proto;
    else *model.graph().add_sparse_initializer() = proto;
    model.node("Identity", {"w"}, {"y"});
    return values_of<float>(run(model));
  };
  for (bool as_node : {false, true}) {
    EXPECT_EQ(result(sparse({2, 3}, {5, 7}, {2}, {1, 5}), as_node), (std::vector<float>{0, 5, 0, 0, 0, 7}));
    EXPECT_EQ(result(sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2}), as_node), (std::vector<float>{0, 5, 0, 0, 0, 7}));
    EXPECT_EQ(result(sparse({2, 3}, {7, 5}, {2}, {5, 1}), as_node), (std::vector<float>{0, 5, 0, 0, 0, 7}));  // in any order
    EXPECT_EQ(result(sparse({2, 2}, {}, {0}, {}), as_node), (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(result(sparse({0, 2}, {}, {0, 2}, {}), as_node), (std::vector<float>{}));
  }
}

TEST(ImportTypes, SparseTensorsThatAreMalformed) {
  const auto error = [](const onnx::SparseTensorProto& proto) {
    const auto content = read_sparse_tensor(proto, {}, "t");
    EXPECT_FALSE(content.ok());
    return content.ok() ? std::string() : std::string(content.status().message());
  };
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)
  EXPECT_HAS(error(sparse({2, 3}, {5, 7}, {2}, {1, 1})), "place 1 twice");
  EXPECT_HAS(error(sparse({2, 3}, {5, 7, 8}, {3}, {4, 1, 4})), "place 4 twice");
  EXPECT_HAS(error(sparse({2, 3}, {5, 7}, {2, 2}, {1, 0, 1, 0})), "place 3 twice");
  EXPECT_HAS(error(sparse({2, 3}, {5}, {1}, {6})), "index out of range: got 6");
  EXPECT_HAS(error(sparse({2, 3}, {5}, {1}, {-1})), "index out of range: got -1");
  EXPECT_HAS(error(sparse({2, 3}, {5}, {1, 2}, {0, 3})), "index out of range: got 3");
  EXPECT_HAS(error(sparse({2, 3}, {5}, {1, 3}, {0, 0, 0})), "indices of a wrong shape: got 1x3");
  EXPECT_HAS(error(sparse({2, 3}, {5, 6}, {1}, {0})), "indices of a wrong shape: got 1, need 2");
  EXPECT_HAS(error(sparse({2, -3}, {5}, {1}, {0})), "dims make no sense");
  EXPECT_HAS(error(sparse({0}, {5}, {1}, {0})), "index out of range: got 0");
  auto narrow = sparse({2, 3}, {5}, {1}, {0});
  fill_tensor<int32_t>(*narrow.mutable_indices(), {}, {0});
  EXPECT_HAS(error(narrow), "need values of rank 1 and int64 indices");
}

// Each model version that there is, and one to come.
TEST(ImportTypes, ModelVersions) {
  for (int64_t version : {3, 4, 7, 8, 9, 10, 11, 12, 13, 99}) {
    ModelMaker model(13);
    model.model.set_ir_version(version);
    model.input("x", {int64_t{2}}).output("y").constant<float>("w", {2}, {1, 2}).node("Add", {"x", "w"}, {"y"});
    EXPECT_EQ(values_of<float>(run(model, {{"x", DataType::kF32, {2}, bytes_of<float>({3, 4})}})), (std::vector<float>{4, 6})) << version;
  }
}

// IR 3 lists weights among the inputs; later versions do for those that a caller may override: Ingot takes the default.
TEST(ImportTypes, InitialisersAmongTheInputs) {
  ModelMaker model(13);
  model.model.set_ir_version(3);
  model.input("w", {int64_t{2}}).input("x", {int64_t{2}}).output("y").constant<float>("w", {2}, {1, 2}).node("Add", {"x", "w"}, {"y"});
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(graph->value(graph->inputs()[0]).name, "x");
  EXPECT_EQ(values_of<float>(run(model, {{"x", DataType::kF32, {2}, bytes_of<float>({3, 4})}})), (std::vector<float>{4, 6}));
  ModelMaker other(13);
  other.input("w", {int64_t{3}}).output("y").constant<float>("w", {2}, {1, 2}).node("Neg", {"w"}, {"y"});
  const auto refused = other.import();
  ASSERT_FALSE(refused.ok());
  EXPECT_HAS(std::string(refused.status().message()), "initialiser 'w': differs from the input of its name: got f32[2], need f32[3]");
}

// Weights behind 2 GiB of a file that is all hole, so that it costs nothing.
TEST(ImportTypes, ExternalDataBeyondTwoGigabytes) {
  const ScratchFolder folder;
  const int64_t offset = (int64_t{5} << 30) + 64;
  {
    std::ofstream file(folder.path() / "w.bin", std::ios::binary);
    file.seekp(offset);
    const float values[2] = {1.5f, -2};
    file.write(reinterpret_cast<const char*>(values), sizeof values);
    ASSERT_TRUE(file.good());
  }
  ModelMaker model(13);
  model.input("x", {int64_t{2}}).output("y").node("Add", {"x", "w"}, {"y"});
  auto& tensor = *model.graph().add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "w.bin"}, {"offset", std::to_string(offset)}, {"length", "8"}}) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  const std::string path = folder.write("net.onnx", model.bytes());
  EXPECT_EQ(values_of<float>(run_file(path, {{"x", DataType::kF32, {2}, bytes_of<float>({1, 1})}})), (std::vector<float>{2.5f, -1}));
}

// 2^53 + 1 is no double: what went through one would be off by one. At run time and folded.
TEST(ImportTypes, Int64IsComputedAsInt64) {
  constexpr int64_t kBig = (int64_t{1} << 53) + 1;
  const auto binary = [](const char* op, int64_t a, int64_t b, bool fed) {
    ModelMaker model(18);
    model.output("y");
    std::vector<NamedTensor> feed;
    for (const auto& [name, value] : {std::pair<const char*, int64_t>{"a", a}, {"b", b}}) {
      if (fed) {
        model.input(name, {int64_t{1}}, 7);
        feed.push_back({name, DataType::kS64, {1}, bytes_of<int64_t>({value})});
      } else {
        model.constant<int64_t>(name, {1}, {value});
      }
    }
    model.node(op, {"a", "b"}, {"y"});
    return run(model, feed);
  };
  for (bool fed : {true, false}) {
    SCOPED_TRACE(fed ? "run" : "folded");
    const auto number = [&](const char* op, int64_t a, int64_t b) { return values_of<int64_t>(binary(op, a, b, fed)).at(0); };
    EXPECT_EQ(number("Add", kBig, 1), kBig + 1);
    EXPECT_EQ(number("Sub", kBig, 1), kBig - 1);
    EXPECT_EQ(number("Mul", kBig, 3), kBig * 3);
    EXPECT_EQ(number("Div", kBig * 3, 3), kBig);
    EXPECT_EQ(number("Div", -7, 2), -3);
    EXPECT_EQ(number("Mod", kBig, 1000), kBig % 1000);
    EXPECT_EQ(number("Max", kBig, kBig - 1), kBig);
    EXPECT_EQ(number("Min", kBig, kBig - 1), kBig - 1);
    EXPECT_EQ(number("Sum", kBig, 1), kBig + 1);
    EXPECT_EQ(number("Add", INT64_MAX, 1), INT64_MIN);  // wraps
    EXPECT_EQ(number("BitwiseXor", kBig, 1), kBig ^ 1);
    const auto truth = [&](const char* op, int64_t a, int64_t b) { return values_of<uint8_t>(binary(op, a, b, fed)).at(0); };
    EXPECT_EQ(truth("Equal", kBig, kBig - 1), 0);
    EXPECT_EQ(truth("Less", kBig - 1, kBig), 1);
    EXPECT_EQ(truth("GreaterOrEqual", kBig - 1, kBig), 0);
  }
}

TEST(ImportTypes, Int64StaysItselfInOtherOperators) {
  constexpr int64_t kBig = (int64_t{1} << 53) + 1;
  const auto with = [](std::vector<int64_t> x, const std::function<void(ModelMaker&)>& nodes, bool optimize = true) {
    ModelMaker model(18);
    model.input("x", {static_cast<int64_t>(x.size())}, 7).output("y");
    nodes(model);
    return values_of<int64_t>(run(model, {{"x", DataType::kS64, {static_cast<int64_t>(x.size())}, bytes_of(x)}}, optimize));
  };
  for (bool optimize : {true, false}) {
    using List = std::vector<int64_t>;
    const List x = {kBig, -kBig, 3};
    const auto one = [&](const char* op) { return with(x, [&](ModelMaker& m) { m.node(op, {"x"}, {"y"}); }, optimize); };
    EXPECT_EQ(one("Abs"), (List{kBig, kBig, 3}));
    EXPECT_EQ(one("Neg"), (List{-kBig, kBig, -3}));
    EXPECT_EQ(one("Sign"), (List{1, -1, 1}));
    EXPECT_EQ(one("Identity"), x);
    EXPECT_EQ(one("Relu"), (List{kBig, 0, 3}));
    const auto reduce = [&](const char* op) { return with({kBig, 1}, [&](ModelMaker& m) { m.node(op, {"x"}, {"y"}).integer("keepdims", 0); }, optimize); };
    EXPECT_EQ(reduce("ReduceSum"), (List{kBig + 1}));
    EXPECT_EQ(reduce("ReduceMax"), (List{kBig}));
    EXPECT_EQ(reduce("ReduceMin"), (List{1}));
    EXPECT_EQ(reduce("ReduceProd"), (List{kBig}));
    EXPECT_EQ(reduce("ReduceL1"), (List{kBig + 1}));
    const auto clip = with(x, [](ModelMaker& m) { m.constant<int64_t>("l", {}, {-kBig + 1}).constant<int64_t>("h", {}, {kBig - 1}).node("Clip", {"x", "l", "h"}, {"y"}); }, optimize);
    EXPECT_EQ(clip, (List{kBig - 1, -kBig + 1, 3}));
    const auto sum = with({kBig, 1, 1}, [](ModelMaker& m) { m.constant<int64_t>("a", {}, {0}).node("CumSum", {"x", "a"}, {"y"}); }, optimize);
    EXPECT_EQ(sum, (List{kBig, kBig + 1, kBig + 2}));
    const auto top = with({kBig - 1, kBig, 0}, [](ModelMaker& m) { m.constant<int64_t>("k", {1}, {1}).node("TopK", {"x", "k"}, {"y", "i"}); }, optimize);
    EXPECT_EQ(top, (List{kBig}));
    const auto where = with(x, [](ModelMaker& m) { m.node("Equal", {"x", "x"}, {"c"}); m.node("Where", {"c", "x", "x"}, {"y"}); }, optimize);
    EXPECT_EQ(where, x);
    const auto cast = with({kBig, -1}, [](ModelMaker& m) { m.node("Cast", {"x"}, {"u"}).integer("to", 13); m.node("Cast", {"u"}, {"y"}).integer("to", 7); }, optimize);
    EXPECT_EQ(cast, (List{kBig, -1}));
    const auto scatter = with({1, 2}, [](ModelMaker& m) {
      m.constant<int64_t>("i", {1}, {0}).constant<int64_t>("u", {1}, {kBig}).node("ScatterElements", {"x", "i", "u"}, {"y"}).text("reduction", "add");
    }, optimize);
    EXPECT_EQ(scatter, (List{kBig + 1, 2}));
    const auto pad = with({1}, [](ModelMaker& m) { m.constant<int64_t>("p", {2}, {1, 0}).constant<int64_t>("v", {}, {kBig}).node("Pad", {"x", "p", "v"}, {"y"}); }, optimize);
    EXPECT_EQ(pad, (List{kBig, 1}));
    const auto filled = with({2}, [](ModelMaker& m) {
      fill_tensor<int64_t>(*m.node("ConstantOfShape", {"s"}, {"c"}).attribute("value", onnx::AttributeProto::TENSOR).mutable_t(), {1}, {kBig});
      m.constant<int64_t>("s", {1}, {1}).node("Add", {"x", "c"}, {"y"});
    }, optimize);
    EXPECT_EQ(filled, (List{kBig + 2}));
    const auto matmul = with({kBig, 1}, [](ModelMaker& m) { m.constant<int64_t>("w", {2, 1}, {1, 1}).node("MatMul", {"x", "w"}, {"y"}); }, optimize);
    EXPECT_EQ(matmul, (List{kBig + 1}));
    const auto range = with({kBig}, [](ModelMaker& m) {
      m.constant<int64_t>("a", {}, {kBig}).constant<int64_t>("b", {}, {kBig + 1}).constant<int64_t>("d", {}, {1});
      m.node("Range", {"a", "b", "d"}, {"r"});
      m.node("Sub", {"r", "x"}, {"y"});
    }, optimize);
    EXPECT_EQ(range, (List{0}));
  }
}

// Basic arithmetic on doubles is rounded once, so it is the same everywhere.
TEST(ImportTypes, DoublesAreComputedAsDoubles) {
  const std::vector<double> a = {1.0, 0.1, -1e300, 2.0}, b = {1e-12, 3.0, 1e290, 7.0};
  const auto binary = [&](const char* op) {
    ModelMaker model(18);
    model.input("a", {int64_t{4}}, 11).input("b", {int64_t{4}}, 11).output("y").node(op, {"a", "b"}, {"y"});
    return values_of<double>(run(model, {{"a", DataType::kF64, {4}, bytes_of(a)}, {"b", DataType::kF64, {4}, bytes_of(b)}}));
  };
  const auto expect = [&](const char* op, auto function) {
    const std::vector<double> y = binary(op);
    ASSERT_EQ(y.size(), a.size());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], function(a[i], b[i])) << op;
  };
  expect("Add", [](double p, double q) { return p + q; });
  expect("Sub", [](double p, double q) { return p - q; });
  expect("Mul", [](double p, double q) { return p * q; });
  expect("Div", [](double p, double q) { return p / q; });
  expect("Max", [](double p, double q) { return std::max(p, q); });
  ModelMaker root(18);
  root.input("a", {int64_t{4}}, 11).output("y").node("Abs", {"a"}, {"p"});
  root.node("Sqrt", {"p"}, {"y"});
  const auto roots = values_of<double>(run(root, {{"a", DataType::kF64, {4}, bytes_of(a)}}));
  ASSERT_EQ(roots.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(roots[i], std::sqrt(std::abs(a[i])));
  ModelMaker product(18);
  product.input("a", {int64_t{1}, int64_t{4}}, 11).output("y").constant<double>("w", {4, 1}, {1, 0, 0, 1e-15}).node("MatMul", {"a", "w"}, {"y"});
  const auto dot = values_of<double>(run(product, {{"a", DataType::kF64, {1, 4}, bytes_of(a)}}));
  ASSERT_EQ(dot.size(), 1u);
  EXPECT_EQ(dot[0], 1.0 + 2e-15);
}

// One operator of each kind in half precision: built, verified against the reference and run.
TEST(ImportTypes, HalfPrecisionNetworks) {
  for (int type : {10, 16}) {
    SCOPED_TRACE(type);
    const std::string one = type == 10 ? std::string("\0\x3c", 2) : std::string("\x80\x3f", 2);
    ModelMaker model(17);
    model.input("x", {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{4}}, type).output("y");
    const auto constant = [&](const char* name, std::initializer_list<int64_t> dims, int count) {
      auto& tensor = *model.graph().add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(type);
      for (int64_t dim : dims) tensor.add_dims(dim);
      std::string raw;
      for (int i = 0; i < count; ++i) raw += one;
      tensor.set_raw_data(raw);
    };
    constant("w", {2, 2, 1, 1}, 4);
    constant("s", {2}, 2);
    constant("m", {4, 4}, 16);
    model.node("Conv", {"x", "w", "s"}, {"a"});                       // 2 + 1
    model.node("BatchNormalization", {"a", "s", "s", "s", "s"}, {"b"}).number("epsilon", 0);  // 3 − 1 + 1
    model.node("Relu", {"b"}, {"c"});
    model.node("MaxPool", {"c"}, {"d"}).integers("kernel_shape", {1, 1});
    model.node("MatMul", {"d", "m"}, {"e"});                          // 12
    model.node("ReduceMean", {"e"}, {"f"}).integers("axes", {2, 3});
    model.node("Softmax", {"f"}, {"g"}).integer("axis", 1);           // 1/2
    model.node("Div", {"f", "g"}, {"h"});                             // 24
    model.node("Cast", {"h"}, {"y"}).integer("to", 1);
    std::string x;
    for (int i = 0; i < 32; ++i) x += one;
    const auto dtype = data_type_from_onnx(type);
    const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(x.data()), reinterpret_cast<const std::byte*>(x.data()) + x.size());
    for (bool optimize : {true, false})
      EXPECT_EQ(values_of<float>(run(model, {{"x", *dtype, {1, 2, 4, 4}, bytes}}, optimize)), (std::vector<float>{24, 24}));
  }
}

// 0, 1 and 2 are in every type but float8e8m0, which has no 0.
TEST(ImportTypes, CastsBetweenAllTypes) {
  std::vector<int> types;
  for (int type = 1; type <= 26; ++type)
    if (data_type_from_onnx(type).ok()) types.push_back(type);
  ASSERT_EQ(types.size(), 23u);
  for (int from : types)
    for (int to : types) {
      SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to));
      ModelMaker model(25);
      model.input("x", {int64_t{2}}).output("y").node("Cast", {"x"}, {"a"}).integer("to", from);
      model.node("Cast", {"a"}, {"b"}).integer("to", to);
      model.node("Cast", {"b"}, {"y"}).integer("to", 1);
      EXPECT_EQ(values_of<float>(run(model, {{"x", DataType::kF32, {2}, bytes_of<float>({1, 1})}})), (std::vector<float>{1, 1}));
    }
}

// Small types are storage: quantised, kept, and read back.
TEST(ImportTypes, QuantisedStorage) {
  for (int type : {2, 3, 4, 5, 17, 18, 19, 20, 21, 22, 23, 25, 26}) {
    SCOPED_TRACE(type);
    ModelMaker model(25);
    model.input("x", {int64_t{2}}).output("y").constant<float>("s", {}, {0.5f});
    auto& zero = *model.graph().add_initializer();
    zero.set_name("z");
    zero.set_data_type(type);
    zero.add_int32_data(0);
    model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
    for (bool optimize : {true, false})
      EXPECT_EQ(values_of<float>(run(model, {{"x", DataType::kF32, {2}, bytes_of<float>({0.5f, 0})}}, optimize)), (std::vector<float>{0.5f, 0}));
  }
}

// An output that is an input, or a weight, or is there under two names.
TEST(ImportTypes, OutputsThatNoNodeMakes) {
  ModelMaker model(18);
  model.input("x", {int64_t{2}}).output("x").output("w").output("y").output("z").constant<float>("w", {2}, {5, 6});
  model.node("Identity", {"w"}, {"y"});
  model.node("Identity", {"x"}, {"z"});
  const ScratchFolder folder;
  for (bool optimize : {true, false}) {
    BuildOptions options;
    options.tune = false;
    options.optimize = optimize;
    auto engine = build_and_load(folder.write("model.onnx", model.bytes()), options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    std::vector<std::string> names;
    for (const TensorInfo& output : engine->outputs()) names.push_back(output.name);
    EXPECT_EQ(names, (std::vector<std::string>{"x", "w", "y", "z"}));
    auto context = engine->create_context();
    ASSERT_TRUE(context.ok());
    std::vector<Buffer> buffers;
    for (const std::string& name : names) buffers.push_back(context->output_buffer(name));
    const std::vector<NamedTensor> feed = {{"x", DataType::kF32, {2}, bytes_of<float>({1, 2})}};
    ASSERT_TRUE(feed_sample(*context, *engine, feed).ok());
    const Status status = context->run();
    ASSERT_TRUE(status.ok()) << status.message();
    const float expected[4][2] = {{1, 2}, {5, 6}, {5, 6}, {1, 2}};
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::memcmp(buffers[i].data, expected[i], 8), 0) << names[i];
  }
}

}  // namespace
}  // namespace ingot
