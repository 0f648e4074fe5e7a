// The loops of channelwise_s8.h for one instruction set. Lanes: 16 values of 32 bits (lanes_*.h). Bytes: a register of
// channels' bytes (bytes_*.h). For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/channelwise_s8.h"
#include "runtime/cpu/row_epilogue.h"

namespace ingot::cpu {
namespace {

template <class Bytes>
[[gnu::always_inline]] inline typename Bytes::V load_bytes(const uint8_t* p, int64_t n) {
  return n >= Bytes::kWidth ? Bytes::load(p) : Bytes::load_some(p, n);
}

template <class Bytes, bool kSigned>
void interleave_columns(const DepthwiseRun& t) {
  const bool whole = t.channels >= Bytes::kWidth;
  const uint8_t* const* pointers = t.pointers;
  uint8_t* out = t.scratch;
  for (int64_t i = t.columns * t.row_groups; i > 0; --i, pointers += 4, out += 4 * Bytes::kWidth) {
    typename Bytes::V x[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const uint8_t* p = pointers[r] + t.channel;
      x[r] = whole ? Bytes::load(p) : Bytes::load_some(p, t.channels);
      if (kSigned) x[r] = Bytes::flip_sign(x[r]);
    }
    const auto low01 = Bytes::low8(x[0], x[1]), high01 = Bytes::high8(x[0], x[1]);
    const auto low23 = Bytes::low8(x[2], x[3]), high23 = Bytes::high8(x[2], x[3]);
    Bytes::store(out, Bytes::low16(low01, low23));
    Bytes::store(out + Bytes::kWidth, Bytes::high16(low01, low23));
    Bytes::store(out + 2 * Bytes::kWidth, Bytes::low16(high01, high23));
    Bytes::store(out + 3 * Bytes::kWidth, Bytes::high16(high01, high23));
  }
}

// What stays the same over a run. Finish says what becomes of the sums: u8 or s8 by integers, or anything.
enum class Finish { kU8, kS8, kAny };
template <class Bytes>
struct DepthwiseLoop {
  const DepthwiseRun& t;
  const RowEpilogue& e;
  typename Bytes::V zero_low, zero_high, low, high;  // zeros: of the lower and upper 8 channels of each lane
};

// kPixels neighbouring pixels. Dot: load(w) reads a register's weights, kWeightBytes long; sum(acc, bytes, weights) adds 4
// products to each 32-bit lane. kTaps and kStep are taps · row_groups and pixel_step where they are known, else 0.
template <class Lanes, class Bytes, class Dot, Finish kFinish, int kPixels, int kTaps, int kStep>
[[gnu::always_inline]] inline void depthwise_pixels(const DepthwiseLoop<Bytes>& loop, int64_t pixel) {
  constexpr int kWidth = Bytes::kWidth, kInts = kWidth / 4, kGroup = 4 * kWidth;
  const DepthwiseRun& t = loop.t;
  const int64_t column_bytes = kTaps ? kGroup : t.row_groups * kGroup;
  const int64_t next_pixel = (kStep ? kStep : t.pixel_step) * column_bytes;
  const uint8_t* first = t.scratch + pixel * next_pixel;
  const int8_t* w = t.weights;
  typename Bytes::V acc[kPixels][4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
#pragma GCC unroll 2
    for (int p = 0; p < kPixels; ++p) acc[p][j] = Bytes::load(reinterpret_cast<const uint8_t*>(t.bias + j * kInts));
  const auto add_group = [&](const uint8_t* x, const int8_t* group) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const auto weights = Dot::load(group + j * Dot::kWeightBytes);
#pragma GCC unroll 2
      for (int p = 0; p < kPixels; ++p) acc[p][j] = Dot::sum(acc[p][j], Bytes::load(x + p * next_pixel + j * kWidth), weights);
    }
  };
  if constexpr (kTaps > 0) {
#pragma GCC unroll 8
    for (int tap = 0; tap < kTaps; ++tap) add_group(first + tap * kGroup, w + tap * 4 * Dot::kWeightBytes);
  } else {
    for (int64_t tap = 0; tap < t.taps; ++tap, first += t.tap_step * column_bytes)
      for (int64_t g = 0; g < t.row_groups; ++g, w += 4 * Dot::kWeightBytes) add_group(first + g * kGroup, w);
  }
  if constexpr (kFinish == Finish::kAny) {
    alignas(64) int32_t sums[kPixels * kWidth];
#pragma GCC unroll 2
    for (int p = 0; p < kPixels; ++p)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) Bytes::store_fours(sums + p * kWidth + j * 4, acc[p][j]);
    finish_rows<Lanes>(sums, kPixels, kWidth, t.pixel + pixel, t.channel, t.channels, loop.e);
  } else {
#pragma GCC unroll 2
    for (int p = 0; p < kPixels; ++p) {
      typename Bytes::V y[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) y[j] = Bytes::scale(acc[p][j], Bytes::load_floats(t.multiplier + j * kInts));
      const auto bytes = Bytes::template pack<kFinish == Finish::kS8>(y[0], y[1], y[2], y[3], loop.zero_low, loop.zero_high, loop.low, loop.high);
      uint8_t* out = static_cast<uint8_t*>(loop.e.out) + (t.pixel + pixel + p) * loop.e.out_stride + t.channel;
      if (t.channels >= kWidth) Bytes::store(out, bytes);
      else Bytes::store_some(out, bytes, t.channels);
    }
  }
}

