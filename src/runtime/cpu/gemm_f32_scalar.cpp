// gemm_f32.h in plain C++, for CPUs without AVX2.
#include "runtime/cpu/gemm_f32_kernel.h"
#include "runtime/cpu/lanes_scalar.h"

namespace ingot::cpu {
namespace {

struct Plain : LanesScalar {
  // As the vector files: sums are the same to the bit on every machine.
  static F madd(const F& x, const F& w, const F& sum) { return fma(x, w, sum); }
};

constexpr FloatKernels make() {
  FloatKernels k{};
  add_tiles<Plain, 1, 2>(k);
  add_tiles<Plain, 2, 1>(k);
  add_tiles<Plain, 3, 1>(k);
  add_tiles<Plain, 4, 1>(k);
  add_rows<Plain>(k);
  return k;
}

}  // namespace

constinit const FloatKernels kFloatScalar = make();

}  // namespace ingot::cpu
