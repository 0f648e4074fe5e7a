// Every function here is told by how its result follows each operand: up, down, or only where the operand is known exactly.
#include "builder/graph/value_bounds.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace ingot {
namespace {

enum class Follows { kUp, kDown, kExact };

struct Tensor {
  TensorType type;
  Blob bytes;
};
// An operand at one of its ends.
struct End {
  DataType dtype;
  Shape shape;
  const void* data;
};
struct Operand {
  End least, most;
  bool exact = false;
};

std::optional<std::vector<Tensor>> evaluate(const OpParams& params, std::span<const End> operands, size_t outputs = 1) {
  std::vector<OpInput> known;
  std::vector<TensorType> types;
  std::vector<ConstTensorRef> in;
  types.reserve(operands.size());
  for (const End& operand : operands) {
    const bool present = operand.shape.rank >= 0;
    known.push_back(present ? OpInput{operand.dtype, operand.shape, operand.data, true} : OpInput{});
    types.push_back({operand.dtype, operand.shape, Layout::kLinear, {}});
    in.push_back(present ? ConstTensorRef{&types.back(), operand.data} : ConstTensorRef{});
  }
  std::vector<OpOutput> made(outputs);
  if (!infer_types(params, known, made).ok()) return std::nullopt;
  std::vector<Tensor> results;
  std::vector<TensorRef> out;
  for (const OpOutput& output : made) {
    if (output.counted != 0) return std::nullopt;
    const TensorType type{output.dtype, output.shape, Layout::kLinear, {}};
    results.push_back({type, Blob(static_cast<size_t>(type.bytes()))});
  }
  for (Tensor& result : results) out.push_back({&result.type, result.bytes.data()});
  if (!run_reference(params, in, out).ok()) return std::nullopt;
  return results;
}

std::optional<Tensor> binary(BinaryFunction function, const End& a, const End& b) {
  const End operands[] = {a, b};
  auto made = evaluate(BinaryParams{function, {}}, operands);
  return made ? std::optional(std::move((*made)[0])) : std::nullopt;
}
End end_of(const Tensor& tensor) { return {tensor.type.dtype, tensor.type.shape, tensor.bytes.data()}; }

double number_at(const End& end, int64_t i) {
  if (end.dtype == DataType::kF32) return static_cast<double>(static_cast<const float*>(end.data)[i]);
  if (end.dtype == DataType::kF64) return static_cast<const double*>(end.data)[i];
  return static_cast<double>(read_index({end.dtype, end.shape, end.data, true}, i));
}
bool all_above(const End& end, double bound, bool or_equal) {
  for (int64_t i = 0; i < end.shape.elements(); ++i)
    if (const double x = number_at(end, i); !(or_equal ? x >= bound : x > bound)) return false;
  return true;
}

// How the result follows operand i; nullopt: no bounds follow.
std::optional<Follows> follows_unary(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::kIdentity: case UnaryFunction::kRelu: case UnaryFunction::kFloor: case UnaryFunction::kCeil:
    case UnaryFunction::kRound: case UnaryFunction::kSqrt: case UnaryFunction::kSign: case UnaryFunction::kClip: return Follows::kUp;
    case UnaryFunction::kNeg: case UnaryFunction::kNot: return Follows::kDown;
    default: return std::nullopt;
  }
}

std::optional<Follows> follows_binary(BinaryFunction function, std::span<const Operand> operands, size_t i) {
  switch (function) {
    case BinaryFunction::kAdd: case BinaryFunction::kMin: case BinaryFunction::kMax: case BinaryFunction::kAnd:
    case BinaryFunction::kOr: return Follows::kUp;
    case BinaryFunction::kSub: case BinaryFunction::kGreater: case BinaryFunction::kGreaterOrEqual:
      return i == 0 ? Follows::kUp : Follows::kDown;
    case BinaryFunction::kLess: case BinaryFunction::kLessOrEqual: return i == 0 ? Follows::kDown : Follows::kUp;
    case BinaryFunction::kMul:
      if (all_above(operands[0].least, 0, true) && all_above(operands[1].least, 0, true)) return Follows::kUp;
      return std::nullopt;
    case BinaryFunction::kDiv:
      if (!all_above(operands[1].least, 0, false)) return std::nullopt;
      if (i == 0) return Follows::kUp;
      return all_above(operands[0].least, 0, true) ? Follows::kDown : Follows::kExact;
    default: return std::nullopt;
  }
}

