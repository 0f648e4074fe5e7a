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

// f of `count` values, a multiple of 16, in place. Out of line, since it is large; the loop inside gives independent work to
// do while one value waits for its next operation.
template <class Lanes, UnaryFunction kFunction>
[[gnu::noinline]] void curve_values(float* values, int64_t count, const RowEpilogue& e) {
  const auto alpha = Lanes::set(static_cast<float>(e.alpha)), beta = Lanes::set(static_cast<float>(e.beta));
  // kIdentity stands for a function known only now.
  const auto function = kFunction == UnaryFunction::kIdentity ? static_cast<UnaryFunction>(e.function) : kFunction;
  for (int64_t i = 0; i < count; i += 16) {
    const auto t = Lanes::load(values + i);
    Lanes::store(values + i, Lanes::or_nan(exact::activation<Lanes>(function, t, alpha, beta), t));
  }
}
template <class Lanes>
void curve(float* values, int64_t count, const RowEpilogue& e) {
  switch (static_cast<UnaryFunction>(e.function)) {
    case UnaryFunction::kRelu: return curve_values<Lanes, UnaryFunction::kRelu>(values, count, e);
    case UnaryFunction::kHardSwish: return curve_values<Lanes, UnaryFunction::kHardSwish>(values, count, e);
    case UnaryFunction::kHardSigmoid: return curve_values<Lanes, UnaryFunction::kHardSigmoid>(values, count, e);
    case UnaryFunction::kSilu: return curve_values<Lanes, UnaryFunction::kSilu>(values, count, e);
    case UnaryFunction::kGelu: return curve_values<Lanes, UnaryFunction::kGelu>(values, count, e);
    default: return curve_values<Lanes, UnaryFunction::kIdentity>(values, count, e);
  }
}

// Scale, zero point and limits of 16 results.
template <class Lanes>
struct ResultLanes {
  typename Lanes::F low, high, scale, inverse, inverse_low;
  typename Lanes::I zero;
};
template <class Lanes>
[[gnu::always_inline]] inline ResultLanes<Lanes> shared_result(const RowEpilogue& e) {
  return {Lanes::set(e.low), Lanes::set(e.high), Lanes::set(e.scale), Lanes::set(e.inverse), Lanes::set(e.inverse_low), Lanes::set_i(e.zero)};
}
template <class Lanes>
[[gnu::always_inline]] inline ResultLanes<Lanes> channel_result(const RowEpilogue& e, int64_t channel) {
  ResultLanes<Lanes> r;
  r.low = Lanes::load(e.channel_low + channel);
  r.high = Lanes::load(e.channel_high + channel);
  r.scale = Lanes::load(e.channel_scale + channel);
  r.zero = Lanes::load(e.channel_zero + channel);
  if (e.reciprocal) {
    r.inverse = Lanes::load(e.channel_inverse + channel);
    r.inverse_low = Lanes::load(e.channel_inverse_low + channel);
  } else {
    r.inverse = r.inverse_low = Lanes::set(0);
  }
  return r;
}

// Rounding and storing of up to 16 values t, scaled or f(t) if curved; then t / s may be had by RowEpilogue::reciprocal.
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void store_result(typename Lanes::F t, Out* out, int64_t n, const ResultLanes<Lanes>& result, bool reciprocal) {
  if constexpr (std::is_same_v<Out, float>) {
    if constexpr (!kCurved) t = Lanes::min(result.high, Lanes::max(result.low, t));
    store_some<Lanes>(out, t, n);
  } else {
    if constexpr (kCurved)
      t = reciprocal ? Lanes::fma(t, result.inverse, Lanes::mul(t, result.inverse_low)) : Lanes::zero_nans(Lanes::div(t, result.scale));
    store_some<Lanes>(out, Lanes::add(Lanes::round(Lanes::min(Lanes::max(t, result.low), result.high)), result.zero), n);
  }
}

// Activation, rounding and storing of up to 16 real (or scaled) values t.
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void finish(typename Lanes::F t, Out* out, int64_t n, const RowEpilogue& e,
                                          const ResultLanes<Lanes>& result) {
  if constexpr (kCurved) {
    alignas(64) float values[16];  // lanes passed by value are stored in other pieces than they are read in, which stalls
    Lanes::store(values, t);
    curve<Lanes>(values, 16, e);
    t = Lanes::load(values);
  }
  store_result<Lanes, kCurved>(t, out, n, result, false);
}
template <class Lanes, bool kCurved, class Out>
[[gnu::always_inline]] inline void finish(typename Lanes::F t, Out* out, int64_t n, const RowEpilogue& e) {
  finish<Lanes, kCurved>(t, out, n, e, shared_result<Lanes>(e));
}

