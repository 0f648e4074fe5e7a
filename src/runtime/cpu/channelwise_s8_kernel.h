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
