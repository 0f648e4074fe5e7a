// Runs one op in a test: typed tensors, type rule, reference code, results as vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/ops/op.h"

namespace ingot {

struct TestTensor {
  TensorType type;
  std::vector<std::byte> bytes;
  bool present = true;

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(bytes.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
};

template <class T>
constexpr DataType kTypeOf = std::is_same_v<T, float>      ? DataType::kF32
                             : std::is_same_v<T, double>   ? DataType::kF64
                             : std::is_same_v<T, int8_t>   ? DataType::kS8
                             : std::is_same_v<T, uint8_t>  ? DataType::kU8
                             : std::is_same_v<T, int16_t>  ? DataType::kS16
                             : std::is_same_v<T, uint16_t> ? DataType::kU16
                             : std::is_same_v<T, int32_t>  ? DataType::kS32
                             : std::is_same_v<T, uint32_t> ? DataType::kU32
                             : std::is_same_v<T, int64_t>  ? DataType::kS64
                                                           : DataType::kU64;

template <class T>
TestTensor tensor(const Shape& shape, const std::vector<T>& values, std::optional<QuantParams> quant = {}) {
  EXPECT_EQ(shape.elements(), static_cast<int64_t>(values.size()));
  TestTensor t{{kTypeOf<T>, shape, Layout::kLinear, std::move(quant)}, {}, true};
  t.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}
inline TestTensor as_bool(TestTensor t) {
  t.type.dtype = DataType::kBool;
  return t;
}
inline TestTensor absent() { return {{}, {}, false}; }
inline QuantParams quant(float scale, int32_t zero_point) { return {{scale}, {zero_point}, -1, false}; }

inline Status infer(const OpParams& params, const std::vector<TestTensor>& inputs, std::vector<OpOutput>& outputs) {
  std::vector<OpInput> known;
  for (const TestTensor& t : inputs)
    known.push_back(t.present ? OpInput{t.type.dtype, t.type.shape, t.bytes.data(), true} : OpInput{});
  return infer_types(params, known, outputs);
}
// The words of the type rule's refusal; empty if it accepts.
inline std::string refusal(const OpParams& params, const std::vector<TestTensor>& inputs) {
  std::vector<OpOutput> outputs(1);
  return std::string(infer(params, inputs, outputs).message());
}

// `type` sets the outputs' element type and quantisation where the builder would choose them.
inline std::vector<TestTensor> run_all(const OpParams& params, const std::vector<TestTensor>& inputs,
                                       size_t outputs = 1, std::optional<TensorType> type = {}) {
  std::vector<OpOutput> types(outputs);
  const Status ruled = infer(params, inputs, types);
  EXPECT_TRUE(ruled.ok()) << ruled.message();
  std::vector<TestTensor> results;
  if (!ruled.ok()) return std::vector<TestTensor>(outputs);
  for (const OpOutput& output : types) {
    TestTensor t;
    if (type)
      t.type = *type;
    else
      t.type.dtype = output.dtype;
    t.type.shape = output.shape;
    t.bytes.assign(static_cast<size_t>(t.type.bytes()), std::byte{0xcd});
    results.push_back(std::move(t));
  }
  std::vector<ConstTensorRef> in;
  for (const TestTensor& t : inputs)
    in.push_back(t.present ? ConstTensorRef{&t.type, t.bytes.data()} : ConstTensorRef{});
  std::vector<TensorRef> out;
  for (TestTensor& t : results) out.push_back({&t.type, t.bytes.data()});
  const Status ran = run_reference(params, in, out);
  EXPECT_TRUE(ran.ok()) << ran.message();
  return results;
}
inline TestTensor run_op(const OpParams& params, const std::vector<TestTensor>& inputs,
                         std::optional<TensorType> type = {}) {
  return run_all(params, inputs, 1, std::move(type))[0];
}
template <class T>
TensorType quantized(float scale, int32_t zero_point) {
  return {kTypeOf<T>, {}, Layout::kLinear, quant(scale, zero_point)};
}

// A small deterministic generator, so that a failure is the same everywhere.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  int64_t range(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(next() % static_cast<uint64_t>(hi - lo + 1));
  }
  float real(float lo, float hi) { return lo + (hi - lo) * (static_cast<float>(next() >> 7) * 0x1p-24f); }
  template <class T>
  TestTensor integers(const Shape& shape, int64_t lo, int64_t hi, std::optional<QuantParams> quant = {}) {
    std::vector<T> values(static_cast<size_t>(shape.elements()));
    for (T& v : values) v = static_cast<T>(range(lo, hi));
    return tensor<T>(shape, values, std::move(quant));
  }
  TestTensor reals(const Shape& shape, float lo = -1, float hi = 1) {
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (float& v : values) v = real(lo, hi);
    return tensor<float>(shape, values);
  }

 private:
  uint64_t state_;
};

}  // namespace ingot
