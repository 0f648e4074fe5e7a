// PNG by stb_image, which lives in this file alone; JPEG files are handed on to libjpeg.
#include "data/image.h"

#include <zlib.h>

#include <climits>
#include <memory>
#include <string>
#include <string_view>

#include "data/image_jpeg.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG  // its JPEG decoder writes beyond its tables on damaged files
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 32768
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace ingot {
namespace {

constexpr std::string_view kPngSignature("\x89PNG\r\n\x1a\n", 8);

// stb_image ignores checksums, so a damaged file would come out as a wrong picture. Returns what is wrong, or nothing.
std::string png_damage(std::string_view file) {
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
    return value;
  };
  for (size_t at = kPngSignature.size(); at < file.size();) {  // length, kind, data, checksum of kind and data
    const size_t left = file.size() - at;
    if (left < 12 || number(at) > left - 12) return "file is cut short";
    const size_t length = number(at);
    const auto* kind = reinterpret_cast<const Bytef*>(file.data() + at + 4);
    if (crc32_z(0, kind, length + 4) != number(at + 8 + length)) return "wrong checksum";
    if (file.substr(at + 4, 4) == "IEND") return {};
    at += 12 + length;
  }
  return "file is cut short";
}

}  // namespace

Expected<Image> decode_image(std::span<const std::byte> bytes, std::string_view where) {
  const auto bad = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(where) + ": " + what);
  };
  if (bytes.size() > INT_MAX)
    return bad("image file too large: got " + std::to_string(bytes.size()) + " bytes, need at most 2 GiB");
  if (bytes.size() >= 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8}) return decode_jpeg(bytes, where);
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (file.starts_with(kPngSignature))
    if (const std::string damage = png_damage(file); !damage.empty()) return bad("corrupted image: " + damage);
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  const auto reason = [] {
    const char* text = stbi_failure_reason();
    return std::string(text ? text : "unknown reason");
  };
  // The size is checked before a pixel is decoded.
  if (size == 0 || !stbi_info_from_memory(data, size, &width, &height, &channels))
    return bad("not a readable PNG or JPEG image: " + (size == 0 ? std::string("file is empty") : reason()));
  if (width <= 0 || height <= 0 || int64_t{width} * height > kMaxImagePixels)
    return bad("image too large: got " + std::to_string(width) + "x" + std::to_string(height) + ", need at most " +
               std::to_string(kMaxImagePixels) + " pixels");
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &channels, 3), &stbi_image_free);
  if (!pixels) return bad("corrupted image: " + reason());
  if (width <= 0 || height <= 0 || int64_t{width} * height > kMaxImagePixels) return bad("corrupted image: two sizes");
  Image image{width, height, {}};
  image.pixels.assign(pixels.get(), pixels.get() + static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  return image;
}

}  // namespace ingot
