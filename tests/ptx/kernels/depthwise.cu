// Depthwise 3 x 3 convolution of u8 by s8 with zero point, padding 1: a block takes 4 channels x 8 x 8 places; its input with a border of one
// goes through shared memory, four channels a word. kBug plants a fault.
#include "device.cuh"

constexpr int kTile = 8, kEdge = kTile + 2;

// Input and output are [height, width, channels], channels a multiple of 4; weights [9, channels] as s8.
template <int kBug>
DEV void depthwise(const unsigned char* in, const signed char* weights, int* out, int height, int width, int channels, int zero) {
  __shared__ unsigned tile[kEdge * (kBug == 6 ? kEdge - 1 : kEdge)];
  const int pitch = kEdge, y0 = blockIdx.y * kTile, x0 = blockIdx.x * kTile, c0 = blockIdx.z * 4, tid = threadIdx.x;
  const unsigned zeros = 0x01010101u * static_cast<unsigned>(kBug == 1 ? 0 : zero);
  for (int k = tid; k < kEdge * kEdge; k += 64) {
    const int y = y0 + k / kEdge - 1, x = x0 + k % kEdge - 1;
    bool inside = y >= 0 && y < height && x >= 0 && x < width;
    if (kBug == 2) inside = y >= -1 && y < height && x >= 0 && x < width;
    if (kBug == 7) inside = y >= 0 && y <= height && x >= 0 && x < width;
    if (kBug == 9 && k % kEdge == kEdge - 1) continue;
    const size_t at = (static_cast<size_t>(y) * width + x) * channels + c0 + (kBug == 5 ? 2 : 0);
    tile[k] = inside ? *reinterpret_cast<const unsigned*>(in + at) : zeros;
    if (kBug == 12) break;
  }
  if (kBug != 3) __syncthreads();
  const int ty = tid / kTile, tx = tid % kTile, y = y0 + ty, x = x0 + tx;
  if (kBug != 4 && (y >= height || x >= width)) return;
  int sums[4] = {};
  for (int dy = 0; dy < 3; ++dy) {
    for (int dx = 0; dx < 3; ++dx) {
      const unsigned word = tile[(ty + dy) * pitch + tx + dx];
      const unsigned w = *reinterpret_cast<const unsigned*>(weights + (dy * 3 + dx) * channels + c0);
      for (int c = 0; c < 4; ++c) {
        const int value = kBug == 8 ? static_cast<signed char>(word >> 8 * c) : static_cast<int>(word >> 8 * c & 255);
        sums[c] += (value - zero) * static_cast<signed char>(w >> 8 * c);
      }
    }
  }
  int4 result = make_int4(sums[0], sums[1], sums[2], sums[3]);
  *reinterpret_cast<int4*>(out + (static_cast<size_t>(y) * (kBug == 10 ? height : width) + x) * channels + c0 + (kBug == 11 ? 1 : 0)) = result;
}

#define VARIANT(bug)                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(64) depthwise_##bug(const unsigned char* in, const signed char* weights, int* out, int height, int width, \
                                                                   int channels, int zero) {                                                    \
    depthwise<bug>(in, weights, out, height, width, channels, zero);                                                                            \
  }
VARIANT(0) VARIANT(1) VARIANT(2) VARIANT(3) VARIANT(4) VARIANT(5) VARIANT(6) VARIANT(7) VARIANT(8) VARIANT(9) VARIANT(10) VARIANT(11) VARIANT(12)
