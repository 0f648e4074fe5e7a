// The own TensorProto reader and writer against protobuf's.
#include "data/tensor_proto.h"

#include <gtest/gtest.h>

#include "fixtures.h"
#include "onnx/onnx.pb.h"

namespace ingot {
namespace {

constexpr int kOnnxTypes[] = {1, 10, 16, 11, 3, 2, 5, 4, 6, 12, 7, 13, 9, 22, 21, 17, 19, 18, 20, 24, 23, 26, 25};  // in the order of DataType

Expected<NamedTensor> parse(const onnx::TensorProto& proto) {
  return parse_tensor_proto(bytes_of(proto.SerializeAsString()), "x.pb");
}

onnx::TensorProto proto_of(int type, std::initializer_list<int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_data_type(type);
  for (const int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

TEST(TensorProto, WritesWhatProtobufReads) {
  std::mt19937 random(1);
  for (int i = 0; i < kDataTypeCount; ++i) {
    const DataType type = static_cast<DataType>(i);
    const NamedTensor tensor = random_tensor("имя", type, {1, 3, 5}, random);
    const std::vector<std::byte> bytes = write_tensor_proto(tensor);
    onnx::TensorProto proto;
    ASSERT_TRUE(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    EXPECT_EQ(proto.name(), "имя");
    EXPECT_EQ(proto.data_type(), kOnnxTypes[i]);
    EXPECT_EQ(proto.dims_size(), 3);
    if (packed_bits(type) >= 8) {
      ASSERT_EQ(proto.raw_data().size(), tensor.data.size());
      EXPECT_EQ(std::memcmp(proto.raw_data().data(), tensor.data.data(), tensor.data.size()), 0);
    } else {
      EXPECT_EQ(proto.raw_data().size(), packed_bits(type) == 4 ? 8u : 4u);
    }
    const auto back = parse_tensor_proto(bytes, "x.pb");
    ASSERT_TRUE(back.ok()) << back.status().message();
    expect_equal(tensor, *back);
  }
}

TEST(TensorProto, ReadsEveryTypedEncoding) {
  onnx::TensorProto f = proto_of(1, {2});
  f.add_float_data(1.5f), f.add_float_data(-2);
  expect_equal(*parse(f), make_tensor<float>("", DataType::kF32, {2}, {1.5f, -2}));
  onnx::TensorProto d = proto_of(11, {1});
  d.add_double_data(0.1);
  expect_equal(*parse(d), make_tensor<double>("", DataType::kF64, {1}, {0.1}));
  onnx::TensorProto l = proto_of(7, {2});
  l.add_int64_data(-5), l.add_int64_data(INT64_MAX);
  expect_equal(*parse(l), make_tensor<int64_t>("", DataType::kS64, {2}, {-5, INT64_MAX}));
  onnx::TensorProto u = proto_of(13, {1}), u32 = proto_of(12, {1});
  u.add_uint64_data(UINT64_MAX), u32.add_uint64_data(UINT32_MAX);
  expect_equal(*parse(u), make_tensor<uint64_t>("", DataType::kU64, {1}, {UINT64_MAX}));
  expect_equal(*parse(u32), make_tensor<uint32_t>("", DataType::kU32, {1}, {UINT32_MAX}));
  const auto ints = [](int type) {
    onnx::TensorProto proto = proto_of(type, {3});
    for (const int v : {1, -2, 77}) proto.add_int32_data(v);
    return parse(proto);
  };
  expect_equal(*ints(6), make_tensor<int32_t>("", DataType::kS32, {3}, {1, -2, 77}));
  expect_equal(*ints(5), make_tensor<int16_t>("", DataType::kS16, {3}, {1, -2, 77}));
  expect_equal(*ints(3), make_tensor<int8_t>("", DataType::kS8, {3}, {1, -2, 77}));
  expect_equal(*ints(2), make_tensor<uint8_t>("", DataType::kU8, {3}, {1, 254, 77}));
  expect_equal(*ints(4), make_tensor<uint16_t>("", DataType::kU16, {3}, {1, 65534, 77}));
  expect_equal(*ints(10), make_tensor<uint16_t>("", DataType::kF16, {3}, {1, 65534, 77}));
  expect_equal(*ints(16), make_tensor<uint16_t>("", DataType::kBF16, {3}, {1, 65534, 77}));
  expect_equal(*ints(9), make_tensor<uint8_t>("", DataType::kBool, {3}, {1, 1, 1}));
  onnx::TensorProto four = proto_of(22, {3});
  four.add_int32_data(0x7f), four.add_int32_data(0x08);  // −1, 7, −8
  expect_equal(*parse(four), make_tensor<int8_t>("", DataType::kS4, {3}, {-1, 7, -8}));
  onnx::TensorProto scalar = proto_of(1, {});
  scalar.add_float_data(3);
  expect_equal(*parse(scalar), make_tensor<float>("", DataType::kF32, {}, {3}));
  // Unpacked repeated fields, as old writers store them: float_data twice, dims in one block.
  const std::string unpacked("\x0a\x01\x02\x10\x01\x25\0\0\x80\x3f\x25\0\0\0\x40", 15);
  expect_equal(*parse_tensor_proto(bytes_of(unpacked), "x"), make_tensor<float>("", DataType::kF32, {2}, {1, 2}));
}

TEST(TensorProto, RefusesWithAReason) {
  const auto message = [](const onnx::TensorProto& proto) { return std::string(parse(proto).status().message()); };
  onnx::TensorProto wrong = proto_of(1, {2, 2});
  wrong.set_raw_data("123");
  EXPECT_EQ(message(wrong), "x.pb: data does not match shape 2x2: got 3 bytes, need 16");
  EXPECT_EQ(message(proto_of(6, {3})), "x.pb: data does not match shape 3: got 0 values, need 3");
  EXPECT_EQ(message(proto_of(8, {1})), "x.pb: string tensors are not supported");
  EXPECT_EQ(message(proto_of(14, {1})), "x.pb: element type not supported: got ONNX type 14");
  EXPECT_EQ(message(proto_of(1, {-1})),
            "x.pb: impossible shape: got a negative or overflowing size, need a shape that fits the file");
  onnx::TensorProto external = proto_of(1, {1});
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(message(external), "x.pb: tensor keeps its data in another file; store it inside");
  EXPECT_EQ(parse_tensor_proto(bytes_of("hello"), "x.pb").status().message(),
            "x.pb: not an ONNX TensorProto: the wire format is damaged");
  EXPECT_EQ(parse_tensor_proto({}, "x.pb").status().message(), "x.pb: not an ONNX TensorProto: no data type");
}

TEST(TensorProto, MutatedFilesNeverCrashAndAgreeWithProtobuf) {
  std::mt19937 random(2);
  onnx::TensorProto typed = proto_of(6, {2, 3});
  for (int i = 0; i < 6; ++i) typed.add_int32_data(i * 1000 - 500);
  typed.set_name("t");
  onnx::TensorProto raw = proto_of(1, {1, 4});
  raw.set_raw_data(std::string(16, 'r'));
  int accepted = 0;
  for (int round = 0; round < 60000; ++round) {
    const std::string bad = mutated((round % 2 ? typed : raw).SerializeAsString(), random);
    const auto result = parse_tensor_proto(bytes_of(bad), "bad");
    if (!result.ok()) {
      ASSERT_TRUE(result.status().message().starts_with("bad: "));
      continue;
    }
    ++accepted;
    ASSERT_EQ(static_cast<size_t>(result->shape.elements()) * element_bytes(result->dtype), result->data.size());
    onnx::TensorProto proto;
    if (!proto.ParseFromString(bad)) continue;
    ASSERT_EQ(proto.dims_size(), result->shape.rank);
    for (int d = 0; d < proto.dims_size(); ++d) ASSERT_EQ(proto.dims(d), result->shape[d]);
    if (proto.has_raw_data() && result->dtype == DataType::kF32) {
      ASSERT_EQ(std::memcmp(proto.raw_data().data(), result->data.data(), result->data.size()), 0);
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace ingot
