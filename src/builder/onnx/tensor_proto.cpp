// Bodies of tensor_proto.h.
#include "builder/onnx/tensor_proto.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>

#include "builder/onnx/external_data.h"
#include "builder/onnx/onnx_proto.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

// ONNX's numbers; the installed schema may be older than some of them.
struct TypeRow {
  int32_t onnx;
  std::optional<DataType> type;
  const char* name;
};
constexpr TypeRow kTypes[] = {
    {1, DataType::kF32, "float"},        {2, DataType::kU8, "uint8"},      {3, DataType::kS8, "int8"},
    {4, DataType::kU16, "uint16"},       {5, DataType::kS16, "int16"},     {6, DataType::kS32, "int32"},
    {7, DataType::kS64, "int64"},        {8, std::nullopt, "string"},      {9, DataType::kBool, "bool"},
    {10, DataType::kF16, "float16"},     {11, DataType::kF64, "double"},   {12, DataType::kU32, "uint32"},
    {13, DataType::kU64, "uint64"},      {14, std::nullopt, "complex64"},  {15, std::nullopt, "complex128"},
    {16, DataType::kBF16, "bfloat16"},   {17, DataType::kF8E4M3, "float8e4m3fn"}, {18, DataType::kF8E4M3Fnuz, "float8e4m3fnuz"},
    {19, DataType::kF8E5M2, "float8e5m2"}, {20, DataType::kF8E5M2Fnuz, "float8e5m2fnuz"}, {21, DataType::kU4, "uint4"},
    {22, DataType::kS4, "int4"},         {23, DataType::kF4E2M1, "float4e2m1"}, {24, DataType::kF8E8M0, "float8e8m0"},
    {25, DataType::kU2, "uint2"},         {26, DataType::kS2, "int2"}};

bool is_packed(DataType type) { return packed_bits(type) < 8; }

// Bytes that `elements` take in raw_data.
int64_t stored_bytes(DataType type, int64_t elements) {
  const int64_t in_byte = is_packed(type) ? 8 / packed_bits(type) : 1;
  return is_packed(type) ? elements / in_byte + (elements % in_byte != 0) : elements * static_cast<int64_t>(element_bytes(type));
}

Blob unpack(DataType type, std::span<const std::byte> packed, int64_t elements) {
  Blob out(static_cast<size_t>(elements));
  const auto bits = static_cast<unsigned>(packed_bits(type)), mask = (1u << bits) - 1;
  const size_t in_byte = 8 / bits;
  const bool is_signed = type == DataType::kS4 || type == DataType::kS2;
  for (size_t i = 0; i < out.size(); ++i) {
    const unsigned value = std::to_integer<unsigned>(packed[i / in_byte]) >> (i % in_byte * bits) & mask;
    out[i] = std::byte(is_signed && value > mask / 2 ? (value | ~mask) & 0xFF : value);
  }
  return out;
}

template <class To, class Field>
Blob from_field(const Field& field) {
  Blob out(static_cast<size_t>(field.size()) * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field.Get(i));
    std::memcpy(out.data() + static_cast<size_t>(i) * sizeof(To), &value, sizeof(To));
  }
  return out;
}

Status wrong_count(std::string_view where, int64_t got, int64_t need, const Shape& shape) {
  return Status(StatusCode::kInvalidModel, std::string(where) + ": data does not fit the dims " + to_string(shape) +
                                               ": got " + std::to_string(got) + " elements, need " + std::to_string(need));
}

