// Header, directory and checksums of an engine file.
#include "runtime/format/engine_file.h"

#include <array>
#include <bit>
#include <cstring>
#include <map>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/format/plan_codec.h"
#include "runtime/ops/half.h"

namespace ingot {
namespace {

static_assert(std::endian::native == std::endian::little, "engine files are little-endian");

constexpr size_t kAlignment = 64;
// Not text, and damaged visibly by a transfer that rewrites line ends.
constexpr std::array<unsigned char, 8> kMagic = {0x89, 'I', 'N', 'G', 'T', '\r', '\n', 0x1a};
enum Section : size_t { kDirectory, kPlans, kReport, kBlobs, kSectionCount };
constexpr std::string_view kSectionNames[kSectionCount] = {"directory", "plans", "report", "blobs"};

struct SectionEntry {
  uint64_t offset, bytes, checksum;
};
struct Header {
  std::array<unsigned char, 8> magic;
  uint16_t major, minor;
  uint32_t header_bytes;
  uint64_t file_bytes;
  SectionEntry sections[kSectionCount];
  uint64_t checksum;  // of the bytes before it
};
static_assert(sizeof(Header) == 128 && std::is_trivially_copyable_v<Header>);

struct DirectoryHead {
  uint32_t rows, row_bytes;
  uint64_t reserved;
};
struct DirectoryRow {
  char target[64];  // ends with a zero byte
  uint64_t offset, bytes;  // in the plan section
  unsigned char reserved[48];
};
static_assert(sizeof(DirectoryHead) == 16 && sizeof(DirectoryRow) == 128);
constexpr uint32_t kMaxTargets = 64;

uint64_t hash(std::span<const std::byte> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }
uint64_t header_hash(const Header& header) { return XXH64(&header, offsetof(Header, checksum), 0); }
uint64_t align(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Status bad(const std::string& what) { return Status(StatusCode::kInvalidEngine, what); }
std::string version_text(uint16_t major, uint16_t minor) { return std::to_string(major) + '.' + std::to_string(minor); }

void append(std::vector<std::byte>& to, const void* data, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  to.insert(to.end(), begin, begin + bytes);
}

// A blob of float32 as f16, if each value comes back exactly; empty if not.
std::vector<std::byte> as_half(std::span<const std::byte> blob) {
  if (blob.empty() || blob.size() % sizeof(float) != 0) return {};
  std::vector<std::byte> half(blob.size() / 2);
  for (size_t i = 0; i < blob.size() / sizeof(float); ++i) {
    uint32_t bits;
    std::memcpy(&bits, blob.data() + i * sizeof bits, sizeof bits);
    const uint16_t short_bits = f32_to_f16(bits_to_float(bits));
    if (float_to_bits(f16_to_f32(short_bits)) != bits) return {};
    std::memcpy(half.data() + i * sizeof short_bits, &short_bits, sizeof short_bits);
  }
  return half;
}

// Lays blobs out one after another, equal ones once.
class BlobSection {
 public:
  BlobRange add(std::span<const std::byte> blob) {
    if (blob.empty()) return {};
    const auto [begin, end] = known_.equal_range(hash(blob));
    for (auto it = begin; it != end; ++it)
      if (it->second.bytes == blob.size() && std::memcmp(bytes_.data() + it->second.offset, blob.data(), blob.size()) == 0)
        return it->second;
    bytes_.resize(align(bytes_.size()));
    const BlobRange range{bytes_.size(), blob.size()};
    append(bytes_, blob.data(), blob.size());
    known_.emplace(hash(blob), range);
    return range;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::multimap<uint64_t, BlobRange> known_;
};

Expected<EngineFile> read_directory(std::span<const std::byte> directory, std::span<const std::byte> plans) {
  EngineFile file;
  DirectoryHead head;
  if (directory.size() < sizeof head) return bad("directory: too short");
  std::memcpy(&head, directory.data(), sizeof head);
  if (head.rows == 0 || head.rows > kMaxTargets || head.row_bytes < sizeof(DirectoryRow) || head.row_bytes > 4096 ||
      directory.size() - sizeof head < uint64_t{head.rows} * head.row_bytes)
    return bad("directory: number or size of rows makes no sense");
  for (uint32_t i = 0; i < head.rows; ++i) {
    DirectoryRow row;
    std::memcpy(&row, directory.data() + sizeof head + size_t{i} * head.row_bytes, sizeof row);
    if (row.target[sizeof row.target - 1] != 0) return bad("directory: target name has no end");
    if (row.offset % kAlignment != 0 || row.offset > plans.size() || row.bytes > plans.size() - row.offset)
      return bad("directory: plan of target " + std::to_string(i) + " lies outside its section");
    file.targets.push_back({row.target, plans.subspan(row.offset, row.bytes)});
  }
  return file;
}

}  // namespace

Expected<std::vector<std::byte>> encode_engine(std::span<const EngineTarget> targets, std::string_view report_json) {
  if (targets.empty() || targets.size() > kMaxTargets)
    return Status(StatusCode::kInvalidArgument, "encode engine: targets: got " + std::to_string(targets.size()) + ", need 1…64");
  BlobSection blobs;
  std::vector<std::byte> directory, plans;
  const DirectoryHead head{static_cast<uint32_t>(targets.size()), sizeof(DirectoryRow), 0};
  append(directory, &head, sizeof head);
  for (const EngineTarget& target : targets) {
    const Plan& plan = *target.plan;
    if (plan.target.empty() || plan.target.size() >= sizeof DirectoryRow::target)
      return Status(StatusCode::kInvalidArgument, "encode engine: target name '" + plan.target + "': need 1…63 characters");
    const auto place = [&](std::span<const std::byte> blob) {
      const std::vector<std::byte> half = plan.halve_blobs ? as_half(blob) : std::vector<std::byte>();
      BlobRange range = blobs.add(half.empty() ? blob : std::span<const std::byte>(half));
      range.halved = !half.empty();
      return range;
    };
    INGOT_ASSIGN(const std::vector<std::byte> bytes, encode_plan(plan, place));
    plans.resize(align(plans.size()));
    DirectoryRow row{};
    std::memcpy(row.target, plan.target.data(), plan.target.size());
    row.offset = plans.size();
    row.bytes = bytes.size();
    append(plans, bytes.data(), bytes.size());
    append(directory, &row, sizeof row);
  }

  Header header{};
  header.magic = kMagic;
  header.major = kFormatMajor;
  header.minor = kFormatMinor;
  header.header_bytes = sizeof header;
  const std::span<const std::byte> contents[kSectionCount] = {
      directory, plans, std::as_bytes(std::span(report_json.data(), report_json.size())), blobs.bytes()};
  uint64_t end = sizeof header;
  for (size_t i = 0; i < kSectionCount; ++i) {
    header.sections[i] = {align(end), contents[i].size(), hash(contents[i])};
    end = header.sections[i].offset + contents[i].size();
  }
  header.file_bytes = end;
  header.checksum = header_hash(header);
  std::vector<std::byte> file(end);
  std::memcpy(file.data(), &header, sizeof header);
  for (size_t i = 0; i < kSectionCount; ++i)
    if (!contents[i].empty()) std::memcpy(file.data() + header.sections[i].offset, contents[i].data(), contents[i].size());
  return file;
}

Expected<EngineFile> read_engine_file(std::span<const std::byte> bytes, bool verify_checksums) {
  Header header;
  if (bytes.size() < sizeof header)
    return bad("size: got " + std::to_string(bytes.size()) + " bytes, need at least 128; this is no engine file");
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0)
    return Status(StatusCode::kInvalidArgument, "memory of the engine is not 64-byte aligned");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic) return bad("magic bytes are missing; this is no engine file");
  if (header.major != kFormatMajor) {
    const bool newer = header.major > kFormatMajor;
    const std::string have = version_text(header.major, header.minor);
    return Status(StatusCode::kVersionMismatch,
                  "format " + have + " is " + (newer ? "newer" : "older") + " than this runtime: got " + have + ", need " +
                      std::to_string(kFormatMajor) + ".x; rebuild the engine" + (newer ? " or update the runtime" : ""));
  }
  if (header.checksum != header_hash(header)) return bad("header: checksum does not match; the file is damaged");
  if (header.file_bytes != bytes.size())
    return bad("size: got " + std::to_string(bytes.size()) + " bytes, need " + std::to_string(header.file_bytes) +
               "; the file is cut off or damaged");
  if (header.header_bytes < sizeof header) return bad("header: size makes no sense");
  std::span<const std::byte> contents[kSectionCount];
  uint64_t end = header.header_bytes;
  for (size_t i = 0; i < kSectionCount; ++i) {
    const SectionEntry& section = header.sections[i];
    if (section.offset % kAlignment != 0 || section.offset < end || section.offset > bytes.size() ||
        section.bytes > bytes.size() - section.offset)
      return bad("section '" + std::string(kSectionNames[i]) + "' lies outside the file or overlaps another");
    contents[i] = bytes.subspan(section.offset, section.bytes);
    end = section.offset + section.bytes;
  }
  for (size_t i = 0; verify_checksums && i < kSectionCount; ++i)
    if (header.sections[i].checksum != hash(contents[i]))
      return bad("section '" + std::string(kSectionNames[i]) + "': checksum does not match; the file is damaged");
  INGOT_ASSIGN(EngineFile file, read_directory(contents[kDirectory], contents[kPlans]));
  file.report_json = {reinterpret_cast<const char*>(contents[kReport].data()), contents[kReport].size()};
  file.blobs = contents[kBlobs];
  return file;
}

bool refresh_checksums(std::span<std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (SectionEntry& section : header.sections) {
    if (section.offset > bytes.size() || section.bytes > bytes.size() - section.offset) return false;
    section.checksum = hash(bytes.subspan(section.offset, section.bytes));
  }
  header.checksum = header_hash(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return true;
}

}  // namespace ingot
