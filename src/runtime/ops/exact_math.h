// Transcendental functions as a fixed sequence of IEEE float32 + − × ÷ fma and integer shifts, so that scalar code,
// AVX2, AVX-512 and CUDA give the same bits (docs/numerics.md). Each function is a template over "vector traits" V that
// supply those primitives; an ISA file defines its traits in its own anonymous namespace and instantiates the same
// code. Only the payload of a NaN may differ between instantiations. Error bounds are tested in
// tests/ops/exact_math_test.cpp.
//
// V::F, V::I, V::M          vectors of float, of int32, and a comparison's result
// set(float) set_i(int)     all lanes equal
// add sub mul div fma       IEEE, round to nearest even; fma(a, b, c) = a·b + c with one rounding
// min max                   a < b ? a : b   and   a > b ? a : b   (so a NaN in b comes through, as with minps/maxps)
// lt(a, b) select(m, a, b)  a < b, false for NaN;   m ? a : b
// bits from_bits            reinterpretation;   iadd isub iand ior  wrap;   shl<n>  sra<n>  shifts, sra keeps the sign
#pragma once

#include <cstdint>

#include "runtime/ops/pointwise_functions.h"

namespace ingot::exact {

// Everything below is inlined into its caller: no copy compiled for one instruction set may serve another.
#ifdef __CUDACC__
#define INGOT_EXACT_ANYWHERE __host__ __device__ __forceinline__
#else
#define INGOT_EXACT_ANYWHERE [[gnu::always_inline]] inline
#endif
#define INGOT_EXACT  \
  template <class V> \
  INGOT_EXACT_ANYWHERE typename V::F

template <class V>
INGOT_EXACT_ANYWHERE typename V::F abs(typename V::F x) {
  return V::from_bits(V::iand(V::bits(x), V::set_i(0x7fffffff)));
}
// |magnitude| with the sign of `sign`.
INGOT_EXACT copy_sign(typename V::F magnitude, typename V::F sign) {
  return V::from_bits(
      V::ior(V::iand(V::bits(magnitude), V::set_i(0x7fffffff)), V::iand(V::bits(sign), V::set_i(INT32_MIN))));
}

// x = n·ln 2 + r with |r| ≤ ln 2 / 2. For |x| < 2^20.
template <class V>
struct Reduced {
  typename V::I n;
  typename V::F r;
};
template <class V>
INGOT_EXACT_ANYWHERE Reduced<V> reduce(typename V::F x) {
  // Adding 1.5·2^23 leaves the nearest integer in the low bits of the sum.
  const auto magic = V::set(0x1.8p23f);
  const auto shifted = V::fma(x, V::set(0x1.715476p0f), magic);
  const auto n = V::sub(shifted, magic);
  auto r = V::fma(n, V::set(-0x1.62e4p-1f), x);  // ln 2 in two parts; the first has trailing zeros
  r = V::fma(n, V::set(-0x1.7f7d1cp-20f), r);
  return {V::isub(V::bits(shifted), V::bits(magic)), r};
}
// e^r − 1 for |r| ≤ ln 2 / 2: r + r²·p(r).
INGOT_EXACT small_expm1(typename V::F r) {
  auto p = V::set(0x1.a17e52p-13f);
  p = V::fma(p, r, V::set(0x1.6da7bep-10f));
  p = V::fma(p, r, V::set(0x1.1110acp-7f));
  p = V::fma(p, r, V::set(0x1.555470p-5f));
  p = V::fma(p, r, V::set(0x1.555556p-3f));
  p = V::fma(p, r, V::set(0.5f));
  return V::fma(p, V::mul(r, r), r);
}
// 2^n for −126 ≤ n ≤ 127.
INGOT_EXACT power_of_two(typename V::I n) { return V::from_bits(V::template shl<23>(V::iadd(n, V::set_i(127)))); }

// e^x: overflows to ∞ above 88.72, underflows gradually to 0 at −103.97.
INGOT_EXACT exp(typename V::F x) {
  const auto c = V::max(V::set(-105.0f), V::min(V::set(90.0f), x));
  const Reduced<V> d = reduce<V>(c);
  const auto e = V::add(V::set(1.0f), small_expm1<V>(d.r));
  const auto half = V::template sra<1>(d.n);  // in two steps, since n leaves the exponent range of a normal number
  return V::mul(V::mul(e, power_of_two<V>(half)), power_of_two<V>(V::isub(d.n, half)));
}
// e^x − 1 without cancellation, for x ≤ 0 (larger x are taken as 0).
INGOT_EXACT expm1_nonpositive(typename V::F x) {
  const auto c = V::max(V::set(-30.0f), V::min(V::set(0.0f), x));
  const Reduced<V> d = reduce<V>(c);
  const auto scale = power_of_two<V>(d.n);
  const auto result = V::fma(scale, small_expm1<V>(d.r), V::sub(scale, V::set(1.0f)));
  return copy_sign<V>(result, x);  // keeps −0
}
// ln(1 + u) for 0 ≤ u ≤ 1: 2 atanh(u / (2 + u)).
INGOT_EXACT log1p_unit(typename V::F u) {
  const auto s = V::div(u, V::add(V::set(2.0f), u));
  const auto z = V::mul(s, s);
  auto p = V::set(0x1.f3e792p-4f);
  p = V::fma(p, z, V::set(0x1.b68012p-4f));
  p = V::fma(p, z, V::set(0x1.250972p-3f));
  p = V::fma(p, z, V::set(0x1.9996dcp-3f));
  p = V::fma(p, z, V::set(0x1.555558p-2f));
  const auto t = V::fma(V::mul(p, z), s, s);
  return V::add(t, t);
}

INGOT_EXACT sigmoid(typename V::F x) {
  const auto one = V::set(1.0f);
  const auto e = exp<V>(V::sub(V::set(0.0f), abs<V>(x)));
  return V::div(V::select(V::lt(x, V::set(0.0f)), e, one), V::add(one, e));
}
INGOT_EXACT tanh(typename V::F x) {
  const auto a = abs<V>(x), one = V::set(1.0f);
  const auto z = V::mul(a, a);
  auto p = V::set(0x1.10a0bcp-9f);
  p = V::fma(p, z, V::set(-0x1.09e180p-7f));
  p = V::fma(p, z, V::set(0x1.632e38p-6f));
  p = V::fma(p, z, V::set(-0x1.b9e81ap-5f));
  p = V::fma(p, z, V::set(0x1.111056p-3f));
  p = V::fma(p, z, V::set(-0x1.555554p-2f));
  const auto small = V::fma(V::mul(p, z), a, a);
  const auto e = exp<V>(V::add(a, a));
  const auto large = V::sub(one, V::div(V::set(2.0f), V::add(e, one)));
  return copy_sign<V>(V::select(V::lt(a, V::set(0.625f)), small, large), x);
}
INGOT_EXACT erf(typename V::F x) {
  const auto a = abs<V>(x), one = V::set(1.0f);
  const auto z = V::mul(a, a);
  auto p = V::set(0x1.4ae4a2p-14f);
  p = V::fma(p, z, V::set(-0x1.a485dap-11f));
  p = V::fma(p, z, V::set(0x1.5419f2p-8f));
  p = V::fma(p, z, V::set(-0x1.b7fbb4p-6f));
  p = V::fma(p, z, V::set(0x1.ce2d20p-4f));
  p = V::fma(p, z, V::set(-0x1.81273ep-2f));
  p = V::fma(p, z, V::set(0x1.06eba8p-3f));
  const auto small = V::fma(p, a, a);
  // From 1 on: erf = 1 − e^(−q), q a polynomial; at 4 the second term is below half an ulp.
  const auto c = V::min(V::set(4.0f), a);
  auto q = V::set(-0x1.86da7ap-13f);
  q = V::fma(q, c, V::set(0x1.825912p-9f));
  q = V::fma(q, c, V::set(-0x1.65ca80p-6f));
  q = V::fma(q, c, V::set(0x1.a652c0p-4f));
  q = V::fma(q, c, V::set(0x1.46bafep-1f));
  q = V::fma(q, c, V::set(0x1.2088e4p+0f));
  q = V::fma(q, c, V::set(0x1.66344ap-12f));
  const auto large = V::sub(one, exp<V>(V::sub(V::set(0.0f), q)));
  return copy_sign<V>(V::select(V::lt(a, one), small, large), x);
}

// x·g with g → 0 faster than any power as x → −∞: x is held at −150 so that −∞ gives −0 instead of NaN.
INGOT_EXACT gated(typename V::F x, typename V::F gate) { return V::mul(V::max(V::set(-150.0f), x), gate); }

INGOT_EXACT silu(typename V::F x) { return gated<V>(x, sigmoid<V>(x)); }
INGOT_EXACT quick_gelu(typename V::F x, typename V::F alpha) { return gated<V>(x, sigmoid<V>(V::mul(alpha, x))); }
// x/2 · (1 + erf(x/√2))
INGOT_EXACT gelu(typename V::F x) {
  const auto gate = V::add(V::set(1.0f), erf<V>(V::mul(x, V::set(0x1.6a09e6p-1f))));
  return gated<V>(V::mul(V::set(0.5f), V::max(V::set(-300.0f), x)), gate);
}
// x/2 · (1 + tanh(√(2/π)(x + 0.044715 x³))) = x · sigmoid(2√(2/π)(x + 0.044715 x³))
INGOT_EXACT gelu_tanh(typename V::F x) {
  const auto c = V::max(V::set(-150.0f), V::min(V::set(150.0f), x));
  const auto cube = V::mul(V::mul(c, c), c);
  const auto inner = V::mul(V::fma(cube, V::set(0.044715f), c), V::set(0x1.988454p+0f));
  return gated<V>(x, sigmoid<V>(inner));
}
INGOT_EXACT elu(typename V::F x, typename V::F alpha) {
  return V::select(V::lt(x, V::set(0.0f)), V::mul(alpha, expm1_nonpositive<V>(x)), x);
}
INGOT_EXACT selu(typename V::F x, typename V::F alpha, typename V::F gamma) { return V::mul(gamma, elu<V>(x, alpha)); }
INGOT_EXACT celu(typename V::F x, typename V::F alpha) {
  return V::select(V::lt(x, V::set(0.0f)), V::mul(alpha, expm1_nonpositive<V>(V::div(x, alpha))), x);
}
// ln(1 + e^x) = max(x, 0) + ln(1 + e^−|x|)
INGOT_EXACT softplus(typename V::F x) {
  const auto e = exp<V>(V::sub(V::set(0.0f), abs<V>(x)));
  return V::add(V::max(V::set(0.0f), x), log1p_unit<V>(e));
}
// x·tanh(softplus(x)) = x · n/(n + 2), n = e^x (e^x + 2)
INGOT_EXACT mish(typename V::F x) {
  const auto two = V::set(2.0f);
  const auto e = exp<V>(V::min(V::set(20.0f), x));
  const auto n = V::mul(e, V::add(e, two));
  return gated<V>(x, V::div(n, V::add(n, two)));
}
INGOT_EXACT softsign(typename V::F x) {
  const auto c = V::max(V::set(-0x1.fffffep127f), V::min(V::set(0x1.fffffep127f), x));
  return V::div(c, V::add(V::set(1.0f), abs<V>(c)));
}
INGOT_EXACT clip(typename V::F x, typename V::F low, typename V::F high) { return V::min(high, V::max(low, x)); }
INGOT_EXACT hard_sigmoid(typename V::F x, typename V::F alpha, typename V::F beta) {
  return clip<V>(V::fma(alpha, x, beta), V::set(0.0f), V::set(1.0f));
}
INGOT_EXACT hard_swish(typename V::F x) {
  return gated<V>(x, hard_sigmoid<V>(x, V::set(0x1.555556p-3f), V::set(0.5f)));
}
INGOT_EXACT leaky_relu(typename V::F x, typename V::F alpha) {
  return V::select(V::lt(x, V::set(0.0f)), V::mul(alpha, x), x);
}

// f(x). alpha and beta are the op's, rounded to float.
INGOT_EXACT activation(UnaryFunction f, typename V::F x, typename V::F alpha, typename V::F beta) {
  switch (f) {
    case UnaryFunction::kRelu:
      return V::max(V::set(0.0f), x);
    case UnaryFunction::kClip:
      return clip<V>(x, alpha, beta);
    case UnaryFunction::kLeakyRelu:
      return leaky_relu<V>(x, alpha);
    case UnaryFunction::kSigmoid:
      return sigmoid<V>(x);
    case UnaryFunction::kHardSigmoid:
      return hard_sigmoid<V>(x, alpha, beta);
    case UnaryFunction::kHardSwish:
      return hard_swish<V>(x);
    case UnaryFunction::kSilu:
      return silu<V>(x);
    case UnaryFunction::kTanh:
      return tanh<V>(x);
    case UnaryFunction::kGelu:
      return gelu<V>(x);
    case UnaryFunction::kGeluTanh:
      return gelu_tanh<V>(x);
    case UnaryFunction::kElu:
      return elu<V>(x, alpha);
    case UnaryFunction::kSelu:
      return selu<V>(x, alpha, beta);
    case UnaryFunction::kCelu:
      return celu<V>(x, alpha);
    case UnaryFunction::kSoftplus:
      return softplus<V>(x);
    case UnaryFunction::kSoftsign:
      return softsign<V>(x);
    case UnaryFunction::kMish:
      return mish<V>(x);
    case UnaryFunction::kThresholdedRelu:
      return V::select(V::lt(alpha, x), x, V::set(0.0f));
    case UnaryFunction::kQuickGelu:
      return quick_gelu<V>(x, alpha);
    default:
      return x;
  }
}

#undef INGOT_EXACT
#undef INGOT_EXACT_ANYWHERE

#ifndef __CUDACC_RTC__
namespace {

// One lane. In an anonymous namespace, so that what is made from it stays in its translation unit.
struct Scalar {
  using F = float;
  using I = int32_t;
  using M = bool;
  static F set(float x) { return x; }
  static I set_i(int32_t x) { return x; }
  static F add(F a, F b) { return a + b; }
  static F sub(F a, F b) { return a - b; }
  static F mul(F a, F b) { return a * b; }
  static F div(F a, F b) { return a / b; }
  static F fma(F a, F b, F c) { return __builtin_fmaf(a, b, c); }
  static F min(F a, F b) { return a < b ? a : b; }
  static F max(F a, F b) { return a > b ? a : b; }
  static M lt(F a, F b) { return a < b; }
  static F select(M m, F a, F b) { return m ? a : b; }
  static I bits(F x) { return __builtin_bit_cast(I, x); }
  static F from_bits(I x) { return __builtin_bit_cast(F, x); }
  static I iadd(I a, I b) { return static_cast<I>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
  static I isub(I a, I b) { return static_cast<I>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
  static I iand(I a, I b) { return a & b; }
  static I ior(I a, I b) { return a | b; }
  template <int n>
  static I shl(I a) {
    return static_cast<I>(static_cast<uint32_t>(a) << n);
  }
  template <int n>
  static I sra(I a) {
    return a >> n;
  }
};

}  // namespace
#endif

}  // namespace ingot::exact
