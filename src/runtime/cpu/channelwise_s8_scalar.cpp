// channelwise_s8.h in plain C++. In groups of 16 channels the order of depthwise weights is the natural one.
#include "runtime/cpu/channelwise_s8_kernel.h"
#include "runtime/cpu/lanes_scalar.h"

namespace ingot::cpu {
namespace {

struct BytesScalar {
  static constexpr int kWidth = 16;
  struct V { uint8_t v[16]; };
  static V load(const uint8_t* p) { return load_some(p, 16); }
  static V load_some(const uint8_t* p, int64_t n) {
    V r{};
    std::memcpy(r.v, p, static_cast<size_t>(n));
    return r;
  }
  static void store(uint8_t* p, V a) { store_some(p, a, 16); }
  static void store_some(uint8_t* p, V a, int64_t n) { std::memcpy(p, a.v, static_cast<size_t>(n)); }
  static V max_u8(V a, V b) {
    for (int i = 0; i < 16; ++i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return a;
  }
  static V max_s8(V a, V b) {
    for (int i = 0; i < 16; ++i) a.v[i] = static_cast<int8_t>(a.v[i]) > static_cast<int8_t>(b.v[i]) ? a.v[i] : b.v[i];
    return a;
  }
};

template <bool kSigned>
void plain_depthwise(const DepthwiseTile& t) {
  alignas(64) int32_t sums[kMaxTilePixels * 16];
  for (int64_t p = 0; p < t.pixels; ++p) {
    for (int64_t c = 0; c < 16; ++c) {
      uint32_t sum = static_cast<uint32_t>(t.bias[c]);
      for (int64_t tap = 0; tap < 4 * t.tap_groups && c < t.channels; ++tap) {
        const uint8_t x = t.pointers[tap * t.pixels + p][t.channel + c];
        sum += static_cast<uint32_t>((kSigned ? x ^ 0x80 : x) * t.weights[tap / 4 * 64 + c * 4 + tap % 4]);
      }
      sums[p * 16 + c] = static_cast<int32_t>(sum);
    }
  }
  finish_rows<LanesScalar>(sums, static_cast<int>(t.pixels), 16, t.pixel, t.channel, t.channels, *t.epilogue);
}

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesScalar, BytesScalar>();
  k.depthwise[0].width = 16;
  k.depthwise[0].fast[0] = k.depthwise[0].exact[0] = plain_depthwise<false>;
  k.depthwise[0].fast[1] = k.depthwise[0].exact[1] = plain_depthwise<true>;
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseScalar = make();

}  // namespace ingot::cpu
