// The text of a chain's program, and its type rule.
#include "runtime/ops/pointwise_chain.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "pointwise chain";

Status malformed(std::string_view statement, std::string_view why) {
  return refuse(kOp, "statement '" + std::string(statement.substr(0, 60)) + "'", why, "what ops/pointwise_chain.h describes");
}

template <class Function>
bool function_named(std::string_view name, Function& function) {
  for (int64_t i = 0; i < static_cast<int64_t>(Function::kCount); ++i)
    if (to_string(static_cast<Function>(i)) == name) return function = static_cast<Function>(i), true;
  return false;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Takes what stands before `separator`, and the separator.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return head;
}

// "clip:0:6"
bool parse_function(std::string_view text, ChainStatement& statement) {
  if (!function_named(take_until(text, ':'), statement.function)) return false;
  if (!text.empty() && !parse_number(take_until(text, ':'), statement.alpha)) return false;
  if (!text.empty() && !parse_number(take_until(text, ':'), statement.beta)) return false;
  return text.empty();
}

bool parse_head(std::string_view text, ChainStatement& statement) {
  using Kind = ChainStatement::Kind;
  if (text == "where") {
    statement.kind = Kind::kWhere;
    return true;
  }
  if (text.starts_with("cast:")) {
    text.remove_prefix(5);
    const auto to = parse_data_type(take_until(text, ':'));
    statement.kind = Kind::kCast;
    statement.to = to.value_or(DataType::kF32);
    statement.saturate = text.empty();
    return to && (text.empty() || text == "wrap");
  }
  const size_t plus = text.find('+');
  if (function_named(text.substr(0, plus), statement.binary)) {
    statement.kind = Kind::kBinary;
    return plus == std::string_view::npos || parse_function(text.substr(plus + 1), statement);
  }
  return parse_function(text, statement);
}

bool parse_operand(std::string_view text, int results, ChainOperand& operand) {
  if (text.size() >= 2 && text.size() <= 3 && (text[0] == 'i' || text[0] == 'r') && text[1] >= '0' && text[1] <= '9') {
    operand.kind = text[0] == 'i' ? ChainOperand::Kind::kInput : ChainOperand::Kind::kResult;
    return parse_number(text.substr(1), operand.index) && operand.index < (text[0] == 'i' ? kMaxChainInputs : results);
  }
  operand.kind = ChainOperand::Kind::kNumber;
  return parse_number(text, operand.number);
}

Status parse_statement(std::string_view text, int results, ChainStatement& statement) {
  const std::string_view whole = text;
  const size_t open = text.find('('), close = text.find(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return malformed(whole, "no operands in parentheses");
  if (!parse_head(text.substr(0, open), statement)) return malformed(whole, "an unknown function");
  std::string_view list = text.substr(open + 1, close - open - 1);
  for (int i = 0; i < statement.operand_count(); ++i)
    if (!parse_operand(take_until(list, ','), results, statement.operands[static_cast<size_t>(i)])) return malformed(whole, "a wrong operand");
  if (!list.empty()) return malformed(whole, "too many operands");
  text.remove_prefix(close + 1);
  if (text.empty()) return {};
  if (!text.starts_with("->")) return malformed(whole, "something behind the operands");
  statement.stored = parse_data_type(text.substr(2));
  const bool known = statement.stored == DataType::kF32 || statement.stored == DataType::kU8 || statement.stored == DataType::kS8;
  return known ? Status() : malformed(whole, "a stored type other than f32, u8 and s8");
}

std::string shortest(double value) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : std::string("0");
}
std::string shortest(float value) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc() ? std::string(text, end) : std::string("0");
}

std::string function_text(const ChainStatement& s) {
  std::string text(to_string(s.function));
  // −0 is a number of its own.
  const bool has_beta = s.beta != 0 || std::signbit(s.beta);
  if (has_beta || s.alpha != 0 || std::signbit(s.alpha)) text += ':' + shortest(s.alpha);
  if (has_beta) text += ':' + shortest(s.beta);
  return text;
}

}  // namespace

Status parse_chain(std::string_view text, ChainProgram& program) {
  program = ChainProgram();
  std::array<bool, kMaxChainInputs> read_inputs{};
  std::array<bool, kMaxChainLength> read_results{};
  do {
    if (program.length == kMaxChainLength) return refuse(kOp, "statements", "more", "at most " + std::to_string(kMaxChainLength));
    ChainStatement& statement = program.code[static_cast<size_t>(program.length)];
    INGOT_TRY(parse_statement(take_until(text, ';'), program.length, statement));
    for (int i = 0; i < statement.operand_count(); ++i) {
      const ChainOperand& operand = statement.operands[static_cast<size_t>(i)];
      if (operand.kind == ChainOperand::Kind::kInput) {
        read_inputs[operand.index] = true;
        program.inputs = std::max(program.inputs, operand.index + 1);
      } else if (operand.kind == ChainOperand::Kind::kResult) {
        read_results[operand.index] = true;
      }
    }
    ++program.length;
  } while (!text.empty());
  if (program.inputs == 0) return refuse(kOp, "program", "no input", "one that is used");
  for (int i = 0; i < program.inputs; ++i)
    if (!read_inputs[static_cast<size_t>(i)]) return refuse(kOp, "input i" + std::to_string(i), "no use", "one");
  for (int i = 0; i + 1 < program.length; ++i)
    if (!read_results[static_cast<size_t>(i)]) return refuse(kOp, "result r" + std::to_string(i), "no use", "one");
  return {};
}

