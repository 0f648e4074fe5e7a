// channelwise_s8.h on AVX2.
#include "runtime/cpu/bytes_avx2.h"
#include "runtime/cpu/channelwise_s8_kernel.h"
#include "runtime/cpu/depthwise_s8_kernel.h"
#include "runtime/cpu/lanes_avx2.h"

namespace ingot::cpu {
namespace {

struct FastDot {
  static constexpr int kWeightBytes = 32;
  [[gnu::always_inline]] static inline __m256i load(const int8_t* w) { return _mm256_loadu_si256((const __m256i*)w); }
  [[gnu::always_inline]] static inline __m256i sum(__m256i acc, __m256i x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(x, w);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};
struct ExactDot {
  struct Words { __m256i even, odd; };
  static constexpr int kWeightBytes = 64;
  [[gnu::always_inline]] static inline Words load(const int8_t* w) {
    return {_mm256_loadu_si256((const __m256i*)w), _mm256_loadu_si256((const __m256i*)(w + 32))};
  }
  [[gnu::always_inline]] static inline __m256i sum(__m256i acc, __m256i x, const Words& w) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(255)), w.even);
    const __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), w.odd);
    return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
  }
};

constexpr ChannelwiseKernels make() {
  ChannelwiseKernels k = channelwise_kernels<LanesAvx2, BytesAvx2>();
  k.depthwise[0] = depthwise_kernel<LanesAvx2, BytesAvx2, FastDot, ExactDot, 32>(true);
  k.depthwise[1] = depthwise_kernel<LanesAvx2, BytesAvx2, FastDot, ExactDot, 16>(true);
  k.interleave3 = BytesAvx2::interleave3;
  return k;
}

}  // namespace

constinit const ChannelwiseKernels kChannelwiseAvx2 = make();

}  // namespace ingot::cpu
