// What winograd_s8_kernel.h asks of 256-bit registers, but for the products. For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/lanes_avx2.h"

#define INGOT_LANE [[gnu::always_inline]] static inline

namespace ingot::cpu {
namespace {

struct WinogradWords256 : LanesAvx2 {
  using P = I;
  INGOT_LANE P pairs(const int16_t* p) { return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 16))}; }
  INGOT_LANE __m256i pair_of(const int16_t* p) {
    int32_t pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm256_set1_epi32(pair);
  }

  using H = __m256i;
  static constexpr int kHalves = 16;
  template <bool kSigned> INGOT_LANE H widened(__m128i x) { return _mm256_cvtepu8_epi16(kSigned ? _mm_xor_si128(x, _mm_set1_epi8(-128)) : x); }
  template <bool kSigned> INGOT_LANE H load_h(const uint8_t* p) { return widened<kSigned>(_mm_loadu_si128((const __m128i*)p)); }
  template <bool kSigned> INGOT_LANE H load_h_some(const uint8_t* p, int64_t n) { return widened<kSigned>(words(p, n)); }
  INGOT_LANE void store_h(int16_t* p, H v) { _mm256_storeu_si256((__m256i*)p, v); }
  INGOT_LANE H add16(H a, H b) { return _mm256_add_epi16(a, b); }
  INGOT_LANE H sub16(H a, H b) { return _mm256_sub_epi16(a, b); }
  template <int n> INGOT_LANE H shl16(H a) { return _mm256_slli_epi16(a, n); }
};

}  // namespace
}  // namespace ingot::cpu

#undef INGOT_LANE
