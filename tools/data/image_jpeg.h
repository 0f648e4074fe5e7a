// The JPEG half of image.h.
#pragma once

#include "data/image.h"

namespace ingot {

Expected<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where);

}  // namespace ingot