std::string to_string(const ChainStatement& s) {
  std::string text;
  switch (s.kind) {
    case ChainStatement::Kind::kUnary: text = function_text(s); break;
    case ChainStatement::Kind::kBinary:
      text = to_string(s.binary);
      if (s.function != UnaryFunction::kIdentity) text += '+' + function_text(s);
      break;
    case ChainStatement::Kind::kWhere: text = "where"; break;
    case ChainStatement::Kind::kCast: text = "cast:" + std::string(to_string(s.to)) + (s.saturate ? "" : ":wrap"); break;
  }
  for (int i = 0; i < s.operand_count(); ++i) {
    const ChainOperand& operand = s.operands[static_cast<size_t>(i)];
    text += i == 0 ? '(' : ',';
    if (operand.kind == ChainOperand::Kind::kNumber) text += shortest(operand.number);
    else text += (operand.kind == ChainOperand::Kind::kInput ? 'i' : 'r') + std::to_string(operand.index);
  }
  text += ')';
  if (s.stored) text += "->" + std::string(to_string(*s.stored));
  return text;
}

std::string to_string(const ChainProgram& program) {
  std::string text;
  for (int i = 0; i < program.length; ++i) text += (i == 0 ? "" : ";") + to_string(program.code[static_cast<size_t>(i)]);
  return text;
}

Status infer_chain_types(const ChainProgram& program, std::span<const DataType> inputs, ChainTypes& results) {
  if (inputs.size() != static_cast<size_t>(program.inputs))
    return refuse(kOp, "inputs", std::to_string(inputs.size()), std::to_string(program.inputs));
  for (int i = 0; i < program.length; ++i) {
    const ChainStatement& s = program.code[static_cast<size_t>(i)];
    std::array<OpInput, 3> operands;
    bool bytes = false;  // that may be quantised values
    for (size_t k = 0; k < static_cast<size_t>(s.operand_count()); ++k) {
      const ChainOperand& operand = s.operands[k];
      OpInput& seen = operands[k];
      seen.present = true;
      seen.shape = Shape{1};
      if (operand.kind == ChainOperand::Kind::kInput) seen.dtype = inputs[operand.index];
      else if (operand.kind == ChainOperand::Kind::kResult) seen.dtype = results[operand.index];
      bytes = bytes || ((seen.dtype == DataType::kU8 || seen.dtype == DataType::kS8) && operand.kind == ChainOperand::Kind::kInput);
    }
    const auto given = std::span<const OpInput>(operands).first(static_cast<size_t>(s.operand_count()));
    OpOutput output;
    const std::span<OpOutput> made(&output, 1);
    switch (s.kind) {
      case ChainStatement::Kind::kUnary: INGOT_TRY(infer_types(UnaryParams{s.function, s.alpha, s.beta}, given, made)); break;
      case ChainStatement::Kind::kBinary: INGOT_TRY(infer_types(BinaryParams{s.binary, {s.function, s.alpha, s.beta}}, given, made)); break;
      case ChainStatement::Kind::kWhere: INGOT_TRY(infer_types(WhereParams{}, given, made)); break;
      case ChainStatement::Kind::kCast: INGOT_TRY(infer_types(CastParams{static_cast<int64_t>(s.to), s.saturate}, given, made)); break;
    }
    DataType& result = results[static_cast<size_t>(i)];
    result = output.dtype;
    if (!s.stored || *s.stored == result) continue;
    const bool computes = s.kind == ChainStatement::Kind::kUnary || s.kind == ChainStatement::Kind::kBinary;
    const bool real = result == DataType::kF32 || result == DataType::kU8 || result == DataType::kS8;
    const bool quantises = *s.stored != DataType::kF32;
    if (!computes || !real || (quantises && i + 1 != program.length) || (!quantises && !bytes))
      return refuse(kOp, "result r" + std::to_string(i) + " stored as", to_string(*s.stored), to_string(result));
    result = *s.stored;
  }
  return {};
}

Status infer_types(const PointwiseChainParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  ChainProgram program;
  INGOT_TRY(parse_chain(params.program, program));
  INGOT_TRY(check_arity(kOp, inputs, static_cast<size_t>(program.inputs), static_cast<size_t>(program.inputs), outputs));
  std::array<DataType, kMaxChainInputs> types{};
  Shape shape = inputs[0].shape;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types[i] = inputs[i].dtype;
    if (!broadcast_shapes(shape, inputs[i].shape, shape))
      return refuse(kOp, "shape of i" + std::to_string(i), to_string(inputs[i].shape), "one that broadcasts against " + to_string(shape));
  }
  ChainTypes results{};
  INGOT_TRY(infer_chain_types(program, std::span<const DataType>(types).first(inputs.size()), results));
  const DataType last = results[static_cast<size_t>(program.length - 1)];
  if (params.reduced_dims == 0) return set_output(kOp, outputs[0], last, shape);
  if (params.reduced_dims < 0 || params.reduced_dims > shape.rank)
    return refuse(kOp, "reduced dims", std::to_string(params.reduced_dims), "0 to " + std::to_string(shape.rank));
  const OpInput made{last, Shape{1}, nullptr, true};
  INGOT_TRY(infer_types(ReduceParams{params.reduce, true, false}, std::span(&made, 1), outputs));  // whether it takes the type
  INGOT_TRY(set_output(kOp, outputs[0], last, shape));  // an addressable one, although nobody stores it
  const int kept = shape.rank - static_cast<int>(params.reduced_dims);
  Shape reduced;
  reduced.rank = params.keepdims ? shape.rank : kept;
  for (int d = 0; d < reduced.rank; ++d) reduced[d] = d < kept ? shape[d] : 1;
  return set_output(kOp, outputs[0], last, reduced);
}

}  // namespace ingot
