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
void plain_depthwise(const DepthwiseRun& t) {
  const int64_t rows = 4 * t.row_groups;
  for (int64_t i = 0; i < t.out_rows * t.pixels; ++i) {
    const int64_t out_row = i / t.pixels, p = i % t.pixels;
    int32_t sums[16];
    for (int64_t c = 0; c < 16; ++c) {
      uint32_t sum = static_cast<uint32_t>(t.bias[c]);
      for (int64_t tap = 0; tap < t.taps && c < t.channels; ++tap) {
        const int64_t column = t.first_column + p * t.pixel_step + tap * t.tap_step;
        for (int64_t r = 0; r < rows; ++r) {
          const uint8_t* from = column >= 0 && column < t.in_columns ? t.rows[r].x + column * t.rows[r].step : t.padding;
          const uint8_t x = from[t.channel + c];
          sum += static_cast<uint32_t>((kSigned ? x ^ 0x80 : x) * t.weights[((out_row * t.taps + tap) * t.row_groups + r / 4) * 64 + c * 4 + r % 4]);
        }
      }
      sums[c] = static_cast<int32_t>(sum);
    }
    t.finish(sums, 1, 16, t.pixel + out_row * t.out_row_pixels + p, t.channel, t.channels, *t.epilogue);
  }
}

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesScalar, BytesScalar>();
  k.depthwise[0].width = k.depthwise[0].lane_bytes = 16;
  k.depthwise[0].fast[0] = k.depthwise[0].exact[0] = plain_depthwise<false>;
  k.depthwise[0].fast[1] = k.depthwise[0].exact[1] = plain_depthwise<true>;
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseScalar = make();

}  // namespace ingot::cpu
