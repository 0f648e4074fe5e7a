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

namespace ingot::cpu {
namespace {

struct LanesAvx512 {
  using I = __m512i;
  using F = __m512;

  static I load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  static I set_i(int32_t x) { return _mm512_set1_epi32(x); }
  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I mul(I a, I b) { return _mm512_mullo_epi32(a, b); }

  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // Of a NaN and a limit b both give b.
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F zero_nans(F a) { return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a); }
  // a, but b where b is a NaN
  static F or_nan(F a, F b) { return _mm512_mask_mov_ps(a, _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), b); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I round(F a) { return _mm512_cvtps_epi32(a); }

  static I load(const uint8_t* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }
  static I load(const int8_t* p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)p)); }
  static void store(uint8_t* p, I a) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(a)); }
  static void store(int8_t* p, I a) { _mm_storeu_si128((__m128i*)p, _mm512_cvtepi32_epi8(a)); }

  static __m512i broadcast(const uint8_t* p, bool flip_sign) {
    int32_t four;
    std::memcpy(&four, p, sizeof four);
    const __m512i x = _mm512_set1_epi32(four);
    return flip_sign ? _mm512_xor_si512(x, _mm512_set1_epi8(-128)) : x;
  }

  // What runtime/ops/exact_math.h asks of its vector traits.
  using M = __mmask16;
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static M lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static F select(M m, F a, F b) { return _mm512_mask_blend_ps(m, b, a); }
  static I bits(F a) { return _mm512_castps_si512(a); }
  static F from_bits(I a) { return _mm512_castsi512_ps(a); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I iand(I a, I b) { return _mm512_and_si512(a, b); }
  static I ior(I a, I b) { return _mm512_or_si512(a, b); }
  template <int n> static I shl(I a) { return _mm512_slli_epi32(a, n); }
  template <int n> static I sra(I a) { return _mm512_srai_epi32(a, n); }
};

}  // namespace
}  // namespace ingot::cpu
