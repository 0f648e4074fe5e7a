// winograd_s8.h in plain C++.
#include "runtime/cpu/lanes_scalar.h"
#include "runtime/cpu/winograd_s8_kernel.h"

namespace ingot::cpu {
namespace {

struct WinogradScalar : LanesScalar {
  struct Pair { int32_t first, second; };
  using P = const int16_t*;
  static P pairs(const int16_t* p) { return p; }
  static Pair pair_of(const int16_t* p) { return {p[0], p[1]}; }
  static void dot_pairs(I& sum, const Pair& a, P w) {
    for (int c = 0; c < 16; ++c) sum.v[c] = wrap(uint32_t(sum.v[c]) + uint32_t(a.first * w[2 * c]) + uint32_t(a.second * w[2 * c + 1]));
  }

  struct H { int16_t v[16]; };
  static constexpr int kHalves = 16;
  template <bool kSigned> static H load_h(const uint8_t* p) { return load_h_some<kSigned>(p, 16); }
  template <bool kSigned> static H load_h_some(const uint8_t* p, int64_t n) {
    H h{};
    for (int64_t i = 0; i < n; ++i) h.v[i] = kSigned ? p[i] ^ 0x80 : p[i];
    return h;
  }
  static void store_h(int16_t* p, const H& h) { std::memcpy(p, h.v, sizeof h.v); }
  template <class F> static H each_h(F f) {
    H h;
    for (int i = 0; i < 16; ++i) h.v[i] = static_cast<int16_t>(f(i));
    return h;
  }
  static H add16(const H& a, const H& b) { return each_h([&](int i) { return a.v[i] + b.v[i]; }); }
  static H sub16(const H& a, const H& b) { return each_h([&](int i) { return a.v[i] - b.v[i]; }); }
  template <int n> static H shl16(const H& a) { return each_h([&](int i) { return a.v[i] * (1 << n); }); }
};

}  // namespace

constinit const WinogradKernels kWinogradScalar = winograd_kernels<WinogradScalar, 1, 2>();

}  // namespace ingot::cpu
