// Packs images, and reads them with distrust.
#include "runtime/kernel_image.h"

#include <cstring>
#include <string>

namespace ingot {
namespace {

constexpr uint32_t kMagic = 0x4b474e49;  // "INGK"

struct Header {
  uint32_t magic, capability;
  uint64_t machine_code_bytes, ptx_bytes;
  uint64_t reserved;
};
static_assert(sizeof(Header) == 32);

size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }

Status bad(const std::string& what) { return Status(StatusCode::kInvalidEngine, "kernel image: " + what); }

template <class T>
T read(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// A 64-bit little-endian ELF file whose tables and sections lie within its bytes.
bool is_whole_elf(std::span<const std::byte> file) {
  constexpr size_t kHeader = 64, kSection = 64, kSegment = 56;
  constexpr uint32_t kNoBits = 8;
  static constexpr unsigned char kStart[] = {0x7f, 'E', 'L', 'F', 2, 1};
  if (file.size() < kHeader || std::memcmp(file.data(), kStart, sizeof kStart) != 0) return false;
  const auto holds = [&](uint64_t offset, uint64_t bytes) { return offset <= file.size() && bytes <= file.size() - offset; };
  const auto segments = read<uint64_t>(file, 32), sections = read<uint64_t>(file, 40);
  const uint64_t segment_count = read<uint16_t>(file, 56), section_count = read<uint16_t>(file, 60);
  if ((segment_count != 0 && read<uint16_t>(file, 54) != kSegment) || !holds(segments, segment_count * kSegment)) return false;
  if (section_count == 0 || read<uint16_t>(file, 58) != kSection || !holds(sections, section_count * kSection)) return false;
  if (read<uint16_t>(file, 62) >= section_count) return false;
  for (uint64_t i = 0; i < segment_count; ++i)
    if (!holds(read<uint64_t>(file, segments + i * kSegment + 8), read<uint64_t>(file, segments + i * kSegment + 32))) return false;
  for (uint64_t i = 0; i < section_count; ++i) {
    const size_t at = sections + i * kSection;
    if (read<uint32_t>(file, at + 4) == kNoBits) continue;
    if (!holds(read<uint64_t>(file, at + 24), read<uint64_t>(file, at + 32))) return false;
  }
  return true;
}

}  // namespace

Blob pack_kernel_image(const KernelImage& image) {
  const Header header{kMagic, static_cast<uint32_t>(image.capability), image.machine_code.size(), image.ptx.size() + 1, 0};
  const size_t ptx_at = sizeof header + padded(image.machine_code.size());
  Blob blob(ptx_at + image.ptx.size() + 1);
  std::memcpy(blob.data(), &header, sizeof header);
  if (!image.machine_code.empty()) std::memcpy(blob.data() + sizeof header, image.machine_code.data(), image.machine_code.size());
  std::memcpy(blob.data() + ptx_at, image.ptx.data(), image.ptx.size());
  return blob;
}

Expected<KernelImage> read_kernel_image(std::span<const std::byte> blob) {
  if (blob.size() < sizeof(Header)) return bad("got " + std::to_string(blob.size()) + " bytes, need at least " + std::to_string(sizeof(Header)));
  Header header;
  std::memcpy(&header, blob.data(), sizeof header);
  if (header.magic != kMagic) return bad("does not begin as one");
  if (header.capability < 80 || header.capability > 999) return bad("compute capability: got " + std::to_string(header.capability) + ", need 80 or more");
  const uint64_t rest = blob.size() - sizeof header;
  if (header.machine_code_bytes > rest || header.ptx_bytes == 0 || header.ptx_bytes > rest ||
      padded(header.machine_code_bytes) + header.ptx_bytes != rest)
    return bad("its parts do not fill it");
  KernelImage image;
  image.capability = static_cast<int>(header.capability);
  image.machine_code = blob.subspan(sizeof header, header.machine_code_bytes);
  const std::span<const std::byte> ptx = blob.subspan(sizeof header + padded(header.machine_code_bytes), header.ptx_bytes);
  const auto* text = reinterpret_cast<const char*>(ptx.data());
  image.ptx = {text, ptx.size() - 1};
  if (text[ptx.size() - 1] != 0 || image.ptx.find('\0') != std::string_view::npos) return bad("PTX does not end with its one zero");
  if (!image.machine_code.empty() && !is_whole_elf(image.machine_code)) return bad("machine code is no whole ELF file");
  return image;
}

}  // namespace ingot
