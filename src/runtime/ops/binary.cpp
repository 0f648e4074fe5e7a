// Reference code of Binary: one function pointer per element type and function, walked over the broadcast shape.
#include <cmath>
#include <string>

#include "runtime/ops/broadcast.h"
#include "runtime/ops/element.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/requantize.h"

namespace ingot {
namespace {

using F = BinaryFunction;

template <class T>
T float_power(T x, T y) {
  if (y == 2) return x * x;
  return static_cast<T>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}
// Remainder with the divisor's sign.
template <class T>
T floor_mod(T a, T b) {
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T>
T (*float_function(F f))
(T, T) {
  switch (f) {
    case F::kAdd:
      return [](T a, T b) { return a + b; };
    case F::kSub:
      return [](T a, T b) { return a - b; };
    case F::kMul:
      return [](T a, T b) { return a * b; };
    case F::kDiv:
      return [](T a, T b) { return a / b; };
    case F::kPow:
      return float_power<T>;
    case F::kMin:
      return [](T a, T b) { return a != a || a < b ? a : b; };  // NaN wins
    case F::kMax:
      return [](T a, T b) { return a != a || a > b ? a : b; };
    case F::kMod:
      return floor_mod<T>;
    case F::kFmod:
      return [](T a, T b) { return std::fmod(a, b); };
    case F::kPRelu:
      return [](T a, T b) { return a < 0 ? b * a : a; };
    default:
      return nullptr;
  }
}

// Sums, differences and products wrap; x / 0 and x mod 0 give 0; INT_MIN / −1 wraps to INT_MIN.
template <class T>
T (*integer_function(F f))
(T, T) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;  // no promotion to a signed type
  constexpr bool kSigned = std::is_signed_v<T>;
  switch (f) {
    case F::kAdd:
      return [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); };
    case F::kSub:
      return [](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); };
    case F::kMul:
      return [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); };
    case F::kDiv:
      return [](T a, T b) -> T {
        if (b == 0) return 0;
        if (kSigned && b == static_cast<T>(-1)) return static_cast<T>(U{0} - static_cast<U>(a));
        return static_cast<T>(a / b);
      };
    case F::kMin:
      return [](T a, T b) { return a < b ? a : b; };
    case F::kMax:
      return [](T a, T b) { return a > b ? a : b; };
    case F::kMod:
      return [](T a, T b) -> T {
        if (b == 0 || (kSigned && b == static_cast<T>(-1))) return 0;
        const T r = static_cast<T>(a % b);
        return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      };
    case F::kFmod:
      return [](T a, T b) -> T {
        if (b == 0 || (kSigned && b == static_cast<T>(-1))) return 0;
        return static_cast<T>(a % b);
      };
    case F::kPRelu:
      return [](T a, T b) { return a < 0 ? static_cast<T>(static_cast<U>(a) * static_cast<U>(b)) : a; };
    case F::kBitwiseAnd:
      return [](T a, T b) { return static_cast<T>(a & b); };
    case F::kBitwiseOr:
      return [](T a, T b) { return static_cast<T>(a | b); };
    case F::kBitwiseXor:
      return [](T a, T b) { return static_cast<T>(a ^ b); };
    case F::kShiftLeft:
      return [](T a, T b) -> T {
        return b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<U>(a) << b);
      };
    case F::kShiftRight:
      return [](T a, T b) -> T {
        if (b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8) return a < 0 ? static_cast<T>(-1) : T{0};  // all bits left it
        return static_cast<T>(a >> b);
      };
    default:
      return nullptr;
  }
}

template <class T>
bool (*comparison(F f))(T, T) {
  switch (f) {
    case F::kEqual:
      return [](T a, T b) { return a == b; };
    case F::kLess:
      return [](T a, T b) { return a < b; };
    case F::kLessOrEqual:
      return [](T a, T b) { return a <= b; };
    case F::kGreater:
      return [](T a, T b) { return a > b; };
    case F::kGreaterOrEqual:
      return [](T a, T b) { return a >= b; };
    default:
      return nullptr;
  }
}

struct Operands {
  ConstTensorRef a, b;
  TensorRef y;
  // each(output index, a index, b index)
  template <class Each>
  void walk(Each&& each) const {
    for_each_row<2>(y.type->shape, {a.type->shape, b.type->shape},
                    [&](int64_t out, int64_t count, const auto& offsets, const auto& steps) {
                      for (int64_t i = 0; i < count; ++i)
                        each(out + i, offsets[0] + i * steps[0], offsets[1] + i * steps[1]);
                    });
  }
};

