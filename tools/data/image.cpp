// PNG by stb_image, which lives in this file alone; JPEG files are handed on to libjpeg.
#include "data/image.h"

#include <climits>
#include <memory>
#include <string>

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

Expected<Image> decode_image(std::span<const std::byte> bytes, std::string_view where) {
  const auto bad = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(where) + ": " + what);
  };
  if (bytes.size() > INT_MAX) return bad("image file too large: got " + std::to_string(bytes.size()) + " bytes, need at most 2 GiB");
  if (bytes.size() >= 2 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8}) return decode_jpeg(bytes, where);
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
