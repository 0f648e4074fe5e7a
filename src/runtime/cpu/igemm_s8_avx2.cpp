// igemm_s8.h on AVX2. `fast` multiplies bytes (vpmaddubsw), whose pair sums must fit 16 bits. `exact` separates even and odd
// bytes into 16-bit words first: two vpmaddwd instead of one, for any weights.
#include "runtime/cpu/igemm_s8_kernel.h"
#include "runtime/cpu/lanes_avx2.h"

namespace ingot::cpu {
namespace {

struct Avx2Fast : LanesAvx2 {
  using W = I;
  template <bool kSigned> [[gnu::always_inline]] static inline __m256i activation(const uint8_t* p) { return broadcast(p, kSigned); }
  [[gnu::always_inline]] static inline W weights(const int8_t* p) { return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 32))}; }
  [[gnu::always_inline]] static inline __m256i four(__m256i a, __m256i w) { return _mm256_madd_epi16(_mm256_maddubs_epi16(a, w), _mm256_set1_epi16(1)); }
  [[gnu::always_inline]] static inline void dot(I& sum, __m256i a, const W& w) {
    sum.lo = _mm256_add_epi32(sum.lo, four(a, w.lo));
    sum.hi = _mm256_add_epi32(sum.hi, four(a, w.hi));
  }
};

struct Avx2Exact : LanesAvx2 {
  struct A { __m256i even, odd; };
  struct W { A lo, hi; };
  template <bool kSigned> [[gnu::always_inline]] static inline A activation(const uint8_t* p) {
    const __m256i x = broadcast(p, kSigned);
    return {_mm256_and_si256(x, _mm256_set1_epi16(255)), _mm256_srli_epi16(x, 8)};
  }
  [[gnu::always_inline]] static inline A words(const int8_t* p) {
    const __m256i w = _mm256_loadu_si256((const __m256i*)p);
    return {_mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8), _mm256_srai_epi16(w, 8)};
  }
  [[gnu::always_inline]] static inline W weights(const int8_t* p) { return {words(p), words(p + 32)}; }
  [[gnu::always_inline]] static inline void dot(I& sum, const A& a, const W& w) {
    sum.lo = _mm256_add_epi32(sum.lo, _mm256_add_epi32(_mm256_madd_epi16(a.even, w.lo.even), _mm256_madd_epi16(a.odd, w.lo.odd)));
    sum.hi = _mm256_add_epi32(sum.hi, _mm256_add_epi32(_mm256_madd_epi16(a.even, w.hi.even), _mm256_madd_epi16(a.odd, w.hi.odd)));
  }
};

constexpr IgemmKernels make() {
  IgemmKernels k{};
  k.max_blocks = 1;
  add_tiles<Avx2Fast, 1, 6>(k.fast, k.max_rows);
  add_tiles<Avx2Exact, 1, 4>(k.exact, k.max_rows_exact);
  k.finish = finish_rows<Avx2Fast>;
  return k;
}

}  // namespace

constinit const IgemmKernels kIgemmAvx2 = make();

}  // namespace ingot::cpu
