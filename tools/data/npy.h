// NumPy arrays: .npy (versions 1 to 3, either byte order, C and Fortran order) and .npz (zip archives of them).
// Element types NumPy has no name for (bf16, f8) are refused; s4 and u4 are written as their unpacked bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/calibrator.h"
#include "ingot/status.h"

namespace ingot {

// `where` opens every error: the file, or archive and member. The tensor's name stays empty.
Expected<NamedTensor> parse_npy(std::span<const std::byte> bytes, std::string_view where);
Expected<std::vector<std::byte>> write_npy(const NamedTensor& tensor);

// One tensor per member, named after it (without ".npy"), in the archive's order. Members stored or deflated; checksums
// are verified.
Expected<std::vector<NamedTensor>> parse_npz(std::span<const std::byte> bytes, std::string_view where);
// Members are stored uncompressed, or deflated.
Expected<std::vector<std::byte>> write_npz(std::span<const NamedTensor> tensors, bool compress = false);

}  // namespace ingot
