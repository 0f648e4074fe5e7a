// Decodes PNG and JPEG files to 8-bit RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/status.h"

namespace ingot {

struct Image {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;  // rows of R, G, B
};

inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;

// Transparency is dropped, grey becomes R = G = B, 16-bit samples keep their upper byte. Errors name `where`.
Expected<Image> decode_image(std::span<const std::byte> bytes, std::string_view where);

}  // namespace ingot
