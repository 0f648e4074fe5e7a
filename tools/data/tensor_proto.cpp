// The wire format is a list of (field number, kind, value); unknown fields are skipped, as protobuf does.
#include "data/tensor_proto.h"

#include <cstring>
#include <optional>
#include <string>

namespace ingot {
namespace {

// Field numbers of onnx.TensorProto.
enum Field : uint64_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14
};
enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct TypeRow {
  uint64_t onnx;
  DataType type;
  Field typed_field;
};
constexpr TypeRow kTypes[] = {
    {1, DataType::kF32, kFloatData},   {2, DataType::kU8, kInt32Data},      {3, DataType::kS8, kInt32Data},
    {4, DataType::kU16, kInt32Data},   {5, DataType::kS16, kInt32Data},     {6, DataType::kS32, kInt32Data},
    {7, DataType::kS64, kInt64Data},   {9, DataType::kBool, kInt32Data},    {10, DataType::kF16, kInt32Data},
    {11, DataType::kF64, kDoubleData}, {12, DataType::kU32, kUint64Data},   {13, DataType::kU64, kUint64Data},
    {16, DataType::kBF16, kInt32Data}, {17, DataType::kF8E4M3, kInt32Data}, {19, DataType::kF8E5M2, kInt32Data},
    {18, DataType::kF8E4M3Fnuz, kInt32Data}, {20, DataType::kF8E5M2Fnuz, kInt32Data}, {21, DataType::kU4, kInt32Data},
    {22, DataType::kS4, kInt32Data},   {23, DataType::kF4E2M1, kInt32Data}, {24, DataType::kF8E8M0, kInt32Data},
    {25, DataType::kU2, kInt32Data},   {26, DataType::kS2, kInt32Data}};

bool is_packed(DataType type) { return packed_bits(type) < 8; }
// Elements of a packed type in one byte.
size_t elements_in_byte(DataType type) { return 8 / static_cast<size_t>(packed_bits(type)); }

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  bool varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return false;
      const uint64_t byte = static_cast<uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      value |= (byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }
  bool take(size_t count, std::span<const std::byte>& out) {
    if (count > bytes_.size()) return false;
    out = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

// A typed field may come as one packed block, one value at a time, or any mixture: the elements are appended in order.
struct Message {
  std::vector<int64_t> dims;
  uint64_t data_type = 0;
  std::string name;
  std::span<const std::byte> raw;
  bool has_raw = false, external = false, segment = false, strings = false;
  std::vector<std::byte> floats, doubles;  // already in memory order
  std::vector<uint64_t> int32s, int64s, uint64s;
};

bool append_varints(std::span<const std::byte> block, std::vector<uint64_t>& out) {
  WireReader reader(block);
  while (!reader.at_end()) {
    uint64_t value = 0;
    if (!reader.varint(value)) return false;
    out.push_back(value);
  }
  return true;
}

bool read_field(WireReader& reader, Message& message) {
  uint64_t tag = 0, number = 0;
  std::span<const std::byte> block;
  if (!reader.varint(tag)) return false;
  const uint64_t field = tag >> 3, wire = tag & 7;
  if (field == 0) return false;
  switch (wire) {
    case kVarint:
      if (!reader.varint(number)) return false;
      break;
    case kFixed64:
      if (!reader.take(8, block)) return false;
      break;
    case kFixed32:
      if (!reader.take(4, block)) return false;
      break;
    case kBytes:
      if (!reader.varint(number) || number > SIZE_MAX || !reader.take(static_cast<size_t>(number), block)) return false;
      break;
    default:
      return false;
  }
  const auto integers = [&](std::vector<uint64_t>& out) {
    if (wire == kBytes) return append_varints(block, out);
    if (wire != kVarint) return false;
    out.push_back(number);
    return true;
  };
  const auto fixed = [&](std::vector<std::byte>& out, uint64_t single, size_t size) {
    if ((wire != kBytes && wire != single) || block.size() % size != 0) return false;
    out.insert(out.end(), block.begin(), block.end());
    return true;
  };
  switch (field) {
    case kDims: {
      std::vector<uint64_t> dims;
      if (!integers(dims)) return false;
      for (const uint64_t dim : dims) message.dims.push_back(static_cast<int64_t>(dim));
      return true;
    }
    case kDataType:
      message.data_type = number;
      return wire == kVarint;
    case kSegment:
      message.segment = true;
      return true;
    case kFloatData:
      return fixed(message.floats, kFixed32, 4);
    case kInt32Data:
      return integers(message.int32s);
    case kStringData:
      message.strings = true;
      return true;
    case kInt64Data:
      return integers(message.int64s);
    case kName:
      message.name.assign(reinterpret_cast<const char*>(block.data()), block.size());
      return wire == kBytes;
    case kRawData:
      message.raw = block;
      message.has_raw = true;
      return wire == kBytes;
    case kDoubleData:
      return fixed(message.doubles, kFixed64, 8);
    case kUint64Data:
      return integers(message.uint64s);
    case kExternalData:
      message.external = true;
      return true;
    case kDataLocation:
      message.external = message.external || number != 0;
      return true;
    default:
      return true;
  }
}

Status bad(std::string_view where, const std::string& what) {
  return {StatusCode::kInvalidArgument, std::string(where) + ": " + what};
}
Status unsupported(std::string_view where, const std::string& what) {
  return {StatusCode::kUnsupported, std::string(where) + ": " + what};
}

// Element i of those packed in a byte.
std::byte unpacked(DataType type, unsigned byte, size_t i) {
  const auto bits = static_cast<unsigned>(packed_bits(type)), mask = (1u << bits) - 1;
  const unsigned value = byte >> (i % elements_in_byte(type) * bits) & mask;
  const bool is_signed = type == DataType::kS4 || type == DataType::kS2;
  return static_cast<std::byte>(is_signed && value > mask / 2 ? (value | ~mask) & 255 : value);
}

Status mismatch(std::string_view where, const Shape& shape, size_t got, int64_t need, const char* unit) {
  return bad(where, "data does not match shape " + to_string(shape) + ": got " + std::to_string(got) + ' ' + unit +
                        ", need " + std::to_string(need));
}

}  // namespace

Expected<NamedTensor> parse_tensor_proto(std::span<const std::byte> bytes, std::string_view where) {
  Message message;
  WireReader reader(bytes);
  while (!reader.at_end())
    if (!read_field(reader, message)) return bad(where, "not an ONNX TensorProto: the wire format is damaged");
  if (message.external) return unsupported(where, "tensor keeps its data in another file; store it inside");
  if (message.segment) return unsupported(where, "tensor is a segment of a larger one; store it whole");
  if (message.strings || message.data_type == 8) return unsupported(where, "string tensors are not supported");
  const TypeRow* row = nullptr;
  for (const TypeRow& candidate : kTypes)
    if (candidate.onnx == message.data_type) row = &candidate;
  if (!row) {
    if (message.data_type == 0) return bad(where, "not an ONNX TensorProto: no data type");
    return unsupported(where, "element type not supported: got ONNX type " + std::to_string(message.data_type));
  }
  if (message.dims.size() > static_cast<size_t>(Shape::kMaxRank))
    return bad(where, "too many dims: got " + std::to_string(message.dims.size()) + ", need at most 8");
  const std::optional<int64_t> elements = checked_elements(message.dims);
  if (!elements)
    return bad(where, "impossible shape: got a negative or overflowing size, need a shape that fits the file");

  NamedTensor tensor;
  tensor.name = std::move(message.name);
  tensor.dtype = row->type;
  tensor.shape = Shape::of(message.dims);
  const size_t count = static_cast<size_t>(*elements), size = count * element_bytes(row->type);
  if (message.has_raw) {
    if (is_packed(row->type)) {
      const size_t in_byte = elements_in_byte(row->type), packed = count / in_byte + (count % in_byte != 0);
      if (message.raw.size() != packed)
        return mismatch(where, tensor.shape, message.raw.size(), static_cast<int64_t>(packed), "bytes");
      tensor.data.resize(size);
      for (size_t i = 0; i < count; ++i)
        tensor.data[i] = unpacked(row->type, static_cast<unsigned>(message.raw[i / in_byte]), i);
      return tensor;
    }
    if (message.raw.size() != size)
      return mismatch(where, tensor.shape, message.raw.size(), static_cast<int64_t>(size), "bytes");
    tensor.data.assign(message.raw.begin(), message.raw.end());
    return tensor;
  }
  if (row->typed_field == kFloatData || row->typed_field == kDoubleData) {
    std::vector<std::byte>& values = row->typed_field == kFloatData ? message.floats : message.doubles;
    if (values.size() != size) return mismatch(where, tensor.shape, values.size(), static_cast<int64_t>(size), "bytes");
    tensor.data = std::move(values);
    return tensor;
  }
  const std::vector<uint64_t>& values = row->typed_field == kInt32Data   ? message.int32s
                                        : row->typed_field == kInt64Data ? message.int64s
                                                                         : message.uint64s;
  const size_t in_byte = is_packed(row->type) ? elements_in_byte(row->type) : 1;
  const size_t stored = count / in_byte + (count % in_byte != 0);
  if (values.size() != stored)
    return mismatch(where, tensor.shape, values.size(), static_cast<int64_t>(stored), "values");
  tensor.data.resize(size);
  const size_t element = element_bytes(row->type);
  for (size_t i = 0; i < count; ++i) {
    if (is_packed(row->type)) {
      tensor.data[i] = unpacked(row->type, static_cast<unsigned>(values[i / in_byte] & 255), i);
    } else {
      const uint64_t value = row->type == DataType::kBool ? values[i] != 0 : values[i];
      for (size_t b = 0; b < element; ++b)
        tensor.data[i * element + b] = static_cast<std::byte>(value >> (8 * b) & 255);
    }
  }
  return tensor;
}

std::vector<std::byte> write_tensor_proto(const NamedTensor& tensor) {
  std::vector<std::byte> out;
  const auto varint = [&](uint64_t value) {
    for (; value >= 128; value >>= 7) out.push_back(static_cast<std::byte>((value & 127) | 128));
    out.push_back(static_cast<std::byte>(value));
  };
  const auto block = [&](Field field, std::span<const std::byte> bytes) {
    varint(field << 3 | kBytes);
    varint(bytes.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  for (const int64_t dim : tensor.shape.span()) {
    varint(kDims << 3 | kVarint);
    varint(static_cast<uint64_t>(dim));
  }
  for (const TypeRow& row : kTypes) {
    if (row.type != tensor.dtype) continue;
    varint(kDataType << 3 | kVarint);
    varint(row.onnx);
  }
  if (!tensor.name.empty()) block(kName, std::as_bytes(std::span(tensor.name)));
  if (is_packed(tensor.dtype)) {
    const size_t in_byte = elements_in_byte(tensor.dtype), bits = 8 / in_byte;
    const auto mask = static_cast<std::byte>((1u << bits) - 1);
    std::vector<std::byte> packed(tensor.data.size() / in_byte + (tensor.data.size() % in_byte != 0));
    for (size_t i = 0; i < tensor.data.size(); ++i) packed[i / in_byte] |= (tensor.data[i] & mask) << (i % in_byte * bits);
    block(kRawData, packed);
  } else {
    block(kRawData, tensor.data);
  }
  return out;
}

}  // namespace ingot
