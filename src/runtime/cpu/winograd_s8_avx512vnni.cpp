// winograd_s8.h on AVX-512-VNNI: vpdpwssd adds the products of pairs.
#include "runtime/cpu/lanes_avx512.h"
#include "runtime/cpu/winograd_s8_kernel.h"

namespace ingot::cpu {
namespace {

struct Winograd512 : LanesAvx512 {
  using P = __m512i;
  [[gnu::always_inline]] static inline P pairs(const int16_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static inline P pair_of(const int16_t* p) {
    int32_t pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  [[gnu::always_inline]] static inline void dot_pairs(I& sum, P a, P w) { sum = _mm512_dpwssd_epi32(sum, a, w); }

  using H = __m512i;
  static constexpr int kHalves = 32;
  template <bool kSigned> [[gnu::always_inline]] static inline H widened(__m256i x) {
    return _mm512_cvtepu8_epi16(kSigned ? _mm256_xor_si256(x, _mm256_set1_epi8(-128)) : x);
  }
  template <bool kSigned> [[gnu::always_inline]] static inline H load_h(const uint8_t* p) { return widened<kSigned>(_mm256_loadu_si256((const __m256i*)p)); }
  template <bool kSigned> [[gnu::always_inline]] static inline H load_h_some(const uint8_t* p, int64_t n) {
    return widened<kSigned>(_mm256_maskz_loadu_epi8((__mmask32{1} << n) - 1, p));
  }
  [[gnu::always_inline]] static inline void store_h(int16_t* p, H v) { _mm512_storeu_si512(p, v); }
  [[gnu::always_inline]] static inline H add16(H a, H b) { return _mm512_add_epi16(a, b); }
  [[gnu::always_inline]] static inline H sub16(H a, H b) { return _mm512_sub_epi16(a, b); }
  template <int n> [[gnu::always_inline]] static inline H shl16(H a) { return _mm512_slli_epi16(a, n); }
};

}  // namespace

constinit const WinogradKernels kWinogradAvx512Vnni = winograd_kernels<Winograd512, 2, 8>();

}  // namespace ingot::cpu
