// igemm_s8.h on AVX-VNNI: vpdpbusd on 256 bits, two registers for a block.
#include "runtime/cpu/igemm_s8_kernel.h"
#include "runtime/cpu/lanes_avx2.h"

namespace ingot::cpu {
namespace {

struct AvxVnni : LanesAvx2 {
  using W = I;
  template <bool kSigned> [[gnu::always_inline]] static inline __m256i activation(const uint8_t* p) { return broadcast(p, kSigned); }
  [[gnu::always_inline]] static inline W weights(const int8_t* p) { return {_mm256_loadu_si256((const __m256i*)p), _mm256_loadu_si256((const __m256i*)(p + 32))}; }
  [[gnu::always_inline]] static inline void dot(I& sum, __m256i a, const W& w) {
    sum.lo = _mm256_dpbusd_avx_epi32(sum.lo, a, w.lo);
    sum.hi = _mm256_dpbusd_avx_epi32(sum.hi, a, w.hi);
  }
};

constexpr IgemmKernels make() {
  IgemmKernels k{};
  k.max_blocks = 1;
  add_tiles<AvxVnni, 1, 6>(k.fast, k.max_rows);
  k.finish = finish_rows<AvxVnni>;
  return k;
}

}  // namespace

constinit const IgemmKernels kIgemmAvxVnni = same_for_exact(make());

}  // namespace ingot::cpu
