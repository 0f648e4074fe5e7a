// igemm_s8.h on AVX-512-VNNI: one register is one step of a block, vpdpbusd the whole inner product.
#include "runtime/cpu/igemm_s8_kernel.h"
#include "runtime/cpu/lanes_avx512.h"

namespace ingot::cpu {
namespace {

struct Avx512Vnni : LanesAvx512 {
  using W = __m512i;
  template <bool kSigned> [[gnu::always_inline]] static inline __m512i activation(const uint8_t* p) { return broadcast(p, kSigned); }
  [[gnu::always_inline]] static inline W weights(const int8_t* p) { return _mm512_loadu_si512(p); }
  [[gnu::always_inline]] static inline void dot(I& sum, __m512i a, W w) { sum = _mm512_dpbusd_epi32(sum, a, w); }
};

constexpr IgemmKernels make() {
  IgemmKernels k{};
  k.max_blocks = 4;
  add_tiles<Avx512Vnni, 1, 8>(k.fast, k.max_rows);
  add_tiles<Avx512Vnni, 2, 8>(k.fast, k.max_rows);
  add_tiles<Avx512Vnni, 3, 8>(k.fast, k.max_rows);
  add_tiles<Avx512Vnni, 4, 6>(k.fast, k.max_rows);
  k.finish = finish_rows<Avx512Vnni>;
  return k;
}

}  // namespace

constinit const IgemmKernels kIgemmAvx512Vnni = same_for_exact(make());

}  // namespace ingot::cpu
