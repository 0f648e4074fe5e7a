// Parser of problem lines, and the random constants and quantisation parameters that complete them.
#include "problem_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include "problem_data.h"

namespace ingot {
namespace {

Status bad(std::string_view word, std::string_view why) {
  return Status(StatusCode::kInvalidArgument, "problem: '" + std::string(word) + "': " + std::string(why));
}

bool strip(std::string_view& word, std::string_view prefix) {
  if (word.substr(0, prefix.size()) != prefix) return false;
  word.remove_prefix(prefix.size());
  return true;
}
template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}
template <class T>
bool parse_list(std::string_view text, std::vector<T>& list) {
  list.clear();
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    T value{};
    if (!parse_number(text.substr(0, comma), value)) return false;
    list.push_back(value);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// "?7x384" → type shape ?x384, maximum 7x384
bool parse_dims(std::string_view text, Shape& shape, Shape& max) {
  shape = max = Shape();
  if (text == "scalar") return true;
  while (shape.rank < Shape::kMaxRank) {
    const size_t end = std::min(text.find('x'), text.size());
    std::string_view word = text.substr(0, end);
    const bool varies = strip(word, "?");
    int64_t dim = 0;
    if (!parse_number(word, dim) || dim < 0) return false;
    shape.dims[static_cast<size_t>(shape.rank++)] = varies ? Shape::kDynamic : dim;
    max.dims[static_cast<size_t>(max.rank++)] = dim;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

template <class Function>
bool function_named(std::string_view name, Function& function) {
  for (int64_t i = 0; i < static_cast<int64_t>(Function::kCount); ++i)
    if (to_string(static_cast<Function>(i)) == name) return function = static_cast<Function>(i), true;
  return false;
}

// "clip:0:6"
bool parse_activation(std::string_view word, Activation& activation) {
  const size_t colon = std::min(word.find(':'), word.size());
  if (!function_named(word.substr(0, colon), activation.function)) return false;
  word.remove_prefix(colon);
  for (double* value : {&activation.alpha, &activation.beta}) {
    if (word.empty()) break;
    word.remove_prefix(1);
    const size_t end = std::min(word.find(':'), word.size());
    if (!parse_number(word.substr(0, end), *value)) return false;
    word.remove_prefix(end);
  }
  return word.empty();
}

Operand operand_of(DataType dtype, const Shape& shape, const Shape& max) {
  Operand operand;
  operand.present = true;
  operand.type.dtype = dtype;
  operand.type.shape = shape;
  operand.max_shape = max;
  return operand;
}

// "[2,-1]" as the elements of a constant.
bool parse_values(std::string_view text, DataType dtype, Shape& shape, std::vector<std::byte>& bytes) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  std::vector<double> numbers;
  if (!text.empty() && !parse_list(text, numbers)) return false;
  shape = Shape{static_cast<int64_t>(numbers.size())};
  for (double number : numbers) {
    const auto append = [&](auto value) {
      const auto* raw = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), raw, raw + sizeof value);
    };
    switch (dtype) {
      case DataType::kF32: append(static_cast<float>(number)); break;
      case DataType::kS32: append(static_cast<int32_t>(number)); break;
      case DataType::kS64: append(static_cast<int64_t>(number)); break;
      case DataType::kU8: append(static_cast<uint8_t>(number)); break;
      default: return false;
    }
  }
  return true;
}

// All that a line says beside the op's own parameters.
struct Line {
  std::string op;
  DataType dtype = DataType::kF32;
  std::optional<DataType> out, residual;
  std::string layout, first_layout;
  bool bias = false, near = false, heavy = false, per_tensor = false, x_per_channel = false, y_per_channel = false;
  std::optional<Operand> weights;
  std::vector<Operand> more;          // inputs after the first
  std::vector<bool> more_constant, more_weights;
  std::vector<std::vector<std::byte>> more_values;  // where the line gives them
  Activation activation;
  std::vector<int64_t> pads, strides, dilations, kernel;
  std::vector<Field> fields;
  int64_t groups = 1, parts = 1;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil = false, count_pad = false, global = false, transpose_b = false, unquantised = false;
  double alpha = 1;
};

Status parse_word(std::string_view word, Line& line) {
  const std::string_view whole = word;
  Shape shape, max;
  if (word == "bias") line.bias = true;
  else if (word == "heavy") line.heavy = true;
  else if (word == "unquantised") line.unquantised = true;
  else if (word == "near") line.near = true;
  else if (word == "per_tensor") line.per_tensor = true;
  else if (word == "xperch") line.x_per_channel = true;
  else if (word == "yperch") line.y_per_channel = true;
  else if (word == "tb") line.transpose_b = true;
  else if (word == "ceil") line.ceil = true;
  else if (word == "count_pad") line.count_pad = true;
  else if (word == "global") line.global = true;
  else if (word == "none") {
    line.more.emplace_back();
    line.more_constant.push_back(false);
    line.more_weights.push_back(false);
    line.more_values.emplace_back();
  }
  else if (word == "same_upper") line.auto_pad = AutoPad::kSameUpper;
  else if (word == "same_lower") line.auto_pad = AutoPad::kSameLower;
  else if (word == "nhwc" || word == "linear") line.layout = word;
  else if (strip(word, "from:")) line.first_layout = word;
  else if (word == "residual") line.residual = DataType::kBool;  // as the output
  else if (strip(word, "residual:")) {
    line.residual = parse_data_type(word);
    if (!line.residual) return bad(whole, "no such type");
  } else if (strip(word, "out:")) {
    line.out = parse_data_type(word);
    if (!line.out) return bad(whole, "no such type");
  } else if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    std::string_view value = word.substr(equals + 1);
    Field field{std::string(word.substr(0, equals)), std::string(value)};
    int64_t whole_number = 0;
    double number = 0;
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') {
      value = value.substr(1, value.size() - 2);
      std::vector<int64_t> list;
      std::vector<double> numbers;
      if (value.empty() || parse_list(value, list)) field.value = list;
      else if (parse_list(value, numbers)) field.value = numbers;
      else return bad(whole, "no list of numbers");
    } else if (parse_number(value, whole_number)) field.value = whole_number;
    else if (parse_number(value, number)) field.value = number;
    line.fields.push_back(std::move(field));
  } else if (parse_activation(word, line.activation)) {
  } else if (strip(word, "pad")) {
    if (!parse_list(word, line.pads)) return bad(whole, "no list of numbers");
  } else if (strip(word, "stride")) {
    if (!parse_list(word, line.strides)) return bad(whole, "no list of numbers");
  } else if (strip(word, "dil")) {
    if (!parse_list(word, line.dilations)) return bad(whole, "no list of numbers");
  } else if (strip(word, "kernel")) {
    if (!parse_list(word, line.kernel)) return bad(whole, "no list of numbers");
  } else if (strip(word, "parts")) {
    if (!parse_number(word, line.parts) || line.parts < 1 || line.parts > 8) return bad(whole, "no number from 1 to 8");
  } else if (strip(word, "groups")) {
    if (!parse_number(word, line.groups)) return bad(whole, "no number");
  } else if (strip(word, "alpha:")) {
    if (!parse_number(word, line.alpha)) return bad(whole, "no number");
  } else if (const size_t colon = word.find(':'); colon != std::string_view::npos) {
    const auto dtype = parse_data_type(word.substr(0, colon));
    word.remove_prefix(colon + 1);
    std::vector<std::byte> values;
    const bool given = dtype && parse_values(word, *dtype, shape, values);
    if (given) max = shape;
    const bool weights = !given && !word.empty() && word.back() == 'w';
    const bool constant = given || weights || (!word.empty() && word.back() == 'c');
    if (constant && !given) word.remove_suffix(1);
    if (!dtype || (!given && !parse_dims(word, shape, max))) return bad(whole, "no operand");
    line.more.push_back(operand_of(*dtype, shape, max));
    line.more_constant.push_back(constant);
    line.more_weights.push_back(weights);
    line.more_values.push_back(std::move(values));
  } else if (strip(word, "w") && parse_dims(word, shape, max)) {
    line.weights = operand_of(DataType::kF32, shape, max);
  } else {
    return bad(whole, "unknown word");
  }
  return {};
}

