// One C++ statement for each statement of the chain; numbers are written as their bits.
#include "runtime/cuda/chain_source.h"

#include <bit>
#include <cstdio>

namespace ingot::cuda {
namespace {

const char* type_name(DataType type) {
  switch (type) {
    case DataType::kF32: return "float";
    case DataType::kBool: return "bool";
    case DataType::kS32: return "int32_t";
    case DataType::kS64: return "int64_t";
    case DataType::kS8: return "int8_t";
    default: return "uint8_t";
  }
}

std::string bits(float x) {
  char text[48];
  std::snprintf(text, sizeof text, "__int_as_float(0x%08x)", std::bit_cast<uint32_t>(x));
  return text;
}
std::string bits(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "__longlong_as_double(0x%016llxll)", static_cast<unsigned long long>(std::bit_cast<uint64_t>(x)));
  return text;
}

std::string code_of(UnaryFunction f) { return "UnaryFunction(" + std::to_string(static_cast<int64_t>(f)) + ')'; }
std::string code_of(BinaryFunction f) { return "BinaryFunction(" + std::to_string(static_cast<int64_t>(f)) + ')'; }

std::string operand_text(const ChainOperand& operand) {
  switch (operand.kind) {
    case ChainOperand::Kind::kInput: return 'i' + std::to_string(operand.index);
    case ChainOperand::Kind::kResult: return 'r' + std::to_string(operand.index);
    default: return bits(operand.number);
  }
}

std::string function_text(const ChainStatement& s, const std::string& x) {
  return code_of(s.function) + ", " + x + ", " + bits(s.alpha) + ", " + bits(s.beta) + ')';
}

std::string statement_text(const ChainProblem& chain, const ChainStatement& s, DataType result) {
  const std::string a = operand_text(s.operands[0]), b = operand_text(s.operands[1]), c = operand_text(s.operands[2]);
  const DataType first = chain.type_of(s.operands[0]);
  switch (s.kind) {
    case ChainStatement::Kind::kUnary:
      return (s.function == UnaryFunction::kIsNan || s.function == UnaryFunction::kIsInf ? "is_special(" : "unary(") + function_text(s, a);
    case ChainStatement::Kind::kBinary: {
      if (is_comparison(s.binary)) return "compare(" + code_of(s.binary) + ", " + a + ", " + b + ')';
      // Powers of integers may have an exponent of another type.
      const std::string pair = s.binary == BinaryFunction::kPow && first != DataType::kF32
                                   ? std::string("power<") + type_name(first) + ">(" + a + ", int64_t(" + b + "))"
                                   : "binary(" + code_of(s.binary) + ", " + a + ", " + b + ')';
      return s.function == UnaryFunction::kIdentity ? pair : "unary(" + function_text(s, pair);
    }
    case ChainStatement::Kind::kWhere: return a + " ? " + b + " : " + c;
    case ChainStatement::Kind::kCast: return std::string("Cast<") + type_name(result) + ", " + type_name(first) + ">::of(" + a + ')';
  }
  return {};
}

// From ChainParams `p` and element number `at` to the last result.
std::string body(const ChainProblem& chain, const std::string& indent) {
  const std::string count = std::to_string(chain.program.inputs);
  std::string text = indent + "int64_t offsets[" + count + "];\n" + indent + "find_offsets(p, at, offsets);\n";
  for (int i = 0; i < chain.program.inputs; ++i) {
    const auto k = static_cast<size_t>(i);
    const std::string number = std::to_string(i);
    const std::string load = std::string("load<") + type_name(chain.inputs[k]) + ">(p.inputs[" + number + "], offsets[" + number + "])";
    text += indent + "const " + (chain.quantised[k] ? "float" : type_name(chain.inputs[k])) + " i" + number + " = ";
    text += chain.quantised[k] ? "dequantised(" + load + ", " + bits(chain.scale[k]) + ", " + std::to_string(chain.zero[k]) + ");\n" : load + ";\n";
  }
  for (int i = 0; i < chain.program.length; ++i) {
    const auto k = static_cast<size_t>(i);
    text += indent + "const " + type_name(chain.results[k]) + " r" + std::to_string(i) + " = " + statement_text(chain, chain.program.code[k], chain.results[k]) + ";\n";
  }
  return text;
}

}  // namespace

std::string chain_source(const ChainProblem& chain) {
  const std::string last = 'r' + std::to_string(chain.program.length - 1);
  std::string text =
      "#include \"runtime/cuda/kernels/chain_math.cuh\"\n\n"
      "extern \"C\" __global__ void __launch_bounds__(256) " + std::string(kChainKernel) + "(const __grid_constant__ ingot::cuda::ChainParams p) {\n"
      "  using namespace ingot;\n  using namespace ingot::cuda;\n";
  if (chain.reduction.reduced_dims == 0) {
    text += "  const int64_t at = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;\n  if (at >= p.elements) return;\n" + body(chain, "  ");
    if (chain.quantises)
      return text + "  store(p.output, at, quantised<" + type_name(chain.output) + ">(" + last + ", " + bits(chain.output_scale) + ", " +
             std::to_string(chain.output_zero) + "));\n}\n";
    return text + "  store(p.output, at, " + last + ");\n}\n";
  }
  const ReduceFunction f = chain.reduction.reduce;
  const std::string fold = f == ReduceFunction::kMax ? "ChainFold::kMax" : f == ReduceFunction::kMin ? "ChainFold::kMin" : f == ReduceFunction::kProd ? "ChainFold::kProd" : "ChainFold::kSum";
  text += "  double total = fold_start(" + fold + ");\n"
          "  for (int64_t k = threadIdx.x; k < p.set_size; k += 256) {\n"
          "    const int64_t at = static_cast<int64_t>(blockIdx.x) * p.set_size + k;\n" + body(chain, "    ") +
          "    double x = " + last + ";\n";
  if (f == ReduceFunction::kL1) text += "    x = fabs(x);\n";
  if (f == ReduceFunction::kL2 || f == ReduceFunction::kSumSquare) text += "    x = __dmul_rn(x, x);\n";
  text += "    total = fold(" + fold + ", total, x);\n  }\n  total = fold_threads(" + fold + ", total);\n  if (threadIdx.x != 0) return;\n";
  if (f == ReduceFunction::kMean) text += "  total = __ddiv_rn(total, static_cast<double>(p.set_size));\n";
  if (f == ReduceFunction::kL2) text += "  total = __dsqrt_rn(total);\n";
  if (f == ReduceFunction::kLogSum) text += "  total = log(total);\n";
  return text + "  store(p.output, blockIdx.x, static_cast<float>(total));\n}\n";
}

}  // namespace ingot::cuda
