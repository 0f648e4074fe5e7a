// .npy and .npz: round trips, files as NumPy writes them byte for byte, and hostile ones.
#include <gtest/gtest.h>

#include "data/npy.h"
#include "fixtures.h"

namespace ingot {
namespace {

std::string npy_text(const std::string& header, const std::string& data, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file += version;
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

std::string message_of(const std::string& file) {
  const auto tensor = parse_npy(bytes_of(file), "x.npy");
  return tensor.ok() ? "no error" : std::string(tensor.status().message());
}

constexpr DataType kNumpyTypes[] = {DataType::kF32, DataType::kF16, DataType::kF64, DataType::kS8,
                                    DataType::kU8,  DataType::kS16, DataType::kU16, DataType::kS32,
                                    DataType::kU32, DataType::kS64, DataType::kU64, DataType::kBool};

TEST(Npy, RoundTripsEveryTypeAndRank) {
  std::mt19937 random(1);
  for (const DataType type : kNumpyTypes) {
    for (const Shape& shape :
         {Shape{}, Shape{5}, Shape{2, 3}, Shape{1, 3, 4, 5}, Shape{2, 0, 3}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
      const NamedTensor tensor = random_tensor("", type, shape, random);
      const auto file = write_npy(tensor);
      ASSERT_TRUE(file.ok());
      EXPECT_EQ((file->size() - tensor.data.size()) % 64, 0u);
      const auto back = parse_npy(*file, "x.npy");
      ASSERT_TRUE(back.ok()) << back.status().message();
      expect_equal(tensor, *back);
    }
  }
  EXPECT_EQ(write_npy({"", DataType::kBF16, {1}, std::vector<std::byte>(2)}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(write_npy({"", DataType::kF32, {3}, std::vector<std::byte>(8)}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Npy, WritesWhatNumpyWrites) {
  const auto file = write_npy(make_tensor<float>("", DataType::kF32, {2, 1}, {1, 2}));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  const std::string expected = npy_text(header, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->data()), file->size()), expected);
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  // [[1, 2, 3], [4, 5, 6]] by columns: 1 4 2 5 3 6.
  const auto fortran = parse_npy(
      bytes_of(npy_text("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", "\1\4\2\5\3\6")), "x");
  ASSERT_TRUE(fortran.ok()) << fortran.status().message();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(fortran->data.data()), 6), "\1\2\3\4\5\6");
  const auto big = parse_npy(
      bytes_of(npy_text("{\"shape\":(1L,),\"fortran_order\":False,\"descr\":\">i4\"}", std::string("\0\0\1\2", 4), 2)),
      "x");
  ASSERT_TRUE(big.ok()) << big.status().message();
  int32_t value = 0;
  std::memcpy(&value, big->data.data(), 4);
  EXPECT_EQ(value, 258);
}

TEST(Npy, ErrorsSayWhatIsWrong) {
  const auto with = [](const std::string& header, size_t bytes) {
    return message_of(npy_text(header, std::string(bytes, 'x')));
  };
  EXPECT_EQ(message_of("hello world!"), "x.npy: not a .npy file: got 'hello ', need '\\x93NUMPY'");
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 20),
            "x.npy: data does not match shape 2x3: got 20 bytes, need 24");
  EXPECT_NE(with("{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }", 32)
                .find("element type not supported: got '<U4'"),
            std::string::npos);
  EXPECT_NE(with("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }", 0).find("impossible shape"),
            std::string::npos);
  EXPECT_NE(
      with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 0).find("impossible shape"),
      std::string::npos);
  EXPECT_NE(
      with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4).find("too many dims: got 9"),
      std::string::npos);
  EXPECT_NE(with("{'descr': '<f4', 'shape': (1,), }", 4).find("malformed .npy header"), std::string::npos);
  EXPECT_NE(message_of(npy_text("{}", "", 9)).find("unknown .npy version"), std::string::npos);
}