// One number for all dims, or the list as given.
std::vector<int64_t> spread(const std::vector<int64_t>& list, size_t n) {
  return list.size() == 1 ? std::vector<int64_t>(n, list[0]) : list;
}

Expected<OpParams> params_of(const Line& line, size_t spatial) {
  if (const auto kind = parse_op_kind(line.op)) return params_from_fields(*kind, line.fields);
  const std::vector<int64_t> strides = spread(line.strides, spatial), dilations = spread(line.dilations, spatial),
                             pads = spread(line.pads, 2 * spatial);
  UnaryFunction unary{};
  BinaryFunction binary{};
  PoolFunction pool{};
  std::string_view word = line.op;
  if (word == "conv") {
    ConvParams p;
    p.strides = strides, p.pads = pads, p.dilations = dilations;
    p.auto_pad = line.auto_pad, p.groups = line.groups, p.activation = line.activation;
    return OpParams(p);
  }
  if (word == "matmul") {
    MatMulParams p;
    p.transpose_b = line.transpose_b, p.alpha = line.alpha, p.activation = line.activation;
    return OpParams(p);
  }
  if (word == "quantize") return OpParams(QuantizeLinearParams{});
  if (word == "dequantize") return OpParams(DequantizeLinearParams{});
  if (word.size() > 5 && word.substr(word.size() - 5) == "_pool" && function_named(word.substr(0, word.size() - 5), pool)) {
    PoolParams p;
    p.function = pool, p.global = line.global;
    p.kernel = spread(line.kernel, spatial), p.strides = strides, p.pads = pads, p.dilations = dilations;
    p.auto_pad = line.auto_pad, p.ceil_mode = line.ceil, p.count_include_pad = line.count_pad;
    return OpParams(p);
  }
  if (function_named(word, binary)) {
    BinaryParams p;
    p.function = binary, p.activation = line.activation;
    return OpParams(p);
  }
  Activation activation;
  if (parse_activation(word, activation)) {
    UnaryParams p;
    p.function = activation.function, p.alpha = activation.alpha, p.beta = activation.beta;
    return OpParams(p);
  }
  (void)unary;
  return bad(word, "unknown op");
}

