// Reference code of Where and Cast.
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/element.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

// A number of any type without loss: integers as 64 bits, floats as double.
struct Number {
  enum class Kind : uint8_t { kSigned, kUnsigned, kReal } kind;
  union {
    int64_t s;
    uint64_t u;
    double r;
  };
};

Number read_number(DataType type, const void* data, int64_t i) {
  Number n{Number::Kind::kReal, {0}};
  const bool ran =
      with_float_type(
          type, [&](auto t) { n.r = static_cast<double>(load_element(static_cast<const decltype(t)*>(data)[i])); }) ||
      with_integer_type(type, [&](auto t) {
        using T = decltype(t);
        const T v = static_cast<const T*>(data)[i];
        if constexpr (std::is_signed_v<T>)
          n.kind = Number::Kind::kSigned, n.s = v;
        else
          n.kind = Number::Kind::kUnsigned, n.u = v;
      });
  if (ran) return n;
  const uint8_t byte = static_cast<const uint8_t*>(data)[i];
  if (type == DataType::kBool)
    n.kind = Number::Kind::kUnsigned, n.u = byte != 0;
  else
    n.r = small_float_to_real(type, byte);
  return n;
}

void write_number(DataType type, void* data, int64_t i, const Number& n, bool saturate) {
  const double real = n.kind == Number::Kind::kReal     ? n.r
                      : n.kind == Number::Kind::kSigned ? static_cast<double>(n.s)
                                                        : static_cast<double>(n.u);
  const auto few_bits = [&](int64_t lo, int64_t hi) -> int64_t {
    const int64_t whole = n.kind == Number::Kind::kReal ? saturate_cast<int64_t>(n.r) : n.s;
    const int64_t low = whole & (hi - lo);  // narrowing drops the high bits, from floats too: as ONNX's tests have it
    return low > hi ? low - (hi - lo + 1) : low;
  };
  switch (type) {
    case DataType::kBool:
      static_cast<uint8_t*>(data)[i] = n.kind == Number::Kind::kReal ? n.r != 0 : n.u != 0;
      return;
    case DataType::kF8E4M3: case DataType::kF8E5M2: case DataType::kF8E4M3Fnuz: case DataType::kF8E5M2Fnuz:
    case DataType::kF8E8M0: case DataType::kF4E2M1:
      static_cast<uint8_t*>(data)[i] = real_to_small_float(type, real, saturate);
      return;
    case DataType::kS2:
      static_cast<int8_t*>(data)[i] = static_cast<int8_t>(few_bits(-2, 1));
      return;
    case DataType::kU2:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(few_bits(0, 3));
      return;
    case DataType::kS4:
      static_cast<int8_t*>(data)[i] = static_cast<int8_t>(few_bits(-8, 7));
      return;
    case DataType::kU4:
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(few_bits(0, 15));
      return;
    case DataType::kF32:  // from 64-bit integers directly, so that there is one rounding
      static_cast<float*>(data)[i] = n.kind == Number::Kind::kReal     ? static_cast<float>(n.r)
                                     : n.kind == Number::Kind::kSigned ? static_cast<float>(n.s)
                                                                       : static_cast<float>(n.u);
      return;
    default:
      break;
  }
  with_float_type(type, [&](auto t) { static_cast<decltype(t)*>(data)[i] = store_float<decltype(t)>(real); });
  with_integer_type(type, [&](auto t) {
    using T = decltype(t);
    static_cast<T*>(data)[i] = n.kind == Number::Kind::kReal ? saturate_cast<T>(n.r) : static_cast<T>(n.u);
  });
}

}  // namespace

Status run_reference(const WhereParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const TensorRef& y = outputs[0];
  const size_t bytes = element_bytes(y.type->dtype);
  for_each_row<3>(y.type->shape, {inputs[0].type->shape, inputs[1].type->shape, inputs[2].type->shape},
                  [&](int64_t out, int64_t count, const auto& offsets, const auto& steps) {
                    for (int64_t i = 0; i < count; ++i) {
                      const size_t chosen = inputs[0].as<uint8_t>()[offsets[0] + i * steps[0]] ? 1 : 2;
                      std::memcpy(
                          y.as<char>() + static_cast<size_t>(out + i) * bytes,
                          inputs[chosen].as<char>() + static_cast<size_t>(offsets[chosen] + i * steps[chosen]) * bytes,
                          bytes);
                    }
                  });
  return {};
}

Status run_reference(const CastParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const DataType from = inputs[0].type->dtype, to = static_cast<DataType>(params.to);
  const int64_t count = inputs[0].type->shape.elements();
  if (from == to) {
    if (count > 0) std::memcpy(outputs[0].data, inputs[0].data, static_cast<size_t>(count) * element_bytes(to));
    return {};
  }
  for (int64_t i = 0; i < count; ++i)
    write_number(to, outputs[0].data, i, read_number(from, inputs[0].data, i), params.saturate);
  return {};
}

Status infer_types(const BitCastParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "bit_cast";
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  if (params.to < 0 || params.to >= kDataTypeCount)
    return refuse(kOp, "element type", std::to_string(params.to), "0 to " + std::to_string(kDataTypeCount - 1));
  const DataType from = inputs[0].dtype, to = static_cast<DataType>(params.to);
  // Values of 2 and 4 bits are stored one to a byte, so their bytes are not their bits.
  const auto is_packed = [](DataType type) { return packed_bits(type) < 8; };
  if (element_bytes(from) != element_bytes(to) || is_packed(from) || is_packed(to))
    return refuse(kOp, "element types", std::string(to_string(from)) + " to " + std::string(to_string(to)), "two of the same size");
  return set_output(kOp, outputs[0], to, inputs[0].shape);
}

Status run_reference(const BitCastParams&, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  if (const int64_t bytes = outputs[0].type->bytes(); bytes > 0)
    std::memcpy(outputs[0].data, inputs[0].data, static_cast<size_t>(bytes));
  return {};
}

}  // namespace ingot
