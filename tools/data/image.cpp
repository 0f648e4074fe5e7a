// stb_image lives in this file alone.
#include "data/image.h"

#include <climits>
#include <memory>
#include <string>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 32768
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace ingot {
namespace {

// stb_image trusts a JPEG's Huffman tables to have at most 256 entries and writes beyond its own where they have more.
// Every place that it could read as such a table is checked first: after the leading run of segments, whose lengths both
// walks follow alike, any FF C4 counts as one (in image data FF is always followed by 00 or a restart mark).
class JpegTableCheck {
 public:
  explicit JpegTableCheck(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const {
    size_t at = 2;  // behind the start mark
    while (byte(at) == 0xff) {
      size_t mark = at + 1;
      while (byte(mark) == 0xff) ++mark;
      const unsigned kind = byte(mark);
      const bool skipped = (kind >= 0xe0 && kind <= 0xef) || kind == 0xfe || kind == 0xdb || kind == 0xdd;  // APPn, text, DQT, DRI
      if (length(mark + 1) < 2 || (!skipped && kind != 0xc4)) break;
      if (kind == 0xc4 && !table_ok(mark + 1)) return false;
      at = mark + 1 + length(mark + 1);
    }
    for (; at + 1 < bytes_.size(); ++at)
      if (byte(at) == 0xff && byte(at + 1) == 0xc4 && !table_ok(at + 2)) return false;
    return true;
  }

 private:
  unsigned byte(size_t at) const { return at < bytes_.size() ? static_cast<unsigned>(bytes_[at]) : 0; }  // as stb_image past the end
  size_t length(size_t at) const { return byte(at) << 8 | byte(at + 1); }
  bool table_ok(size_t at) const {
    int64_t left = static_cast<int64_t>(length(at)) - 2;
    for (at += 2; left > 0;) {
      size_t entries = 0;
      for (size_t i = 1; i <= 16; ++i) entries += byte(at + i);
      if (entries > 256) return false;
      at += 17 + entries;
      left -= static_cast<int64_t>(17 + entries);
    }
    return true;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

Expected<Image> decode_image(std::span<const std::byte> bytes, std::string_view where) {
  const auto bad = [&](const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(where) + ": " + what);
  };
  if (bytes.size() > INT_MAX) return bad("image file too large: got " + std::to_string(bytes.size()) + " bytes, need at most 2 GiB");
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, channels = 0;
  const auto reason = [] {
    const char* text = stbi_failure_reason();
    return std::string(text ? text : "unknown reason");
  };
  if (size > 0 && data[0] == 0xff && !JpegTableCheck(bytes).ok()) return bad("corrupted image: impossible Huffman table");
  // The size is checked before a pixel is decoded.
  if (!stbi_info_from_memory(data, size, &width, &height, &channels)) return bad("not a readable PNG or JPEG image: " + reason());
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
