// 32 channels' bytes in a 256-bit register, and 8 of their 32-bit sums. For ISA files only: everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

// A call would pass these through memory.
#define INGOT_LANE [[gnu::always_inline]] static inline

namespace ingot::cpu {
namespace {

// Byte b of 16-byte piece s of three woven planes is pixel (16 s + b) / 3 of plane (16 s + b) % 3.
struct Interleave3 {
  alignas(16) uint8_t from[3][3][16] = {};
  constexpr Interleave3() {
    for (int s = 0; s < 3; ++s)
      for (int b = 0; b < 16; ++b)
        for (int c = 0; c < 3; ++c) from[s][c][b] = (16 * s + b) % 3 == c ? static_cast<uint8_t>((16 * s + b) / 3) : uint8_t{0x80};
  }
};

struct BytesAvx2 {
  static constexpr int kWidth = 32;
  static constexpr int kTileRegisters = 2;  // of pixels, that a depthwise tile sums at a time
  using V = __m256i;

  INGOT_LANE V load(const uint8_t* p) { return _mm256_loadu_si256((const __m256i*)p); }
  INGOT_LANE V load_some(const uint8_t* p, int64_t n) {
    alignas(32) uint8_t buffer[32] = {};
    std::memcpy(buffer, p, static_cast<size_t>(n));
    return load(buffer);
  }
  // kLaneBytes from each address.
  template <int kLaneBytes> INGOT_LANE V load_lanes(const uint8_t* const* p) {
    if constexpr (kLaneBytes == 32) return load(p[0]);
    else return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)p[0])), _mm_loadu_si128((const __m128i*)p[1]), 1);
  }
  INGOT_LANE void store(uint8_t* p, V v) { _mm256_storeu_si256((__m256i*)p, v); }
  INGOT_LANE void store_some(uint8_t* p, V v, int64_t n) {
    alignas(32) uint8_t buffer[32];
    store(buffer, v);
    std::memcpy(p, buffer, static_cast<size_t>(n));
  }
  INGOT_LANE V flip_sign(V v) { return _mm256_xor_si256(v, _mm256_set1_epi8(-128)); }
  INGOT_LANE V max_u8(V a, V b) { return _mm256_max_epu8(a, b); }
  INGOT_LANE V max_s8(V a, V b) { return _mm256_max_epi8(a, b); }
  INGOT_LANE V low8(V a, V b) { return _mm256_unpacklo_epi8(a, b); }
  INGOT_LANE V high8(V a, V b) { return _mm256_unpackhi_epi8(a, b); }
  INGOT_LANE V low16(V a, V b) { return _mm256_unpacklo_epi16(a, b); }
  INGOT_LANE V high16(V a, V b) { return _mm256_unpackhi_epi16(a, b); }

  INGOT_LANE __m256 load_floats(const float* p) { return _mm256_loadu_ps(p); }
  INGOT_LANE void store_floats(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
  INGOT_LANE __m256 set_float(float x) { return _mm256_set1_ps(x); }
  INGOT_LANE __m256 scaled(V sums, __m256 factors) { return _mm256_mul_ps(_mm256_cvtepi32_ps(sums), factors); }
  // rne(clamp(x / scale)), by 1 / scale in two parts
  INGOT_LANE V quotient(__m256 x, __m256 inverse, __m256 inverse_low, __m256 low, __m256 high) {
    const __m256 q = _mm256_fmadd_ps(x, inverse, _mm256_mul_ps(x, inverse_low));
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(q, low), high));
  }
  INGOT_LANE V scale(V sums, __m256 factors) { return _mm256_cvtps_epi32(scaled(sums, factors)); }
  // clamp(x + zero) as bytes, by saturating sums of 16 bits. Packing within lanes undoes the order that interleaving made.
  template <bool kSigned> INGOT_LANE V pack(V a, V b, V c, V d, V zero_low, V zero_high, V low, V high) {
    const V ab = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero_low), cd = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero_high);
    return kSigned ? _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(ab, cd), low), high)
                   : _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(ab, cd), low), high);
  }
  // out[3i + c] = planes[c][i] for a multiple of 16 pixels; returns how many.
  static int64_t interleave3(const uint8_t* const* planes, int64_t pixels, uint8_t* out) {
    static constexpr Interleave3 order;
    int64_t i = 0;
    for (; i + 16 <= pixels; i += 16) {
      __m128i x[3];
      for (int c = 0; c < 3; ++c) x[c] = _mm_loadu_si128((const __m128i*)(planes[c] + i));
      for (int s = 0; s < 3; ++s) {
        __m128i y = _mm_setzero_si128();
        for (int c = 0; c < 3; ++c) y = _mm_or_si128(y, _mm_shuffle_epi8(x[c], _mm_load_si128((const __m128i*)order.from[s][c])));
        _mm_storeu_si128((__m128i*)(out + 3 * i + 16 * s), y);
      }
    }
    return i;
  }
  // Four ints of each lane to p, p + 16, …
  INGOT_LANE void store_fours(int32_t* p, V v) {
    _mm_storeu_si128((__m128i*)p, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i*)(p + 16), _mm256_extracti128_si256(v, 1));
  }
};

}  // namespace
}  // namespace ingot::cpu

#undef INGOT_LANE
