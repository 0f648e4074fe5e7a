// The header of a .npy file is a Python dict literal with three known keys; a small reader takes exactly that.
#include "data/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

namespace ingot {
namespace {

constexpr size_t kMaxHeader = 65536;
constexpr std::string_view kMagic("\x93NUMPY", 6);

struct TypeRow {
  std::string_view code;
  DataType type;
};
constexpr TypeRow kTypes[] = {{"f4", DataType::kF32}, {"f2", DataType::kF16}, {"f8", DataType::kF64},
                              {"i1", DataType::kS8},  {"u1", DataType::kU8},  {"i2", DataType::kS16},
                              {"u2", DataType::kU16}, {"i4", DataType::kS32}, {"u4", DataType::kU32},
                              {"i8", DataType::kS64}, {"u8", DataType::kU64}, {"b1", DataType::kBool},
                              {"i1", DataType::kS4},  {"u1", DataType::kU4}};  // the last two for writing only

struct Header {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<int64_t>> shape;
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }
class DictReader {
 public:
  explicit DictReader(std::string_view text) : text_(text) {}

  bool read(Header& header) {
    if (!take('{')) return false;
    while (!take('}')) {
      std::string_view key;
      if (!quoted(key) || !take(':')) return false;
      if (key == "descr") {
        std::string_view descr;
        if (!quoted(descr)) return false;
        header.descr = descr;
      } else if (key == "fortran_order") {
        if (word("True"))
          header.fortran = true;
        else if (word("False"))
          header.fortran = false;
        else
          return false;
      } else if (key == "shape") {
        std::vector<int64_t> dims;
        if (!tuple(dims)) return false;
        header.shape = std::move(dims);
      } else {
        return false;
      }
      if (!take(',')) {
        if (!take('}')) return false;
        break;
      }
    }
    skip_blanks();
    return text_.empty();
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\0'))
      text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    skip_blanks();
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  bool quoted(std::string_view& out) {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool tuple(std::vector<int64_t>& dims) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_blanks();
      int64_t dim = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (error != std::errc() || dims.size() > 64) return false;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      word("L");  // written by Python 2
      dims.push_back(dim);
      if (!take(',')) return take(')');
    }
    return true;
  }

  std::string_view text_;
};

Status bad(std::string_view where, std::string_view what) {
  return {StatusCode::kInvalidArgument, std::string(where) + ": " + std::string(what)};
}

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 20)) out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return out + "'";
}

void swap_bytes(std::span<std::byte> data, size_t element) {
  for (size_t i = 0; i + element <= data.size(); i += element)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(i),
                 data.begin() + static_cast<std::ptrdiff_t>(i + element));
}

// Column-major source → row-major destination.
void from_fortran(const std::byte* source, std::byte* destination, const Shape& shape, size_t element) {
  std::array<int64_t, Shape::kMaxRank> index{}, stride{};
  int64_t step = 1;
  for (int d = 0; d < shape.rank; ++d) {
    stride[static_cast<size_t>(d)] = step;
    step *= shape[d];
  }
  const int64_t count = shape.elements();
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + static_cast<size_t>(i) * element, source + static_cast<size_t>(at) * element, element);
    for (int d = shape.rank - 1; d >= 0; --d) {
      const size_t k = static_cast<size_t>(d);
      at += stride[k];
      if (++index[k] < shape[d]) break;
      at -= stride[k] * shape[d];
      index[k] = 0;
    }
  }
}

}  // namespace

Expected<NamedTensor> parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    return bad(where, "not a .npy file: got " + shown(text.substr(0, 6)) + ", need '\\x93NUMPY'");
  if (text.size() < 12)
    return bad(where, "file is cut short: got " + std::to_string(text.size()) + " bytes, need at least 12");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    return Status(StatusCode::kUnsupported,
                  std::string(where) + ": unknown .npy version: got " + std::to_string(version) + ", need 1 to 3");
  const size_t start = version == 1 ? 10 : 12;
  const size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader || length > text.size() - start)
    return bad(where, "header does not fit the file: got " + std::to_string(length) + " bytes, need at most " +
                          std::to_string(std::min(kMaxHeader, text.size() - start)));
  Header header;
  if (!DictReader(text.substr(start, length)).read(header) || !header.descr || !header.fortran || !header.shape)
    return bad(where, "malformed .npy header: got " + shown(text.substr(start, length)) +
                          ", need a dict of descr, fortran_order and shape");

  std::string_view code = *header.descr;
  const bool big_endian = code.starts_with('>');
  if (code.starts_with('<') || code.starts_with('>') || code.starts_with('|') || code.starts_with('='))
    code.remove_prefix(1);
  const auto row = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return r.code == code; });
  if (row == std::end(kTypes))
    return Status(StatusCode::kUnsupported, std::string(where) + ": element type not supported: got " +
                                                shown(*header.descr) +
                                                ", need a float of 2, 4 or 8 bytes, an integer or bool");
  if (header.shape->size() > static_cast<size_t>(Shape::kMaxRank))
    return bad(where, "too many dims: got " + std::to_string(header.shape->size()) + ", need at most 8");
  const std::optional<int64_t> elements = checked_elements(*header.shape);
  if (!elements)
    return bad(where, "impossible shape: got a negative or overflowing size, need a shape that fits the file");

  NamedTensor tensor;
  tensor.dtype = row->type;
  tensor.shape = Shape::of(*header.shape);
  const size_t element = element_bytes(row->type), size = static_cast<size_t>(*elements) * element;
  const std::span<const std::byte> data = bytes.subspan(start + length);
  if (data.size() != size)
    return bad(where, "data does not match shape " + to_string(tensor.shape) + ": got " + std::to_string(data.size()) +
                          " bytes, need " + std::to_string(size));
  tensor.data.resize(size);
  if (*header.fortran && tensor.shape.rank > 1) {
    from_fortran(data.data(), tensor.data.data(), tensor.shape, element);
  } else {
    std::copy(data.begin(), data.end(), tensor.data.begin());
  }
  if (big_endian && element > 1) swap_bytes(tensor.data, element);
  return tensor;
}

Expected<std::vector<std::byte>> write_npy(const NamedTensor& tensor) {
  const auto row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeRow& r) { return r.type == tensor.dtype; });
  if (row == std::end(kTypes))
    return Status(StatusCode::kUnsupported, "write_npy: NumPy has no such element type: got " +
                                                std::string(to_string(tensor.dtype)) +
                                                ", need f16, f32, f64, an integer or bool; write a .pb instead");
  const int64_t elements = tensor.shape.elements();
  if (elements < 0 || static_cast<size_t>(elements) * element_bytes(tensor.dtype) != tensor.data.size())
    return Status(StatusCode::kInvalidArgument, "write_npy: data does not match shape " + to_string(tensor.shape) +
                                                    ": got " + std::to_string(tensor.data.size()) + " bytes");
  std::string header = "{'descr': '";
  header += element_bytes(tensor.dtype) == 1 ? '|' : '<';
  header += std::string(row->code) + "', 'fortran_order': False, 'shape': (";
  for (const int64_t dim : tensor.shape.span()) header += std::to_string(dim) + (tensor.shape.rank == 1 ? "," : ", ");
  if (tensor.shape.rank > 1) header.resize(header.size() - 2);
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // NumPy aligns the data to 64 bytes
  header += '\n';

  std::string file(kMagic);
  file += '\1';
  file += '\0';
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  std::vector<std::byte> bytes(file.size() + tensor.data.size());
  std::memcpy(bytes.data(), file.data(), file.size());
  std::copy(tensor.data.begin(), tensor.data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(file.size()));
  return bytes;
}

}  // namespace ingot