TEST(Npz, RoundTripsStoredAndDeflated) {
  std::mt19937 random(2);
  std::vector<NamedTensor> tensors;
  for (const DataType type : kNumpyTypes)
    tensors.push_back(random_tensor("in/" + std::string(to_string(type)), type, {1, 3, 50}, random));
  tensors.push_back(make_tensor<float>("zeros", DataType::kF32, {100, 100}, std::vector<float>(10000)));
  tensors.push_back(make_tensor<float>("empty", DataType::kF32, {0}, {}));
  for (const bool compress : {false, true}) {
    const auto file = write_npz(tensors, compress);
    ASSERT_TRUE(file.ok());
    if (compress) {
      EXPECT_LT(file->size(), 30000u);
    }
    const auto back = parse_npz(*file, "x.npz");
    ASSERT_TRUE(back.ok()) << back.status().message();
    ASSERT_EQ(back->size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) expect_equal(tensors[i], (*back)[i]);
  }
  const auto none = parse_npz(*write_npz({}), "x.npz");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

// The bytes of numpy.savez("x.npz", x=numpy.array([7], "u1")), whose local header has zip64 sizes.
TEST(Npz, ReadsTheZip64LocalHeadersThatNumpyWrites) {
  const auto inner = write_npy(make_tensor<uint8_t>("", DataType::kU8, {1}, {7}));
  const NamedTensor named = make_tensor<uint8_t>("x", DataType::kU8, {1}, {7});
  const auto plain = write_npz(std::span(&named, 1));
  std::string file(reinterpret_cast<const char*>(plain->data()), plain->size());
  // Local header: extra field of 20 bytes, sizes moved there.
  file[28] = 20;
  std::string extra("\1\0\x10\0", 4);
  for (int i = 0; i < 2; ++i) extra += static_cast<char>(inner->size()), extra += std::string(7, '\0');
  file.insert(30 + 5, extra);
  file.replace(18, 8, 8, '\xff');
  const size_t end = file.size() - 22;
  file[end + 16] = static_cast<char>(static_cast<unsigned char>(file[end + 16]) + 20);
  const auto back = parse_npz(bytes_of(file), "x.npz");
  ASSERT_TRUE(back.ok()) << back.status().message();
  expect_equal((*back)[0], named);
}

TEST(Npz, DamageIsNoticed) {
  const NamedTensor tensor = make_tensor<float>("x", DataType::kF32, {1, 64}, std::vector<float>(64, 1.5f));
  for (const bool compress : {false, true}) {
    const auto bytes = write_npz(std::span(&tensor, 1), compress);
    const std::string good(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    std::string flipped = good;
    flipped[compress ? 60 : 200] ^= 4;
    EXPECT_FALSE(parse_npz(bytes_of(flipped), "x.npz").ok());
    std::string bomb = good;  // the central directory claims 2 GB
    const size_t central = good.find("PK\1\2");
    bomb[central + 27] = '\x7f';
    EXPECT_FALSE(parse_npz(bytes_of(bomb), "x.npz").ok());
  }
  EXPECT_EQ(parse_npz(bytes_of("PK"), "x.npz").status().message(),
            "x.npz: not a zip archive: got 2 bytes, need at least 22");
}

TEST(ArrayFiles, MutatedFilesNeverCrash) {
  std::mt19937 random(3);
  const NamedTensor tensor = random_tensor("x", DataType::kF32, {1, 3, 4}, random);
  const auto npy = *write_npy(tensor), stored = *write_npz(std::vector{tensor, tensor}),
             deflated = *write_npz(std::vector{tensor, tensor}, true);
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    const auto& good = round % 3 == 0 ? npy : round % 3 == 1 ? stored : deflated;
    const std::string bad = mutated(std::string(reinterpret_cast<const char*>(good.data()), good.size()), random);
    if (round % 3 == 0) {
      const auto result = parse_npy(bytes_of(bad), "bad");
      if (result.ok()) {
        ++accepted;
        ASSERT_EQ(static_cast<size_t>(result->shape.elements()) * element_bytes(result->dtype), result->data.size());
      } else {
        ASSERT_TRUE(result.status().message().starts_with("bad: "));
      }
    } else if (const auto result = parse_npz(bytes_of(bad), "bad"); !result.ok()) {
      ASSERT_TRUE(result.status().message().starts_with("bad")) << result.status().message();
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace ingot
