// Whole files in and out of memory, with a limit on size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingot/status.h"

namespace ingot {

inline constexpr uint64_t kMaxInputFileBytes = uint64_t{4} << 30;

// Regular files only. Errors name the path.
Expected<std::vector<std::byte>> load_bytes(const std::string& path, uint64_t limit = kMaxInputFileBytes);
Expected<std::string> load_text(const std::string& path, uint64_t limit = uint64_t{64} << 20);
// Writes beside the target, which may stand behind links, and renames, so a reader never sees half a file. Devices are written to.
Status save_bytes(const std::string& path, std::span<const std::byte> bytes);

}  // namespace ingot