// So that sums of `products` of them stay of the size of what they are multiplied with.
std::vector<float> weight_values(int64_t count, int64_t products, Random& random) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = (random.unit() - 0.5f) * 2 / std::sqrt(static_cast<float>(std::max<int64_t>(products, 1)));
  return values;
}

void quantise(TensorType& type, double scale, Random& random) {
  if (type.dtype != DataType::kU8 && type.dtype != DataType::kS8) return;
  const bool is_signed = type.dtype == DataType::kS8;
  QuantParams quant;
  quant.scales = {static_cast<float>(scale)};
  quant.zero_points = {static_cast<int32_t>(random.below(180)) + (is_signed ? -100 : 40)};
  type.quant = quant;
}

// The same around that scale for each index of dim 1.
void quantise_channels(TensorType& type, Random& random) {
  if (!type.quant || type.shape.rank < 2 || type.shape[1] < 0) return;
  const float scale = type.quant->scales[0];
  QuantParams quant;
  quant.axis = 1;
  for (int64_t c = 0; c < type.shape[1]; ++c) {
    TensorType one = type;
    quantise(one, scale * (0.25f + random.unit()), random);
    quant.scales.push_back(one.quant->scales[0]);
    quant.zero_points.push_back(one.quant->zero_points[0]);
  }
  type.quant = quant;
}

// Quantised operands of these have one scale.
bool only_moves(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity: case OpKind::kTranspose: case OpKind::kConcat: case OpKind::kSplit: case OpKind::kSlice:
    case OpKind::kPad: case OpKind::kExpand: case OpKind::kTile: case OpKind::kDepthToSpace: case OpKind::kSpaceToDepth:
    case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze: case OpKind::kUnsqueeze: case OpKind::kGather:
    case OpKind::kResize: return true;
    default: return false;
  }
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

double TestProblem::multiply_adds() const {
  if (inputs.size() < 2) return 0;
  const Shape& w = inputs[1].max_shape;
  const double out = static_cast<double>(outputs[0].max_shape.elements());
  switch (kind_of(params)) {
    case OpKind::kConv: return out * static_cast<double>(w.elements() / std::max<int64_t>(w[0], 1));
    case OpKind::kMatMul: return out * static_cast<double>(inputs[0].max_shape[inputs[0].max_shape.rank - 1]);
    default: return 0;
  }
}

