// Sixteen 32-bit lanes as one 512-bit register. For ISA files only: everything has internal linkage.
#pragma once

// The compiler's own header reads undefined registers on purpose, which it then warns of.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>
#include <cstring>

// A call would pass these through memory.
#define INGOT_LANE [[gnu::always_inline]] static inline

namespace ingot::cpu {
namespace {

struct LanesAvx512 {
  using I = __m512i;
  using F = __m512;

  INGOT_LANE I load(const int32_t* p) { return _mm512_loadu_si512(p); }
  INGOT_LANE void store(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  INGOT_LANE I set_i(int32_t x) { return _mm512_set1_epi32(x); }
  INGOT_LANE I add(I a, I b) { return _mm512_add_epi32(a, b); }
  INGOT_LANE I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  INGOT_LANE I mul(I a, I b) { return _mm512_mullo_epi32(a, b); }

  INGOT_LANE F load(const float* p) { return _mm512_loadu_ps(p); }
  INGOT_LANE void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  INGOT_LANE F set(float x) { return _mm512_set1_ps(x); }
  INGOT_LANE F add(F a, F b) { return _mm512_add_ps(a, b); }
  INGOT_LANE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  INGOT_LANE F div(F a, F b) { return _mm512_div_ps(a, b); }
  INGOT_LANE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // Of a NaN and a limit b both give b.
  INGOT_LANE F max(F a, F b) { return _mm512_max_ps(a, b); }
  INGOT_LANE F min(F a, F b) { return _mm512_min_ps(a, b); }
  INGOT_LANE F zero_nans(F a) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a); }
  // a, but b where b is a NaN
  INGOT_LANE F or_nan(F a, F b) { return _mm512_mask_mov_ps(a, _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), b); }
  INGOT_LANE F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  INGOT_LANE I round(F a) { return _mm512_cvtps_epi32(a); }

  INGOT_LANE I load(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
  INGOT_LANE I load(const int8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)); }
  INGOT_LANE void store(uint8_t* p, I a) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(a)); }
  INGOT_LANE void store(int8_t* p, I a) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(a)); }

  // The first n < 16 elements; nothing behind them is touched.
  INGOT_LANE __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
  INGOT_LANE I load_some(const uint8_t* p, int64_t n) { return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(first(n), p)); }
  INGOT_LANE I load_some(const int8_t* p, int64_t n) { return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first(n), p)); }
  INGOT_LANE F load_some(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  INGOT_LANE void store_some(uint8_t* p, I a, int64_t n) { _mm_mask_storeu_epi8(p, first(n), _mm512_cvtepi32_epi8(a)); }
  INGOT_LANE void store_some(int8_t* p, I a, int64_t n) { _mm_mask_storeu_epi8(p, first(n), _mm512_cvtepi32_epi8(a)); }
  INGOT_LANE void store_some(float* p, F a, int64_t n) { _mm512_mask_storeu_ps(p, first(n), a); }

  // 64 results of a row at once: clamp(y + zero) as bytes, by saturating sums of 16 bits.
  static constexpr bool kPacksLines = true;
  struct ByteLimits { __m512i zero, low, high; };
  INGOT_LANE ByteLimits byte_limits(int zero, int low, int high) {
    return {_mm512_set1_epi16(static_cast<short>(zero)), _mm512_set1_epi8(static_cast<char>(low)), _mm512_set1_epi8(static_cast<char>(high))};
  }
  template <class Out> INGOT_LANE void store_packed(Out* p, const __m512i (&y)[4], const ByteLimits& limits) {
    const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(y[0], y[1]), limits.zero);
    const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(y[2], y[3]), limits.zero);
    const __m512i mixed = Out(-1) < Out(0) ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(ab, cd), limits.low), limits.high)
                                           : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), limits.low), limits.high);
    // Packing within 128-bit lanes left four bytes of each block side by side.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, mixed));
  }

  INGOT_LANE __m512i broadcast(const uint8_t* p, bool flip_sign) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    const __m512i x = _mm512_set1_epi32(four);
    return flip_sign ? _mm512_xor_si512(x, _mm512_set1_epi8(-128)) : x;
  }

  // What runtime/ops/exact_math.h asks of its vector traits.
  using M = __mmask16;
  INGOT_LANE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  INGOT_LANE M lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  INGOT_LANE F select(M m, F a, F b) { return _mm512_mask_blend_ps(m, b, a); }
  INGOT_LANE I bits(F a) { return _mm512_castps_si512(a); }
  INGOT_LANE F from_bits(I a) { return _mm512_castsi512_ps(a); }
  INGOT_LANE I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  INGOT_LANE I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  INGOT_LANE I iand(I a, I b) { return _mm512_and_si512(a, b); }
  INGOT_LANE I ior(I a, I b) { return _mm512_or_si512(a, b); }
  template <int n> INGOT_LANE I shl(I a) { return _mm512_slli_epi32(a, n); }
  template <int n> INGOT_LANE I sra(I a) { return _mm512_srai_epi32(a, n); }
};

}  // namespace
}  // namespace ingot::cpu

#undef INGOT_LANE
