// Names and type rules of the element-wise ops, and the activation functions.
#include "runtime/ops/pointwise.h"

#include <array>
#include <cmath>
#include <string>

#include "runtime/ops/exact_math.h"
#include "runtime/ops/quantize.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(UnaryFunction::kCount)> kUnaryNames = {
    "identity",   "relu",   "clip",       "leaky_relu", "sigmoid",   "hard_sigmoid",
    "hard_swish", "silu",   "tanh",       "gelu",       "gelu_tanh", "elu",
    "selu",       "celu",   "softplus",   "softsign",   "mish",      "thresholded_relu",
    "quick_gelu", "abs",    "neg",        "exp",        "log",       "sqrt",
    "reciprocal", "erf",    "floor",      "ceil",       "round",     "sign",
    "sin",        "cos",    "tan",        "asin",       "acos",      "atan",
    "sinh",       "cosh",   "asinh",      "acosh",      "atanh",     "not",
    "is_nan",     "is_inf", "bitwise_not"};
constexpr std::array<std::string_view, static_cast<size_t>(BinaryFunction::kCount)> kBinaryNames = {
    "add",         "sub",        "mul",           "div",         "pow",
    "min",         "max",        "mod",           "fmod",        "prelu",
    "equal",       "less",       "less_or_equal", "greater",     "greater_or_equal",
    "and",         "or",         "xor",           "bitwise_and", "bitwise_or",
    "bitwise_xor", "shift_left", "shift_right"};
static_assert(!kUnaryNames.back().empty() && !kBinaryNames.back().empty());

