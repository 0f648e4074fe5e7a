// Element-wise operators: functions of one value, of two, sums of many, Clip, Where, Cast.
#include "builder/onnx/shared_attributes.h"

#include <cfloat>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace ingot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

const std::unordered_map<std::string_view, UnaryFunction>& plain_functions() {
  using F = UnaryFunction;
  static const std::unordered_map<std::string_view, UnaryFunction> table = {
      {"Relu", F::kRelu},         {"Sigmoid", F::kSigmoid}, {"Tanh", F::kTanh},       {"Softsign", F::kSoftsign},
      {"Softplus", F::kSoftplus}, {"Mish", F::kMish},       {"HardSwish", F::kHardSwish}, {"Abs", F::kAbs},
      {"Neg", F::kNeg},           {"Exp", F::kExp},         {"Log", F::kLog},         {"Sqrt", F::kSqrt},
      {"Reciprocal", F::kReciprocal}, {"Erf", F::kErf},     {"Floor", F::kFloor},     {"Ceil", F::kCeil},
      {"Round", F::kRound},       {"Sign", F::kSign},       {"Sin", F::kSin},         {"Cos", F::kCos},
      {"Tan", F::kTan},           {"Asin", F::kAsin},       {"Acos", F::kAcos},       {"Atan", F::kAtan},
      {"Sinh", F::kSinh},         {"Cosh", F::kCosh},       {"Asinh", F::kAsinh},     {"Acosh", F::kAcosh},
      {"Atanh", F::kAtanh},       {"Not", F::kNot},         {"IsNaN", F::kIsNan},     {"BitwiseNot", F::kBitwiseNot}};
  return table;
}

const std::unordered_map<std::string_view, BinaryFunction>& binary_functions() {
  using F = BinaryFunction;
  static const std::unordered_map<std::string_view, BinaryFunction> table = {
      {"Add", F::kAdd}, {"Sub", F::kSub}, {"Mul", F::kMul}, {"Div", F::kDiv}, {"Pow", F::kPow}, {"And", F::kAnd},
      {"Or", F::kOr}, {"Xor", F::kXor}, {"Equal", F::kEqual}, {"Less", F::kLess}, {"LessOrEqual", F::kLessOrEqual},
      {"Greater", F::kGreater}, {"GreaterOrEqual", F::kGreaterOrEqual}, {"BitwiseAnd", F::kBitwiseAnd},
      {"BitwiseOr", F::kBitwiseOr}, {"BitwiseXor", F::kBitwiseXor}, {"PRelu", F::kPRelu}};
  return table;
}

// b with dims of size 1 behind it, so that its own dims stand at a's dims from `axis` on.
ValueId align(NodeImporter& node, ValueId a, ValueId b, int64_t axis) {
  if (!node.ok()) return kNone;
  const int trailing = node.rank(a) - static_cast<int>(axis) - node.rank(b);
  if (axis < 0 || trailing < 0) {
    node.invalid("attribute 'axis' is out of range: got " + std::to_string(axis) + " for ranks " +
                 std::to_string(node.rank(a)) + " and " + std::to_string(node.rank(b)));
    return kNone;
  }
  if (trailing == 0) return b;
  std::vector<int64_t> axes;
  for (int i = 0; i < trailing; ++i) axes.push_back(node.rank(b) + i);
  return node.add(UnsqueezeParams{}, {b, node.integers_constant("axes", axes)});
}

ValueId cast(NodeImporter& node, ValueId x, DataType to) {
  return !node.ok() || node.dtype(x) == to ? x : node.add(CastParams{static_cast<int64_t>(to), true}, {x});
}

void finish_cast(NodeImporter& node, ValueId x, DataType to, bool saturate) {
  if (!node.ok()) return;
  if (node.dtype(x) == to) return node.alias(x);
  node.result(CastParams{static_cast<int64_t>(to), saturate}, {x});
}

