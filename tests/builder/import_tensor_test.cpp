// Tensors in every storage form, and external files that must not lead out of the model's folder.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "builder/onnx/tensor_proto.h"
#include "onnx_model_maker.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

onnx::TensorProto tensor(int type, std::initializer_list<int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_data_type(type);
  for (int64_t dim : dims) proto.add_dims(dim);
  return proto;
}

template <class T>
std::vector<T> values_of(const Expected<TensorContent>& content) {
  if (!content.ok()) {
    ADD_FAILURE() << content.status().message();
    return {};
  }
  std::vector<T> values(content->bytes.size() / sizeof(T));
  std::memcpy(values.data(), content->bytes.data(), content->bytes.size());
  return values;
}

std::string error_of(const onnx::TensorProto& proto, const TensorSource& source = {}) {
  auto content = read_tensor(proto, source, "tensor");
  EXPECT_FALSE(content.ok());
  return content.ok() ? std::string() : std::string(content.status().message());
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(TensorProto, TypedFields) {
  auto floats = tensor(1, {2});
  floats.add_float_data(1.5f);
  floats.add_float_data(-2);
  EXPECT_EQ(values_of<float>(read_tensor(floats, {}, "t")), (std::vector<float>{1.5f, -2}));
  auto halves = tensor(10, {1});
  halves.add_int32_data(0x3C00);
  EXPECT_EQ(values_of<uint16_t>(read_tensor(halves, {}, "t")), (std::vector<uint16_t>{0x3C00}));
  auto bytes = tensor(3, {2});
  bytes.add_int32_data(-128);
  bytes.add_int32_data(127);
  EXPECT_EQ(values_of<int8_t>(read_tensor(bytes, {}, "t")), (std::vector<int8_t>{-128, 127}));
  auto unsigned32 = tensor(12, {1});
  unsigned32.add_uint64_data(4000000000u);
  EXPECT_EQ(values_of<uint32_t>(read_tensor(unsigned32, {}, "t")), (std::vector<uint32_t>{4000000000u}));
  auto doubles = tensor(11, {1});
  doubles.add_double_data(0.1);
  EXPECT_EQ(values_of<double>(read_tensor(doubles, {}, "t")), (std::vector<double>{0.1}));
  auto bools = tensor(9, {2});
  bools.add_int32_data(5);
  bools.add_int32_data(0);
  EXPECT_EQ(values_of<uint8_t>(read_tensor(bools, {}, "t")), (std::vector<uint8_t>{1, 0}));
}

TEST(TensorProto, FourBitTypesAreUnpackedLowNibbleFirst) {
  auto raw = tensor(22, {3});
  raw.set_raw_data("\x8f\x07", 2);
  EXPECT_EQ(values_of<int8_t>(read_tensor(raw, {}, "t")), (std::vector<int8_t>{-1, -8, 7}));
  auto typed = tensor(21, {3});
  typed.add_int32_data(0x8f);
  typed.add_int32_data(0x07);
  EXPECT_EQ(values_of<uint8_t>(read_tensor(typed, {}, "t")), (std::vector<uint8_t>{15, 8, 7}));
}

TEST(TensorProto, WriteAndReadBack) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    const auto dtype = static_cast<DataType>(type);
    const TensorType wanted{dtype, {3}, Layout::kLinear, {}};
    Blob bytes(3 * element_bytes(dtype), std::byte{1});
    if (dtype == DataType::kS4) bytes[1] = std::byte{0xF8};
    if (dtype == DataType::kS2) bytes[1] = std::byte{0xFE};
    const std::string serialised = serialize_tensor("t", wanted, bytes);
    auto content = parse_tensor(std::as_bytes(std::span(serialised)), "t");
    ASSERT_TRUE(content.ok()) << to_string(dtype) << content.status().message();
    EXPECT_EQ(content->type, wanted);
    EXPECT_EQ(content->bytes, bytes) << to_string(dtype);
  }
}

TEST(TensorProto, Malformed) {
  auto proto = tensor(1, {2, 2});
  EXPECT_HAS(error_of(proto), "data does not fit the dims 2x2: got 0 elements, need 4");
  proto.set_raw_data("abc");
  EXPECT_HAS(error_of(proto), "raw_data does not fit the dims 2x2: got 3 bytes, need 16");
  proto.add_float_data(1);
  EXPECT_HAS(error_of(proto), "data in two places");
  EXPECT_HAS(error_of(tensor(1, {-1})), "dims make no sense");
  EXPECT_HAS(error_of(tensor(1, {int64_t{1} << 40, int64_t{1} << 40})), "dims make no sense");
  EXPECT_HAS(error_of(tensor(1, {int64_t{1} << 50})), "does not fit");  // refused before anything is allocated
  EXPECT_HAS(error_of(tensor(1, {1, 1, 1, 1, 1, 1, 1, 1, 1})), "too many dims: got 9");
  EXPECT_HAS(error_of(tensor(8, {1})), "element type string is not supported");
  EXPECT_HAS(error_of(tensor(99, {1})), "unknown element type: got 99");
  EXPECT_HAS(error_of(tensor(0, {1})), "unknown element type: got 0");
  const std::string noise = "\xff\xff\xff noise";
  EXPECT_FALSE(parse_tensor(std::as_bytes(std::span(noise)), "t").ok());
}

