// From int32 sums to stored results, 16 channels at a time: the formulas of docs/numerics.md over the lanes of one
// instruction set. For ISA files only: everything has internal linkage.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/cpu/igemm_s8.h"
#include "runtime/ops/exact_math.h"

namespace ingot::cpu {
namespace {

// Up to 16 elements; nothing behind n of them is touched.
template <class Lanes, class T>
[[gnu::always_inline]] inline auto load_some(const T* p, int64_t n) {
  return n >= 16 ? Lanes::load(p) : Lanes::load_some(p, n);
}
template <class Lanes, class T, class V>
[[gnu::always_inline]] inline void store_some(T* p, const V& value, int64_t n) {
  n >= 16 ? Lanes::store(p, value) : Lanes::store_some(p, value, n);
}

// f of 16 values in place. Out of line, since it is large; through memory, since lanes passed by value are stored in other
// pieces than they are read in, which stalls.
template <class Lanes>
[[gnu::noinline]] void curve(float* values, const RowEpilogue& e) {
  const auto t = Lanes::load(values);
  const auto y = exact::activation<Lanes>(static_cast<UnaryFunction>(e.function), t, Lanes::set(static_cast<float>(e.alpha)),
                                          Lanes::set(static_cast<float>(e.beta)));
  Lanes::store(values, Lanes::or_nan(y, t));
}

// Activation, rounding and storing of up to 16 real (or scaled) values t.
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void finish(typename Lanes::F t, Out* out, int64_t n, const RowEpilogue& e) {
  const auto low = Lanes::set(e.low), high = Lanes::set(e.high);
  if constexpr (kCurved) {
    alignas(64) float values[16];
    Lanes::store(values, t);
    curve<Lanes>(values, e);
    t = Lanes::load(values);
  }
  if constexpr (std::is_same_v<Out, float>) {
    if constexpr (!kCurved) t = Lanes::min(high, Lanes::max(low, t));
    store_some<Lanes>(out, t, n);
  } else {
    if constexpr (kCurved) t = Lanes::zero_nans(Lanes::div(t, Lanes::set(e.scale)));
    store_some<Lanes>(out, Lanes::add(Lanes::round(Lanes::min(Lanes::max(t, low), high)), Lanes::set_i(e.zero)), n);
  }
}

template <class Lanes, class Residual, class Out, bool kCurved>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& shared) {
  using F = typename Lanes::F;
  const RowEpilogue e = shared;  // a copy, which stores of bytes cannot change
  for (int r = 0; r < rows; ++r) {
    const int64_t at = (row + r) * e.out_stride + channel;
    Out* out = static_cast<Out*>(e.out) + at;
    for (int64_t c = 0; c < channels; c += 16) {
      F t = Lanes::mul(Lanes::to_float(Lanes::load(sums + r * sum_stride + c)), Lanes::load(e.multiplier + channel + c));
      if constexpr (!std::is_void_v<Residual>) {
        const auto value = load_some<Lanes>(static_cast<const Residual*>(e.residual) + at + c, channels - c);
        if constexpr (std::is_same_v<Residual, float>) {
          t = Lanes::add(t, value);
        } else {
          t = Lanes::fma(Lanes::to_float(Lanes::sub(value, Lanes::set_i(e.residual_zero))), Lanes::set(e.residual_multiplier), t);
        }
      }
      finish<Lanes, kCurved>(t, out + c, channels - c, e);
    }
  }
}

template <class Lanes, class Residual, class Out>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& e) {
  if (e.curved) finish_rows<Lanes, Residual, Out, true>(sums, rows, sum_stride, row, channel, channels, e);
  else finish_rows<Lanes, Residual, Out, false>(sums, rows, sum_stride, row, channel, channels, e);
}

// sums[r][c] for `rows` rows from `row` on and `channels` channels from `channel` on; readable to whole blocks of 16.
template <class Lanes>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& e) {
  const auto go = [&]<class Residual, class Out>(Residual*, Out*) {
    finish_rows<Lanes, Residual, Out>(sums, rows, sum_stride, row, channel, channels, e);
  };
  const auto with_residual = [&](auto* out) {
    switch (e.residual_stored) {
      case Stored::kNone: return go(static_cast<void*>(nullptr), out);
      case Stored::kU8: return go(static_cast<uint8_t*>(nullptr), out);
      case Stored::kS8: return go(static_cast<int8_t*>(nullptr), out);
      case Stored::kF32: return go(static_cast<float*>(nullptr), out);
    }
  };
  if (e.stored == Stored::kU8) with_residual(static_cast<uint8_t*>(nullptr));
  else if (e.stored == Stored::kS8) with_residual(static_cast<int8_t*>(nullptr));
  else with_residual(static_cast<float*>(nullptr));
}

}  // namespace
}  // namespace ingot::cpu
