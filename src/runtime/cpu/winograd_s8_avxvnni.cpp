// winograd_s8.h on AVX-VNNI: vpdpwssd on 256 bits.
#include "runtime/cpu/winograd_s8_kernel.h"
#include "runtime/cpu/winograd_words_avx2.h"

namespace ingot::cpu {
namespace {

struct WinogradAvxVnni : WinogradWords256 {
  [[gnu::always_inline]] static inline void dot_pairs(I& sum, __m256i a, const P& w) {
    sum.lo = _mm256_dpwssd_avx_epi32(sum.lo, a, w.lo);
    sum.hi = _mm256_dpwssd_avx_epi32(sum.hi, a, w.hi);
  }
};

}  // namespace

constinit const WinogradKernels kWinogradAvxVnni = winograd_kernels<WinogradAvxVnni, 1, 6>();

}  // namespace ingot::cpu
