// Sixteen 32-bit lanes as two 256-bit registers. For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace ingot::cpu {
namespace {

struct LanesAvx2 {
  struct I { __m256i lo, hi; };
  struct F { __m256 lo, hi; };

  static I load(const int32_t* p) { return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 8))}; }
  static void store(int32_t* p, I v) {
    _mm256_storeu_si256((__m256i*)p, v.lo);
    _mm256_storeu_si256((__m256i*)(p + 8), v.hi);
  }
  static I set_i(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static I add(I a, I b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
  static I sub(I a, I b) { return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
  static I mul(I a, I b) { return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)}; }

  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  static F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)}; }
  // Of a NaN and a limit b both give b.
  static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  static F zero_nans(F a) {
    return {_mm256_and_ps(a.lo, _mm256_cmp_ps(a.lo, a.lo, _CMP_ORD_Q)), _mm256_and_ps(a.hi, _mm256_cmp_ps(a.hi, a.hi, _CMP_ORD_Q))};
  }
  static F or_nan(F a, F b) {  // a, but b where b is a NaN
    return {_mm256_blendv_ps(a.lo, b.lo, _mm256_cmp_ps(b.lo, b.lo, _CMP_UNORD_Q)),
            _mm256_blendv_ps(a.hi, b.hi, _mm256_cmp_ps(b.hi, b.hi, _CMP_UNORD_Q))};
  }
  static F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
  static I round(F a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }

  static I load(const uint8_t* p) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p)), _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8)))};
  }
  static I load(const int8_t* p) {
    return {_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)p)), _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(p + 8)))};
  }
  static __m256i to_words(I a) { return _mm256_permute4x64_epi64(_mm256_packs_epi32(a.lo, a.hi), 0xD8); }
  static void store(uint8_t* p, I a) {
    const __m256i w = to_words(a);
    _mm_storeu_si128((__m128i*)p, _mm_packus_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
  }
  static void store(int8_t* p, I a) {
    const __m256i w = to_words(a);
    _mm_storeu_si128((__m128i*)p, _mm_packs_epi16(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1)));
  }

  static __m256i broadcast(const uint8_t* p, bool flip_sign) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    const __m256i x = _mm256_set1_epi32(four);
    return flip_sign ? _mm256_xor_si256(x, _mm256_set1_epi8(-128)) : x;
  }

  // What runtime/ops/exact_math.h asks of its vector traits.
  struct M { __m256 lo, hi; };
  static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static M lt(F a, F b) { return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)}; }
  static F select(M m, F a, F b) { return {_mm256_blendv_ps(b.lo, a.lo, m.lo), _mm256_blendv_ps(b.hi, a.hi, m.hi)}; }
  static I bits(F a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
  static F from_bits(I a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }
  static I iadd(I a, I b) { return add(a, b); }
  static I isub(I a, I b) { return sub(a, b); }
  static I iand(I a, I b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
  static I ior(I a, I b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
  template <int n> static I shl(I a) { return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)}; }
  template <int n> static I sra(I a) { return {_mm256_srai_epi32(a.lo, n), _mm256_srai_epi32(a.hi, n)}; }
};

}  // namespace
}  // namespace ingot::cpu