// The values that an element of fewer bits than its field may have. Bits of small floats and packed ones may be written with a
// sign or without.
struct FieldRange {
  int64_t low, high;
};
std::optional<FieldRange> field_range(DataType type) {
  switch (type) {
    case DataType::kU8: return FieldRange{0, UINT8_MAX};
    case DataType::kS8: return FieldRange{INT8_MIN, INT8_MAX};
    case DataType::kU16: return FieldRange{0, UINT16_MAX};
    case DataType::kS16: return FieldRange{INT16_MIN, INT16_MAX};
    case DataType::kU32: return FieldRange{0, UINT32_MAX};
    case DataType::kF16: case DataType::kBF16: return FieldRange{INT16_MIN, UINT16_MAX};
    case DataType::kF32: case DataType::kF64: case DataType::kS32: case DataType::kS64: case DataType::kU64: case DataType::kBool: return std::nullopt;
    default: return FieldRange{INT8_MIN, UINT8_MAX};
  }
}

Status check_field_values(const onnx::TensorProto& proto, DataType type, std::string_view where) {
  const auto range = field_range(type);
  if (!range) return {};
  const bool is_wide = type == DataType::kU32;
  for (int i = 0; i < (is_wide ? proto.uint64_data_size() : proto.int32_data_size()); ++i) {
    const int64_t value = is_wide ? static_cast<int64_t>(proto.uint64_data(i)) : proto.int32_data(i);
    if (value < range->low || value > range->high)
      return Status(StatusCode::kInvalidModel, std::string(where) + ": element " + std::to_string(i) + " does not fit its type: got " + std::to_string(value) +
                                                   ", need " + std::to_string(range->low) + " to " + std::to_string(range->high) + " for " +
                                                   std::string(to_string(type)));
  }
  return {};
}

// The field that holds elements of this type.
Expected<Blob> from_typed_field(const onnx::TensorProto& proto, DataType type, int64_t elements, const Shape& shape,
                                std::string_view where) {
  int64_t count = 0;
  switch (type) {
    case DataType::kF32: count = proto.float_data_size(); break;
    case DataType::kF64: count = proto.double_data_size(); break;
    case DataType::kS64: count = proto.int64_data_size(); break;
    case DataType::kU32: case DataType::kU64: count = proto.uint64_data_size(); break;
    default: count = proto.int32_data_size(); break;
  }
  if (const int64_t need = is_packed(type) ? stored_bytes(type, elements) : elements; count != need)
    return wrong_count(where, is_packed(type) ? count * (8 / packed_bits(type)) : count, elements, shape);
  INGOT_TRY(check_field_values(proto, type, where));
  switch (type) {
    case DataType::kF32: return from_field<float>(proto.float_data());
    case DataType::kF64: return from_field<double>(proto.double_data());
    case DataType::kS64: return from_field<int64_t>(proto.int64_data());
    case DataType::kU64: return from_field<uint64_t>(proto.uint64_data());
    case DataType::kU32: return from_field<uint32_t>(proto.uint64_data());
    case DataType::kS32: return from_field<int32_t>(proto.int32_data());
    case DataType::kF16: case DataType::kBF16: case DataType::kU16: case DataType::kS16:
      return from_field<uint16_t>(proto.int32_data());
    case DataType::kBool: {
      Blob out = from_field<uint8_t>(proto.int32_data());
      for (size_t i = 0; i < out.size(); ++i) out[i] = std::byte(proto.int32_data(static_cast<int>(i)) != 0);
      return out;
    }
    default: {
      Blob bytes = from_field<uint8_t>(proto.int32_data());
      return is_packed(type) ? unpack(type, bytes, elements) : std::move(bytes);
    }
  }
}

Expected<int64_t> parse_number(const std::string& text, std::string_view key, std::string_view where) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return Status(StatusCode::kInvalidModel, std::string(where) + ": external data has a wrong " + std::string(key) +
                                                 ": got " + quoted(text) + ", need a number that is not negative");
  return value;
}

Expected<ExternalLocation> external_location(const onnx::TensorProto& proto, std::string_view where) {
  ExternalLocation result;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      result.location = entry.value();
    } else if (entry.key() == "offset") {
      INGOT_ASSIGN(result.offset, parse_number(entry.value(), "offset", where));
    } else if (entry.key() == "length") {
      INGOT_ASSIGN(result.length, parse_number(entry.value(), "length", where));
    }
  }
  return result;
}

