// What a tensor is: element type, shape, memory layout and, for quantised tensors, scale and zero point.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

enum class DataType : uint8_t {
  kF32, kF16, kBF16, kF64, kS8, kU8, kS16, kU16, kS32, kU32, kS64, kU64, kBool, kS4, kU4, kF8E4M3, kF8E5M2,
  kF8E4M3Fnuz, kF8E5M2Fnuz, kF8E8M0, kF4E2M1, kS2, kU2
};
inline constexpr int kDataTypeCount = 23;
std::string_view to_string(DataType type);                       // "f32", "u8", "bool" …
std::optional<DataType> parse_data_type(std::string_view name);  // inverse of to_string
size_t element_bytes(DataType type);                             // types of less than 8 bits count as 1: Ingot stores them unpacked
int packed_bits(DataType type);                                  // of an element in a model file, where 2 and 4 bits are packed
bool is_float(DataType type);
bool is_integer(DataType type);  // signed and unsigned, not bool

// Order of the elements in memory. Dims of a Shape are always in the model's order (N, C, spatial…).
enum class Layout : uint8_t {
  kLinear,        // row-major in the order of the dims
  kChannelsLast,  // dim 1 moved to the end: NHWC for rank 4, NWC for rank 3; rank ≥ 3 only
};
std::string_view to_string(Layout layout);

// What a user permits a layer to compute in; never a tensor's property.
enum class Precision : uint8_t { kF32 = 1, kF16 = 2, kInt8 = 4 };

struct Shape {
  static constexpr int64_t kDynamic = -1;
  static constexpr int kMaxRank = 8;
  int rank = 0;
  std::array<int64_t, kMaxRank> dims{};

  Shape() = default;
  Shape(std::initializer_list<int64_t> list);
  static Shape of(std::span<const int64_t> list);  // list.size() ≤ kMaxRank

  int64_t operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims[static_cast<size_t>(i)]; }
  std::span<const int64_t> span() const { return {dims.data(), static_cast<size_t>(rank)}; }
  bool is_static() const;
  int64_t elements() const;  // 1 for a scalar; kDynamic if any dim is dynamic
  bool operator==(const Shape& other) const;
};
std::string to_string(const Shape& shape);                    // "1x3x224x224", "scalar", "?x10"
std::optional<Shape> parse_shape(std::string_view text);      // inverse; also accepts commas
// Elements of a shape from untrusted input; nullopt when negative or when elements × 8 overflow int64.
std::optional<int64_t> checked_elements(std::span<const int64_t> dims);

// real = scale · (q − zero_point). One scale per tensor (axis < 0) or one per index of dim `axis`.
struct QuantParams {
  std::vector<float> scales;
  std::vector<int32_t> zero_points;  // as many as scales
  int axis = -1;
  bool trained = false;  // scales came with the model (QAT or another tool's PTQ) and are a contract
  bool operator==(const QuantParams&) const = default;
};

struct TensorType {
  DataType dtype = DataType::kF32;
  Shape shape;
  Layout layout = Layout::kLinear;
  std::optional<QuantParams> quant;

  int64_t bytes() const;  // elements × element size; −1 if dynamic
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "u8[1x64x56x56] channels_last s=0.02 z=3"

}  // namespace ingot
