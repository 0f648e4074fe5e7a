// Kernels that touch each element once: quantise and dequantise (with a change of layout), a function by table, sums of two, and
// changes of layout alone.
#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

INGOT_DEVICE int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

// Element `at` of one layout → its place in the other. channels_last: [n][pixel][channel], else [n][channel][pixel].
struct Place {
  int64_t n, pixel;
  int32_t channel;
};
INGOT_DEVICE Place place_of(int64_t at, int64_t pixels, int32_t channels, bool channels_last) {
  Place place;
  if (channels_last) {
    const int64_t row = at / channels;
    place.channel = static_cast<int32_t>(at - row * channels);
    place.n = row / pixels;
    place.pixel = row - place.n * pixels;
  } else {
    const int64_t row = at / pixels;
    place.pixel = at - row * pixels;
    place.n = row / channels;
    place.channel = static_cast<int32_t>(row - place.n * channels);
  }
  return place;
}
INGOT_DEVICE int64_t index_of(const Place& place, int64_t pixels, int32_t channels, bool channels_last) {
  return channels_last ? (place.n * pixels + place.pixel) * channels + place.channel
                       : (place.n * channels + place.channel) * pixels + place.pixel;
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) quantize_f32(const __grid_constant__ ingot::cuda::QuantizeParams p) {
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  const Place place = place_of(at, p.pixels, p.channels, p.y_channels_last);
  const int64_t from = p.x_channels_last == p.y_channels_last ? at : index_of(place, p.pixels, p.channels, p.x_channels_last);
  const int32_t c = p.per_channel ? place.channel : 0, zero = p.zeros[c], lowest = p.is_signed ? -128 : 0;
  const float low = static_cast<float>(lowest - zero), high = static_cast<float>(lowest + 255 - zero);
  p.y[at] = static_cast<uint8_t>(round_to_byte(__fdiv_rn(p.x[from], p.scales[c]), low, high, zero));
}

extern "C" __global__ void __launch_bounds__(256) dequantize_f32(const __grid_constant__ ingot::cuda::DequantizeParams p) {
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  int64_t from = at;
  if (p.x_channels_last != p.y_channels_last)
    from = index_of(place_of(at, p.pixels, p.channels, p.y_channels_last), p.pixels, p.channels, p.x_channels_last);
  p.y[at] = __fmul_rn(p.scale, static_cast<float>(widen(p.x[from], p.is_signed) - p.zero));
}

extern "C" __global__ void __launch_bounds__(256) table_s8(const __grid_constant__ ingot::cuda::TableParams p) {
  const int64_t at = ingot::cuda::thread_index();
  if (at < p.elements) p.y[at] = p.table[p.x[at]];
}

extern "C" __global__ void __launch_bounds__(256) add_s8(const __grid_constant__ ingot::cuda::AddParams p) {
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  const float a = static_cast<float>(widen(p.a[at], p.a_signed) - p.a_zero), b = static_cast<float>(widen(p.b[at], p.b_signed) - p.b_zero);
  p.y[at] = static_cast<uint8_t>(round_to_byte(__fmaf_rn(a, p.a_multiplier, __fmul_rn(b, p.b_multiplier)), p.low, p.high, p.zero));
}

namespace ingot::cuda {
namespace {

// A matrix turned tile by tile through shared memory, so that both sides see whole lines. 32 × 8 threads.
template <class T>
INGOT_DEVICE void turn(const ReformatParams& p) {
  __shared__ T tile[32][33];
  const int64_t tiles_x = (p.columns + 31) / 32, tiles_y = (p.rows + 31) / 32;
  const int64_t block = blockIdx.x, n = block / (tiles_x * tiles_y), rest = block - n * tiles_x * tiles_y;
  const int64_t row = rest / tiles_x * 32, column = rest % tiles_x * 32;
  const T* x = static_cast<const T*>(p.x) + n * p.rows * p.columns;
  T* y = static_cast<T*>(p.y) + n * p.rows * p.columns;
  for (int i = static_cast<int>(threadIdx.y); i < 32; i += 8)
    if (row + i < p.rows && column + threadIdx.x < p.columns) tile[i][threadIdx.x] = x[(row + i) * p.columns + column + threadIdx.x];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.y); i < 32; i += 8)
    if (column + i < p.columns && row + threadIdx.x < p.rows) y[(column + i) * p.rows + row + threadIdx.x] = tile[threadIdx.x][i];
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) turn_bytes(const __grid_constant__ ingot::cuda::ReformatParams p) {
  ingot::cuda::turn<uint8_t>(p);
}
extern "C" __global__ void __launch_bounds__(256) turn_words(const __grid_constant__ ingot::cuda::ReformatParams p) {
  ingot::cuda::turn<uint32_t>(p);
}
