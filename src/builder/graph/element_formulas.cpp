// Ops that move elements are run by their reference code on the formulas' ids; arithmetic is done on the formulas themselves.
#include "builder/graph/element_formulas.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/graph/graph_editor.h"

namespace ingot {
namespace {

constexpr int64_t kMostElements = 64;

struct Operand {
  TensorType type;
  std::vector<DimId> elements;
  bool present = false;
};

bool all_constant(const SymbolicDims& symbols, std::span<const DimId> elements) {
  return std::all_of(elements.begin(), elements.end(), [&](DimId id) { return symbols.constant_value(id).has_value(); });
}

// A float as a fraction of powers of two.
DimId of_float(SymbolicDims& symbols, double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e9) return kNoDim;
  int64_t divisor = 1;
  while (value != std::floor(value) && divisor < (int64_t{1} << 30)) value *= 2, divisor *= 2;
  return value == std::floor(value) ? symbols.constant(static_cast<int64_t>(value), divisor) : kNoDim;
}

std::optional<bool> sign_decides(const SymbolicDims& symbols, BinaryFunction function, DimId gap) {
  if (gap == kNoDim) return std::nullopt;
  const auto [low, high] = symbols.range(gap);
  switch (function) {
    case BinaryFunction::kEqual:
      if (low > 0 || high < 0) return false;
      return low == 0 && high == 0 ? std::optional(true) : std::nullopt;
    case BinaryFunction::kLess: return high < 0 ? std::optional(true) : low >= 0 ? std::optional(false) : std::nullopt;
    case BinaryFunction::kLessOrEqual: return high <= 0 ? std::optional(true) : low > 0 ? std::optional(false) : std::nullopt;
    case BinaryFunction::kGreater: return low > 0 ? std::optional(true) : high <= 0 ? std::optional(false) : std::nullopt;
    case BinaryFunction::kGreaterOrEqual: return low >= 0 ? std::optional(true) : high < 0 ? std::optional(false) : std::nullopt;
    default: return std::nullopt;
  }
}

DimId apply(SymbolicDims& symbols, BinaryFunction function, bool is_float, DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  switch (function) {
    case BinaryFunction::kAdd: return symbols.sum(a, b);
    case BinaryFunction::kSub: return symbols.difference(a, b);
    case BinaryFunction::kMul: return symbols.product(a, b);
    // Integers are cut off towards zero.
    case BinaryFunction::kDiv:
      if (is_float) return symbols.quotient(a, b);
      return symbols.range(a).low >= 0 && symbols.range(b).low > 0 ? symbols.floor_quotient(a, b) : kNoDim;
    case BinaryFunction::kMod: case BinaryFunction::kFmod:
      if (is_float || symbols.range(a).low < 0 || !(symbols.range(b).low > 0)) return kNoDim;
      return symbols.difference(a, symbols.product(b, symbols.floor_quotient(a, b)));
    case BinaryFunction::kMin: return symbols.least(a, b);
    case BinaryFunction::kMax: return symbols.greatest(a, b);
    case BinaryFunction::kEqual: case BinaryFunction::kLess: case BinaryFunction::kLessOrEqual: case BinaryFunction::kGreater:
    case BinaryFunction::kGreaterOrEqual: {
      const auto decided = sign_decides(symbols, function, symbols.difference(a, b));
      return decided ? symbols.constant(*decided) : kNoDim;
    }
    default: return kNoDim;
  }
}

DimId apply(SymbolicDims& symbols, UnaryFunction function, DimId a) {
  if (a == kNoDim) return kNoDim;
  switch (function) {
    case UnaryFunction::kIdentity: return a;
    case UnaryFunction::kFloor: return symbols.floor(a);
    case UnaryFunction::kCeil: return symbols.difference(symbols.constant(0), symbols.floor(symbols.difference(symbols.constant(0), a)));
    case UnaryFunction::kNeg: return symbols.difference(symbols.constant(0), a);
    case UnaryFunction::kRound: return symbols.divisor(a) == 1 ? a : kNoDim;
    case UnaryFunction::kAbs: case UnaryFunction::kRelu: return symbols.range(a).low >= 0 ? a : kNoDim;
    default: return kNoDim;
  }
}

DimId cast(SymbolicDims& symbols, DataType from, DataType to, DimId a) {
  if (a == kNoDim || from == to) return a;
  if (is_float(to)) return a;
  if (!is_integer(to)) return kNoDim;
  if (symbols.divisor(a) == 1) return a;
  return symbols.range(a).low >= 0 ? symbols.floor(a) : kNoDim;
}

// Elements of an operand under numpy's broadcasting to a shape.
std::vector<DimId> spread(const Operand& operand, const Shape& shape) {
  const Shape& own = operand.type.shape;
  std::vector<DimId> result;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    int64_t rest = i, place = 0, stride = 1;
    for (int d = shape.rank - 1, k = own.rank - 1; k >= 0; --d, --k) {
      if (own[k] != 1) place += rest % shape[d] * stride;
      rest /= shape[d];
      stride *= own[k];
    }
    result.push_back(operand.elements[static_cast<size_t>(place)]);
  }
  return result;
}

