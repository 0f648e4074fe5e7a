// Reference code of PointwiseChain: elements in pieces, each statement by the reference code of its op. Element-wise ops see no
// neighbours, so a piece gets the bits that the whole tensor would.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/element.h"
#include "runtime/ops/pointwise_chain.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "pointwise chain";
constexpr int64_t kPiece = 64;  // elements

Status run_on(const ChainStatement& s, std::span<const ConstTensorRef> operands, const TensorRef& result) {
  const std::span<const TensorRef> results(&result, 1);
  switch (s.kind) {
    case ChainStatement::Kind::kUnary: return run_reference(UnaryParams{s.function, s.alpha, s.beta}, operands, results);
    case ChainStatement::Kind::kBinary: return run_reference(BinaryParams{s.binary, {s.function, s.alpha, s.beta}}, operands, results);
    case ChainStatement::Kind::kWhere: return run_reference(WhereParams{}, operands, results);
    case ChainStatement::Kind::kCast: return run_reference(CastParams{static_cast<int64_t>(s.to), s.saturate}, operands, results);
  }
  return {};
}

class Evaluator {
 public:
  Evaluator(const ChainProgram& program, std::span<const ConstTensorRef> inputs, const ChainTypes& results, const TensorType& output,
            bool reduces, const Shape& shape)
      : program_(program), inputs_(inputs) {
    input_types_.fill(TensorType{});
    for (size_t i = 0; i < inputs.size(); ++i) {
      input_types_[i].dtype = inputs[i].type->dtype;
      if (is_quantized(*inputs[i].type)) input_types_[i].quant = inputs[i].type->quant;
      int64_t stride = 1;
      const Shape& own = inputs[i].type->shape;
      for (int d = shape.rank - 1, j = own.rank - 1; j >= 0; --d, --j) {
        if (own[j] != 1) strides_[i][static_cast<size_t>(d)] = stride;
        stride *= own[j];
      }
    }
    for (int i = 0; i < program.length; ++i) result_types_[static_cast<size_t>(i)].dtype = results[static_cast<size_t>(i)];
    if (!reduces && is_quantized(output)) result_types_[static_cast<size_t>(program.length - 1)].quant = output.quant;
    shape_ = shape;
  }

  // Elements [at, at + count) of the result; `out` has room for them. count ≤ kPiece.
  Status run(int64_t at, int64_t count, void* out) {
    for (size_t i = 0; i < inputs_.size(); ++i) gather(i, at, count);
    for (int k = 0; k < program_.length; ++k) {
      const ChainStatement& s = program_.code[static_cast<size_t>(k)];
      std::array<ConstTensorRef, 3> operands;
      std::array<float, 3 * kPiece> numbers;
      for (size_t o = 0; o < static_cast<size_t>(s.operand_count()); ++o) {
        const ChainOperand& operand = s.operands[o];
        TensorType* type = operand.kind == ChainOperand::Kind::kInput    ? &input_types_[operand.index]
                           : operand.kind == ChainOperand::Kind::kResult ? &result_types_[operand.index]
                                                                         : &number_type_;
        type->shape = Shape{count};
        const void* data = operand.kind == ChainOperand::Kind::kInput ? input_values_[operand.index] : result_values_[operand.index];
        if (operand.kind == ChainOperand::Kind::kNumber) {
          std::fill_n(numbers.data() + o * kPiece, count, operand.number);
          data = numbers.data() + o * kPiece;
        }
        operands[o] = {type, data};
      }
      const auto at_result = static_cast<size_t>(k);
      result_types_[at_result].shape = Shape{count};
      const TensorRef result{&result_types_[at_result], k + 1 == program_.length ? out : result_values_[at_result]};
      INGOT_TRY(run_on(s, std::span<const ConstTensorRef>(operands).first(static_cast<size_t>(s.operand_count())), result));
    }
    return {};
  }

 private:
  // The piece of one input as if it had the result's shape.
  void gather(size_t i, int64_t at, int64_t count) {
    const size_t bytes = element_bytes(input_types_[i].dtype);
    std::array<int64_t, Shape::kMaxRank> index{};
    int64_t offset = 0;
    for (int d = shape_.rank - 1; d >= 0; --d) {
      const auto dim = static_cast<size_t>(d);
      index[dim] = at % shape_[d];
      at /= shape_[d];
      offset += index[dim] * strides_[i][dim];
    }
    for (int64_t k = 0; k < count; ++k) {
      std::memcpy(input_values_[i] + static_cast<size_t>(k) * bytes, inputs_[i].as<char>() + static_cast<size_t>(offset) * bytes, bytes);
      for (int d = shape_.rank - 1; d >= 0; --d) {
        const auto dim = static_cast<size_t>(d);
        offset += strides_[i][dim];
        if (++index[dim] < shape_[d]) break;
        offset -= strides_[i][dim] * shape_[d];
        index[dim] = 0;
      }
    }
  }