// ONNX converts nothing by itself.
void check_one_type(NodeImporter& node, ValueId a, ValueId b) {
  if (node.ok() && node.dtype(a) != node.dtype(b))
    node.invalid("element types differ: got " + std::string(to_string(node.dtype(a))) + " and " + std::string(to_string(node.dtype(b))) +
                 ", need one; put a Cast before it");
}

// Powers of two alone know rounding modes.
void check_round_mode(NodeImporter& node, DataType to, const std::string& mode) {
  if (to == DataType::kF8E8M0 && mode != "up")
    node.unsupported("attribute 'round_mode' is not supported: got '" + mode + "', need 'up'");
}

// Clip to bounds that may be unknown before the run; max wins where they cross.
void clip(NodeImporter& node, ValueId x, ValueId low, ValueId high) {
  if (!node.ok()) return;
  const auto lo = low == kNone ? std::optional(-kInfinity) : node.constant_scalar(low);
  const auto hi = high == kNone ? std::optional(kInfinity) : node.constant_scalar(high);
  if (low == kNone && high == kNone) return node.alias(x);
  if (is_float(node.dtype(x)) && lo && hi && !std::isnan(*lo) && !std::isnan(*hi)) {
    if (*lo == 0 && *hi == kInfinity) return node.result(UnaryParams{UnaryFunction::kRelu, 0, 0}, {x});
    return node.result(UnaryParams{UnaryFunction::kClip, std::min(*lo, *hi), *hi}, {x});
  }
  if (high == kNone) return node.result(BinaryParams{BinaryFunction::kMax, {}}, {x, low});
  if (low != kNone) x = node.binary(BinaryFunction::kMax, x, low);
  node.result(BinaryParams{BinaryFunction::kMin, {}}, {x, high});
}

}  // namespace

void import_unary(NodeImporter& node) {
  const auto& table = plain_functions();
  node.ignore({"consumed_inputs"});
  node.result(UnaryParams{table.at(node.op_type()), 0, 0}, {node.required(0)});
}

void import_leaky_relu(NodeImporter& node) {
  node.result(UnaryParams{UnaryFunction::kLeakyRelu, node.number("alpha", 0.01f), 0}, {node.required(0)});
}
void import_hard_sigmoid(NodeImporter& node) {
  node.result(UnaryParams{UnaryFunction::kHardSigmoid, node.number("alpha", 0.2f), node.number("beta", 0.5)}, {node.required(0)});
}
void import_elu(NodeImporter& node) {
  node.result(UnaryParams{UnaryFunction::kElu, node.number("alpha", 1), 0}, {node.required(0)});
}
void import_celu(NodeImporter& node) {
  node.result(UnaryParams{UnaryFunction::kCelu, node.number("alpha", 1), 0}, {node.required(0)});
}
void import_selu(NodeImporter& node) {
  const double alpha = node.number("alpha", kSeluAlpha), gamma = node.number("gamma", kSeluGamma);
  node.result(UnaryParams{UnaryFunction::kSelu, alpha, gamma}, {node.required(0)});
}
void import_thresholded_relu(NodeImporter& node) {
  node.result(UnaryParams{UnaryFunction::kThresholdedRelu, node.number("alpha", 1), 0}, {node.required(0)});
}
void import_gelu(NodeImporter& node) {
  const bool tanh = node.choice("approximate", "none", {"none", "tanh"}) == 1;
  node.result(UnaryParams{tanh ? UnaryFunction::kGeluTanh : UnaryFunction::kGelu, 0, 0}, {node.required(0)});
}

// com.microsoft: tanh GELU of x, or of x + bias.
void import_fast_gelu(NodeImporter& node) {
  ValueId x = node.required(0);
  if (node.input(1) != kNone) x = node.binary(BinaryFunction::kAdd, x, node.input(1));
  node.result(UnaryParams{UnaryFunction::kGeluTanh, 0, 0}, {x});
}
void import_bias_gelu(NodeImporter& node) {
  const ValueId x = node.binary(BinaryFunction::kAdd, node.required(0), node.required(1));
  node.result(UnaryParams{UnaryFunction::kGelu, 0, 0}, {x});
}
void import_quick_gelu(NodeImporter& node) {
  const double alpha = node.number("alpha", 1.702f);
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  node.result(UnaryParams{UnaryFunction::kQuickGelu, alpha, 0}, {x});
}