TEST(TensorProto, SparseLimitsAndIndices) {
  onnx::SparseTensorProto sparse;
  fill_tensor<float>(*sparse.mutable_values(), {1}, {3});
  fill_tensor<int64_t>(*sparse.mutable_indices(), {1}, {4});
  sparse.add_dims(4);
  auto content = read_sparse_tensor(sparse, {}, "t");
  ASSERT_FALSE(content.ok());
  EXPECT_HAS(std::string(content.status().message()), "index out of range: got 4");
  sparse.set_dims(0, int64_t{1} << 40);  // a few bytes that claim a terabyte
  content = read_sparse_tensor(sparse, {}, "t");
  ASSERT_FALSE(content.ok());
  EXPECT_HAS(std::string(content.status().message()), "too large when dense");
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("ingot_external_" + std::to_string(::getpid()));
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "weights");
    write(folder_ / "weights" / "w.bin", std::string(4, 'x') + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
    write(root_ / "secret.bin", std::string(64, 's'));
  }
  void TearDown() override { fs::remove_all(root_); }
  static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  onnx::TensorProto external(const std::string& location, const std::string& offset = "4", const std::string& length = "8") {
    auto proto = tensor(1, {2});
    proto.set_name("w");
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
      if (value.empty()) continue;
      auto& entry = *proto.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return proto;
  }
  TensorSource source() const { return {fs::canonical(folder_).string(), 1 << 20}; }

  fs::path root_, folder_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(values_of<float>(read_tensor(external("weights/w.bin"), source(), "t")), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of<float>(read_tensor(external("weights/w.bin", "4", ""), source(), "t")), (std::vector<float>{1, 2}));
  fs::create_symlink("weights/w.bin", folder_ / "inside.bin");  // a link that stays inside is fine
  EXPECT_EQ(values_of<float>(read_tensor(external("inside.bin"), source(), "t")), (std::vector<float>{1, 2}));
}

TEST_F(ExternalData, MustNotLeaveTheFolder) {
  EXPECT_HAS(error_of(external("../secret.bin"), source()), "leaves the model's folder");
  EXPECT_HAS(error_of(external("weights/../../secret.bin"), source()), "leaves the model's folder");
  EXPECT_HAS(error_of(external((root_ / "secret.bin").string()), source()), "absolute path");
  fs::create_symlink(root_ / "secret.bin", folder_ / "link.bin");
  EXPECT_HAS(error_of(external("link.bin"), source()), "leaves the model's folder");
  fs::create_directory_symlink(root_, folder_ / "up");
  EXPECT_HAS(error_of(external("up/secret.bin"), source()), "leaves the model's folder");
  fs::create_hard_link(root_ / "secret.bin", folder_ / "hard.bin");
  EXPECT_HAS(error_of(external("hard.bin"), source()), "2 hard links");
  // A sibling whose name begins like the folder's.
  fs::create_directories(root_ / "model2");
  write(root_ / "model2" / "w.bin", std::string(64, 's'));
  EXPECT_HAS(error_of(external("../model2/w.bin"), source()), "leaves the model's folder");
}

TEST_F(ExternalData, MustBeARegularFileThatIsLongEnough) {
  EXPECT_HAS(error_of(external("weights"), source()), "not a regular file");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_HAS(error_of(external("pipe"), source()), "not a regular file");
  EXPECT_HAS(error_of(external("weights/none.bin"), source()), "cannot be opened");
  EXPECT_HAS(error_of(external(""), source()), "is not a file name");
  EXPECT_HAS(error_of(external(std::string("a\0b", 3)), source()), "is not a file name");
  EXPECT_HAS(error_of(external("weights/w.bin", "8", ""), source()), "ends too early: got 12 bytes, need 8 from offset 8");
  EXPECT_HAS(error_of(external("weights/w.bin", "9223372036854775807", ""), source()), "ends too early");
  EXPECT_HAS(error_of(external("weights/w.bin", "-1"), source()), "wrong offset: got '-1'");
  EXPECT_HAS(error_of(external("weights/w.bin", "4", "7"), source()), "wrong length: got 7 bytes, need 8");
  EXPECT_HAS(error_of(external("weights/w.bin", "4x"), source()), "wrong offset");
  auto huge = external("weights/w.bin", "0", "");
  huge.set_dims(0, int64_t{1} << 50);  // refused by the file's size, not by the allocator
  EXPECT_HAS(error_of(huge, source()), "ends too early");
  EXPECT_HAS(error_of(external("weights/w.bin"), {}), "needs the model's folder");
}

TEST_F(ExternalData, ModelFromAFileAndItsHash) {
  ModelMaker model(13);
  model.input("x", {int64_t{2}}).output("y").node("Add", {"x", "w"}, {"y"});
  *model.graph().add_initializer() = external("weights/w.bin");
  const std::string path = (folder_ / "net.onnx").string();
  write(path, model.bytes());
  auto graph = import_model(path, {});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(constant_of<float>(*graph, graph->find_value("w")), (std::vector<float>{1, 2}));
  auto hash = model_hash(path);
  ASSERT_TRUE(hash.ok());
  EXPECT_EQ(*hash, graph->model_hash());
  EXPECT_EQ(hash->size(), 16u);
  auto inputs = read_model_inputs(path);
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ((*inputs)[0].shape, (Shape{2}));

  std::ofstream(folder_ / "weights" / "w.bin", std::ios::app) << "more";
  auto changed = model_hash(path);
  ASSERT_TRUE(changed.ok());
  EXPECT_NE(*changed, *hash);
  auto missing = import_model((folder_ / "none.onnx").string(), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(import_model(folder_.string(), {}).ok());
}

}  // namespace
}  // namespace ingot