template <class Lanes, class Bytes, class Dot, Finish kFinish, int kTaps, int kStep>
void depthwise_run(const DepthwiseRun& shared) {
  const DepthwiseRun t = shared;  // copies, which stores of bytes cannot change
  const RowEpilogue e = *t.epilogue;
  DepthwiseLoop<Bytes> loop{t, e, {}, {}, {}, {}};
  if constexpr (kFinish != Finish::kAny) {
    const auto* zeros = reinterpret_cast<const uint8_t*>(t.zeros);
    loop.zero_low = Bytes::load(zeros);
    loop.zero_high = Bytes::load(zeros + Bytes::kWidth);
    loop.low = Bytes::load(t.low);
    loop.high = Bytes::load(t.high);
  }
  int64_t p = 0;
  for (; p + 2 <= t.pixels; p += 2) depthwise_pixels<Lanes, Bytes, Dot, kFinish, 2, kTaps, kStep>(loop, p);
  if (p < t.pixels) depthwise_pixels<Lanes, Bytes, Dot, kFinish, 1, kTaps, kStep>(loop, p);
}

template <class Lanes, class Bytes, class Dot, Finish kFinish>
void depthwise_run(const DepthwiseRun& t) {
  if (t.taps == 3 && t.row_groups == 1 && t.tap_step == 1 && t.pixel_step == 1) depthwise_run<Lanes, Bytes, Dot, kFinish, 3, 1>(t);
  else if (t.taps == 3 && t.row_groups == 1 && t.tap_step == 1 && t.pixel_step == 2) depthwise_run<Lanes, Bytes, Dot, kFinish, 3, 2>(t);
  else depthwise_run<Lanes, Bytes, Dot, kFinish, 0, 0>(t);
}

template <class Lanes, class Bytes, class Dot, bool kSigned>
void depthwise(const DepthwiseRun& t) {
  interleave_columns<Bytes, kSigned>(t);
  const RowEpilogue& e = *t.epilogue;
  if (!e.integers) depthwise_run<Lanes, Bytes, Dot, Finish::kAny>(t);
  else if (e.stored == Stored::kU8) depthwise_run<Lanes, Bytes, Dot, Finish::kU8>(t);
  else depthwise_run<Lanes, Bytes, Dot, Finish::kS8>(t);
}