// x · sigmoid(alpha · x)
void import_swish(NodeImporter& node) {
  const double alpha = node.number("alpha", 1);
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  node.result(UnaryParams{alpha == 1 ? UnaryFunction::kSilu : UnaryFunction::kQuickGelu, alpha == 1 ? 0 : alpha, 0}, {x});
}

// a · sigmoid(alpha · a) · b
void import_swiglu(NodeImporter& node) {
  const double alpha = node.number("alpha", 1);
  const ValueId a = node.required(0), b = node.required(1);
  const ValueId gate = node.unary(alpha == 1 ? UnaryFunction::kSilu : UnaryFunction::kQuickGelu, a, alpha == 1 ? 0 : alpha);
  node.result(BinaryParams{BinaryFunction::kMul, {}}, {gate, b});
}

// x < −lambd: x + bias; x > lambd: x − bias; else 0.
void import_shrink(NodeImporter& node) {
  const double bias = node.number("bias", 0), lambd = node.number("lambd", 0.5);
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  const auto scalar = [&](std::string_view role, double value) { return node.scalar_constant(role, node.dtype(x), value); };
  const ValueId shift = scalar("bias", bias);
  const ValueId below = node.binary(BinaryFunction::kLess, x, scalar("lower", -lambd));
  const ValueId above = node.binary(BinaryFunction::kGreater, x, scalar("upper", lambd));
  const ValueId inner = node.add(WhereParams{}, {above, node.binary(BinaryFunction::kSub, x, shift), scalar("zero", 0)});
  node.result(WhereParams{}, {below, node.binary(BinaryFunction::kAdd, x, shift), inner});
}

void import_is_inf(NodeImporter& node) {
  const bool negative = node.flag("detect_negative", true), positive = node.flag("detect_positive", true);
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  if (!negative && !positive)
    return node.result(BinaryParams{BinaryFunction::kAnd, {}}, {node.unary(UnaryFunction::kIsInf, x), node.scalar_constant("never", DataType::kBool, 0)});
  // The op's parameters say which signs count; two zeros mean both.
  if (negative && positive) return node.result(UnaryParams{UnaryFunction::kIsInf, 0, 0}, {x});
  node.result(UnaryParams{UnaryFunction::kIsInf, negative ? 1.0 : 0.0, positive ? 1.0 : 0.0}, {x});
}

void import_clip(NodeImporter& node) {
  const ValueId x = node.required(0);
  if (node.version() >= 11) return clip(node, x, node.input(1), node.input(2));
  node.ignore({"consumed_inputs"});
  const double low = node.number("min", -FLT_MAX), high = node.number("max", FLT_MAX);
  if (!node.ok()) return;
  const ValueId lower = low <= -FLT_MAX ? kNone : node.scalar_constant("min", node.dtype(x), low);
  const ValueId upper = high >= FLT_MAX ? kNone : node.scalar_constant("max", node.dtype(x), high);
  clip(node, x, lower, upper);
}

void import_binary(NodeImporter& node) {
  const ValueId a = node.required(0);
  ValueId b = node.required(1);
  BinaryFunction function = binary_functions().at(node.op_type());
  if (node.version() < 7) {  // broadcasting only on demand, from a given axis on
    node.ignore({"consumed_inputs"});
    const bool broadcast = node.flag("broadcast", false) || function == BinaryFunction::kPRelu;
    if (!node.ok()) return;
    const bool per_channel = function == BinaryFunction::kPRelu && node.rank(b) == 1 && node.rank(a) >= 2;
    if (node.has_attribute("axis") || per_channel) {
      int64_t axis = node.integer("axis", 1);
      if (axis < 0) axis += node.rank(a);
      b = align(node, a, b, axis);
    } else if (!broadcast && !(node.type(a).shape == node.type(b).shape)) {
      return node.invalid("shapes differ: got " + to_string(node.type(a).shape) + " and " + to_string(node.type(b).shape) +
                          ", need equal ones without attribute 'broadcast'");
    }
  }
  // The exponent may have a type of its own.
  if (function == BinaryFunction::kPow && node.ok()) {
    if (is_float(node.dtype(a)) || !is_float(node.dtype(b))) {
      b = cast(node, b, node.dtype(a));
    } else {  // integer base, fractional exponent: computed as a float, the result is an integer again
      const ValueId power = node.binary(function, cast(node, a, node.dtype(b)), b);
      return finish_cast(node, power, node.dtype(a), true);
    }
  }
  check_one_type(node, a, b);
  node.result(BinaryParams{function, {}}, {a, b});
}