Expected<Shape> checked_shape(std::span<const int64_t> dims, int64_t& elements, std::string_view where) {
  if (dims.size() > Shape::kMaxRank)
    return Status(StatusCode::kUnsupported, std::string(where) + ": too many dims: got " + std::to_string(dims.size()) +
                                                ", need ≤ " + std::to_string(Shape::kMaxRank));
  const auto count = checked_elements(dims);
  if (!count)
    return Status(StatusCode::kInvalidModel, std::string(where) + ": dims make no sense: got " +
                                                 to_string(Shape::of(dims)) + ", need no negative dim and < 2^60 elements");
  elements = *count;
  return Shape::of(dims);
}

std::span<const int64_t> span_of(const google::protobuf::RepeatedField<int64_t>& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

}  // namespace

Expected<DataType> data_type_from_onnx(int64_t onnx_type) {
  for (const TypeRow& row : kTypes) {
    if (row.onnx != onnx_type) continue;
    if (row.type) return *row.type;
    return Status(StatusCode::kUnsupported, std::string("element type ") + row.name + " is not supported");
  }
  return Status(StatusCode::kInvalidModel, "unknown element type: got " + std::to_string(onnx_type) + ", need 1 to 26");
}

int32_t data_type_to_onnx(DataType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return row.onnx;
  return 0;
}

Expected<TensorContent> read_tensor(const onnx::TensorProto& proto, const TensorSource& source, std::string_view where) {
  auto dtype = data_type_from_onnx(proto.data_type());
  if (!dtype.ok()) return dtype.take_status().with_context(where);
  int64_t elements = 0;
  INGOT_ASSIGN(const Shape shape, checked_shape(span_of(proto.dims()), elements, where));
  TensorContent content{TensorType{*dtype, shape, Layout::kLinear, {}}, {}};

  const int64_t bytes = stored_bytes(*dtype, elements);
  const bool typed = proto.float_data_size() || proto.int32_data_size() || proto.int64_data_size() ||
                     proto.double_data_size() || proto.uint64_data_size() || proto.string_data_size();
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (proto.has_segment()) return Status(StatusCode::kUnsupported, std::string(where) + ": tensors in segments are not supported");
  if ((proto.has_raw_data() && typed) || (external && (typed || !proto.raw_data().empty())))
    return Status(StatusCode::kInvalidModel, std::string(where) + ": has data in two places: need one of raw_data, a typed field, an external file");

  Blob stored;
  if (external) {
    INGOT_ASSIGN(const ExternalLocation location, external_location(proto, where));
    INGOT_ASSIGN(stored, read_external_data(source.base_dir, location, bytes, where));
  } else if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (static_cast<int64_t>(raw.size()) != bytes)
      return Status(StatusCode::kInvalidModel, std::string(where) + ": raw_data does not fit the dims " + to_string(shape) +
                                                   ": got " + std::to_string(raw.size()) + " bytes, need " + std::to_string(bytes));
    stored.resize(raw.size());
    if (!raw.empty()) std::memcpy(stored.data(), raw.data(), raw.size());
  } else {
    INGOT_ASSIGN(content.bytes, from_typed_field(proto, *dtype, elements, shape, where));
    return content;
  }
  if (is_packed(*dtype)) stored = unpack(*dtype, stored, elements);
  if (*dtype == DataType::kBool)
    for (std::byte& value : stored) value = std::byte(value != std::byte{0});
  content.bytes = std::move(stored);
  return content;
}

