// The frame: inputs, the loop that grows a program, outputs; and how a node is tried before it is kept.
#include "e2e/random_generator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ingot::random_graphs {
namespace {

constexpr int64_t kMaxElements = 12000;
constexpr double kLargest = 1e3;

// Finite and moderate, if it is float.
bool is_tame(const Tensor& tensor) {
  const auto all = [&]<class T>(T) {
    const auto* values = reinterpret_cast<const T*>(tensor.data->data());
    for (size_t i = 0; i < tensor.data->size() / sizeof(T); ++i)
      if (!(std::abs(static_cast<double>(values[i])) <= kLargest)) return false;
    return true;
  };
  switch (tensor.type.dtype) {
    case DataType::kF32: return all(float{});
    case DataType::kS64: return all(int64_t{});
    case DataType::kS32: return all(int32_t{});
    default: return true;
  }
}

// Ops whose float results are as good as their operands.
bool keeps_exact(const OpParams& params) {
  switch (kind_of(params)) {
    case OpKind::kUnary: {
      const auto f = std::get<UnaryParams>(params).function;
      return f == UnaryFunction::kIdentity || f == UnaryFunction::kRelu || f == UnaryFunction::kClip || f == UnaryFunction::kAbs ||
             f == UnaryFunction::kNeg || (f >= UnaryFunction::kFloor && f <= UnaryFunction::kSign);
    }
    case OpKind::kBinary: {
      const auto f = std::get<BinaryParams>(params).function;
      return f == BinaryFunction::kAdd || f == BinaryFunction::kSub || f == BinaryFunction::kMin || f == BinaryFunction::kMax;
    }
    case OpKind::kPool: return std::get<PoolParams>(params).function == PoolFunction::kMax;
    case OpKind::kReduce: {
      const auto f = std::get<ReduceParams>(params).function;
      return f == ReduceFunction::kMax || f == ReduceFunction::kMin;
    }
    case OpKind::kConv: case OpKind::kConvTranspose: case OpKind::kMatMul: case OpKind::kBatchNorm: case OpKind::kLayerNorm:
    case OpKind::kInstanceNorm: case OpKind::kSoftmax: case OpKind::kAttention: case OpKind::kCumulate: case OpKind::kRecurrent:
    case OpKind::kGridSample: case OpKind::kRoiAlign: case OpKind::kCol2Im: case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear: return false;
    case OpKind::kResize: return std::get<ResizeParams>(params).mode == ResizeMode::kNearest;
    case OpKind::kScatterElements: return std::get<ScatterElementsParams>(params).reduction == ScatterReduction::kReplace;
    case OpKind::kScatterND: return std::get<ScatterNDParams>(params).reduction == ScatterReduction::kReplace;
    default: return true;
  }
}

// A whole number, a truth value or an order that comes from floats.
bool decides(const OpParams& params, DataType result) {
  switch (kind_of(params)) {
    case OpKind::kArgReduce: case OpKind::kTopK: return true;
    case OpKind::kUnary: {
      const auto f = std::get<UnaryParams>(params).function;
      return (f >= UnaryFunction::kFloor && f <= UnaryFunction::kSign) || f == UnaryFunction::kThresholdedRelu;
    }
    case OpKind::kBinary: {
      const auto f = std::get<BinaryParams>(params).function;
      return is_comparison(f) || f == BinaryFunction::kMod || f == BinaryFunction::kFmod;
    }
    case OpKind::kPool: return false;  // asked for where the places are read
    case OpKind::kCast: return result != DataType::kF32;
    default: return false;
  }
}

}  // namespace

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

uint32_t Generator::input(DataType dtype, std::vector<Shape> shapes, double low, double high) {
  const uint32_t value = program_.add_input(dtype, shapes, low, high);
  Info info;
  for (const Shape& shape : shapes) info.data.push_back(make_input(program_, value, shape));
  info_.push_back(std::move(info));
  return value;
}