template <class Bytes, bool kSigned>
void max_pool(const PoolTile& t) {
  for (int64_t p = 0; p < t.pixels; ++p) {
    const uint8_t* const* pointers = t.pointers + p;
    uint8_t* out = static_cast<uint8_t*>(t.epilogue->out) + (t.pixel + p) * t.channels;
    for (int64_t next = 0; next < t.channels; next += Bytes::kWidth) {
      // The last register overlaps the one before it, if there is one.
      const int64_t c = next + Bytes::kWidth <= t.channels || next == 0 ? next : t.channels - Bytes::kWidth;
      const int64_t n = t.channels - c;
      auto best = load_bytes<Bytes>(pointers[0] + c, n);
      for (int64_t i = 1; i < t.taps; ++i) {
        const auto x = load_bytes<Bytes>(pointers[i * t.pixels] + c, n);
        best = kSigned ? Bytes::max_s8(best, x) : Bytes::max_u8(best, x);
      }
      if (n >= Bytes::kWidth) Bytes::store(out + c, best);
      else Bytes::store_some(out + c, best, n);
    }
  }
}

template <class Lanes, class T>
void average_pool(const PoolTile& t) {
  const RowEpilogue e = *t.epilogue;
  for (int64_t p = 0; p < t.pixels; ++p) {
    const uint8_t* const* pointers = t.pointers + p;
    const auto factor = Lanes::set(t.multiplier[p]);
    for (int64_t c = 0; c < t.channels; c += 16) {
      const int64_t n = t.channels - c, at = (t.pixel + p) * t.channels + c;
      auto sum = Lanes::set_i(t.offset);
      for (int64_t i = 0; i < t.taps; ++i)
        sum = Lanes::add(sum, load_some<Lanes>(reinterpret_cast<const T*>(pointers[i * t.pixels]) + c, n));
      const auto y = Lanes::mul(Lanes::to_float(sum), factor);
      if (e.stored == Stored::kU8) finish<Lanes, false>(y, static_cast<uint8_t*>(e.out) + at, n, e);
      else if (e.stored == Stored::kS8) finish<Lanes, false>(y, static_cast<int8_t*>(e.out) + at, n, e);
      else finish<Lanes, false>(y, static_cast<float*>(e.out) + at, n, e);
    }
  }
}

template <class Lanes, class A, class B, bool kCurved, class Out>
void binary_run(const BinaryRun& r) {
  const RowEpilogue e = *r.epilogue;
  const A* a = static_cast<const A*>(r.a);
  const B* b = static_cast<const B*>(r.b);
  Out* out = static_cast<Out*>(e.out) + r.at;
  const auto a_zero = Lanes::set_i(r.a_zero), b_zero = Lanes::set_i(r.b_zero);
  const auto a_factor = Lanes::set(r.a_multiplier), b_factor = Lanes::set(r.b_multiplier);
  auto x = Lanes::set_i(*a), y = Lanes::set_i(*b);
  for (int64_t i = 0; i < r.n; i += 16) {
    if (r.a_step) x = load_some<Lanes>(a + i, r.n - i);
    if (r.b_step) y = load_some<Lanes>(b + i, r.n - i);
    const auto p = Lanes::sub(x, a_zero), q = Lanes::sub(y, b_zero);
    const auto t = r.product ? Lanes::mul(Lanes::to_float(Lanes::mul(p, q)), a_factor)
                             : Lanes::fma(Lanes::to_float(p), a_factor, Lanes::mul(Lanes::to_float(q), b_factor));
    finish<Lanes, kCurved>(t, out + i, r.n - i, e);
  }
}

template <class Lanes>
void binary(const BinaryRun& r) {
  const auto go = [&]<class A, class B>(const A*, const B*) {
    const RowEpilogue& e = *r.epilogue;
    if (e.stored == Stored::kU8) e.curved ? binary_run<Lanes, A, B, true, uint8_t>(r) : binary_run<Lanes, A, B, false, uint8_t>(r);
    else if (e.stored == Stored::kS8) e.curved ? binary_run<Lanes, A, B, true, int8_t>(r) : binary_run<Lanes, A, B, false, int8_t>(r);
    else e.curved ? binary_run<Lanes, A, B, true, float>(r) : binary_run<Lanes, A, B, false, float>(r);
  };
  const uint8_t* u8 = nullptr;
  const int8_t* s8 = nullptr;
  if (r.a_stored == Stored::kU8) r.b_stored == Stored::kU8 ? go(u8, u8) : go(u8, s8);
  else r.b_stored == Stored::kU8 ? go(s8, u8) : go(s8, s8);
}