  const ChainProgram& program_;
  std::span<const ConstTensorRef> inputs_;
  Shape shape_;
  std::array<std::array<int64_t, Shape::kMaxRank>, kMaxChainInputs> strides_{};
  std::array<TensorType, kMaxChainInputs> input_types_;
  std::array<TensorType, kMaxChainLength> result_types_;
  TensorType number_type_;
  alignas(16) char input_values_[kMaxChainInputs][kPiece * 8];
  alignas(16) char result_values_[kMaxChainLength][kPiece * 8];
};

}  // namespace

Status run_chain_statement(const ChainStatement& statement, int64_t count, std::span<const DataType> types, std::span<const void* const> operands,
                           DataType result_type, void* result) {
  std::array<TensorType, 3> operand_types;
  std::array<ConstTensorRef, 3> refs;
  for (size_t i = 0; i < operands.size(); ++i) {
    operand_types[i].dtype = types[i];
    operand_types[i].shape = Shape{count};
    refs[i] = {&operand_types[i], operands[i]};
  }
  TensorType type;
  type.dtype = result_type;
  type.shape = Shape{count};
  return run_on(statement, std::span<const ConstTensorRef>(refs).first(operands.size()), {&type, result});
}

Status run_reference(const PointwiseChainParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  ChainProgram program;
  INGOT_TRY(parse_chain(params.program, program));
  std::array<OpInput, kMaxChainInputs> seen;
  std::array<DataType, kMaxChainInputs> types{};
  if (inputs.size() != static_cast<size_t>(program.inputs))
    return refuse(kOp, "inputs", std::to_string(inputs.size()), std::to_string(program.inputs), StatusCode::kInvalidArgument);
  Shape shape;
  for (size_t i = 0; i < inputs.size(); ++i) {
    seen[i] = as_input(inputs[i]);
    types[i] = seen[i].dtype;
  }
  const auto given = std::span<const OpInput>(seen).first(inputs.size());
  OpOutput made;
  INGOT_TRY(infer_types(params, given, std::span(&made, 1)));
  const TensorType& output = *outputs[0].type;
  if (made.shape != output.shape || made.dtype != output.dtype)
    return refuse(kOp, "output differs from what the inputs give", to_string(output), std::string(to_string(made.dtype)) + '[' + to_string(made.shape) + ']',
                  StatusCode::kInvalidArgument);
  for (const OpInput& input : given) broadcast_shapes(shape, input.shape, shape);
  ChainTypes results{};
  INGOT_TRY(infer_chain_types(program, std::span<const DataType>(types).first(inputs.size()), results));
  const bool reduces = params.reduced_dims > 0;
  Evaluator evaluator(program, inputs, results, output, reduces, shape);
  const int64_t total = shape.elements();
  if (!reduces) {
    const size_t bytes = element_bytes(output.dtype);
    for (int64_t at = 0; at < total; at += kPiece)
      INGOT_TRY(evaluator.run(at, std::min(kPiece, total - at), outputs[0].as<char>() + static_cast<size_t>(at) * bytes));
    return {};
  }
  int64_t set_size = 1;
  for (int d = shape.rank - static_cast<int>(params.reduced_dims); d < shape.rank; ++d) set_size *= shape[d];
  struct Source {
    Evaluator& evaluator;
    Status status;
    int64_t base = 0;
    alignas(16) char piece[kPiece * 8];
  } source{evaluator, {}, 0, {}};
  const SetPiece next = [](void* context, int64_t at, int64_t count) -> const void* {
    auto& s = *static_cast<Source*>(context);
    if (s.status.ok()) s.status = s.evaluator.run(s.base + at, count, s.piece);
    return s.piece;
  };
  for (int64_t i = 0; i < output.shape.elements(); ++i) {
    source.base = i * set_size;
    INGOT_TRY(reduce_in_pieces(params.reduce, output.dtype, set_size, kPiece, next, &source, outputs[0].data, i));
    INGOT_TRY(std::move(source.status));
    source.status = Status();
  }
  return {};
}

}  // namespace ingot
