// Reads chains, and single ops as chains of one statement.
#include "runtime/chain_problem.h"

#include "runtime/ops/element.h"

namespace ingot {
namespace {

bool is_known(DataType type) {
  switch (type) {
    case DataType::kF32: case DataType::kBool: case DataType::kS32: case DataType::kS64: case DataType::kU8: case DataType::kS8: return true;
    default: return false;
  }
}

// One statement over inputs in their order.
const char* one_statement(const Problem& problem, ChainProgram& program) {
  ChainStatement& s = program.code[0];
  switch (kind_of(problem.params)) {
    case OpKind::kUnary: {
      const auto& unary = std::get<UnaryParams>(problem.params);
      s.function = unary.function, s.alpha = unary.alpha, s.beta = unary.beta;
      break;
    }
    case OpKind::kBinary: {
      const auto& binary = std::get<BinaryParams>(problem.params);
      s.kind = ChainStatement::Kind::kBinary;
      s.binary = binary.function;
      s.function = binary.activation.function, s.alpha = binary.activation.alpha, s.beta = binary.activation.beta;
      break;
    }
    case OpKind::kWhere: s.kind = ChainStatement::Kind::kWhere; break;
    case OpKind::kCast: {
      const auto& cast = std::get<CastParams>(problem.params);
      s.kind = ChainStatement::Kind::kCast;
      s.to = static_cast<DataType>(cast.to), s.saturate = cast.saturate;
      break;
    }
    case OpKind::kQuantizeLinear: case OpKind::kDequantizeLinear: break;  // the identity, stored otherwise
    default: return "no element-wise op";
  }
  program.length = 1;
  program.inputs = s.operand_count();
  for (int i = 0; i < program.inputs; ++i) s.operands[static_cast<size_t>(i)].index = static_cast<uint8_t>(i);
  const TensorType& y = problem.outputs[0].type;
  if (y.quant || problem.inputs[0].type.quant) s.stored = y.dtype;
  return nullptr;
}

}  // namespace

const char* read_chain(const Problem& problem, ChainProblem& chain) {
  if (problem.outputs.size() != 1 || !problem.outputs[0].present) return "not one output";
  if (const auto* params = std::get_if<PointwiseChainParams>(&problem.params)) {
    if (!parse_chain(params->program, chain.program).ok()) return "its program cannot be read";
    chain.reduction = *params;
    chain.reduction.program.clear();
  } else if (const char* refusal = one_statement(problem, chain.program)) {
    return refusal;
  }
  const ChainProgram& program = chain.program;
  if (problem.inputs.size() != static_cast<size_t>(program.inputs)) return "an operand too many or too few";
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const TensorType& type = problem.inputs[i].type;
    if (!problem.inputs[i].present || !is_known(type.dtype)) return "an operand is not f32, bool, s32, s64, u8 or s8";
    chain.inputs[i] = type.dtype;
    if (!type.quant) continue;
    if (!is_quantized(type) || is_per_channel(type) || type.quant->scales.size() != 1) return "an operand has several scales";
    chain.quantised[i] = true;
    chain.scale[i] = scale_of(type);
    chain.zero[i] = zero_point_of(type);
  }
  const TensorType& y = problem.outputs[0].type;
  if (!is_known(y.dtype)) return "output is not f32, bool, s32, s64, u8 or s8";
  chain.output = y.dtype;
  ChainTypes stored{};
  if (!infer_chain_types(program, std::span<const DataType>(chain.inputs).first(problem.inputs.size()), stored).ok()) return "its types do not fit";
  for (int i = 0; i < program.length; ++i) {
    const ChainStatement& s = program.code[static_cast<size_t>(i)];
    DataType& result = chain.results[static_cast<size_t>(i)];
    result = stored[static_cast<size_t>(i)];
    if (!is_known(result)) return "a result is not f32, bool, s32, s64, u8 or s8";
    int quantised = 0;
    bool real = true;
    for (int k = 0; k < s.operand_count(); ++k) {
      const ChainOperand& operand = s.operands[static_cast<size_t>(k)];
      if (operand.kind == ChainOperand::Kind::kInput && chain.quantised[operand.index]) ++quantised;
      real = real && chain.type_of(operand) == DataType::kF32;
    }
    const bool is_last = i + 1 == program.length, to_bytes = is_last && y.quant && chain.reduction.reduced_dims == 0;
    if (quantised == 0 && !to_bytes) {
      if (s.stored && *s.stored == DataType::kF32 && !real) return "a result is stored as f32 where nothing is quantised";
      if (s.stored && *s.stored != DataType::kF32 && real) return "a result is stored in 8 bits where nothing is quantised";
      continue;
    }
    if (s.kind != ChainStatement::Kind::kUnary && s.kind != ChainStatement::Kind::kBinary) return "quantised values move";
    if (!real) return "quantised values meet integers";
    if (s.kind == ChainStatement::Kind::kBinary && is_comparison(s.binary)) {
      if (to_bytes) return "a comparison is quantised";
      continue;
    }
    if (s.kind == ChainStatement::Kind::kUnary && (s.function == UnaryFunction::kIsNan || s.function == UnaryFunction::kIsInf || s.function == UnaryFunction::kNot ||
                                                    s.function == UnaryFunction::kBitwiseNot))
      return "no kernel for this function of quantised values";
    const bool arithmetic = s.kind == ChainStatement::Kind::kBinary &&
                            (s.binary == BinaryFunction::kAdd || s.binary == BinaryFunction::kSub || s.binary == BinaryFunction::kMul);
    if (quantised == 2 && arithmetic) return "integer arithmetic on quantised values";
    if (s.kind == ChainStatement::Kind::kBinary && s.binary > BinaryFunction::kPRelu) return "no kernel for this function of quantised values";
    if (to_bytes) {
      if (!is_quantized(y) || is_per_channel(y) || y.quant->scales.size() != 1 || result != y.dtype) return "output is not u8/s8 with one scale";
      chain.quantises = true;
      chain.output_scale = scale_of(y);
      chain.output_zero = zero_point_of(y);
    } else if (result != DataType::kF32) {
      return "a quantised result has no scale";
    }
    result = DataType::kF32;
  }
  if (!chain.quantises && chain.results[static_cast<size_t>(program.length - 1)] != y.dtype) return "output has another type than its program says";
  return nullptr;
}

bool is_defined_to_the_bit(UnaryFunction function) {
  if (function <= UnaryFunction::kNeg) return true;
  switch (function) {
    case UnaryFunction::kExp: case UnaryFunction::kSqrt: case UnaryFunction::kReciprocal: case UnaryFunction::kErf: case UnaryFunction::kFloor:
    case UnaryFunction::kCeil: case UnaryFunction::kRound: case UnaryFunction::kSign: case UnaryFunction::kNot: case UnaryFunction::kIsNan:
    case UnaryFunction::kIsInf: case UnaryFunction::kBitwiseNot: return true;
    default: return false;
  }
}

bool is_defined_to_the_bit(const ChainProgram& program) {
  for (int i = 0; i < program.length; ++i) {
    const ChainStatement& s = program.code[static_cast<size_t>(i)];
    if (s.kind == ChainStatement::Kind::kUnary && !is_defined_to_the_bit(s.function)) return false;
    if (s.kind == ChainStatement::Kind::kBinary && s.binary == BinaryFunction::kPow) return false;
  }
  return true;
}

}  // namespace ingot