// Functions with the same formula in float and double; libm only where IEEE has no operation.
template <class T>
T other_function(UnaryFunction f, T x) {
  switch (f) {
    case UnaryFunction::kAbs:
      return std::fabs(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kReciprocal:
      return T{1} / x;
    case UnaryFunction::kFloor:
      return std::floor(x);
    case UnaryFunction::kCeil:
      return std::ceil(x);
    case UnaryFunction::kRound:
      return std::nearbyint(x);
    case UnaryFunction::kSign:
      return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
    case UnaryFunction::kIsNan:
      return x != x ? T{1} : T{0};
    default:
      break;
  }
  const double d = static_cast<double>(x);
  const auto libm = [&]() -> double {
    switch (f) {
      case UnaryFunction::kExp:
        return std::exp(d);
      case UnaryFunction::kErf:
        return std::erf(d);
      case UnaryFunction::kLog:
        return std::log(d);
      case UnaryFunction::kSin:
        return std::sin(d);
      case UnaryFunction::kCos:
        return std::cos(d);
      case UnaryFunction::kTan:
        return std::tan(d);
      case UnaryFunction::kAsin:
        return std::asin(d);
      case UnaryFunction::kAcos:
        return std::acos(d);
      case UnaryFunction::kAtan:
        return std::atan(d);
      case UnaryFunction::kSinh:
        return std::sinh(d);
      case UnaryFunction::kCosh:
        return std::cosh(d);
      case UnaryFunction::kAsinh:
        return std::asinh(d);
      case UnaryFunction::kAcosh:
        return std::acosh(d);
      case UnaryFunction::kAtanh:
        return std::atanh(d);
      default:
        return d;
    }
  };
  return static_cast<T>(libm());
}

bool is_plain_float(DataType type) {
  return type == DataType::kF32 || type == DataType::kF16 || type == DataType::kBF16 || type == DataType::kF64;
}

Status need_inputs(const char* op, std::span<const OpInput> inputs, size_t count) {
  if (inputs.size() >= count) {
    bool all = true;
    for (size_t i = 0; i < count; ++i) all = all && inputs[i].present;
    if (all) return {};
  }
  return bad_operand(op, "inputs: got " + std::to_string(inputs.size()) + ", need " + std::to_string(count));
}

Status bad_type(std::string_view op, DataType got, const char* need) {
  return Status(StatusCode::kInvalidModel,
                std::string(op) + ": element type: got " + std::string(to_string(got)) + ", need " + need);
}

bool allows_integers(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kIdentity:
    case UnaryFunction::kRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kAbs:
    case UnaryFunction::kNeg:
    case UnaryFunction::kSign:
    case UnaryFunction::kFloor:
    case UnaryFunction::kCeil:
    case UnaryFunction::kRound:
    case UnaryFunction::kBitwiseNot:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view to_string(UnaryFunction function) {
  return function < UnaryFunction::kCount ? kUnaryNames[static_cast<size_t>(function)] : std::string_view("none");
}
std::string_view to_string(BinaryFunction function) {
  return function < BinaryFunction::kCount ? kBinaryNames[static_cast<size_t>(function)] : std::string_view("none");
}
bool is_comparison(BinaryFunction function) {
  return function >= BinaryFunction::kEqual && function <= BinaryFunction::kGreaterOrEqual;
}
bool is_clamp(UnaryFunction function) {
  return function == UnaryFunction::kIdentity || function == UnaryFunction::kRelu || function == UnaryFunction::kClip;
}

float apply_activation(const Activation& activation, float x) {
  using exact::Scalar;
  const UnaryFunction f = activation.function;
  if (f == UnaryFunction::kIdentity) return x;
  if (f == UnaryFunction::kExp) return exact::exp<Scalar>(x);
  if (f == UnaryFunction::kErf) return exact::erf<Scalar>(x);
  if (f == UnaryFunction::kIsInf) {
    const bool either = activation.alpha == 0 && activation.beta == 0;
    return std::isinf(x) && (either || (x < 0 ? activation.alpha : activation.beta) != 0) ? 1.0f : 0.0f;
  }
  if (!is_activation(f)) return other_function(f, x);
  return exact::activation<Scalar>(f, x, static_cast<float>(activation.alpha), static_cast<float>(activation.beta));
}

double apply_activation_f64(const Activation& activation, double x) {
  const double alpha = activation.alpha, beta = activation.beta;
  const auto sigmoid = [](double t) { return 1 / (1 + std::exp(-t)); };
  const auto softplus = [](double t) { return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t))); };
  const auto clip = [](double t, double lo, double hi) { return t < lo ? std::min(lo, hi) : t > hi ? hi : t; };
  if (x != x && is_activation(activation.function)) return x;
  switch (activation.function) {
    case UnaryFunction::kIdentity:
      return x;
    case UnaryFunction::kRelu:
      return std::max(x, 0.0);
    case UnaryFunction::kClip:
      return clip(x, alpha, beta);
    case UnaryFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case UnaryFunction::kSigmoid:
      return sigmoid(x);
    case UnaryFunction::kHardSigmoid:
      return clip(alpha * x + beta, 0, 1);
    case UnaryFunction::kHardSwish:
      return std::max(x, -4.0) * clip(x / 6 + 0.5, 0, 1);
    case UnaryFunction::kSilu:
      return std::max(x, -800.0) * sigmoid(x);
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kGelu:
      return 0.5 * std::max(x, -800.0) * std::erfc(-x * M_SQRT1_2);
    case UnaryFunction::kGeluTanh: {
      const double c = std::max(x, -800.0);
      return c * sigmoid(2 * std::sqrt(2 / M_PI) * (c + 0.044715 * c * c * c));
    }
    case UnaryFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case UnaryFunction::kSelu:
      return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case UnaryFunction::kCelu:
      return x < 0 ? alpha * std::expm1(x / alpha) : x;
    case UnaryFunction::kSoftplus:
      return softplus(x);
    case UnaryFunction::kSoftsign:
      return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x));
    case UnaryFunction::kMish:
      return std::max(x, -800.0) * std::tanh(softplus(x));
    case UnaryFunction::kThresholdedRelu:
      return x > alpha ? x : 0;
    case UnaryFunction::kQuickGelu:
      return std::max(x, -800.0 / std::max(1.0, std::fabs(alpha))) * sigmoid(alpha * x);
    case UnaryFunction::kIsInf:
      return std::isinf(x) && ((alpha == 0 && beta == 0) || (x < 0 ? alpha : beta) != 0) ? 1.0 : 0.0;
    default:
      return other_function(activation.function, x);
  }
}

bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out) {
  Shape y;
  y.rank = std::max(a.rank, b.rank);
  for (int i = 1; i <= y.rank; ++i) {
    const int64_t left = i <= a.rank ? a[a.rank - i] : 1, right = i <= b.rank ? b[b.rank - i] : 1;
    if (left != right && left != 1 && right != 1) return false;
    y[y.rank - i] = left == 1 ? right : left;
  }
  out = y;
  return true;
}

