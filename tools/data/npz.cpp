// The zip part of .npz: central directory, stored and deflated members, zip64 sizes; nothing else of the format is
// needed.
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "data/npy.h"

namespace ingot {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kEnd64Locator = 0x07064b50;
constexpr uint64_t kMaxMembers = 65536;
constexpr uint64_t kMaxMemberBytes = uint64_t{4} << 30;
constexpr uint64_t kMaxExpansion = 1040;  // deflate cannot do better than 1032 : 1

struct Member {
  std::string name;
  uint64_t compressed = 0, size = 0, local_offset = 0;
  uint32_t crc = 0;
  int method = 0;
};

class Archive {
 public:
  Archive(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  Expected<std::vector<Member>> members() const {
    uint64_t count = 0, size = 0, offset = 0;
    INGOT_TRY(find_directory(count, size, offset));
    if (count > kMaxMembers) return bad("too many members: got " + std::to_string(count) + ", need at most 65536");
    if (offset > bytes_.size() || size > bytes_.size() - offset) return bad("zip directory lies outside the file");
    std::vector<Member> members;
    uint64_t at = offset;
    const uint64_t end = offset + size;
    for (uint64_t i = 0; i < count; ++i) {
      if (end - at < 46 || u32(at) != kCentralHeader)
        return bad("zip directory is damaged at member " + std::to_string(i));
      const uint64_t name = u16(at + 28), extra = u16(at + 30), comment = u16(at + 32);
      if (end - at - 46 < name + extra + comment) return bad("zip directory is damaged at member " + std::to_string(i));
      Member member;
      member.name.assign(reinterpret_cast<const char*>(bytes_.data()) + at + 46, name);
      if (u16(at + 8) & 1) return unsupported("member '" + printable(member.name) + "' is encrypted");
      member.method = static_cast<int>(u16(at + 10));
      member.crc = static_cast<uint32_t>(u32(at + 16));
      member.compressed = u32(at + 20);
      member.size = u32(at + 24);
      member.local_offset = u32(at + 42);
      if (!read_zip64(at + 46 + name, extra, member))
        return bad("zip64 sizes are damaged at member " + std::to_string(i));
      members.push_back(std::move(member));
      at += 46 + name + extra + comment;
    }
    return members;
  }

  Expected<std::vector<std::byte>> extract(const Member& member) const {
    const std::string label = "member '" + printable(member.name) + "'";
    if (member.method != 0 && member.method != 8)
      return unsupported(label + " uses compression method " + std::to_string(member.method) +
                         ", need stored or deflated");
    const uint64_t at = member.local_offset;
    if (bytes_.size() < 30 || at > bytes_.size() - 30 || u32(at) != kLocalHeader)
      return bad(label + " has no local header");
    const uint64_t skip = 30 + u16(at + 26) + u16(at + 28);
    if (bytes_.size() - at < skip || bytes_.size() - at - skip < member.compressed)
      return bad(label + " lies outside the file");
    if (member.size > kMaxMemberBytes || member.size / kMaxExpansion > member.compressed + 1 ||
        (member.method == 0 && member.size != member.compressed))
      return bad(label + " claims an impossible size: got " + std::to_string(member.size) + " bytes from " +
                 std::to_string(member.compressed));
    const std::span<const std::byte> packed = bytes_.subspan(at + skip, member.compressed);
    std::vector<std::byte> data(member.size);
    if (member.method == 0) {
      std::copy(packed.begin(), packed.end(), data.begin());
    } else if (!inflate_all(packed, data)) {
      return bad(label + " does not decompress to its stated size");
    }
    if (checksum(data) != member.crc) return bad(label + " has a wrong checksum; the file is damaged");
    return data;
  }

  static uint32_t checksum(std::span<const std::byte> data) {
    return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  }
  static std::string printable(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 80)) out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    return out;
  }
  Status bad(std::string_view what) const { return {StatusCode::kInvalidArgument, where_ + ": " + std::string(what)}; }

 private:
  Status unsupported(std::string_view what) const {
    return {StatusCode::kUnsupported, where_ + ": " + std::string(what)};
  }

  uint64_t little(uint64_t at, int count) const {
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i)
      value = value << 8 | static_cast<uint64_t>(bytes_[at + static_cast<uint64_t>(i)]);
    return value;
  }
  uint64_t u16(uint64_t at) const { return little(at, 2); }
  uint64_t u32(uint64_t at) const { return little(at, 4); }
  uint64_t u64(uint64_t at) const { return little(at, 8); }

  Status find_directory(uint64_t& count, uint64_t& size, uint64_t& offset) const {
    if (bytes_.size() < 22)
      return bad("not a zip archive: got " + std::to_string(bytes_.size()) + " bytes, need at least 22");
    // The end record is last, followed by a comment of at most 65535 bytes.
    const uint64_t last = bytes_.size() - 22, first = last > 65535 ? last - 65535 : 0;
    uint64_t at = last + 1;
    while (at > first && u32(at - 1) != kEnd) --at;
    if (at == first) return bad("not a zip archive, or cut short: no end record");
    --at;
    count = u16(at + 10);
    size = u32(at + 12);
    offset = u32(at + 16);
    if (at >= 20 && u32(at - 20) == kEnd64Locator && (count == 0xffff || size == 0xffffffff || offset == 0xffffffff)) {
      const uint64_t record = u64(at - 20 + 8);
      if (bytes_.size() < 56 || record > bytes_.size() - 56 || u32(record) != kEnd64)
        return bad("zip64 end record is damaged");
      count = u64(record + 32);
      size = u64(record + 40);
      offset = u64(record + 48);
    }
    return {};
  }

  bool read_zip64(uint64_t at, uint64_t left, Member& member) const {
    if (member.size != 0xffffffff && member.compressed != 0xffffffff && member.local_offset != 0xffffffff) return true;
    while (left >= 4) {
      const uint64_t id = u16(at), length = u16(at + 2);
      if (length > left - 4) return false;
      if (id == 1) {
        uint64_t field = at + 4, rest = length;
        for (uint64_t* value : {&member.size, &member.compressed, &member.local_offset}) {
          if (*value != 0xffffffff) continue;
          if (rest < 8) return false;
          *value = u64(field);
          field += 8;
          rest -= 8;
        }
        return true;
      }
      at += 4 + length;
      left -= 4 + length;
    }
    return false;
  }

  static bool inflate_all(std::span<const std::byte> packed, std::span<std::byte> out) {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
    size_t read = 0, written = 0;
    int result = Z_OK;
    std::byte spare{};  // zlib wants a place to write even when nothing is to come
    while (result == Z_OK) {
      const size_t in = std::min<size_t>(packed.size() - read, 1u << 30),
                   room = std::min<size_t>(out.size() - written, 1u << 30);
      stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data() + read));
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? out.data() + written : &spare);
      stream.avail_out = static_cast<uInt>(room > 0 ? room : 1);
      result = inflate(&stream, Z_NO_FLUSH);
      const size_t produced = (room > 0 ? room : 1) - stream.avail_out;
      if (room == 0 && produced > 0) result = Z_DATA_ERROR;  // more than stated
      read += in - stream.avail_in;
      written += room > 0 ? produced : 0;
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && written == out.size();
  }

  std::span<const std::byte> bytes_;
  std::string where_;
};

