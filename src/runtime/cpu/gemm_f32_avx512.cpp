// gemm_f32.h on AVX-512: one register is one block of 16 channels.
#include "runtime/cpu/lanes_avx512.h"

#include "runtime/cpu/gemm_f32_kernel.h"

namespace ingot::cpu {
namespace {

struct Avx512 : LanesAvx512 {
  [[gnu::always_inline]] static inline F madd(F x, F w, F sum) { return _mm512_fmadd_ps(x, w, sum); }
};

constexpr FloatKernels make() {
  FloatKernels k{};
  add_tiles<Avx512, 1, 12>(k);
  add_tiles<Avx512, 2, 12>(k);
  add_tiles<Avx512, 3, 8>(k);
  add_tiles<Avx512, 4, 6>(k);
  add_rows<Avx512>(k);
  return k;
}

}  // namespace

constinit const FloatKernels kFloatAvx512 = make();

}  // namespace ingot::cpu