bool moves_elements(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity: case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze: case OpKind::kUnsqueeze:
    case OpKind::kTranspose: case OpKind::kConcat: case OpKind::kSplit: case OpKind::kSlice: case OpKind::kExpand: case OpKind::kTile:
    case OpKind::kGather: case OpKind::kGatherElements: case OpKind::kGatherND: case OpKind::kWhere: case OpKind::kScatterND:
    case OpKind::kScatterElements: return true;
    default: return false;
  }
}
bool is_moved(const OpParams& params, size_t input) {
  switch (kind_of(params)) {
    case OpKind::kConcat: return true;
    case OpKind::kWhere: return input >= 1;
    case OpKind::kScatterND: return input != 1 && std::get<ScatterNDParams>(params).reduction == ScatterReduction::kReplace;
    case OpKind::kScatterElements: return input != 1 && std::get<ScatterElementsParams>(params).reduction == ScatterReduction::kReplace;
    default: return input == 0;
  }
}

// Reference code on ids instead of numbers. Empty where it needs numbers that are not known.
std::vector<std::vector<DimId>> move(const SymbolicDims& symbols, const OpParams& params, std::span<const Operand> operands,
                                     std::span<const OutputFacts> outputs) {
  std::vector<TensorType> types(operands.size()), result_types;
  std::vector<Blob> bytes(operands.size()), results;
  std::vector<ConstTensorRef> in(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].present) continue;
    types[i] = operands[i].type;
    if (is_moved(params, i)) {
      types[i].dtype = DataType::kS64;
      const std::vector<int64_t> ids(operands[i].elements.begin(), operands[i].elements.end());
      bytes[i] = to_blob(std::span<const int64_t>(ids));
    } else {
      if (!all_constant(symbols, operands[i].elements)) return {};
      bytes[i] = elements_at(symbols, operands[i].elements, types[i].dtype, 0);
    }
    in[i] = {&types[i], bytes[i].data()};
  }
  for (const OutputFacts& output : outputs) {
    result_types.push_back({DataType::kS64, output.shapes[0], Layout::kLinear, {}});
    results.emplace_back(static_cast<size_t>(result_types.back().bytes()));
  }
  std::vector<TensorRef> out;
  for (size_t i = 0; i < results.size(); ++i) out.push_back({&result_types[i], results[i].data()});
  if (!run_reference(params, in, out).ok()) return {};
  std::vector<std::vector<DimId>> made;
  for (const Blob& result : results) {
    const auto* ids = reinterpret_cast<const int64_t*>(result.data());
    made.emplace_back(ids, ids + result.size() / sizeof(int64_t));
  }
  return made;
}