Expected<TestProblem> parse_problem(std::string_view text) {
  TestProblem result;
  const size_t hash = std::min(text.find('#'), text.size());
  result.text = text.substr(0, hash);
  while (!result.text.empty() && result.text.back() == ' ') result.text.pop_back();
  if (hash < text.size()) result.name = text.substr(std::min(text.find_first_not_of("# ", hash), text.size()));

  std::istringstream words(result.text);
  Line line;
  std::string type_word, shape_word, word;
  words >> line.op;
  std::vector<std::string> rest;
  while (words >> word) rest.push_back(word);
  // Fields may stand before the type.
  size_t next = 0;
  while (next < rest.size() && rest[next].find('=') != std::string::npos) INGOT_TRY(parse_word(rest[next++], line));
  if (next + 2 > rest.size()) return bad(result.text, "needs an op, a type and a shape");
  const auto dtype = parse_data_type(rest[next]);
  Shape shape, max;
  std::vector<std::byte> first;
  const bool listed = dtype && parse_values(rest[next + 1], *dtype, shape, first);
  if (listed) max = shape;
  if (!dtype || (!listed && !parse_dims(rest[next + 1], shape, max))) return bad(rest[next] + ' ' + rest[next + 1], "no type and shape");
  line.dtype = *dtype;
  for (next += 2; next < rest.size(); ++next) INGOT_TRY(parse_word(rest[next], line));

  INGOT_ASSIGN(result.params, params_of(line, static_cast<size_t>(std::max(shape.rank - 2, 0))));
  const OpKind kind = kind_of(result.params);
  const bool spatial_op = kind == OpKind::kConv || kind == OpKind::kPool;
  Random random(text_seed(result.text));
  const bool is_byte = line.dtype == DataType::kU8 || line.dtype == DataType::kS8;
  const DataType out = line.out.value_or(line.dtype);

  result.near = line.near;
  result.inputs.push_back(operand_of(line.dtype, shape, max));
  if (!line.unquantised) quantise(result.inputs[0].type, 0.02, random);
  if (line.x_per_channel) quantise_channels(result.inputs[0].type, random);
  result.inputs[0].is_constant = listed;
  result.constants.push_back(first);
  double out_scale = 0.02;
  if (kind == OpKind::kBinary && out != line.dtype) out_scale = 0.03;
  if (line.weights) {
    Operand w = *line.weights;
    const int64_t count = w.max_shape.elements();
    const int axis = kind == OpKind::kConv || line.transpose_b ? 0 : w.max_shape.rank - 1;
    const int64_t outputs = w.max_shape[axis], products = count / std::max<int64_t>(outputs, 1);
    w.is_constant = true;
    if (is_byte) {
      w.type.dtype = DataType::kS8;
      QuantParams quant;
      const int64_t scales = line.per_tensor ? 1 : outputs;
      for (int64_t c = 0; c < scales; ++c) quant.scales.push_back(0.004f * (0.5f + random.unit()));
      quant.zero_points.assign(quant.scales.size(), 0);
      if (!line.per_tensor) quant.axis = axis;
      w.type.quant = quant;
      std::vector<int8_t> values(static_cast<size_t>(count));
      for (int8_t& v : values)
        v = static_cast<int8_t>(line.heavy ? static_cast<int>(random.below(256)) - 128 : static_cast<int>(random.below(129)) - 64);
      result.constants.push_back(bytes_of(values));
      // Results spread over the range of the output.
      out_scale = 0.02 * 0.004 * 74 * (line.heavy ? 74 : 37) * std::sqrt(static_cast<double>(products)) / 50 * std::abs(line.alpha);
    } else {
      w.type.dtype = line.dtype;
      const std::vector<float> values = weight_values(count, products, random);
      result.constants.push_back(line.dtype == DataType::kF32 ? bytes_of(values) : random_values(w.type, w.max_shape, random));
    }
    result.inputs.push_back(w);
    Operand bias;
    if (line.bias) {
      const Shape dims{outputs};
      bias = operand_of(is_byte ? DataType::kS32 : line.dtype, dims, dims);
      bias.is_constant = true;
      std::vector<int32_t> values(static_cast<size_t>(outputs));
      const auto reach = static_cast<uint32_t>(2000 * std::sqrt(static_cast<double>(products)) + 1);
      for (int32_t& v : values) v = static_cast<int32_t>(random.below(2 * reach)) - static_cast<int32_t>(reach);
      result.constants.push_back(is_byte ? bytes_of(values) : random_values(bias.type, dims, random));
    } else {
      result.constants.emplace_back();
    }
    result.inputs.push_back(bias);
  }
  for (size_t i = 0; i < line.more.size(); ++i) {
    Operand operand = line.more[i];
    if (only_moves(kind)) operand.type.quant = result.inputs[0].type.quant;
    else if (!line.unquantised) quantise(operand.type, 0.013, random);
    operand.is_constant = line.more_constant[i];
    result.constants.push_back(!line.more_values[i].empty() ? line.more_values[i]
                               : line.more_weights[i] ? bytes_of(weight_values(operand.max_shape.elements(), operand.max_shape[operand.max_shape.rank - 1], random))
                               : operand.is_constant ? random_values(operand.type, operand.max_shape, random)
                                                   : std::vector<std::byte>());
    if (line.near && line.more_values[i].empty()) bring_near(operand.type.dtype, result.constants.back());
    result.inputs.push_back(operand);
  }

  result.outputs.resize(static_cast<size_t>(line.parts));
  INGOT_ASSIGN(const std::vector<OpOutput> inferred, output_types(result, max_shapes(result)));
  INGOT_ASSIGN(const std::vector<OpOutput> probe, output_types(result, small_shapes(result)));
  result.outputs.clear();
  for (size_t i = 0; i < inferred.size(); ++i) {
    // Only for quantised ops is the type of the result free.
    const bool free = is_byte || line.out || kind == OpKind::kQuantizeLinear || kind == OpKind::kDequantizeLinear;
    Operand y = operand_of(i == 0 && free ? out : inferred[i].dtype, inferred[i].shape, inferred[i].shape);
    if (i == 0 && kind == OpKind::kDequantizeLinear && !line.out) y.type.dtype = DataType::kF32;
    for (int d = 0; d < y.type.shape.rank; ++d)
      if (probe[i].shape[d] != inferred[i].shape[d]) y.type.shape[d] = Shape::kDynamic;
    if (i == 0 && !line.unquantised) quantise(y.type, out_scale, random);
    if (i == 0 && line.y_per_channel) quantise_channels(y.type, random);
    // What only moves bytes keeps its input's scale.
    const bool is_max_pool = kind == OpKind::kPool && std::get<PoolParams>(result.params).function == PoolFunction::kMax;
    if (only_moves(kind) || (i == 0 && is_max_pool)) y.type.quant = result.inputs[0].type.quant;
    result.outputs.push_back(y);
  }
  if (line.residual) {
    if (result.inputs.size() == 1) return bad("residual", "only behind weights");
    Operand residual = result.outputs[0];
    if (*line.residual != DataType::kBool) residual.type.dtype = *line.residual;
    residual.type.quant.reset();
    quantise(residual.type, out_scale * 0.7, random);
    result.inputs.push_back(residual);
    result.constants.emplace_back();
  }
  const auto lay_out = [&](Operand& operand, const std::string& layout) {
    const bool last = layout.empty() ? spatial_op : layout == "nhwc";
    if (last && !operand.is_constant && operand.type.shape.rank >= 3) operand.type.layout = Layout::kChannelsLast;
  };
  for (size_t i = 0; i < result.inputs.size(); ++i)
    lay_out(result.inputs[i], i == 0 && !line.first_layout.empty() ? line.first_layout : line.layout);
  for (Operand& operand : result.outputs) lay_out(operand, line.layout);
  for (size_t i = 0; i < result.inputs.size(); ++i) result.inputs[i].constant = result.constants[i];
  return result;
}

Expected<std::vector<TestProblem>> read_problems(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status(StatusCode::kNotFound, "problems: cannot read '" + path + "'");
  std::vector<TestProblem> problems;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    const size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos || text[first] == '#') continue;
    Expected<TestProblem> problem = parse_problem(text);
    if (!problem.ok()) return problem.take_status().with_context(path + ":" + std::to_string(number));
    problems.push_back(std::move(*problem));
  }
  return problems;
}

}  // namespace ingot
