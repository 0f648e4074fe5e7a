// 64 channels' bytes in a 512-bit register, and 16 of their 32-bit sums. For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/lanes_avx512.h"

#define INGOT_LANE [[gnu::always_inline]] static inline

namespace ingot::cpu {
namespace {

struct BytesAvx512 {
  static constexpr int kWidth = 64;
  static constexpr int kTileRegisters = 4;  // of pixels, that a depthwise tile sums at a time
  using V = __m512i;

  INGOT_LANE __mmask64 first(int64_t n) { return (__mmask64{1} << n) - 1; }
  INGOT_LANE V load(const uint8_t* p) { return _mm512_loadu_si512(p); }
  INGOT_LANE V load_some(const uint8_t* p, int64_t n) { return _mm512_maskz_loadu_epi8(first(n), p); }
  // kLaneBytes from each address.
  template <int kLaneBytes> INGOT_LANE V load_lanes(const uint8_t* const* p) {
    if constexpr (kLaneBytes == 64) return load(p[0]);
    if constexpr (kLaneBytes == 32)
      return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)p[0])), _mm256_loadu_si256((const __m256i*)p[1]), 1);
    V v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i*)p[0]));
    if constexpr (kLaneBytes == 16) {
      v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)p[1]), 1);
      v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)p[2]), 2);
      v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i*)p[3]), 3);
    }
    return v;
  }
  INGOT_LANE void store(uint8_t* p, V v) { _mm512_storeu_si512(p, v); }
  INGOT_LANE void store_some(uint8_t* p, V v, int64_t n) { _mm512_mask_storeu_epi8(p, first(n), v); }
  INGOT_LANE V flip_sign(V v) { return _mm512_xor_si512(v, _mm512_set1_epi8(-128)); }
  INGOT_LANE V max_u8(V a, V b) { return _mm512_max_epu8(a, b); }
  INGOT_LANE V max_s8(V a, V b) { return _mm512_max_epi8(a, b); }
  INGOT_LANE V low8(V a, V b) { return _mm512_unpacklo_epi8(a, b); }
  INGOT_LANE V high8(V a, V b) { return _mm512_unpackhi_epi8(a, b); }
  INGOT_LANE V low16(V a, V b) { return _mm512_unpacklo_epi16(a, b); }
  INGOT_LANE V high16(V a, V b) { return _mm512_unpackhi_epi16(a, b); }

  INGOT_LANE __m512 load_floats(const float* p) { return _mm512_loadu_ps(p); }
  INGOT_LANE void store_floats(float* p, __m512 v) { _mm512_storeu_ps(p, v); }
  INGOT_LANE __m512 set_float(float x) { return _mm512_set1_ps(x); }
  INGOT_LANE __m512 scaled(V sums, __m512 factors) { return _mm512_mul_ps(_mm512_cvtepi32_ps(sums), factors); }
  // rne(clamp(x / scale)), by 1 / scale in two parts
  INGOT_LANE V quotient(__m512 x, __m512 inverse, __m512 inverse_low, __m512 low, __m512 high) {
    const __m512 q = _mm512_fmadd_ps(x, inverse, _mm512_mul_ps(x, inverse_low));
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(q, low), high));
  }
  INGOT_LANE V scale(V sums, __m512 factors) { return _mm512_cvtps_epi32(scaled(sums, factors)); }
  // clamp(x + zero) as bytes, by saturating sums of 16 bits. Packing within lanes undoes the order that interleaving made.
  template <bool kSigned> INGOT_LANE V pack(V a, V b, V c, V d, V zero_low, V zero_high, V low, V high) {
    const V ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_low), cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_high);
    return kSigned ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(ab, cd), low), high)
                   : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), low), high);
  }
  // Four ints of each lane to p, p + 16, …
  INGOT_LANE void store_fours(int32_t* p, V v) {
    _mm_storeu_si128((__m128i*)p, _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i*)(p + 16), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i*)(p + 32), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i*)(p + 48), _mm512_extracti32x4_epi32(v, 3));
  }
};

}  // namespace
}  // namespace ingot::cpu

#undef INGOT_LANE