Status infer_types(const UnaryParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const std::string op(to_string(params.function));
  INGOT_TRY(need_inputs(op.c_str(), inputs, 1));
  const DataType type = inputs[0].dtype;
  const UnaryFunction f = params.function;
  if (f >= UnaryFunction::kCount)
    return bad_operand("unary", "function: got " + std::to_string(static_cast<int64_t>(f)) + ", need a known one");
  outputs[0] = {type, inputs[0].shape};
  if (f == UnaryFunction::kNot) return type == DataType::kBool ? Status() : bad_type(op, type, "bool");
  if (f == UnaryFunction::kIsNan || f == UnaryFunction::kIsInf) {
    outputs[0].dtype = DataType::kBool;
    return is_plain_float(type) ? Status() : bad_type(op, type, "a float type");
  }
  if (f == UnaryFunction::kBitwiseNot) return is_integer(type) ? Status() : bad_type(op, type, "an integer type");
  if (is_plain_float(type) || f == UnaryFunction::kIdentity) return {};
  // u8 and s8 may be quantised values, which every function takes; reference code decides by the QuantParams.
  if (is_integer(type) && (allows_integers(f) || type == DataType::kU8 || type == DataType::kS8)) return {};
  return bad_type(op, type, allows_integers(f) ? "a number" : "a float type");
}

Status infer_types(const BinaryParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const BinaryFunction f = params.function;
  if (f >= BinaryFunction::kCount)
    return bad_operand("binary", "function: got " + std::to_string(static_cast<int64_t>(f)) + ", need a known one");
  const std::string op(to_string(f));
  INGOT_TRY(need_inputs(op.c_str(), inputs, 2));
  const DataType a = inputs[0].dtype, b = inputs[1].dtype;
  const auto byte = [](DataType type) {
    return type == DataType::kU8 || type == DataType::kS8 || type == DataType::kF32;
  };
  if (a != b && f != BinaryFunction::kPow && !(byte(a) && byte(b)))  // quantised operands may differ in type
    return bad_operand(op.c_str(), "types of a and b: got " + std::string(to_string(a)) + " and " +
                                       std::string(to_string(b)) + ", need equal");
  const bool logical = f == BinaryFunction::kAnd || f == BinaryFunction::kOr || f == BinaryFunction::kXor;
  if (logical && a != DataType::kBool) return bad_type(op, a, "bool");
  if (f >= BinaryFunction::kBitwiseAnd && !is_integer(a)) return bad_type(op, a, "an integer type");
  if (!logical && f != BinaryFunction::kEqual && a == DataType::kBool) return bad_type(op, a, "a number");
  if (!is_activation(params.activation.function))
    return bad_operand(op.c_str(), "fused function: got " + std::string(to_string(params.activation.function)) +
                                       ", need an activation");
  outputs[0].dtype = is_comparison(f) ? DataType::kBool : a;
  if (!broadcast_shapes(inputs[0].shape, inputs[1].shape, outputs[0].shape))
    return bad_operand(op.c_str(), "shapes do not broadcast: got " + to_string(inputs[0].shape) + " and " +
                                       to_string(inputs[1].shape) + ", need equal or 1 in each dim");
  return check_output_size(op.c_str(), outputs[0].shape);
}

Status infer_types(const WhereParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(need_inputs("where", inputs, 3));
  if (inputs[0].dtype != DataType::kBool) return bad_type("where condition", inputs[0].dtype, "bool");
  if (inputs[1].dtype != inputs[2].dtype)
    return bad_operand("where", "types of x and y: got " + std::string(to_string(inputs[1].dtype)) + " and " +
                                    std::string(to_string(inputs[2].dtype)) + ", need equal");
  Shape shape;
  if (!broadcast_shapes(inputs[1].shape, inputs[2].shape, shape) || !broadcast_shapes(inputs[0].shape, shape, shape))
    return bad_operand("where", "shapes do not broadcast: got " + to_string(inputs[0].shape) + ", " +
                                    to_string(inputs[1].shape) + " and " + to_string(inputs[2].shape) +
                                    ", need equal or 1 in each dim");
  outputs[0] = {inputs[1].dtype, shape};
  return check_output_size("where", shape);
}

Status infer_types(const CastParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(need_inputs("cast", inputs, 1));
  if (params.to < 0 || params.to >= kDataTypeCount)
    return bad_operand(
        "cast", "target type: got " + std::to_string(params.to) + ", need 0 to " + std::to_string(kDataTypeCount - 1));
  outputs[0] = {static_cast<DataType>(params.to), inputs[0].shape};
  return {};
}

}  // namespace ingot
