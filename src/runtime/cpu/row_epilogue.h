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

// Scale, zero point and limits of 16 results.
template <class Lanes>
struct ResultLanes {
  typename Lanes::F low, high, scale;
  typename Lanes::I zero;
};
template <class Lanes>
[[gnu::always_inline]] inline ResultLanes<Lanes> shared_result(const RowEpilogue& e) {
  return {Lanes::set(e.low), Lanes::set(e.high), Lanes::set(e.scale), Lanes::set_i(e.zero)};
}
template <class Lanes>
[[gnu::always_inline]] inline ResultLanes<Lanes> channel_result(const RowEpilogue& e, int64_t channel) {
  return {Lanes::load(e.channel_low + channel), Lanes::load(e.channel_high + channel), Lanes::load(e.channel_scale + channel),
          Lanes::load(e.channel_zero + channel)};
}

// Activation, rounding and storing of up to 16 real (or scaled) values t.
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void finish(typename Lanes::F t, Out* out, int64_t n, const RowEpilogue& e,
                                          const ResultLanes<Lanes>& result) {
  if constexpr (kCurved) {
    alignas(64) float values[16];
    Lanes::store(values, t);
    curve<Lanes>(values, e);
    t = Lanes::load(values);
  }
  if constexpr (std::is_same_v<Out, float>) {
    if constexpr (!kCurved) t = Lanes::min(result.high, Lanes::max(result.low, t));
    store_some<Lanes>(out, t, n);
  } else {
    if constexpr (kCurved) t = Lanes::zero_nans(Lanes::div(t, result.scale));
    store_some<Lanes>(out, Lanes::add(Lanes::round(Lanes::min(Lanes::max(t, result.low), result.high)), result.zero), n);
  }
}
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void finish(typename Lanes::F t, Out* out, int64_t n, const RowEpilogue& e) {
  finish<Lanes, kCurved>(t, out, n, e, shared_result<Lanes>(e));
}

template <class Lanes, class Residual, class Out, bool kCurved, bool kPerChannel>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& shared) {
  using F = typename Lanes::F;
  const RowEpilogue e = shared;  // a copy, which stores of bytes cannot change
  auto result = shared_result<Lanes>(e);
  auto residual_factor = Lanes::set(e.residual_multiplier);
  // Channels outside, so that what belongs to a channel is loaded once for all rows.
  for (int64_t c = 0; c < channels; c += 16) {
    const F multiplier = Lanes::load(e.multiplier + channel + c);
    if constexpr (kPerChannel) {
      result = channel_result<Lanes>(e, channel + c);
      if constexpr (!std::is_void_v<Residual>) residual_factor = Lanes::load(e.channel_residual + channel + c);
    }
    for (int r = 0; r < rows; ++r) {
      const int64_t at = (row + r) * e.out_stride + channel + c;
      F t = Lanes::mul(Lanes::to_float(Lanes::load(sums + r * sum_stride + c)), multiplier);
      if constexpr (!std::is_void_v<Residual>) {
        const auto value = load_some<Lanes>(static_cast<const Residual*>(e.residual) + at, channels - c);
        if constexpr (std::is_same_v<Residual, float>)
          t = Lanes::add(t, value);
        else
          t = Lanes::fma(Lanes::to_float(Lanes::sub(value, Lanes::set_i(e.residual_zero))), residual_factor, t);
      }
      finish<Lanes, kCurved>(t, static_cast<Out*>(e.out) + at, channels - c, e, result);
    }
  }
}

template <class Lanes, class Residual, class Out>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& e) {
  if constexpr (!std::is_same_v<Out, float>) {
    if (e.channel_zero) {
      if (e.curved) finish_rows<Lanes, Residual, Out, true, true>(sums, rows, sum_stride, row, channel, channels, e);
      else finish_rows<Lanes, Residual, Out, false, true>(sums, rows, sum_stride, row, channel, channels, e);
      return;
    }
  }
  if (e.curved) finish_rows<Lanes, Residual, Out, true, false>(sums, rows, sum_stride, row, channel, channels, e);
  else finish_rows<Lanes, Residual, Out, false, false>(sums, rows, sum_stride, row, channel, channels, e);
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