// Sums of a tile, at most this many to a row of 16 channels.
inline constexpr int kMaxFinishRows = 16;

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
    alignas(64) float values[kCurved ? kMaxFinishRows * 16 : 1];
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
      if constexpr (!kCurved) store_result<Lanes, false>(t, static_cast<Out*>(e.out) + at, channels - c, result, false);
      else Lanes::store(values + r * 16, t);
    }
    if constexpr (kCurved) {
      curve<Lanes>(values, rows * 16, e);
      for (int r = 0; r < rows; ++r)
        store_result<Lanes, true>(Lanes::load(values + r * 16), static_cast<Out*>(e.out) + (row + r) * e.out_stride + channel + c,
                                  channels - c, result, e.reciprocal);
    }
  }
}

template <class Lanes, class Residual, class Out>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& e) {
  const auto go = [&]<bool kPerChannel>(std::bool_constant<kPerChannel>) {
    if (e.curved) finish_rows<Lanes, Residual, Out, true, kPerChannel>(sums, rows, sum_stride, row, channel, channels, e);
    else finish_rows<Lanes, Residual, Out, false, kPerChannel>(sums, rows, sum_stride, row, channel, channels, e);
  };
  if constexpr (!std::is_same_v<Out, float>)
    if (e.channel_zero) return go(std::true_type());
  go(std::false_type());
}

// Whether results are bytes that may be limited after they are packed (saturation on the way does not change what the limits
// give), in rows whose 64 channels are one cache line; narrower ones are stored sooner 16 at a time.
inline bool packs_lines(const RowEpilogue& e, int64_t channels) {
  return channels % 64 == 0 && e.out_stride % 64 == 0 && e.stored != Stored::kF32 && !e.channel_zero &&
         e.residual_stored != Stored::kF32 && e.residual_multiplier < 1e20f && (!e.curved || e.reciprocal);
}
template <class Lanes>
concept PacksLines = requires { Lanes::kPacksLines; };

// The same for 64 channels of each row at a time, where Lanes can pack so many.
template <class Lanes, class Residual, class Out, bool kCurved>
[[gnu::noinline]] void finish_packed(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, const RowEpilogue& shared) {
  using F = typename Lanes::F;
  constexpr int kBlocks = 4;
  const RowEpilogue e = shared;  // a copy, which stores of bytes cannot change
  const auto pack = Lanes::byte_limits(e.zero, static_cast<int>(e.low) + e.zero, static_cast<int>(e.high) + e.zero);
  const auto residual_factor = Lanes::set(e.residual_multiplier), most = Lanes::set(0x1p30f);
  const auto residual_zero = Lanes::set_i(e.residual_zero);
  const auto inverse = Lanes::set(e.inverse), inverse_low = Lanes::set(e.inverse_low);
  F multiplier[kBlocks];
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) multiplier[b] = Lanes::load(e.multiplier + channel + b * 16);
  alignas(64) float values[kCurved ? kMaxFinishRows * kBlocks * 16 : 1];
  const auto scaled = [&](int r, int b) __attribute__((always_inline)) {
    F t = Lanes::mul(Lanes::to_float(Lanes::load(sums + r * sum_stride + b * 16)), multiplier[b]);
    if constexpr (!std::is_void_v<Residual>) {
      const Residual* p = static_cast<const Residual*>(e.residual) + (row + r) * e.out_stride + channel + b * 16;
      t = Lanes::fma(Lanes::to_float(Lanes::sub(Lanes::load(p), residual_zero)), residual_factor, t);
    }
    return t;
  };
  if constexpr (kCurved) {
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) Lanes::store(values + (r * kBlocks + b) * 16, scaled(r, b));
    curve<Lanes>(values, rows * kBlocks * 16, e);
  }
  for (int r = 0; r < rows; ++r) {
    typename Lanes::I y[kBlocks];
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
      F t;
      if constexpr (kCurved) {
        const F f = Lanes::load(values + (r * kBlocks + b) * 16);
        t = Lanes::fma(f, inverse, Lanes::mul(f, inverse_low));
      } else {
        t = scaled(r, b);
      }
      y[b] = Lanes::round(Lanes::min(t, most));  // what is too small for an int becomes the smallest
    }
    Lanes::store_packed(static_cast<Out*>(e.out) + (row + r) * e.out_stride + channel, y, pack);
  }
}
// sums[r][c] for `rows` ≤ kMaxFinishRows rows from `row` on and `channels` channels from `channel` on; readable to whole blocks of 16.
template <class Lanes>
void finish_rows(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                 const RowEpilogue& e) {
  const auto go = [&]<class Residual, class Out>(Residual*, Out*) {
    if constexpr (PacksLines<Lanes> && !std::is_same_v<Out, float> && !std::is_same_v<Residual, float>) {
      if (packs_lines(e, channels)) {
        for (int64_t c = 0; c < channels; c += 64)
          e.curved ? finish_packed<Lanes, Residual, Out, true>(sums + c, rows, sum_stride, row, channel + c, e)
                   : finish_packed<Lanes, Residual, Out, false>(sums + c, rows, sum_stride, row, channel + c, e);
        return;
      }
    }
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
