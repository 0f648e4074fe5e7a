// A connected group of element-wise ops as one op: a straight program over elements, and maybe a reduction of its result over
// trailing dims. It means what the separate ops mean, one after the other: reference code calls theirs, piece by piece.
//
//   program="mul(i0,i1);add+relu(r0,0.5);clip:0:6(r1);where(i2,r2,i0);cast:s32(r3)"
//
// Statements are separated by ';', without spaces, and make r0, r1, … in order; the last makes the output. Functions have the names
// of to_string(UnaryFunction) and to_string(BinaryFunction), with :alpha and :beta where these are not 0; a fused activation
// stands behind '+'. Operands: i<n> an input, r<n> an earlier result, or a number, which is an f32. `->f32`, `->u8` or `->s8` at the
// end says in what type the result is where quantised values leave that to the builder. Every input and every result but the last
// is used. All inputs broadcast to one shape, that of the output before the reduction.
// Quantised (u8/s8 with one scale): inputs, and the output of the last statement where nothing is reduced. Results between have no scale.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runtime/ops/fields.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/reduce.h"

namespace ingot {

inline constexpr int kMaxChainInputs = 8, kMaxChainLength = 24;

struct PointwiseChainParams {
  std::string program;
  ReduceFunction reduce = ReduceFunction::kSum;  // over the last `reduced_dims` dims; 0: no reduction
  int64_t reduced_dims = 0;
  bool keepdims = true;
  INGOT_FIELDS(program, reduce, reduced_dims, keepdims)
};

struct ChainOperand {
  enum class Kind : uint8_t { kInput, kResult, kNumber } kind = Kind::kInput;
  uint8_t index = 0;
  float number = 0;
  bool operator==(const ChainOperand&) const = default;
};

struct ChainStatement {
  enum class Kind : uint8_t { kUnary, kBinary, kWhere, kCast } kind = Kind::kUnary;
  UnaryFunction function = UnaryFunction::kIdentity;  // of a binary: its activation
  double alpha = 0, beta = 0;                         // of `function`
  BinaryFunction binary = BinaryFunction::kAdd;
  DataType to = DataType::kF32;                       // of a cast
  bool saturate = true;
  std::optional<DataType> stored;                     // what stands behind "->"
  std::array<ChainOperand, 3> operands{};
  int operand_count() const { return kind == Kind::kWhere ? 3 : kind == Kind::kBinary ? 2 : 1; }
  bool operator==(const ChainStatement&) const = default;
};

struct ChainProgram {
  int inputs = 0, length = 0;
  std::array<ChainStatement, kMaxChainLength> code{};
};

// Refuses what is not of the form above; allocates only to word that.
Status parse_chain(std::string_view text, ChainProgram& program);
std::string to_string(const ChainProgram& program);
std::string to_string(const ChainStatement& statement);

// The element types of all results, by the type rules of the ops; `inputs` has program.inputs types.
using ChainTypes = std::array<DataType, kMaxChainLength>;
Status infer_chain_types(const ChainProgram& program, std::span<const DataType> inputs, ChainTypes& results);

Status infer_types(const PointwiseChainParams&, std::span<const OpInput>, std::span<OpOutput>);
// Allocates where operands are quantised.
Status run_reference(const PointwiseChainParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
// One statement on `count` elements, operands and result dense, by the reference code of its op. Types as in the program, unquantised.
Status run_chain_statement(const ChainStatement& statement, int64_t count, std::span<const DataType> types, std::span<const void* const> operands,
                           DataType result_type, void* result);

}  // namespace ingot
