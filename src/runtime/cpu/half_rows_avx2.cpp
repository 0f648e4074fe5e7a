// half_rows.h with F16C, which every CPU of this level has; eight elements at a time.
#include <immintrin.h>

#include <cstring>

#include "runtime/cpu/half_rows.h"

namespace ingot::cpu {
namespace {

// The last few elements go through a copy of eight.
template <auto eight, class From, class To>
void rows(const From* x, To* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) eight(x + i, y + i);
  if (i == n) return;
  From from[8] = {};
  To to[8];
  std::memcpy(from, x + i, static_cast<size_t>(n - i) * sizeof(From));
  eight(from, to);
  std::memcpy(y + i, to, static_cast<size_t>(n - i) * sizeof(To));
}

void widen_f16(const uint16_t* x, float* y) { _mm256_storeu_ps(y, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)))); }
void narrow_f16(const float* x, uint16_t* y) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
void widen_bf16(const uint16_t* x, float* y) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  _mm256_storeu_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
}
void narrow_bf16(const float* x, uint16_t* y) {
  const __m256 value = _mm256_loadu_ps(x);
  const __m256i bits = _mm256_castps_si256(value), odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(_mm256_set1_epi32(0x7fff), odd)), 16);
  const __m256i nan = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  const __m256i result = _mm256_blendv_epi8(rounded, nan, is_nan);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(result, result), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(packed));
}

}  // namespace

const HalfRows kHalfRowsAvx2 = {rows<widen_f16, uint16_t, float>, rows<narrow_f16, float, uint16_t>, rows<widen_bf16, uint16_t, float>,
                                rows<narrow_bf16, float, uint16_t>};

}  // namespace ingot::cpu
