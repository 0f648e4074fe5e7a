// What the tests of tools share: a folder that goes away, tensors, and images encoded in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "ingot/calibrator.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace ingot {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

 private:
  std::string path_;
};

template <class T>
NamedTensor make_tensor(std::string name, DataType type, Shape shape, const std::vector<T>& values) {
  NamedTensor tensor{std::move(name), type, shape, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

inline NamedTensor random_tensor(std::string name, DataType type, Shape shape, std::mt19937& random) {
  NamedTensor tensor{std::move(name), type, shape, {}};
  tensor.data.resize(static_cast<size_t>(shape.elements()) * element_bytes(type));
  for (std::byte& b : tensor.data)
    b = static_cast<std::byte>(type == DataType::kBool || packed_bits(type) < 8 ? random() & 1 : random());
  if (type == DataType::kS4)
    for (std::byte& b : tensor.data)
      b = static_cast<std::byte>(static_cast<int8_t>(static_cast<int>(random() % 16) - 8));
  return tensor;
}

inline std::vector<float> floats_of(const NamedTensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

inline void expect_equal(const NamedTensor& a, const NamedTensor& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(to_string(a.shape), to_string(b.shape));
  EXPECT_TRUE(a.data == b.data);
}

inline void append_bytes(void* out, void* data, int size) {
  static_cast<std::string*>(out)->append(static_cast<char*>(data), static_cast<size_t>(size));
}

// Pixel (x, y) channel c is value(x, y, c).
template <class Value>
std::string encode_png(int width, int height, int channels, Value value) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) pixels.push_back(static_cast<uint8_t>(value(x, y, c)));
  std::string out;
  stbi_write_png_to_func(append_bytes, &out, width, height, channels, pixels.data(), width * channels);
  return out;
}

inline std::string encode_jpeg(int width, int height, uint8_t value) {
  const std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3), value);
  std::string out;
  stbi_write_jpg_to_func(append_bytes, &out, width, height, 3, pixels.data(), 90);
  return out;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A few random edits: bytes changed, cut, doubled or dropped.
inline std::string mutated(const std::string& good, std::mt19937& random) {
  std::string text = good;
  for (unsigned edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    const size_t at = random() % text.size();
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] ^= static_cast<char>(1 << random() % 8);
        break;
      case 2:
        text.erase(at, 1 + random() % 16);
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), random() % 20));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

}  // namespace ingot