std::vector<DimId> shape_elements(const Graph& graph, SymbolicDims& symbols, const ShapeParams& params, ValueId id) {
  const Value& value = graph.value(id);
  std::vector<DimId> dims = value.dims;
  for (int d = 0; dims.empty() && d < value.type.shape.rank; ++d)
    if (value.type.shape[d] == Shape::kDynamic) return {};
  for (int d = 0; value.dims.empty() && d < value.type.shape.rank; ++d) dims.push_back(symbols.constant(value.type.shape[d]));
  const auto rank = static_cast<int64_t>(dims.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(params.start), end = place(params.end);
  if (start >= end) return {};
  return {dims.begin() + start, dims.begin() + end};
}

std::vector<std::vector<DimId>> compute(SymbolicDims& symbols, const OpParams& params, std::span<const Operand> operands,
                                        std::span<const OutputFacts> outputs) {
  const OpKind kind = kind_of(params);
  const Shape& shape = outputs[0].shapes[0];
  if (moves_elements(kind)) return move(symbols, params, operands, outputs);
  std::vector<DimId> made;
  if (kind == OpKind::kBinary) {
    const auto& binary = std::get<BinaryParams>(params);
    if (binary.activation.function != UnaryFunction::kIdentity) return {};
    const auto a = spread(operands[0], shape), b = spread(operands[1], shape);
    for (size_t i = 0; i < a.size(); ++i) made.push_back(apply(symbols, binary.function, is_float(operands[0].type.dtype), a[i], b[i]));
  } else if (kind == OpKind::kUnary) {
    for (DimId a : operands[0].elements) made.push_back(apply(symbols, std::get<UnaryParams>(params).function, a));
  } else if (kind == OpKind::kCast) {
    for (DimId a : operands[0].elements) made.push_back(cast(symbols, operands[0].type.dtype, outputs[0].dtype, a));
  } else if (kind == OpKind::kReduce && shape.elements() == 1 && !operands[0].elements.empty()) {
    const ReduceFunction function = std::get<ReduceParams>(params).function;
    DimId total = operands[0].elements[0];
    for (size_t i = 1; i < operands[0].elements.size(); ++i) {
      const DimId next = operands[0].elements[i];
      total = function == ReduceFunction::kProd ? symbols.product(total, next) : function == ReduceFunction::kSum ? symbols.sum(total, next)
            : function == ReduceFunction::kMin ? symbols.least(total, next) : function == ReduceFunction::kMax ? symbols.greatest(total, next) : kNoDim;
    }
    made.push_back(total);
  }
  return {made};
}

// Whether formulas give what reference code gives: at the probes, and for floats, which round, at all points.
bool agrees(const SymbolicDims& symbols, const OpParams& params, std::span<const Operand> operands, const OutputFacts& output,
            std::span<const DimId> elements) {
  for (size_t p = 0; p < output.values.size(); ++p)
    if (elements_at(symbols, elements, output.dtype, p) != *output.values[p]) return false;
  const bool rounds = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) { return operand.present && is_float(operand.type.dtype); });
  if (!rounds || moves_elements(kind_of(params))) return true;
  for (size_t p = SymbolicDims::kProbePoints; p < SymbolicDims::kPoints; ++p) {
    std::vector<Blob> bytes;
    std::vector<ConstTensorRef> in;
    for (const Operand& operand : operands) {
      bytes.push_back(operand.present ? elements_at(symbols, operand.elements, operand.type.dtype, p) : Blob());
      in.push_back(operand.present ? ConstTensorRef{&operand.type, bytes.back().data()} : ConstTensorRef{});
    }
    const TensorType type{output.dtype, output.shapes[0], Layout::kLinear, {}};
    Blob result(static_cast<size_t>(type.bytes()));
    const TensorRef out[] = {{&type, result.data()}};
    if (!run_reference(params, in, out).ok() || elements_at(symbols, elements, output.dtype, p) != result) return false;
  }
  return true;
}

}  // namespace

