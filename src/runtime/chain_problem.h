// What every backend asks of a PointwiseChain, or of one element-wise op taken as a chain of one statement: its program, the types
// that statements compute in, and how quantised values come in and go out.
#pragma once

#include "runtime/ops/pointwise_chain.h"
#include "runtime/tactic.h"

namespace ingot {

struct ChainProblem {
  ChainProgram program;
  std::array<DataType, kMaxChainInputs> inputs{};   // element types in memory
  std::array<bool, kMaxChainInputs> quantised{};    // read as s·(q − z), an f32
  std::array<float, kMaxChainInputs> scale{};
  std::array<int32_t, kMaxChainInputs> zero{};
  ChainTypes results{};                             // what statements compute; an f32 where the result is quantised afterwards
  DataType output = DataType::kF32;                 // in memory
  bool quantises = false;                           // the last result is stored as clamp(rne(y/s) + z)
  float output_scale = 1;
  int32_t output_zero = 0;
  PointwiseChainParams reduction;                   // its program aside

  // Of an operand, once inputs are read.
  DataType type_of(const ChainOperand& operand) const {
    if (operand.kind == ChainOperand::Kind::kNumber) return DataType::kF32;
    if (operand.kind == ChainOperand::Kind::kResult) return results[operand.index];
    return quantised[operand.index] ? DataType::kF32 : inputs[operand.index];
  }
};

// Reads the problem of a PointwiseChain, Unary, Binary, Where, Cast, or of a QuantizeLinear or DequantizeLinear with one scale in its
// types. Null, or why kernels of chains do not take it: element types beside f32, bool, s32, s64, u8 and s8; integer arithmetic
// on quantised values.
const char* read_chain(const Problem& problem, ChainProblem& chain);
// Whether the definition of a function leaves no bit open (docs/numerics.md): not where it is the C library's.
bool is_defined_to_the_bit(UnaryFunction function);
bool is_defined_to_the_bit(const ChainProgram& program);

}  // namespace ingot