Expected<TensorContent> read_sparse_tensor(const onnx::SparseTensorProto& proto, const TensorSource& source,
                                           std::string_view where) {
  int64_t elements = 0;
  INGOT_ASSIGN(const Shape shape, checked_shape(span_of(proto.dims()), elements, where));
  INGOT_ASSIGN(const TensorContent values, read_tensor(proto.values(), source, where));
  INGOT_ASSIGN(const TensorContent indices, read_tensor(proto.indices(), source, where));
  const auto invalid = [&](const std::string& what) {
    return Status(StatusCode::kInvalidModel, std::string(where) + ": sparse tensor " + what);
  };
  if (values.type.shape.rank != 1 || indices.type.dtype != DataType::kS64)
    return invalid("is malformed: need values of rank 1 and int64 indices");
  const int64_t count = values.type.shape[0];
  const bool linear = indices.type.shape == Shape{count};
  if (!linear && !(indices.type.shape == Shape{count, shape.rank}))
    return invalid("has indices of a wrong shape: got " + to_string(indices.type.shape) + ", need " + to_string(Shape{count}) +
                   " or " + to_string(Shape{count, shape.rank}));
  const int64_t size = static_cast<int64_t>(element_bytes(values.type.dtype));
  if (elements > (source.max_sparse_bytes - source.sparse_bytes) / size)
    return Status(StatusCode::kUnsupported, std::string(where) + ": sparse tensor is too large when dense: got " + to_string(shape) + ", need ≤ " +
                                                std::to_string(source.max_sparse_bytes) + " bytes for all of the model; store it dense");
  source.sparse_bytes += elements * size;
  TensorContent content{TensorType{values.type.dtype, shape, Layout::kLinear, {}}, Blob(static_cast<size_t>(elements * size))};
  const auto index_at = [&](int64_t i) {
    int64_t value = 0;
    std::memcpy(&value, indices.bytes.data() + i * 8, 8);
    return value;
  };
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t& place = places[static_cast<size_t>(i)];
    if (linear) {
      place = index_at(i);
      if (place < 0 || place >= elements) return invalid("has an index out of range: got " + std::to_string(place));
    } else {
      for (int d = 0; d < shape.rank; ++d) {
        const int64_t index = index_at(i * shape.rank + d);
        if (index < 0 || index >= shape[d]) return invalid("has an index out of range: got " + std::to_string(index));
        place = place * shape[d] + index;
      }
    }
    std::memcpy(content.bytes.data() + place * size, values.bytes.data() + i * size, static_cast<size_t>(size));
  }
  // Any order will do, but of two values for one place either could be meant.
  std::sort(places.begin(), places.end());
  if (const auto twice = std::adjacent_find(places.begin(), places.end()); twice != places.end())
    return invalid("names place " + std::to_string(*twice) + " twice");
  return content;
}

onnx::TensorProto write_tensor(std::string name, const TensorType& type, std::span<const std::byte> bytes) {
  onnx::TensorProto proto;
  proto.set_name(std::move(name));
  proto.set_data_type(data_type_to_onnx(type.dtype));
  for (int64_t dim : type.shape.span()) proto.add_dims(dim);
  std::string& raw = *proto.mutable_raw_data();
  if (is_packed(type.dtype)) {
    const auto bits = static_cast<unsigned>(packed_bits(type.dtype)), mask = (1u << bits) - 1;
    const size_t in_byte = 8 / bits;
    raw.assign(bytes.size() / in_byte + (bytes.size() % in_byte != 0), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      const unsigned value = (std::to_integer<unsigned>(bytes[i]) & mask) << (i % in_byte * bits);
      raw[i / in_byte] = static_cast<char>(static_cast<uint8_t>(raw[i / in_byte]) | value);
    }
  } else {
    raw.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return proto;
}

std::string serialize_tensor(std::string name, const TensorType& type, std::span<const std::byte> bytes) {
  return write_tensor(std::move(name), type, bytes).SerializeAsString();
}

Expected<TensorContent> parse_tensor(std::span<const std::byte> bytes, std::string_view where) {
  try {
    onnx::TensorProto proto;
    if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return Status(StatusCode::kInvalidArgument, std::string(where) + ": is not a serialised ONNX tensor");
    return read_tensor(proto, {}, where);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, std::string(where) + ": not enough memory to read the tensor");
  }
}

}  // namespace ingot
