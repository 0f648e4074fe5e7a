// winograd_s8.h on AVX2.
#include "runtime/cpu/winograd_s8_kernel.h"
#include "runtime/cpu/winograd_words_avx2.h"

namespace ingot::cpu {
namespace {

struct WinogradAvx2 : WinogradWords256 {
  [[gnu::always_inline]] static inline void dot_pairs(I& sum, __m256i a, const P& w) {
    sum.lo = _mm256_add_epi32(sum.lo, _mm256_madd_epi16(a, w.lo));
    sum.hi = _mm256_add_epi32(sum.hi, _mm256_madd_epi16(a, w.hi));
  }
};

}  // namespace

constinit const WinogradKernels kWinogradAvx2 = winograd_kernels<WinogradAvx2, 1, 6>();

}  // namespace ingot::cpu