void import_mod(NodeImporter& node) {
  const bool fmod = node.flag("fmod", false);
  const ValueId a = node.required(0), b = node.required(1);
  check_one_type(node, a, b);
  node.result(BinaryParams{fmod ? BinaryFunction::kFmod : BinaryFunction::kMod, {}}, {a, b});
}

void import_bit_shift(NodeImporter& node) {
  const bool left = node.choice("direction", "", {"LEFT", "RIGHT"}) == 0;
  node.result(BinaryParams{left ? BinaryFunction::kShiftLeft : BinaryFunction::kShiftRight, {}},
              {node.required(0), node.required(1)});
}

// Sum, Mean, Min, Max of any number of values, one after the other.
void import_chain(NodeImporter& node) {
  node.ignore({"consumed_inputs"});
  const bool mean = node.op_type() == "Mean";
  const BinaryFunction function = node.op_type() == "Min"   ? BinaryFunction::kMin
                                  : node.op_type() == "Max" ? BinaryFunction::kMax
                                                            : BinaryFunction::kAdd;
  const std::vector<ValueId> inputs = node.all_inputs();
  for (ValueId x : inputs) check_one_type(node, inputs[0], x);
  if (!node.ok()) return;
  ValueId y = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) y = node.binary(function, y, inputs[i]);
  if (mean && inputs.size() > 1 && node.ok())
    y = node.binary(BinaryFunction::kDiv, y, node.scalar_constant("count", node.dtype(y), static_cast<double>(inputs.size())));
  node.alias(y);
}

void import_where(NodeImporter& node) { node.result(WhereParams{}, {node.required(0), node.required(1), node.required(2)}); }

void import_cast(NodeImporter& node) {
  const ValueId x = node.required(0);
  if (!node.has_attribute("to")) return node.invalid("attribute 'to' is missing");
  auto dtype = data_type_from_onnx(node.integer("to", 0));
  const bool saturate = node.flag("saturate", true);
  const std::string round_mode = node.text("round_mode", "up");
  if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
  check_round_mode(node, *dtype, round_mode);
  finish_cast(node, x, *dtype, saturate);
}

void import_cast_like(NodeImporter& node) {
  const ValueId x = node.required(0), like = node.required(1);
  const bool saturate = node.flag("saturate", true);
  const std::string round_mode = node.text("round_mode", "up");
  check_round_mode(node, node.dtype(like), round_mode);
  finish_cast(node, x, node.dtype(like), saturate);
}

ValueId add_activation(NodeImporter& node, ValueId x, std::string_view name, const std::vector<double>& parameters) {
  const auto parameter = [&](size_t i, double fallback) { return i < parameters.size() ? parameters[i] : fallback; };
  if (name == "LeakyRelu") return node.unary(UnaryFunction::kLeakyRelu, x, parameter(0, 0.01f));
  if (name == "HardSigmoid") return node.unary(UnaryFunction::kHardSigmoid, x, parameter(0, 0.2f), parameter(1, 0.5));
  if (name == "Clip") return node.unary(UnaryFunction::kClip, x, parameter(0, -FLT_MAX), parameter(1, FLT_MAX));
  const auto place = plain_functions().find(name);
  if (place != plain_functions().end()) return node.unary(place->second, x);
  node.unsupported("fused activation " + std::string(name) + " is not supported");
  return kNone;
}

}  // namespace ingot
