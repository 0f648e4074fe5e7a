// channelwise_s8.h on AVX-VNNI.
#include "runtime/cpu/bytes_avx2.h"
#include "runtime/cpu/channelwise_s8_kernel.h"
#include "runtime/cpu/depthwise_s8_kernel.h"
#include "runtime/cpu/lanes_avx2.h"

namespace ingot::cpu {
namespace {

struct VnniDot {
  static constexpr int kWeightBytes = 32;
  [[gnu::always_inline]] static inline __m256i load(const int8_t* w) { return _mm256_loadu_si256((const __m256i*)w); }
  [[gnu::always_inline]] static inline __m256i sum(__m256i acc, __m256i x, __m256i w) { return _mm256_dpbusd_avx_epi32(acc, x, w); }
};

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesAvx2, BytesAvx2>();
  k.depthwise[0] = depthwise_kernel<LanesAvx2, BytesAvx2, VnniDot, VnniDot, 32>(false);
  k.depthwise[1] = depthwise_kernel<LanesAvx2, BytesAvx2, VnniDot, VnniDot, 16>(false);
  k.interleave3 = BytesAvx2::interleave3;
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseAvxVnni = make();

}  // namespace ingot::cpu