void append(std::vector<std::byte>& out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i, value >>= 8) out.push_back(static_cast<std::byte>(value & 255));
}

void append(std::vector<std::byte>& out, std::string_view text) {
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

Expected<std::vector<std::byte>> deflate_all(std::span<const std::byte> data) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return Status(StatusCode::kOutOfMemory, "write_npz: zlib does not start");
  std::vector<std::byte> packed(deflateBound(&stream, static_cast<uLong>(data.size())));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.erase(packed.end() - static_cast<std::ptrdiff_t>(stream.avail_out), packed.end());
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return Status(StatusCode::kInternal, "write_npz: zlib does not finish");
  return packed;
}

// What local and central header share: from "version needed" to the name's length.
void append_member(std::vector<std::byte>& out, const Member& member) {
  append(out, 20, 2);
  append(out, 0x800, 2);  // names are UTF-8
  append(out, static_cast<uint64_t>(member.method), 2);
  append(out, 0, 2);
  append(out, 0x21, 2);  // 1980-01-01: the bytes depend on the tensors only
  append(out, member.crc, 4);
  append(out, member.compressed, 4);
  append(out, member.size, 4);
  append(out, member.name.size(), 2);
}

}  // namespace

Expected<std::vector<NamedTensor>> parse_npz(std::span<const std::byte> bytes, std::string_view where) {
  const Archive archive(bytes, where);
  INGOT_ASSIGN(const std::vector<Member> members, archive.members());
  std::vector<NamedTensor> tensors;
  uint64_t total = 0;
  for (const Member& member : members) {
    std::string_view name = member.name;
    if (name.ends_with('/')) continue;
    total += member.size;
    // Members may overlap in a hostile archive, so the sum is bounded by what their own bytes could hold.
    if (total > kMaxMemberBytes || total / kMaxExpansion > bytes.size())
      return archive.bad("members are too large together");
    INGOT_ASSIGN(const std::vector<std::byte> data, archive.extract(member));
    INGOT_ASSIGN(NamedTensor tensor,
                 parse_npy(data, std::string(where) + ", member '" + Archive::printable(name) + "'"));
    if (name.ends_with(".npy")) name.remove_suffix(4);
    tensor.name = name;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Expected<std::vector<std::byte>> write_npz(std::span<const NamedTensor> tensors, bool compress) {
  std::vector<std::byte> file, directory;
  for (const NamedTensor& tensor : tensors) {
    INGOT_ASSIGN(const std::vector<std::byte> npy, write_npy(tensor));
    Member member;
    member.name = tensor.name + ".npy";
    if (member.name.size() > 65535 || npy.size() > 0x7fffffff || file.size() > 0x7fffffff || tensors.size() > 65534)
      return Status(StatusCode::kUnsupported, "write_npz: archive too large: tensor '" +
                                                  Archive::printable(tensor.name) +
                                                  "' would need zip64; write one file per tensor");
    member.size = npy.size();
    member.crc = Archive::checksum(npy);
    member.local_offset = file.size();
    std::vector<std::byte> packed;
    if (compress) {
      INGOT_ASSIGN(packed, deflate_all(npy));
      member.method = 8;
    }
    const std::vector<std::byte>& data = compress ? packed : npy;
    member.compressed = data.size();

    append(file, kLocalHeader, 4);
    append_member(file, member);
    append(file, 0, 2);
    append(file, member.name);
    file.insert(file.end(), data.begin(), data.end());

    append(directory, kCentralHeader, 4);
    append(directory, 20, 2);
    append_member(directory, member);
    append(directory, 0, 2 + 2 + 2 + 2 + 4);  // extra, comment, disk, attributes
    append(directory, member.local_offset, 4);
    append(directory, member.name);
  }
  const uint64_t offset = file.size();
  file.insert(file.end(), directory.begin(), directory.end());
  append(file, kEnd, 4);
  append(file, 0, 4);
  append(file, tensors.size(), 2);
  append(file, tensors.size(), 2);
  append(file, directory.size(), 4);
  append(file, offset, 4);
  append(file, 0, 2);
  return file;
}

}  // namespace ingot
