// PointwiseChain: its reference code against the reference code of the separate ops, bit by bit, on random programs; the text of
// programs, and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "random_chain.h"
#include "runtime/ops/op.h"

namespace ingot {
namespace {

using Kind = ChainOperand::Kind;

struct Tensor {
  TensorType type;
  std::vector<std::byte> bytes;
  ConstTensorRef ref() const { return {&type, bytes.data()}; }
};

Tensor empty_tensor(DataType dtype, const Shape& shape) {
  Tensor t{{dtype, shape, Layout::kLinear, {}}, {}};
  t.bytes.resize(static_cast<size_t>(t.type.bytes()));
  return t;
}

void fill(Tensor& t, ChainRandom& random) {
  for (size_t at = 0; at < t.bytes.size(); at += element_bytes(t.type.dtype)) {
    const auto put = [&](auto value) { std::memcpy(&t.bytes[at], &value, sizeof value); };
    switch (t.type.dtype) {
      case DataType::kF32: put(random.below(20) == 0 ? std::numeric_limits<float>::infinity() : random.number()); break;
      case DataType::kS32: put(static_cast<int32_t>(random.below(9) - 4)); break;
      case DataType::kS64: put(static_cast<int64_t>(random.below(9) - 4)); break;
      case DataType::kBool: put(static_cast<uint8_t>(random.below(2))); break;
      default: put(static_cast<uint8_t>(random.below(256))); break;
    }
  }
}

OpParams params_of(const ChainStatement& s) {
  switch (s.kind) {
    case ChainStatement::Kind::kUnary: return UnaryParams{s.function, s.alpha, s.beta};
    case ChainStatement::Kind::kBinary: return BinaryParams{s.binary, {s.function, s.alpha, s.beta}};
    case ChainStatement::Kind::kWhere: return WhereParams{};
    default: return CastParams{static_cast<int64_t>(s.to), s.saturate};
  }
}

// Each statement as an op of its own, on whole tensors that broadcast.
Tensor run_apart(const ChainProgram& program, const std::vector<Tensor>& inputs, const TensorType* output) {
  std::vector<Tensor> results;
  for (int i = 0; i < program.length; ++i) {
    const ChainStatement& s = program.code[static_cast<size_t>(i)];
    std::vector<Tensor> numbers;
    numbers.reserve(3);
    std::vector<ConstTensorRef> refs;
    std::vector<OpInput> seen;
    for (int k = 0; k < s.operand_count(); ++k) {
      const ChainOperand& operand = s.operands[static_cast<size_t>(k)];
      const Tensor* t = operand.kind == Kind::kInput ? &inputs[operand.index] : operand.kind == Kind::kResult ? &results[operand.index] : nullptr;
      if (!t) {
        numbers.push_back(empty_tensor(DataType::kF32, Shape{}));
        std::memcpy(numbers.back().bytes.data(), &operand.number, sizeof(float));
        t = &numbers.back();
      }
      refs.push_back(t->ref());
      seen.push_back({t->type.dtype, t->type.shape, nullptr, true});
    }
    OpOutput made;
    EXPECT_TRUE(infer_types(params_of(s), seen, std::span(&made, 1)).ok());
    Tensor y = empty_tensor(s.stored.value_or(made.dtype), made.shape);
    if (i + 1 == program.length && output) y.type.quant = output->quant;
    const TensorRef ref{&y.type, y.bytes.data()};
    const Status status = run_reference(params_of(s), refs, std::span(&ref, 1));
    EXPECT_TRUE(status.ok()) << status.message();
    results.push_back(std::move(y));
  }
  return results.back();
}

Tensor run_chain(const PointwiseChainParams& params, const std::vector<Tensor>& inputs, const TensorType* output) {
  std::vector<ConstTensorRef> refs;
  std::vector<OpInput> seen;
  for (const Tensor& t : inputs) {
    refs.push_back(t.ref());
    seen.push_back({t.type.dtype, t.type.shape, nullptr, true});
  }
  OpOutput made;
  Status status = infer_types(params, seen, std::span(&made, 1));
  EXPECT_TRUE(status.ok()) << status.message();
  Tensor y = empty_tensor(made.dtype, made.shape);
  if (output) y.type.quant = output->quant;
  const TensorRef ref{&y.type, y.bytes.data()};
  status = run_reference(params, refs, std::span(&ref, 1));
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

TEST(PointwiseChain, GivesTheBitsOfTheSeparateOps) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    ChainRandom random(seed);
    std::vector<ChainInput> operands;
    const ChainProgram program = random_chain(random, operands);
    std::vector<Tensor> inputs;
    for (const ChainInput& operand : operands) {
      inputs.push_back(empty_tensor(operand.dtype, operand.shape));
      fill(inputs.back(), random);
    }
    PointwiseChainParams params;
    params.program = to_string(program);
    SCOPED_TRACE(params.program);
    ChainProgram read;
    ASSERT_TRUE(parse_chain(params.program, read).ok()) << parse_chain(params.program, read).message();
    EXPECT_EQ(read.code, program.code);
    EXPECT_EQ(read.inputs, program.inputs);
    const Tensor apart = run_apart(program, inputs, nullptr), chain = run_chain(params, inputs, nullptr);
    EXPECT_EQ(chain.type, apart.type);
    ASSERT_EQ(chain.bytes, apart.bytes);
    ++compared;
  }
  EXPECT_GT(compared, 300);
}

TEST(PointwiseChain, ReducesTheBitsOfTheSeparateOps) {
  for (int function = 0; function < static_cast<int>(ReduceFunction::kCount); ++function)
    for (int64_t dims : {1, 2, 3})
      for (bool keepdims : {true, false}) {
        ChainRandom random(7);
        std::vector<Tensor> inputs = {empty_tensor(DataType::kF32, Shape{3, 7, 50}), empty_tensor(DataType::kF32, Shape{7, 1})};
        for (Tensor& input : inputs) fill(input, random);
        PointwiseChainParams params{"mul+relu(i0,i1);add(r0,0.25)", static_cast<ReduceFunction>(function), dims, keepdims};
        ChainProgram program;
        ASSERT_TRUE(parse_chain(params.program, program).ok());
        const Tensor whole = run_apart(program, inputs, nullptr);
        Tensor axes = empty_tensor(DataType::kS64, Shape{dims});
        for (int64_t i = 0; i < dims; ++i) reinterpret_cast<int64_t*>(axes.bytes.data())[i] = 3 - dims + i;
        const ReduceParams reduce{params.reduce, keepdims, false};
        const OpInput seen[] = {{DataType::kF32, whole.type.shape, whole.bytes.data(), true}, {DataType::kS64, axes.type.shape, axes.bytes.data(), true}};
        OpOutput made;
        ASSERT_TRUE(infer_types(reduce, seen, std::span(&made, 1)).ok());
        Tensor want = empty_tensor(made.dtype, made.shape);
        const ConstTensorRef refs[] = {whole.ref(), axes.ref()};
        const TensorRef ref{&want.type, want.bytes.data()};
        ASSERT_TRUE(run_reference(reduce, refs, std::span(&ref, 1)).ok());
        const Tensor got = run_chain(params, inputs, nullptr);
        EXPECT_EQ(got.type, want.type);
        EXPECT_EQ(got.bytes, want.bytes) << to_string(params.reduce) << ' ' << dims;
      }
}

TEST(PointwiseChain, QuantisedValuesComeInAndGoOut) {
  ChainRandom random(3);
  std::vector<Tensor> inputs = {empty_tensor(DataType::kU8, Shape{2, 3, 40}), empty_tensor(DataType::kF32, Shape{3, 1}), empty_tensor(DataType::kS8, Shape{40})};
  for (Tensor& input : inputs) fill(input, random);
  inputs[0].type.quant = QuantParams{{0.02f}, {7}};
  inputs[2].type.quant = QuantParams{{0.05f}, {-3}};
  TensorType output;
  output.quant = QuantParams{{0.04f}, {11}};
  PointwiseChainParams params{"silu(i0)->f32;mul(r0,i1);div(r1,i2)->f32;sub+clip:-1:3(r2,0.5)->u8"};
  ChainProgram program;
  ASSERT_TRUE(parse_chain(params.program, program).ok());
  EXPECT_EQ(to_string(program), params.program);
  EXPECT_EQ(run_chain(params, inputs, &output).bytes, run_apart(program, inputs, &output).bytes);
}

TEST(PointwiseChain, RefusesProgramsOfAnotherForm) {
  const auto message = [](std::string text) {
    ChainProgram program;
    return std::string(parse_chain(text, program).message());
  };
  EXPECT_EQ(message("add(i0,i1)"), "");
  EXPECT_NE(message(""), "");
  EXPECT_NE(message(";"), "");
  EXPECT_NE(message("add(i0,i1);"), "add");  // a closing ';' begins nothing
  EXPECT_NE(message("add(i0,i8)"), "");
  EXPECT_NE(message("add(i0,r0)"), "");
  EXPECT_NE(message("add(i0,r1);relu(r0)"), "");
  EXPECT_NE(message("add(i0)"), "");
  EXPECT_NE(message("add(i0,i1,i2)"), "");
  EXPECT_NE(message("add(i1,i1)"), "");           // i0 is not used
  EXPECT_NE(message("relu(i0);relu(i0)"), "");    // r0 is not used
  EXPECT_NE(message("relu(1)"), "");              // no input
  EXPECT_NE(message("sum(i0,i1)"), "");
  EXPECT_NE(message("clip:0:6:7(i0)"), "");
  EXPECT_NE(message("relu(i0)x"), "");
  EXPECT_NE(message("relu(i0)->f16"), "");
  EXPECT_NE(message("cast:f31(i0)"), "");
  EXPECT_NE(message("relu(i-1)"), "");
  EXPECT_NE(message("relu(i99999999999)"), "");
  std::string longest = "relu(i0)";
  for (int i = 1; i < kMaxChainLength; ++i) longest += ";relu(r" + std::to_string(i - 1) + ")";
  EXPECT_EQ(message(longest), "");
  EXPECT_NE(message(longest + ";relu(r" + std::to_string(kMaxChainLength - 1) + ")"), "");
  EXPECT_NE(message(std::string(100000, '(')), "");

  const auto rule = [](PointwiseChainParams params, std::vector<OpInput> inputs) {
    OpOutput output;
    return infer_types(params, inputs, std::span(&output, 1)).ok();
  };
  const OpInput f32{DataType::kF32, Shape{2, 3}, nullptr, true}, s64{DataType::kS64, Shape{2, 3}, nullptr, true}, odd{DataType::kF32, Shape{4}, nullptr, true};
  EXPECT_TRUE(rule({"add(i0,i1)"}, {f32, f32}));
  EXPECT_FALSE(rule({"add(i0,i1)"}, {f32}));
  EXPECT_FALSE(rule({"add(i0,i1)"}, {f32, f32, f32}));
  EXPECT_FALSE(rule({"add(i0,i1)"}, {f32, s64}));
  EXPECT_FALSE(rule({"add(i0,i1)"}, {f32, odd}));
  EXPECT_FALSE(rule({"silu(i0)"}, {s64}));
  EXPECT_FALSE(rule({"relu(i0)->u8;relu(r0)"}, {f32}));
  EXPECT_FALSE(rule({"add(i0,i1)", ReduceFunction::kSum, 3}, {f32, f32}));
  EXPECT_FALSE(rule({"add(i0,i1)", ReduceFunction::kSum, -1}, {f32, f32}));
  EXPECT_FALSE(rule({"less(i0,i1)", ReduceFunction::kSum, 1}, {f32, f32}));
}

}  // namespace
}  // namespace ingot