std::optional<std::vector<uint32_t>> Generator::node(OpParams params, std::vector<uint32_t> inputs, size_t outputs) {
  while (!inputs.empty() && inputs.back() == kNone) inputs.pop_back();
  ProgramNode made{std::move(params), inputs, {static_cast<uint32_t>(program_.values.size())}};
  std::vector<std::vector<Tensor>> results(outputs);
  bool known = true, exact = true;
  for (size_t probe = 0; probe < program_.probes; ++probe) {
    std::vector<Tensor> operands;
    std::vector<bool> operand_known;
    for (uint32_t in : inputs) {
      operands.push_back(in == kNone ? Tensor() : info_[in].data[probe]);
      operand_known.push_back(in != kNone && info_[in].known);
      exact = exact && (in == kNone || info_[in].exact);
    }
    auto called = call(made, operands, operand_known, outputs, {});
    if (!called.ok()) return std::nullopt;
    for (const Tensor& result : *called)
      if (result.type.shape.elements() > kMaxElements || !is_tame(result)) return std::nullopt;
    known = known && results_are_known(made, operands, operand_known, *called);
    for (size_t i = 0; i < outputs; ++i) results[i].push_back((*called)[i]);
  }
  for (size_t i = 0; i < outputs; ++i) {
    for (const Tensor& result : results[i])
      if (result.type.shape.rank != results[i][0].type.shape.rank) return std::nullopt;
    if (!exact && decides(made.params, results[i][0].type.dtype)) return std::nullopt;
  }
  // Empty tensors stay rare.
  if (results[0].back().type.shape.elements() == 0 && !random_.chance(0.1)) return std::nullopt;
  made.outputs.clear();
  for (size_t i = 0; i < outputs; ++i) {
    made.outputs.push_back(program_.add_result(results[i][0].type.dtype));
    Info info;
    info.data = std::move(results[i]);
    info.known = known;
    info.exact = exact && keeps_exact(made.params);
    info_.push_back(std::move(info));
  }
  for (uint32_t in : inputs)
    if (in != kNone) ++info_[in].uses;
  program_.nodes.push_back(made);
  return made.outputs;
}

Generator::V Generator::op(OpParams params, std::vector<uint32_t> inputs) {
  const auto made = node(std::move(params), std::move(inputs));
  return made ? V((*made)[0]) : V();
}

uint32_t Generator::constant(DataType dtype, Shape shape, const std::function<double(size_t)>& element) {
  Tensor tensor{{dtype, shape, Layout::kLinear, {}}, nullptr};
  Blob bytes(static_cast<size_t>(tensor.type.bytes()));
  const size_t size = element_bytes(dtype);
  for (size_t i = 0; i < bytes.size() / size; ++i) {
    const double number = element(i);
    if (dtype == DataType::kF32) {
      const auto value = static_cast<float>(number);
      std::memcpy(bytes.data() + i * size, &value, size);
    } else {
      const auto value = static_cast<int64_t>(number);
      std::memcpy(bytes.data() + i * size, &value, size);
    }
  }
  tensor.data = std::make_shared<const Blob>(std::move(bytes));
  const uint32_t value = program_.add_constant(tensor);
  Info info;
  info.data.assign(program_.probes, tensor);
  info.known = info.is_constant = true;
  info_.push_back(std::move(info));
  return value;
}

uint32_t Generator::floats(Shape shape, double low, double high) {
  return constant(DataType::kF32, shape, [&](size_t) { return std::nearbyint(random_.real(low, high) * 8) / 8; });
}
uint32_t Generator::rounded_floats(Shape shape, double low, double high) {
  const uint32_t value = constant(DataType::kF32, shape, [&](size_t) { return random_.real(low, high); });
  info_[value].exact = false;
  return value;
}
uint32_t Generator::scalar(double number, int rank) {
  Shape shape;
  shape.rank = rank;
  std::fill_n(shape.dims.begin(), rank, 1);
  const uint32_t value = constant(DataType::kF32, shape, [&](size_t) { return number; });
  info_[value].exact = number * 8 == std::floor(number * 8);
  return value;
}
uint32_t Generator::integers(const std::vector<int64_t>& values) {
  return constant(DataType::kS64, Shape{static_cast<int64_t>(values.size())}, [&](size_t i) { return static_cast<double>(values[i]); });
}

bool Generator::is_static(uint32_t value) const {
  for (const Tensor& tensor : info_[value].data)
    if (!(tensor.type.shape == info_[value].data[0].type.shape)) return false;
  return true;
}

// Rather a late value than an early one, and rather one that nobody read yet.
Generator::V Generator::pick(const std::function<bool(uint32_t)>& fits) {
  V best;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const auto count = static_cast<int64_t>(info_.size());
    const auto value = static_cast<uint32_t>(std::max(random_.below(count), random_.below(count)));
    if (info_[value].is_constant || !fits(value)) continue;
    if (info_[value].uses == 0 || random_.chance(0.3)) return value;
    best = value;
  }
  if (best) return best;
  for (auto value = static_cast<uint32_t>(info_.size()); value-- > 0;)
    if (!info_[value].is_constant && fits(value)) return value;
  return {};
}
Generator::V Generator::pick_f32(int min_rank, int max_rank) {
  return pick([&](uint32_t v) { return is_f32(v) && shape(v).rank >= min_rank && shape(v).rank <= max_rank && shape(v).elements() > 0; });
}
Generator::V Generator::pick_image() {
  return pick([&](uint32_t v) { return is_f32(v) && shape(v).rank >= 3 && shape(v).rank <= 5 && shape(v).elements() > 0; });
}