template <class T>
bool run_comparison(F f, const Operands& o) {
  const auto function = comparison<Arithmetic<T>>(f);
  if (!function) return false;
  o.walk([&](int64_t i, int64_t a, int64_t b) {
    o.y.as<uint8_t>()[i] = function(load_element(o.a.as<T>()[a]), load_element(o.b.as<T>()[b]));
  });
  return true;
}

template <class T>
bool run_float(const BinaryParams& p, const Operands& o) {
  using A = Arithmetic<T>;
  if (run_comparison<T>(p.function, o)) return true;
  const auto function = float_function<A>(p.function);
  if (!function) return false;
  o.walk([&](int64_t i, int64_t a, int64_t b) {
    A t = function(load_element(o.a.as<T>()[a]), load_element(o.b.as<T>()[b]));
    if constexpr (std::is_same_v<A, double>)
      t = apply_activation_f64(p.activation, t);
    else
      t = apply_activation(p.activation, t);
    o.y.as<T>()[i] = store_float<T>(t);
  });
  return true;
}

template <class T>
bool run_integer(const BinaryParams& p, const Operands& o) {
  if (run_comparison<T>(p.function, o)) return true;
  const auto function = integer_function<T>(p.function);
  if (!function || p.activation.function != UnaryFunction::kIdentity) return false;
  o.walk([&](int64_t i, int64_t a, int64_t b) { o.y.as<T>()[i] = function(o.a.as<T>()[a], o.b.as<T>()[b]); });
  return true;
}

bool run_bool(F f, const Operands& o) {
  if (f != F::kAnd && f != F::kOr && f != F::kXor && f != F::kEqual) return false;
  o.walk([&](int64_t i, int64_t ia, int64_t ib) {
    const bool a = o.a.as<uint8_t>()[ia] != 0, b = o.b.as<uint8_t>()[ib] != 0;
    o.y.as<uint8_t>()[i] = f == F::kAnd ? a && b : f == F::kOr ? a || b : f == F::kXor ? a != b : a == b;
  });
  return true;
}

int32_t byte_at(const ConstTensorRef& t, int64_t i) {
  return t.type->dtype == DataType::kU8 ? t.as<uint8_t>()[i] : t.as<int8_t>()[i];
}

// Both operands quantised, add, sub or mul: integer operands, one multiplier each (docs/numerics.md).
void run_quantized(const BinaryParams& p, const Operands& o) {
  const TensorType &a_type = *o.a.type, &b_type = *o.b.type, &y_type = *o.y.type;
  const bool clamp = is_quantized(y_type) && is_clamp(p.activation.function);
  const float s_y = clamp ? scale_of(y_type) : 1.0f;
  const float m_a = multiplier(scale_of(a_type), 1.0f, s_y);
  const float m_b =
      p.function == F::kSub ? -multiplier(scale_of(b_type), 1.0f, s_y) : multiplier(scale_of(b_type), 1.0f, s_y);
  const float m_ab = multiplier(scale_of(a_type), scale_of(b_type), s_y);
  const int32_t z_a = zero_point_of(a_type), z_b = zero_point_of(b_type), z_y = zero_point_of(y_type);
  const ClampBounds bounds =
      is_quantized(y_type) ? clamp_bounds(clamp ? p.activation : Activation{}, y_type.dtype, scale_of(y_type), z_y)
                           : ClampBounds{};
  o.walk([&](int64_t i, int64_t ia, int64_t ib) {
    const int32_t a = byte_at(o.a, ia) - z_a, b = byte_at(o.b, ib) - z_b;
    const float t = p.function == F::kMul ? static_cast<float>(a * b) * m_ab
                                          : __builtin_fmaf(static_cast<float>(a), m_a, static_cast<float>(b) * m_b);
    if (clamp) {
      o.y.as<uint8_t>()[i] = static_cast<uint8_t>(round_clamp(t, z_y, bounds.lo, bounds.hi));
      return;
    }
    const float r = apply_activation(p.activation, t);
    if (is_quantized(y_type))
      o.y.as<uint8_t>()[i] = static_cast<uint8_t>(quantize_value(r, scale_of(y_type), z_y, bounds.lo, bounds.hi));
    else
      o.y.as<float>()[i] = r;
  });
}

