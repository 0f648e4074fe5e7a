// Bodies of rows_f32.h over the lanes of one instruction set. For ISA files only: everything has internal linkage.
#pragma once

#include <cstdint>

#include "runtime/cpu/row_epilogue.h"
#include "runtime/cpu/rows_f32.h"
#include "runtime/ops/exact_math.h"

namespace ingot::cpu {
namespace {

// Sixteen floats kept in memory order; a row's sums are made of 16 partial sums.
template <class L>
struct Rows {
  using F = typename L::F;

  // 16 lanes → one number, always in the same order.
  static float fold_sum(F lanes) {
    alignas(64) float values[16];
    L::store(values, lanes);
    for (int width = 8; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) values[i] += values[i + width];
    return values[0];
  }
  static float fold_max(F lanes) {
    alignas(64) float values[16];
    L::store(values, lanes);
    for (int width = 8; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) values[i] = greater(values[i], values[i + width]);
    return values[0];
  }
  static float greater(float a, float b) { return a > b || !(a == a) ? a : b; }  // NaN wins

  template <UnaryFunction f>
  [[gnu::always_inline]] static F apply(F x, F alpha, F beta) {
    if constexpr (f == UnaryFunction::kIdentity) return x;
    else if constexpr (f == UnaryFunction::kExp) return exact::exp<L>(x);
    else if constexpr (f == UnaryFunction::kErf) return exact::erf<L>(x);
    else if constexpr (f == UnaryFunction::kAbs) return exact::abs<L>(x);
    else if constexpr (f == UnaryFunction::kNeg) return L::from_bits(L::isub(L::bits(x), L::set_i(INT32_MIN)));
    else if constexpr (f == UnaryFunction::kReciprocal) return L::div(L::set(1.0f), x);
    else return exact::activation<L>(f, x, alpha, beta);
  }
  // NaN in, NaN out, where the formula may lose it.
  template <UnaryFunction f>
  [[gnu::always_inline]] static F guarded(F x, F alpha, F beta) { return L::or_nan(apply<f>(x, alpha, beta), x); }

  template <UnaryFunction f>
  static void unary_row(const RowActivation& act, const float* x, float* y, int64_t n) {
    const F alpha = L::set(act.alpha), beta = L::set(act.beta);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) L::store(y + i, guarded<f>(L::load(x + i), alpha, beta));
    if (i < n) L::store_some(y + i, guarded<f>(L::load_some(x + i, n - i), alpha, beta), n - i);
  }

  // Functions without lanes of their own; one element at a time is as fast as memory for most.
  template <UnaryFunction f>
  static void unary_elements(const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const float v = x[i];
      if constexpr (f == UnaryFunction::kSqrt) y[i] = __builtin_sqrtf(v);
      else if constexpr (f == UnaryFunction::kLog) y[i] = __builtin_logf(v);
      else if constexpr (f == UnaryFunction::kFloor) y[i] = __builtin_floorf(v);
      else if constexpr (f == UnaryFunction::kCeil) y[i] = __builtin_ceilf(v);
      else if constexpr (f == UnaryFunction::kRound) y[i] = __builtin_nearbyintf(v);
      else if constexpr (f == UnaryFunction::kSign) y[i] = v > 0 ? 1.0f : v < 0 ? -1.0f : v;
      else if constexpr (f == UnaryFunction::kSin) y[i] = __builtin_sinf(v);
      else y[i] = __builtin_cosf(v);
    }
  }
  static constexpr bool is_by_element(UnaryFunction f) {
    return f == UnaryFunction::kSqrt || f == UnaryFunction::kLog || f == UnaryFunction::kFloor || f == UnaryFunction::kCeil ||
           f == UnaryFunction::kRound || f == UnaryFunction::kSign || f == UnaryFunction::kSin || f == UnaryFunction::kCos;
  }

  template <class G>
  static bool with_function(UnaryFunction f, G&& go) {
    switch (f) {
#define INGOT_CASE(name) case UnaryFunction::name: go.template operator()<UnaryFunction::name>(); return true;
      INGOT_CASE(kIdentity) INGOT_CASE(kRelu) INGOT_CASE(kClip) INGOT_CASE(kLeakyRelu) INGOT_CASE(kSigmoid)
      INGOT_CASE(kHardSigmoid) INGOT_CASE(kHardSwish) INGOT_CASE(kSilu) INGOT_CASE(kTanh) INGOT_CASE(kGelu)
      INGOT_CASE(kGeluTanh) INGOT_CASE(kElu) INGOT_CASE(kSelu) INGOT_CASE(kCelu) INGOT_CASE(kSoftplus)
      INGOT_CASE(kSoftsign) INGOT_CASE(kMish) INGOT_CASE(kThresholdedRelu) INGOT_CASE(kQuickGelu) INGOT_CASE(kExp)
      INGOT_CASE(kErf) INGOT_CASE(kAbs) INGOT_CASE(kNeg) INGOT_CASE(kReciprocal)
      INGOT_CASE(kSqrt) INGOT_CASE(kLog) INGOT_CASE(kFloor) INGOT_CASE(kCeil) INGOT_CASE(kRound) INGOT_CASE(kSign)
      INGOT_CASE(kSin) INGOT_CASE(kCos)
#undef INGOT_CASE
      default: return false;
    }
  }
  static void unary(const RowActivation& act, const float* x, float* y, int64_t n) {
    with_function(act.function, [&]<UnaryFunction f>() {
      if constexpr (is_by_element(f)) unary_elements<f>(x, y, n);
      else unary_row<f>(act, x, y, n);
    });
  }

