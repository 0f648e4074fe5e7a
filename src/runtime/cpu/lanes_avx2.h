// Sixteen 32-bit lanes as two 256-bit registers. For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

// A call would pass these through memory.
#define INGOT_LANE [[gnu::always_inline]] static inline

namespace ingot::cpu {
namespace {

struct LanesAvx2 {
  struct I { __m256i lo, hi; };
  struct F { __m256 lo, hi; };

  INGOT_LANE I load(const int32_t* p) { return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 8))}; }
  INGOT_LANE void store(int32_t* p, I v) {
    _mm256_storeu_si256((__m256i*)p, v.lo);
    _mm256_storeu_si256((__m256i*)(p + 8), v.hi);
  }
  INGOT_LANE I set_i(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  INGOT_LANE I add(I a, I b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
  INGOT_LANE I sub(I a, I b) { return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
  INGOT_LANE I mul(I a, I b) { return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)}; }

  INGOT_LANE F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  INGOT_LANE void store(float* p, F v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  INGOT_LANE F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  INGOT_LANE F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  INGOT_LANE F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  INGOT_LANE F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  INGOT_LANE F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)}; }
  // Of a NaN and a limit b both give b.
  INGOT_LANE F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  INGOT_LANE F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  INGOT_LANE F zero_nans(F a) {
    return {_mm256_and_ps(a.lo, _mm256_cmp_ps(a.lo, a.lo, _CMP_ORD_Q)), _mm256_and_ps(a.hi, _mm256_cmp_ps(a.hi, a.hi, _CMP_ORD_Q))};
  }
  INGOT_LANE F or_nan(F a, F b) {  // a, but b where b is a NaN
    return {_mm256_blendv_ps(a.lo, b.lo, _mm256_cmp_ps(b.lo, b.lo, _CMP_UNORD_Q)),
            _mm256_blendv_ps(a.hi, b.hi, _mm256_cmp_ps(b.hi, b.hi, _CMP_UNORD_Q))};
  }
  INGOT_LANE F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
  INGOT_LANE I round(F a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }

  INGOT_LANE I load(const uint8_t* p) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)), _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8)))};
  }
  INGOT_LANE I load(const int8_t* p) {
    return {_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)), _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8)))};
  }
  INGOT_LANE __m128i to_bytes(I a, bool is_signed) {
    const __m256i w = _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xD8);
    const __m128i low = _mm256_castsi256_si128(w), high = _mm256_extracti128_si256(w, 1);
    return is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
  }
  INGOT_LANE void store(uint8_t* p, I a) { _mm_storeu_si128((__m128i*)p, to_bytes(a, false)); }
  INGOT_LANE void store(int8_t* p, I a) { _mm_storeu_si128((__m128i*)p, to_bytes(a, true)); }

  // The first n < 16 elements; nothing behind them is touched.
  INGOT_LANE uint64_t word(const void* p, int64_t n) {  // n ≤ 8 bytes
    const auto* bytes = static_cast<const uint8_t*>(p);
    if (n >= 4) {
      uint32_t low, high;
      std::memcpy(&low, bytes, 4);
      std::memcpy(&high, bytes + n - 4, 4);
      return low | static_cast<uint64_t>(high) << (8 * (n - 4));
    }
    uint64_t value = 0;
    for (int64_t i = 0; i < n; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    return value;
  }
  INGOT_LANE __m128i words(const void* p, int64_t n) {
    const auto* bytes = static_cast<const uint8_t*>(p);
    return n <= 8 ? _mm_set_epi64x(0, static_cast<int64_t>(word(bytes, n)))
                  : _mm_set_epi64x(static_cast<int64_t>(word(bytes + 8, n - 8)), static_cast<int64_t>(word(bytes, 8)));
  }
  INGOT_LANE I load_some(const uint8_t* p, int64_t n) {
    const __m128i x = words(p, n);
    return {_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_srli_si128(x, 8))};
  }
  INGOT_LANE I load_some(const int8_t* p, int64_t n) {
    const __m128i x = words(p, n);
    return {_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_srli_si128(x, 8))};
  }
  INGOT_LANE void store_bytes(uint8_t* p, __m128i v, int64_t n) {
    if (n & 8) {
      _mm_storel_epi64((__m128i*)p, v);
      v = _mm_srli_si128(v, 8);
      p += 8;
    }
    uint64_t rest = static_cast<uint64_t>(_mm_cvtsi128_si64(v));
    if (n & 4) {
      std::memcpy(p, &rest, 4);
      rest >>= 32;
      p += 4;
    }
    for (int64_t i = 0; i < (n & 3); ++i) p[i] = static_cast<uint8_t>(rest >> (8 * i));
  }
  INGOT_LANE void store_some(uint8_t* p, I a, int64_t n) { store_bytes(p, to_bytes(a, false), n); }
  INGOT_LANE void store_some(int8_t* p, I a, int64_t n) { store_bytes(reinterpret_cast<uint8_t*>(p), to_bytes(a, true), n); }
  INGOT_LANE __m256i first(int64_t n) {  // of 8 lanes
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  INGOT_LANE F load_some(const float* p, int64_t n) {
    return {_mm256_maskload_ps(p, first(n)), _mm256_maskload_ps(p + 8, first(n - 8))};
  }
  INGOT_LANE void store_some(float* p, F a, int64_t n) {
    _mm256_maskstore_ps(p, first(n), a.lo);
    _mm256_maskstore_ps(p + 8, first(n - 8), a.hi);
  }

  INGOT_LANE __m256i broadcast(const uint8_t* p, bool flip_sign) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    const __m256i x = _mm256_set1_epi32(four);
    return flip_sign ? _mm256_xor_si256(x, _mm256_set1_epi8(-128)) : x;
  }

  // What runtime/ops/exact_math.h asks of its vector traits.
  struct M { __m256 lo, hi; };
  INGOT_LANE F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  INGOT_LANE M lt(F a, F b) { return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)}; }
  INGOT_LANE F select(M m, F a, F b) { return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)}; }
  INGOT_LANE I bits(F a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
  INGOT_LANE F from_bits(I a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
  INGOT_LANE I iadd(I a, I b) { return add(a, b); }
  INGOT_LANE I isub(I a, I b) { return sub(a, b); }
  INGOT_LANE I iand(I a, I b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
  INGOT_LANE I ior(I a, I b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
  template <int n> INGOT_LANE I shl(I a) { return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)}; }
  template <int n> INGOT_LANE I sra(I a) { return {_mm256_srai_epi32(a.lo, n), _mm256_srai_epi32(a.hi, n)}; }
};

}  // namespace
}  // namespace ingot::cpu

#undef INGOT_LANE
