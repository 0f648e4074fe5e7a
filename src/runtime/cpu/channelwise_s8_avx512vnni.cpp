// channelwise_s8.h on AVX-512-VNNI; the last group of a depthwise layer may be half as wide.
#include "runtime/cpu/bytes_avx512.h"
#include "runtime/cpu/bytes_avx2.h"
#include "runtime/cpu/channelwise_s8_kernel.h"
#include "runtime/cpu/lanes_avx512.h"

namespace ingot::cpu {
namespace {

struct WideDot {
  static constexpr int kWeightBytes = 64;
  [[gnu::always_inline]] static inline __m512i load(const int8_t* w) { return _mm512_loadu_si512(w); }
  [[gnu::always_inline]] static inline __m512i sum(__m512i acc, __m512i x, __m512i w) { return _mm512_dpbusd_epi32(acc, x, w); }
};
struct HalfDot {
  static constexpr int kWeightBytes = 32;
  [[gnu::always_inline]] static inline __m256i load(const int8_t* w) { return _mm256_loadu_si256((const __m256i*)w); }
  [[gnu::always_inline]] static inline __m256i sum(__m256i acc, __m256i x, __m256i w) { return _mm256_dpbusd_epi32(acc, x, w); }
};

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesAvx512, BytesAvx512>();
  k.depthwise[0] = depthwise_kernel<LanesAvx512, BytesAvx512, WideDot, WideDot>(false);
  k.depthwise[1] = depthwise_kernel<LanesAvx512, BytesAvx2, HalfDot, HalfDot>(false);
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseAvx512Vnni = make();

}  // namespace ingot::cpu