std::vector<DimId> element_formulas(const Graph& graph, SymbolicDims& symbols, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.constant || value.type.quant) return value.elements;
  const int64_t count = value.type.shape.elements();
  const DataType dtype = value.type.dtype;
  if (count > kMostElements || (!is_integer(dtype) && dtype != DataType::kBool && dtype != DataType::kF32 && dtype != DataType::kF64)) return {};
  std::vector<DimId> elements;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DataType::kF32) elements.push_back(of_float(symbols, static_cast<double>(constant_span<float>(graph, id)[static_cast<size_t>(i)])));
    else if (dtype == DataType::kF64) elements.push_back(of_float(symbols, constant_span<double>(graph, id)[static_cast<size_t>(i)]));
    else elements.push_back(symbols.constant(read_index({dtype, value.type.shape, value.constant->data(), true}, i)));
    if (elements.back() == kNoDim) return {};
  }
  return elements;
}

Blob elements_at(const SymbolicDims& symbols, std::span<const DimId> elements, DataType dtype, size_t point) {
  const size_t size = element_bytes(dtype);
  Blob bytes(elements.size() * size);
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t value = symbols.values(elements[i])[point], divisor = symbols.divisor(elements[i]);
    std::byte* to = bytes.data() + i * size;
    const auto put = [&]<class T>(T number) { std::memcpy(to, &number, sizeof number); };
    if (value == SymbolicDims::kNoValue || (!is_float(dtype) && value % divisor != 0)) return {};
    if (dtype == DataType::kF64) put(static_cast<double>(value) / static_cast<double>(divisor));
    else if (dtype == DataType::kF32) put(static_cast<float>(static_cast<double>(value) / static_cast<double>(divisor)));
    else if (dtype == DataType::kS64) put(value / divisor);
    else if (dtype == DataType::kS32) put(static_cast<int32_t>(value / divisor));
    else if (size == 1) put(static_cast<int8_t>(value / divisor));
    else return {};
  }
  return bytes;
}

std::vector<std::vector<DimId>> infer_elements(const Graph& graph, SymbolicDims& symbols, const OpParams& params,
                                               std::span<const ValueId> inputs, std::span<const OutputFacts> outputs) {
  std::vector<std::vector<DimId>> none(outputs.size());
  for (const OutputFacts& output : outputs)
    if (output.late != 0 || output.shapes[0].elements() > kMostElements ||
        std::any_of(output.shapes.begin(), output.shapes.end(), [&](const Shape& shape) { return !(shape == output.shapes[0]); }))
      return none;
  std::vector<std::vector<DimId>> made;
  std::vector<Operand> operands;
  if (const auto* shape = std::get_if<ShapeParams>(&params)) {
    made = {shape_elements(graph, symbols, *shape, inputs[0])};
  } else {
    for (ValueId id : inputs) {
      Operand& operand = operands.emplace_back();
      if (id == kNone) continue;
      const Value& value = graph.value(id);
      if (value.type.quant || !value.type.shape.is_static()) return none;
      operand = {value.type, element_formulas(graph, symbols, id), true};
      if (static_cast<int64_t>(operand.elements.size()) != value.type.shape.elements()) return none;
    }
    if (operands.empty() || !operands[0].present) return none;
    made = compute(symbols, params, operands, outputs);
  }
  if (made.size() != outputs.size()) return none;
  for (size_t i = 0; i < made.size(); ++i) {
    const bool known = static_cast<int64_t>(made[i].size()) == outputs[i].shapes[0].elements() && !made[i].empty() &&
                       std::none_of(made[i].begin(), made[i].end(), [](DimId id) { return id == kNoDim; });
    if (!known || !agrees(symbols, params, operands, outputs[i], made[i])) return none;
  }
  return made;
}

}  // namespace ingot