template <class Lanes, class Out>
void quantize_to(const float* x, int64_t n, const RowEpilogue e, float scale, Out* y) {
  const auto divisor = Lanes::set(scale);
  for (int64_t i = 0; i < n; i += 16) {
    const auto t = Lanes::zero_nans(Lanes::div(load_some<Lanes>(x + i, n - i), divisor));
    finish<Lanes, false>(t, y + i, n - i, e);
  }
}
template <class Lanes>
void quantize(const float* x, int64_t n, float scale, int32_t zero, Stored stored, void* y) {
  RowEpilogue e;
  e.zero = zero;
  e.low = static_cast<float>((stored == Stored::kU8 ? 0 : -128) - zero);
  e.high = e.low + 255;
  if (stored == Stored::kU8) quantize_to<Lanes>(x, n, e, scale, static_cast<uint8_t*>(y));
  else quantize_to<Lanes>(x, n, e, scale, static_cast<int8_t*>(y));
}

template <class Lanes, class Out>
void quantize_rows_to(const float* x, int64_t rows, int64_t channels, const RowEpilogue e, Out* y) {
  for (int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    for (int64_t c = 0; c < channels; c += 16) {
      const auto result = channel_result<Lanes>(e, c);
      const auto t = Lanes::zero_nans(Lanes::div(load_some<Lanes>(x + c, channels - c), result.scale));
      finish<Lanes, false>(t, y + c, channels - c, e, result);
    }
  }
}
template <class Lanes>
void quantize_rows(const float* x, int64_t rows, int64_t channels, const RowEpilogue& e, void* y) {
  if (e.stored == Stored::kU8) quantize_rows_to<Lanes>(x, rows, channels, e, static_cast<uint8_t*>(y));
  else quantize_rows_to<Lanes>(x, rows, channels, e, static_cast<int8_t*>(y));
}

template <class Lanes, class In>
void dequantize_from(const In* x, int64_t n, float scale, int32_t zero, float* y) {
  const auto factor = Lanes::set(scale);
  const auto offset = Lanes::set_i(zero);
  for (int64_t i = 0; i < n; i += 16)
    store_some<Lanes>(y + i, Lanes::mul(factor, Lanes::to_float(Lanes::sub(load_some<Lanes>(x + i, n - i), offset))), n - i);
}
template <class Lanes>
void dequantize(const void* x, Stored stored, int64_t n, float scale, int32_t zero, float* y) {
  if (stored == Stored::kU8) dequantize_from<Lanes>(static_cast<const uint8_t*>(x), n, scale, zero, y);
  else dequantize_from<Lanes>(static_cast<const int8_t*>(x), n, scale, zero, y);
}

template <class Lanes, class Bytes, class Fast, class Exact>
constexpr DepthwiseKernel depthwise_kernel(bool words_if_exact) {
  return {Bytes::kWidth, words_if_exact,
          {depthwise<Lanes, Bytes, Fast, false>, depthwise<Lanes, Bytes, Fast, true>},
          {depthwise<Lanes, Bytes, Exact, false>, depthwise<Lanes, Bytes, Exact, true>}};
}
// All but depthwise.
template <class Lanes, class Bytes>
constexpr ChannelwiseKernels channelwise_kernels() {
  ChannelwiseKernels k{};
  k.max_pool[0] = max_pool<Bytes, false>;
  k.max_pool[1] = max_pool<Bytes, true>;
  k.average_pool[0] = average_pool<Lanes, uint8_t>;
  k.average_pool[1] = average_pool<Lanes, int8_t>;
  k.binary = binary<Lanes>;
  k.quantize = quantize<Lanes>;
  k.quantize_rows = quantize_rows<Lanes>;
  k.dequantize = dequantize<Lanes>;
  return k;
}

}  // namespace
}  // namespace ingot::cpu