  template <BinaryFunction f>
  [[gnu::always_inline]] static F combine(F a, F b) {
    if constexpr (f == BinaryFunction::kAdd) return L::add(a, b);
    else if constexpr (f == BinaryFunction::kSub) return L::sub(a, b);
    else if constexpr (f == BinaryFunction::kMul) return L::mul(a, b);
    else if constexpr (f == BinaryFunction::kDiv) return L::div(a, b);
    else if constexpr (f == BinaryFunction::kPRelu) return L::select(L::lt(a, L::set(0.0f)), L::mul(a, b), a);
    // Either NaN comes through.
    else if constexpr (f == BinaryFunction::kMin) return L::or_nan(L::min(a, b), a);
    else return L::or_nan(L::max(a, b), a);
  }
  template <BinaryFunction f, bool a_moves, bool b_moves>
  static void pair_rows(const float* a, const float* b, float* y, int64_t n) {
    const F a_one = L::set(a_moves ? 0.0f : *a), b_one = L::set(b_moves ? 0.0f : *b);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      L::store(y + i, combine<f>(a_moves ? L::load(a + i) : a_one, b_moves ? L::load(b + i) : b_one));
    if (const int64_t rest = n - i; rest > 0)
      L::store_some(y + i, combine<f>(a_moves ? L::load_some(a + i, rest) : a_one, b_moves ? L::load_some(b + i, rest) : b_one), rest);
  }
  template <BinaryFunction f>
  static void pair(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n) {
    if (a_step && b_step) pair_rows<f, true, true>(a, b, y, n);
    else if (a_step) pair_rows<f, true, false>(a, b, y, n);
    else if (b_step) pair_rows<f, false, true>(a, b, y, n);
    else pair_rows<f, false, false>(a, b, y, n);
  }
  // x² and √x at least need no logarithm.
  static void power(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n) {
    const float exponent = *b;
    if (a_step && !b_step && exponent == 2) return pair_rows<BinaryFunction::kMul, true, true>(a, a, y, n);
    if (a_step && !b_step && exponent == 0.5f) {
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] == -__builtin_inff() ? __builtin_inff() : __builtin_sqrtf(a[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      y[i] = static_cast<float>(__builtin_pow(static_cast<double>(a[i * a_step]), static_cast<double>(b[i * b_step])));
  }
  static void binary(BinaryFunction f, const RowActivation& act, const float* a, int64_t a_step, const float* b,
                     int64_t b_step, float* y, int64_t n) {
    // In pieces, so that the activation finds its input in the cache.
    constexpr int64_t kPiece = 2048;
    for (int64_t at = 0; at < n; at += kPiece) {
      const int64_t count = n - at < kPiece ? n - at : kPiece;
      const float *pa = a + at * a_step, *pb = b + at * b_step;
      switch (f) {
        case BinaryFunction::kAdd: pair<BinaryFunction::kAdd>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kSub: pair<BinaryFunction::kSub>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kMul: pair<BinaryFunction::kMul>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kDiv: pair<BinaryFunction::kDiv>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kMin: pair<BinaryFunction::kMin>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kMax: pair<BinaryFunction::kMax>(pa, a_step, pb, b_step, y + at, count); break;
        case BinaryFunction::kPow: power(pa, a_step, pb, b_step, y + at, count); break;
        default: pair<BinaryFunction::kPRelu>(pa, a_step, pb, b_step, y + at, count); break;
      }
      if (act.function != UnaryFunction::kIdentity) unary(act, y + at, y + at, count);
    }
  }

  template <bool a_moves, bool b_moves>
  static void select_rows(const uint8_t* c, const float* a, const float* b, float* y, int64_t n) {
    const F a_one = L::set(a_moves ? 0.0f : *a), b_one = L::set(b_moves ? 0.0f : *b), zero = L::set(0.0f);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      L::store(y + i, L::select(L::lt(zero, L::to_float(L::load(c + i))), a_moves ? L::load(a + i) : a_one, b_moves ? L::load(b + i) : b_one));
    if (const int64_t rest = n - i; rest > 0)
      L::store_some(y + i, L::select(L::lt(zero, L::to_float(L::load_some(c + i, rest))), a_moves ? L::load_some(a + i, rest) : a_one,
                                     b_moves ? L::load_some(b + i, rest) : b_one), rest);
  }
  static void select(const uint8_t* c, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t n) {
    if (a_step && b_step) select_rows<true, true>(c, a, b, y, n);
    else if (a_step) select_rows<true, false>(c, a, b, y, n);
    else if (b_step) select_rows<false, true>(c, a, b, y, n);
    else select_rows<false, false>(c, a, b, y, n);
  }

  static float sum(const float* x, int64_t n) {
    F total = L::set(0.0f);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) total = L::add(total, L::load(x + i));
    if (i < n) total = L::add(total, L::load_some(x + i, n - i));
    return fold_sum(total);
  }
  static float largest(const float* x, int64_t n) {
    F top = L::set(-__builtin_inff());
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const F value = L::load(x + i);
      top = L::or_nan(L::max(top, value), top);
    }
    float result = fold_max(top);
    for (; i < n; ++i) result = greater(result, x[i]);
    return result;
  }
  static float squares(const float* x, float mean, int64_t n) {
    const F m = L::set(mean);
    F total = L::set(0.0f);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const F d = L::sub(L::load(x + i), m);
      total = L::add(total, L::mul(d, d));
    }
    if (i < n) {
      // Lanes beyond the row hold 0 − mean: put the mean there instead.
      alignas(64) float rest[16];
      for (int64_t k = 0; k < 16; ++k) rest[k] = i + k < n ? x[i + k] : mean;
      const F d = L::sub(L::load(rest), m);
      total = L::add(total, L::mul(d, d));
    }
    return fold_sum(total);
  }

  static void softmax(const float* x, float* y, int64_t n, bool log) {
    if (n == 0) return;
    const float top = largest(x, n);
    const F shift = L::set(top);
    F total = L::set(0.0f);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const F d = L::sub(L::load(x + i), shift);
      const F e = L::or_nan(exact::exp<L>(d), d);
      total = L::add(total, e);
      if (!log) L::store(y + i, e);
    }
    float sum_rest = 0;
    if (i < n) {
      alignas(64) float rest[16];
      for (int64_t k = 0; k < 16; ++k) rest[k] = i + k < n ? x[i + k] : -__builtin_inff();
      const F d = L::sub(L::load(rest), shift);
      const F e = L::or_nan(exact::exp<L>(d), d);
      if (!log) L::store_some(y + i, e, n - i);
      L::store(rest, e);
      for (int64_t k = 0; k < n - i; ++k) sum_rest += rest[k];
    }
    const float sum_all = fold_sum(total) + sum_rest;
    if (log) {
      // One after the other: their sum would lose the digits of the smaller.
      const float logarithm = __builtin_logf(sum_all);
      pair_rows<BinaryFunction::kSub, true, false>(x, &top, y, n);
      pair_rows<BinaryFunction::kSub, true, false>(y, &logarithm, y, n);
    } else {
      const float factor = 1.0f / sum_all;
      pair_rows<BinaryFunction::kMul, true, false>(y, &factor, y, n);
    }
  }

  static void layer_norm(const float* x, const float* scale, const float* bias, float* y, int64_t n, float epsilon, bool rms) {
    if (n == 0) return;
    const float mean = rms ? 0.0f : sum(x, n) / static_cast<float>(n);
    const float inverse = 1.0f / __builtin_sqrtf(squares(x, mean, n) / static_cast<float>(n) + epsilon);
    const F m = L::set(mean), s = L::set(inverse);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      F t = L::mul(L::mul(L::sub(L::load(x + i), m), s), L::load(scale + i));
      if (bias) t = L::add(t, L::load(bias + i));
      L::store(y + i, t);
    }
    if (const int64_t rest = n - i; rest > 0) {
      F t = L::mul(L::mul(L::sub(L::load_some(x + i, rest), m), s), L::load_some(scale + i, rest));
      if (bias) t = L::add(t, L::load_some(bias + i, rest));
      L::store_some(y + i, t, rest);
    }
  }

  static void add_to(float* sums, const float* x, int64_t n) { pair_rows<BinaryFunction::kAdd, true, true>(sums, x, sums, n); }
  static void raise_to(float* tops, const float* x, int64_t n) { pair_rows<BinaryFunction::kMax, true, true>(tops, x, tops, n); }
  static void scale(float* x, float factor, int64_t n) { pair_rows<BinaryFunction::kMul, true, false>(x, &factor, x, n); }
};

template <class L>
constexpr RowKernels make_rows() {
  using R = Rows<L>;
  return {R::unary, R::binary, R::select, R::softmax, R::layer_norm, R::sum, R::largest, R::add_to, R::raise_to, R::scale};
}

}  // namespace
}  // namespace ingot::cpu
