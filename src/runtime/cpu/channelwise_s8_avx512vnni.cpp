// channelwise_s8.h on AVX-512-VNNI.
#include "runtime/cpu/bytes_avx2.h"
#include "runtime/cpu/bytes_avx512.h"
#include "runtime/cpu/channelwise_s8_kernel.h"
#include "runtime/cpu/depthwise_s8_kernel.h"
#include "runtime/cpu/lanes_avx512.h"

namespace ingot::cpu {
namespace {

struct WideDot {
  static constexpr int kWeightBytes = 64;
  [[gnu::always_inline]] static inline __m512i load(const int8_t* w) { return _mm512_loadu_si512(w); }
  [[gnu::always_inline]] static inline __m512i sum(__m512i acc, __m512i x, __m512i w) { return _mm512_dpbusd_epi32(acc, x, w); }
};

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesAvx512, BytesAvx512>();
  k.depthwise[0] = depthwise_kernel<LanesAvx512, BytesAvx512, WideDot, WideDot, 64>(false);
  k.depthwise[1] = depthwise_kernel<LanesAvx512, BytesAvx512, WideDot, WideDot, 32>(false);
  k.depthwise[2] = depthwise_kernel<LanesAvx512, BytesAvx512, WideDot, WideDot, 16>(false);
  k.interleave3 = BytesAvx2::interleave3;
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseAvx512Vnni = make();

}  // namespace ingot::cpu
