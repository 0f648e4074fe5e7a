// igemm_s8.h in plain C++, for CPUs without AVX2.
#include "runtime/cpu/igemm_s8_kernel.h"
#include "runtime/cpu/lanes_scalar.h"

namespace ingot::cpu {
namespace {

struct PlainStep : LanesScalar {
  struct A { int32_t v[4]; };
  using W = const int8_t*;
  template <bool kSigned> static A activation(const uint8_t* p) {
    A a;
    for (int i = 0; i < 4; ++i) a.v[i] = kSigned ? p[i] ^ 0x80 : p[i];
    return a;
  }
  static W weights(const int8_t* p) { return p; }
  static void dot(I& sum, const A& a, W w) {
    for (int c = 0; c < 16; ++c) {
      const int8_t* f = w + c * 4;
      sum.v[c] = wrap(uint32_t(sum.v[c]) + uint32_t(a.v[0] * f[0] + a.v[1] * f[1] + a.v[2] * f[2] + a.v[3] * f[3]));
    }
  }
};

constexpr IgemmKernels make() {
  IgemmKernels k{};
  k.max_blocks = 1;
  add_tiles<PlainStep, 1, 2>(k.fast, k.max_rows);
  k.finish = finish_rows<PlainStep>;
  return k;
}

}  // namespace

constinit const IgemmKernels kIgemmScalar = same_for_exact(make());

}  // namespace ingot::cpu