std::optional<Follows> follows(const OpParams& params, std::span<const Operand> operands, size_t i) {
  switch (kind_of(params)) {
    case OpKind::kIdentity: case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze: case OpKind::kUnsqueeze:
    case OpKind::kTranspose: case OpKind::kSplit: case OpKind::kSlice: case OpKind::kExpand: case OpKind::kTile:
    case OpKind::kGather: case OpKind::kGatherElements: case OpKind::kGatherND: case OpKind::kCast:
      return i == 0 ? Follows::kUp : Follows::kExact;
    case OpKind::kScatterElements: case OpKind::kScatterND: {
      const auto* scatter = std::get_if<ScatterElementsParams>(&params);
      if ((scatter ? scatter->reduction : std::get<ScatterNDParams>(params).reduction) != ScatterReduction::kReplace) return std::nullopt;
      return i == 1 ? Follows::kExact : Follows::kUp;
    }
    case OpKind::kConcat: return Follows::kUp;
    case OpKind::kWhere: return i == 0 ? Follows::kExact : Follows::kUp;
    case OpKind::kUnary: return i == 0 ? follows_unary(std::get<UnaryParams>(params).function) : Follows::kExact;
    case OpKind::kBinary: {
      const auto& binary_params = std::get<BinaryParams>(params);
      if (binary_params.activation.function != UnaryFunction::kIdentity) return std::nullopt;
      return follows_binary(binary_params.function, operands, i);
    }
    case OpKind::kReduce: {
      const ReduceFunction function = std::get<ReduceParams>(params).function;
      if (i > 0) return Follows::kExact;
      if (function == ReduceFunction::kProd && !all_above(operands[0].least, 0, true)) return std::nullopt;
      const bool grows = function == ReduceFunction::kSum || function == ReduceFunction::kMean || function == ReduceFunction::kMax ||
                         function == ReduceFunction::kMin || function == ReduceFunction::kProd;
      return grows ? std::optional(Follows::kUp) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// Equal exactly where both are known and the same; possibly where their ranges meet.
bool bound_equal(std::span<const Operand> operands, std::vector<Blob>& least, std::vector<Blob>& most) {
  const auto both = [](const std::optional<Tensor>& a, const std::optional<Tensor>& b) -> std::optional<Tensor> {
    return a && b ? binary(BinaryFunction::kAnd, end_of(*a), end_of(*b)) : std::nullopt;
  };
  const Operand &a = operands[0], &b = operands[1];
  auto certain = both(binary(BinaryFunction::kGreaterOrEqual, a.least, b.most), binary(BinaryFunction::kLessOrEqual, a.most, b.least));
  auto possible = both(binary(BinaryFunction::kLessOrEqual, a.least, b.most), binary(BinaryFunction::kGreaterOrEqual, a.most, b.least));
  if (!certain || !possible) return false;
  least.push_back(std::move(certain->bytes));
  most.push_back(std::move(possible->bytes));
  return true;
}

// Of n modulo d > 0: 0 … d − 1, or 0 … d for floats, and no more than n where n is not negative. Exact where both are.
bool bound_remainder(BinaryFunction function, std::span<const Operand> operands, std::vector<Blob>& least, std::vector<Blob>& most) {
  const Operand &n = operands[0], &d = operands[1];
  const bool is_positive = all_above(n.least, 0, true);
  if (!all_above(d.least, 0, false) || (function == BinaryFunction::kFmod && !is_positive)) return false;
  if (n.exact && d.exact) {
    auto value = binary(function, n.least, d.least);
    if (!value) return false;
    least.push_back(value->bytes);
    most.push_back(std::move(value->bytes));
    return true;
  }
  // n − n = 0 and d / d = 1, of the right type and shape.
  const auto zero = binary(BinaryFunction::kSub, n.least, n.least);
  if (!zero) return false;
  auto low = binary(BinaryFunction::kMul, end_of(*zero), d.least);
  auto high = binary(BinaryFunction::kAdd, end_of(*zero), d.most);
  if (!low || !high) return false;
  if (is_integer(high->type.dtype)) {
    const auto ratio = binary(BinaryFunction::kDiv, end_of(*high), end_of(*high));
    high = ratio ? binary(BinaryFunction::kSub, end_of(*high), end_of(*ratio)) : std::nullopt;
  }
  if (high && is_positive) high = binary(BinaryFunction::kMin, end_of(*high), n.most);
  if (!high) return false;
  least.push_back(std::move(low->bytes));
  most.push_back(std::move(high->bytes));
  return true;
}

// Where a condition that may go either way stands, both sides count.
bool bound_where(std::span<const Operand> operands, std::vector<Blob>& least, std::vector<Blob>& most) {
  const Operand &condition = operands[0], &x = operands[1], &y = operands[2];
  const auto choose = [&](const End& p, const End& q, BinaryFunction extreme) -> std::optional<Tensor> {
    const auto either = binary(extreme, p, q);
    if (!either) return std::nullopt;
    const End maybe[] = {condition.most, end_of(*either), q};
    const auto open = evaluate(WhereParams{}, maybe);
    if (!open) return std::nullopt;
    const End surely[] = {condition.least, p, end_of((*open)[0])};
    auto made = evaluate(WhereParams{}, surely);
    return made ? std::optional(std::move((*made)[0])) : std::nullopt;
  };
  auto low = choose(x.least, y.least, BinaryFunction::kMin), high = choose(x.most, y.most, BinaryFunction::kMax);
  if (!low || !high) return false;
  least.push_back(std::move(low->bytes));
  most.push_back(std::move(high->bytes));
  return true;
}

bool bound_shape(const ShapeParams& params, const BoundedInput& input, std::vector<Blob>& least, std::vector<Blob>& most) {
  Shape smallest = input.input.shape;
  for (int d = 0; d < smallest.rank; ++d)
    if (input.late >> d & 1) smallest[d] = 0;
  const End low[] = {{input.input.dtype, smallest, nullptr}}, high[] = {{input.input.dtype, input.input.shape, nullptr}};
  auto lowest = evaluate(params, low), highest = evaluate(params, high);
  if (!lowest || !highest) return false;
  least.push_back(std::move((*lowest)[0].bytes));
  most.push_back(std::move((*highest)[0].bytes));
  return true;
}

}  // namespace

bool is_remainder(const OpParams& params) {
  const auto* binary_params = std::get_if<BinaryParams>(&params);
  return binary_params && (binary_params->function == BinaryFunction::kMod || binary_params->function == BinaryFunction::kFmod) &&
         binary_params->activation.function == UnaryFunction::kIdentity;
}

bool bound_values(const OpParams& params, std::span<const BoundedInput> inputs, std::span<const BoundedOutput> outputs,
                  std::vector<Blob>& least, std::vector<Blob>& most) {
  least.clear();
  most.clear();
  for (const BoundedOutput& output : outputs)
    if (output.late != 0) return false;
  if (kind_of(params) == OpKind::kShape) return bound_shape(std::get<ShapeParams>(params), inputs[0], least, most);
  std::vector<Operand> operands;
  for (const BoundedInput& input : inputs) {
    Shape shape = input.input.shape;
    const void *low = input.least, *high = input.most;
    if (input.input.data || shape.elements() == 0) low = high = input.input.data;
    else if (input.input.present && (!low || !high)) return false;
    if (input.late != 0) return false;
    if (!input.input.present) shape.rank = -1;
    const DataType dtype = input.input.dtype;
    Operand& operand = operands.emplace_back(Operand{{dtype, shape, low}, {dtype, shape, high}, low == high});
    const auto bytes = input.input.present ? static_cast<size_t>(shape.elements()) * element_bytes(dtype) : 0;
    operand.exact = operand.exact || bytes == 0 || std::memcmp(low, high, bytes) == 0;
  }
  if (kind_of(params) == OpKind::kBinary && std::get<BinaryParams>(params).function == BinaryFunction::kEqual)
    return bound_equal(operands, least, most);
  if (is_remainder(params)) return bound_remainder(std::get<BinaryParams>(params).function, operands, least, most);
  if (kind_of(params) == OpKind::kWhere && !operands[0].exact) return bound_where(operands, least, most);
  std::vector<End> low, high;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto follow = follows(params, operands, i);
    if (!follow || (*follow == Follows::kExact && !operands[i].exact)) return false;
    low.push_back(*follow == Follows::kDown ? operands[i].most : operands[i].least);
    high.push_back(*follow == Follows::kDown ? operands[i].least : operands[i].most);
  }
  auto lowest = evaluate(params, low, outputs.size()), highest = evaluate(params, high, outputs.size());
  if (!lowest || !highest) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    least.push_back(std::move((*lowest)[i].bytes));
    most.push_back(std::move((*highest)[i].bytes));
  }
  return true;
}

std::optional<std::vector<ValueId>> spelled_remainder(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs) {
  const auto function = [](const OpParams& of) {
    const auto* binary = std::get_if<BinaryParams>(&of);
    return binary && binary->activation.function == UnaryFunction::kIdentity ? std::optional(binary->function) : std::nullopt;
  };
  if (function(params) != BinaryFunction::kSub || !is_integer(graph.value(inputs[0]).type.dtype)) return std::nullopt;
  const Node* product = graph.producer(inputs[1]);
  if (!product || function(product->params) != BinaryFunction::kMul) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const Node* quotient = graph.producer(product->inputs[i]);
    if (quotient && function(quotient->params) == BinaryFunction::kDiv && quotient->inputs[0] == inputs[0] &&
        quotient->inputs[1] == product->inputs[1 - i])
      return quotient->inputs;
  }
  return std::nullopt;
}

}  // namespace ingot