// Any other mix of quantised and f32 operands: dequantise, compute in float, apply f, quantise.
bool run_mixed(const BinaryParams& p, const Operands& o) {
  const bool quantized = is_quantized(*o.y.type);
  const auto compare = comparison<float>(p.function);
  const auto function = float_function<float>(p.function);
  const auto real = [](const ConstTensorRef& t) { return is_quantized(*t.type) || t.type->dtype == DataType::kF32; };
  if ((!compare && !function) || !real(o.a) || !real(o.b) ||
      (!quantized && !compare && o.y.type->dtype != DataType::kF32))
    return false;
  const auto value = [](const ConstTensorRef& t, int64_t i) {
    return is_quantized(*t.type) ? dequantize_value(byte_at(t, i), scale_of(*t.type), zero_point_of(*t.type))
                                 : t.as<float>()[i];
  };
  const QuantRange range = quant_range(o.y.type->dtype);
  o.walk([&](int64_t i, int64_t a, int64_t b) {
    if (compare) {
      o.y.as<uint8_t>()[i] = compare(value(o.a, a), value(o.b, b));
      return;
    }
    const float r = apply_activation(p.activation, function(value(o.a, a), value(o.b, b)));
    if (!quantized)
      o.y.as<float>()[i] = r;
    else
      o.y.as<uint8_t>()[i] =
          static_cast<uint8_t>(quantize_value(r, scale_of(*o.y.type), zero_point_of(*o.y.type),
                                              static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)));
  });
  return true;
}

// base^exponent by squaring, modulo 2^bits; negative exponents truncate to 0 except for ±1.
template <class T>
T integer_power(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (std::is_signed_v<T> && base == static_cast<T>(-1)) return exponent % 2 ? base : T{1};
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<T>(result);
}

// Pow is the one function whose operands may be of different types; the result is of the base's.
bool run_power(const Operands& o) {
  const DataType base = o.a.type->dtype, exponent = o.b.type->dtype;
  bool ran = false;
  const auto with_exponent = [&](auto&& each) {  // each(exponent element) as double or int64
    const auto loop = [&](auto t) {
      using E = decltype(t);
      o.walk([&](int64_t i, int64_t a, int64_t b) {
        if constexpr (std::is_integral_v<E>)
          each(i, a, static_cast<int64_t>(o.b.as<E>()[b]));
        else
          each(i, a, static_cast<double>(load_element(o.b.as<E>()[b])));
      });
      ran = true;
    };
    if (!with_float_type(exponent, loop)) with_integer_type(exponent, loop);
  };
  with_float_type(base, [&](auto t) {
    using T = decltype(t);
    with_exponent([&](int64_t i, int64_t a, auto e) {
      o.y.as<T>()[i] = store_float<T>(
          float_power<double>(static_cast<double>(load_element(o.a.as<T>()[a])), static_cast<double>(e)));
    });
  });
  with_integer_type(base, [&](auto t) {
    using T = decltype(t);
    with_exponent([&](int64_t i, int64_t a, auto e) {
      const T x = o.a.as<T>()[a];
      if constexpr (std::is_same_v<decltype(e), int64_t>)
        o.y.as<T>()[i] = integer_power(x, e);
      else
        o.y.as<T>()[i] = saturate_cast<T>(std::pow(static_cast<double>(x), e));
    });
  });
  return ran;
}

}  // namespace

Status run_reference(const BinaryParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Operands o{inputs[0], inputs[1], outputs[0]};
  const DataType a = o.a.type->dtype, b = o.b.type->dtype;
  const bool a_quantized = is_quantized(*o.a.type), b_quantized = is_quantized(*o.b.type),
             y_quantized = is_quantized(*o.y.type);
  bool ran = false;
  if (a_quantized && b_quantized && (y_quantized || o.y.type->dtype == DataType::kF32) &&
      (params.function == F::kAdd || params.function == F::kSub || params.function == F::kMul)) {
    run_quantized(params, o);
    ran = true;
  } else if (a_quantized || b_quantized || y_quantized) {
    ran = run_mixed(params, o);
  } else if (params.function == F::kPow && (a != b || is_integer(a))) {
    ran = params.activation.function == UnaryFunction::kIdentity && run_power(o);
  } else if (a != b) {
    ran = false;
  } else if (a == DataType::kBool) {
    ran = run_bool(params.function, o);
  } else {
    with_float_type(a, [&](auto t) { ran = run_float<decltype(t)>(params, o); });
    with_integer_type(a, [&](auto t) { ran = run_integer<decltype(t)>(params, o); });
  }
  if (ran) return {};
  return Status(StatusCode::kUnsupported, std::string(to_string(params.function)) + ": types: got " +
                                              to_string(*o.a.type) + " and " + to_string(*o.b.type) + " to " +
                                              to_string(*o.y.type) + ", need one number type");
}

}  // namespace ingot