Generator::V Generator::unary(uint32_t x, UnaryFunction function, double alpha, double beta) {
  return op(UnaryParams{function, alpha, beta}, {x});
}
Generator::V Generator::binary(uint32_t a, uint32_t b, BinaryFunction function) { return op(BinaryParams{function, {}}, {a, b}); }
Generator::V Generator::either_order(uint32_t a, uint32_t b, BinaryFunction function) {
  return random_.chance(0.5) ? binary(a, b, function) : binary(b, a, function);
}

// Of a shape that broadcasts with x: dims left out, ones, sometimes a dim more.
uint32_t Generator::broadcast_constant(uint32_t x) {
  Shape dims = info_[x].data[0].type.shape;
  const bool fixed = is_static(x);
  for (int i = 0; i < dims.rank; ++i)
    if (random_.chance(0.5) || (!fixed && info_[x].data.back().type.shape[i] != dims[i])) dims[i] = 1;
  if (!fixed)
    for (const Tensor& at : info_[x].data)
      for (int i = 0; i < dims.rank; ++i)
        if (at.type.shape[i] != info_[x].data[0].type.shape[i]) dims[i] = 1;
  int drop = 0;
  if (random_.chance(0.4)) drop = static_cast<int>(random_.below(dims.rank + 1));
  Shape kept = Shape::of(dims.span().subspan(static_cast<size_t>(drop)));
  if (random_.chance(0.05) && kept.rank < 6) {
    Shape more;
    more.rank = kept.rank + 1;
    more[0] = 1;
    for (int i = 0; i < kept.rank; ++i) more[i + 1] = kept[i];
    kept = more;
  }
  return random_.chance(0.5) ? floats(kept) : rounded_floats(kept, -2, 2);
}

// One number for each index of an axis, or one for all.
uint32_t Generator::channel_constant(uint32_t x, int axis, double low, double high) {
  const Shape& dims = shape(x);
  Shape made;
  made.rank = std::max(dims.rank - axis, 1);
  made.dims.fill(1);
  made[0] = random_.chance(0.8) ? dims[axis] : 1;
  if (random_.chance(0.2)) {
    Shape full;
    full.rank = dims.rank;
    full.dims.fill(1);
    full[axis] = made[0];
    made = full;
  }
  return rounded_floats(made, low, high);
}

void Generator::start() {
  const bool dynamic = style_ == Style::kDynamic || (style_ == Style::kShapes && random_.chance(0.6)) ||
                       (style_ == Style::kQuantised && random_.chance(0.15)) || (style_ == Style::kInt8 && random_.chance(0.15));
  program_.probes = dynamic ? 4 : 1;
  struct Symbol { std::vector<int64_t> at; };
  const auto fixed = [&](int64_t n) { return Symbol{std::vector<int64_t>(program_.probes, n)}; };
  const auto varying = [&](int64_t n) {
    if (!dynamic) return fixed(n);
    const int64_t low = std::max<int64_t>(1, n - random_.below(3)), high = n + random_.below(4);
    return Symbol{{low, n, high, random_.between(low, high)}};
  };
  const Symbol batch = varying(random_.between(1, 3));
  const Symbol height = varying(random_.between(3, 9)), width = random_.chance(0.5) ? height : varying(random_.between(3, 9));
  const Symbol channels = fixed(random_.one_of<int64_t>({1, 2, 3, 4, 4, 6, 8, 8, 16, 17, 32}));
  const Symbol length = varying(random_.between(2, 7));
  const auto shapes = [&](std::initializer_list<Symbol> symbols) {
    std::vector<Shape> found(program_.probes);
    for (size_t p = 0; p < program_.probes; ++p)
      for (const Symbol& symbol : symbols) found[p][found[p].rank++] = symbol.at[p];
    return found;
  };
  const bool pictures = style_ == Style::kQuantised || style_ == Style::kInt8 ? random_.chance(0.8) : random_.chance(0.6);
  const auto main_input = [&] {
    if (pictures) {
      if (random_.chance(0.1)) return shapes({batch, channels, length});
      if (random_.chance(0.05)) return shapes({batch, fixed(2), length, fixed(3), fixed(4)});
      return shapes({batch, channels, height, width});
    }
    switch (random_.below(5)) {
      case 0: return shapes({batch, channels});
      case 1: return shapes({batch, fixed(2), length, channels});
      case 2: return shapes({length, channels});
      default: return shapes({batch, length, channels});
    }
  };
  input(DataType::kF32, main_input(), -2, 2);
  for (int64_t more = random_.below(3); more > 0; --more) {
    if (random_.chance(0.5)) input(DataType::kF32, info_[0].data.empty() ? main_input() : program_.values[0].shapes, -2, 2);
    else input(DataType::kF32, main_input(), random_.chance(0.3) ? 0 : -3, 3);
  }
  if (style_ == Style::kShapes || random_.chance(0.2)) {
    input(DataType::kS64, random_.chance(0.5) ? shapes({length}) : shapes({batch, length}), 0, 2);
    if (random_.chance(0.4)) input(DataType::kS32, shapes({batch, length}), -5, 5);
    if (random_.chance(0.3)) input(DataType::kBool, random_.chance(0.5) ? program_.values[0].shapes : shapes({length, channels}), 0, 1);
  }
}

