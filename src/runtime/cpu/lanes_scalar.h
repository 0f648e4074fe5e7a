// Sixteen 32-bit lanes as arrays: what the vector files are compared with, and all that a CPU without AVX2 gets.
#pragma once

#include <cstdint>
#include <cstring>

namespace ingot::cpu {
namespace {

// a · b + c, rounded once. The product of two floats is exact in double; their sum is rounded to odd there (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008), so that rounding it to float is the only one that counts. Without FMA
// instructions the C library's fmaf switches rounding modes for it, which takes several times as long.
inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, addend = c, sum = product + addend;
  const double part = sum - product, error = (product - (sum - part)) + (addend - part);
  auto bits = __builtin_bit_cast(int64_t, sum);
  // Magnitudes grow with their bits. An infinity or NaN has an error of NaN, which is not different from 0 here.
  const bool odd = bits & 1, up = (error > 0) == (sum > 0), inexact = error < 0 || error > 0;
  bits += inexact && !odd ? (up ? 1 : -1) : 0;
  return static_cast<float>(__builtin_bit_cast(double, bits));
}

struct LanesScalar {
  struct I { int32_t v[16]; };
  struct F { float v[16]; };
  template <class T, class Make> static T each(Make make) {
    T r;
    for (int i = 0; i < 16; ++i) r.v[i] = make(i);
    return r;
  }
  // Sums wrap, as the vector instructions do; only the final value of a sum is promised to fit.
  static int32_t wrap(uint32_t x) { return static_cast<int32_t>(x); }

  static I load(const int32_t* p) { return each<I>([&](int i) { return p[i]; }); }
  static void store(int32_t* p, I a) { std::memcpy(p, a.v, sizeof a.v); }
  static I set_i(int32_t x) { return each<I>([&](int) { return x; }); }
  static I add(I a, I b) { return each<I>([&](int i) { return wrap(uint32_t(a.v[i]) + uint32_t(b.v[i])); }); }
  static I sub(I a, I b) { return each<I>([&](int i) { return wrap(uint32_t(a.v[i]) - uint32_t(b.v[i])); }); }
  static I mul(I a, I b) { return each<I>([&](int i) { return wrap(uint32_t(a.v[i]) * uint32_t(b.v[i])); }); }

  static F load(const float* p) { return each<F>([&](int i) { return p[i]; }); }
  static void store(float* p, F a) { std::memcpy(p, a.v, sizeof a.v); }
  static F set(float x) { return each<F>([&](int) { return x; }); }
  static F add(F a, F b) { return each<F>([&](int i) { return a.v[i] + b.v[i]; }); }
  static F mul(F a, F b) { return each<F>([&](int i) { return a.v[i] * b.v[i]; }); }
  static F div(F a, F b) { return each<F>([&](int i) { return a.v[i] / b.v[i]; }); }
  static F fma(F a, F b, F c) { return each<F>([&](int i) { return fused(a.v[i], b.v[i], c.v[i]); }); }
  static F max(F a, F b) { return each<F>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
  static F min(F a, F b) { return each<F>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
  static F zero_nans(F a) { return each<F>([&](int i) { return a.v[i] == a.v[i] ? a.v[i] : 0.0f; }); }
  // a, but b where b is a NaN
  static F or_nan(F a, F b) { return each<F>([&](int i) { return b.v[i] == b.v[i] ? a.v[i] : b.v[i]; }); }
  static F to_float(I a) { return each<F>([&](int i) { return static_cast<float>(a.v[i]); }); }
  static I round(F a) { return each<I>([&](int i) { return static_cast<int32_t>(__builtin_nearbyintf(a.v[i])); }); }

  static I load(const uint8_t* p) { return each<I>([&](int i) { return int32_t(p[i]); }); }
  static I load(const int8_t* p) { return each<I>([&](int i) { return int32_t(p[i]); }); }
  static void store(uint8_t* p, I a) { for (int i = 0; i < 16; ++i) p[i] = static_cast<uint8_t>(a.v[i]); }
  static void store(int8_t* p, I a) { for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i]); }

  // The first n < 16 elements; nothing behind them is touched.
  template <class T> static auto load_some(const T* p, int64_t n) {
    T buffer[16] = {};
    std::memcpy(buffer, p, static_cast<size_t>(n) * sizeof(T));
    return load(buffer);
  }
  template <class T, class V> static void store_some(T* p, V value, int64_t n) {
    T buffer[16];
    store(buffer, value);
    std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(T));
  }

  // What runtime/ops/exact_math.h asks of its vector traits.
  struct M { bool v[16]; };
  static F sub(F a, F b) { return each<F>([&](int i) { return a.v[i] - b.v[i]; }); }
  static M lt(F a, F b) { return each<M>([&](int i) { return a.v[i] < b.v[i]; }); }
  static F select(M m, F a, F b) { return each<F>([&](int i) { return m.v[i] ? a.v[i] : b.v[i]; }); }
  static I bits(F a) { return each<I>([&](int i) { return __builtin_bit_cast(int32_t, a.v[i]); }); }
  static F from_bits(I a) { return each<F>([&](int i) { return __builtin_bit_cast(float, a.v[i]); }); }
  static I iadd(I a, I b) { return add(a, b); }
  static I isub(I a, I b) { return sub(a, b); }
  static I iand(I a, I b) { return each<I>([&](int i) { return a.v[i] & b.v[i]; }); }
  static I ior(I a, I b) { return each<I>([&](int i) { return a.v[i] | b.v[i]; }); }
  template <int n> static I shl(I a) { return each<I>([&](int i) { return wrap(uint32_t(a.v[i]) << n); }); }
  template <int n> static I sra(I a) { return each<I>([&](int i) { return a.v[i] >> n; }); }
};

}  // namespace
}  // namespace ingot::cpu