void Generator::finish() {
  std::vector<uint32_t> ends;
  for (uint32_t v = 0; v < info_.size(); ++v)
    if (program_.values[v].source == ProgramValue::Source::kResult && info_[v].uses == 0) ends.push_back(v);
  while (ends.size() > 1 && random_.chance(ends.size() > 6 ? 0.9 : 0.15)) ends.erase(ends.begin() + random_.below(static_cast<int64_t>(ends.size())));
  std::vector<uint32_t> outputs = ends;
  for (uint32_t v : program_.outputs)
    if (program_.values[v].source == ProgramValue::Source::kResult && std::find(outputs.begin(), outputs.end(), v) == outputs.end() && outputs.size() < 12) outputs.push_back(v);
  // An output may be anything: a constant, an input under another name, one of the middle.
  if (random_.chance(0.15)) {
    auto v = static_cast<uint32_t>(random_.below(static_cast<int64_t>(info_.size())));
    if (program_.values[v].source == ProgramValue::Source::kInput) v = op(IdentityParams{}, {v}).value_or(outputs.empty() ? 0 : outputs[0]);
    if (std::find(outputs.begin(), outputs.end(), v) == outputs.end()) outputs.push_back(v);
  }
  if (outputs.empty()) outputs.push_back(*op(IdentityParams{}, {0}));
  program_.outputs = outputs;
}

Program Generator::make() {
  start();
  wanted_ = static_cast<size_t>(random_.between(3, 40));
  struct Choice { double weight; void (Generator::*add)(); };
  const bool quantised = style_ == Style::kQuantised, int8 = style_ == Style::kInt8, shapes = style_ == Style::kShapes;
  const double single = int8 ? 0.5 : 1, pattern = 1, layers = int8 ? 5 : 2.2;
  const std::vector<Choice> choices = {
      {1.5 * single, &Generator::add_unary}, {1.5 * single, &Generator::add_binary}, {0.5 * single, &Generator::add_where_or_cast},
      {0.7 * single, &Generator::add_reduce}, {0.3 * single, &Generator::add_arg_or_top}, {0.8 * single, &Generator::add_softmax_or_norm},
      {int8 ? 1.5 : 0.8, &Generator::add_pool}, {0.7, &Generator::add_transpose}, {0.8, &Generator::add_reshape},
      {1.0, &Generator::add_concat_or_split}, {0.8, &Generator::add_slice_or_pad}, {0.4 * single, &Generator::add_expand_or_tile},
      {0.6 * single, &Generator::add_gather_or_scatter}, {0.6, &Generator::add_resize_or_depth},
      {shapes ? 1.5 : 0.3, &Generator::add_integers}, {0.3 * single, &Generator::add_sequence_op},
      {0.15 * single, &Generator::add_recurrent_or_sampling},
      {layers, &Generator::add_layer}, {layers / 2, &Generator::add_residual_block}, {0.8 * pattern, &Generator::add_activation_composite},
      {0.5 * pattern, &Generator::add_layer_norm}, {0.3 * pattern, &Generator::add_attention}, {0.5 * pattern, &Generator::add_pad_then_window},
      {0.6 * pattern, &Generator::add_affine_then_layer}, {0.8, &Generator::add_again}, {shapes ? 2.5 : 0.4, &Generator::add_shape_arithmetic},
      {0.6, &Generator::add_identity_chain},
      {quantised ? 6.0 : 0.0, &Generator::add_qdq_layer}, {quantised ? 3.0 : 0.0, &Generator::add_qdq_math}, {quantised ? 3.0 : 0.0, &Generator::add_qdq_move},
  };
  double total = 0;
  for (const Choice& choice : choices) total += choice.weight;
  for (int attempt = 0; attempt < 200 && program_.nodes.size() < wanted_; ++attempt) {
    double at = random_.real(0, total);
    for (const Choice& choice : choices)
      if ((at -= choice.weight) < 0) {
        (this->*choice.add)();
        break;
      }
  }
  finish();
  return program_;
}

}  // namespace ingot::random_graphs
