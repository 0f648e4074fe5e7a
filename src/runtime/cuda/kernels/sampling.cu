// GridSample and RoiAlign, in the order and precision of their reference code. One thread for each result.
#include "runtime/cuda/kernels/device.cuh"
#include "runtime/cuda/sampling_params.h"
#include "runtime/ops/sampling.h"

namespace ingot::cuda {
namespace {

INGOT_DEVICE double clamped(double x, double low, double high) { return x < low ? low : high < x ? high : x; }
// Mirrors v into [low, high] as often as it takes.
INGOT_DEVICE double reflect(double v, double low, double high) {
  const double range = high - low;
  if (!(range > 0) || !isfinite(v)) return low;
  const double away = fabs(v < low ? low - v : v - low), turn = fmod(away, 2 * range);
  return turn <= range ? low + turn : high - (turn - range);
}
// A whole coordinate as a pixel; −1: outside, reads 0.
INGOT_DEVICE int64_t pixel_of(double at, int64_t size, GridSamplePadding padding, bool align_corners) {
  const auto last = static_cast<double>(size - 1);
  if (at >= 0 && at <= last) return static_cast<int64_t>(at);
  if (padding == GridSamplePadding::kBorder) return at > 0 ? size - 1 : 0;
  if (padding != GridSamplePadding::kReflection) return -1;
  return static_cast<int64_t>(clamped(align_corners ? reflect(at, 0, last) : reflect(at, -0.5, last + 0.5), 0.0, last));
}

// One dim of a place: the pixels it reads and their weights.
template <int kTaps>
struct Taps {
  int64_t place[kTaps];
  double weight[kTaps];

  INGOT_DEVICE void set(float g, int64_t size, GridSamplePadding padding, bool align_corners) {
    const auto length = static_cast<float>(size);
    float coordinate = align_corners ? __fmul_rn(__fdiv_rn(__fadd_rn(g, 1.0f), 2.0f), __fsub_rn(length, 1.0f))
                                     : __fdiv_rn(__fsub_rn(__fmul_rn(__fadd_rn(g, 1.0f), length), 1.0f), 2.0f);
    if (coordinate != coordinate) coordinate = -1;
    double at = clamped(coordinate, -0x1p40, 0x1p40);
    const double last = static_cast<double>(size - 1), low = align_corners ? 0 : -0.5, high = align_corners ? last : last + 0.5;
    if (kTaps == 1) at = rint(at);
    if (at < low || at > high) {
      if (padding == GridSamplePadding::kBorder && kTaps != 4) at = clamped(at, 0.0, last);
      if (padding == GridSamplePadding::kReflection) at = reflect(at, low, high);
    }
    const double base = kTaps == 1 ? rint(at) : floor(at), t = at - base;
    if constexpr (kTaps == 1) {
      weight[0] = 1;
    } else if constexpr (kTaps == 2) {
      weight[0] = 1 - t;
      weight[1] = t;
    } else {
      constexpr double a = -0.75;
      const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
      const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
      weight[0] = far(t + 1);
      weight[1] = near(t);
      weight[2] = near(1 - t);
      weight[3] = far(2 - t);
    }
#pragma unroll
    for (int k = 0; k < kTaps; ++k) place[k] = pixel_of(base + k - (kTaps == 4 ? 1 : 0), size, padding, align_corners);
  }
};

// kDepth: taps along the first of three dims; 1 for pictures, whose only plane is 0.
template <int kDepth, int kTaps, bool kVolume>
INGOT_DEVICE void grid_sample(const GridSampleF32& p) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread >= p.elements) return;
  const int64_t n = thread / (p.places * p.channels), inside = thread - n * p.places * p.channels;
  const int64_t place = p.y_channels_last ? inside / p.channels : inside % p.places, channel = p.y_channels_last ? inside % p.channels : inside / p.places;
  const auto padding = static_cast<GridSamplePadding>(p.padding);
  const float* grid = p.grid + (n * p.places + place) * p.dims;  // names the last dim first
  Taps<kDepth> depth;
  Taps<kTaps> height, width;
  width.set(grid[0], p.size[2], padding, p.align_corners);
  height.set(grid[1], p.size[1], padding, p.align_corners);
  if constexpr (kVolume) {
    depth.set(grid[2], p.size[0], padding, p.align_corners);
  } else {
    depth.place[0] = 0;
    depth.weight[0] = 1;
  }
  const float* x = p.x + n * p.x_image + channel * p.x_channel;
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kDepth; ++i)
#pragma unroll
    for (int j = 0; j < kTaps; ++j)
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        if (depth.place[i] < 0 || height.place[j] < 0 || width.place[k] < 0) continue;
        const double value = x[((depth.place[i] * p.size[1] + height.place[j]) * p.size[2] + width.place[k]) * p.x_pixel];
        sum = __dadd_rn(sum, __dmul_rn(__dmul_rn(__dmul_rn(depth.weight[i], height.weight[j]), width.weight[k]), value));
      }
  p.y[thread] = static_cast<float>(sum);
}

// A box along one direction: where its cells start, their size, and how many samples each has.
struct Side {
  double start, cell;
  int64_t samples;
  INGOT_DEVICE Side(const RoiAlignF32& p, double low, double high, int32_t cells) {
    const double shift = p.half_pixel ? 0.5 : 0;
    start = low * p.spatial_scale - shift;
    double length = high * p.spatial_scale - shift - start;
    if (!p.half_pixel && length < 1.0) length = 1.0;
    cell = length / static_cast<double>(cells);
    const double each = ceil(cell);
    samples = p.sampling_ratio > 0 ? p.sampling_ratio : each > 0 ? static_cast<int64_t>(each < 0x1p24 ? each : 0x1p24) : 0;
  }
  INGOT_DEVICE double at(int64_t index, int64_t sample) const {
    return start + static_cast<double>(index) * cell + (static_cast<double>(sample) + 0.5) * cell / static_cast<double>(samples);
  }
};
struct Between {
  int64_t low, high;
  double fraction;
  INGOT_DEVICE Between(double at, int64_t size) {
    at = at < 0.0 ? 0.0 : at;
    low = static_cast<int64_t>(at);
    fraction = at - static_cast<double>(low);
    high = low + 1;
    if (low >= size - 1) low = high = size - 1, fraction = 0;
  }
};

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) grid_sample_nearest(const __grid_constant__ ingot::cuda::GridSampleF32 p) {
  if (p.dims == 3) ingot::cuda::grid_sample<1, 1, true>(p);
  else ingot::cuda::grid_sample<1, 1, false>(p);
}
extern "C" __global__ void __launch_bounds__(256) grid_sample_linear(const __grid_constant__ ingot::cuda::GridSampleF32 p) { ingot::cuda::grid_sample<1, 2, false>(p); }
extern "C" __global__ void __launch_bounds__(256) grid_sample_volume(const __grid_constant__ ingot::cuda::GridSampleF32 p) { ingot::cuda::grid_sample<2, 2, true>(p); }
extern "C" __global__ void __launch_bounds__(256) grid_sample_cubic(const __grid_constant__ ingot::cuda::GridSampleF32 p) { ingot::cuda::grid_sample<1, 4, false>(p); }

extern "C" __global__ void __launch_bounds__(256) roi_align_f32(const __grid_constant__ ingot::cuda::RoiAlignF32 p) {
  using namespace ingot::cuda;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread >= p.elements) return;
  const int64_t cells = static_cast<int64_t>(p.cells_high) * p.cells_wide, r = thread / (cells * p.channels), inside = thread - r * cells * p.channels;
  const int64_t cell = p.y_channels_last ? inside / p.channels : inside % cells, channel = p.y_channels_last ? inside % p.channels : inside / cells;
  const int64_t batch = p.wide_indices ? static_cast<const int64_t*>(p.batches)[r] : static_cast<const int32_t*>(p.batches)[r];
  if (batch < 0 || batch >= p.batch) {
    p.y[thread] = 0;
    return;
  }
  const float *box = p.boxes + r * 4, *x = p.x + batch * p.x_image + channel * p.x_channel;
  const Side down(p, box[1], box[3], p.cells_high), right(p, box[0], box[2], p.cells_wide);
  const int64_t rows = right.samples > 0 ? down.samples : 0;
  double sum = 0, best = 0;
  bool first = true;
#pragma unroll 1
  for (int64_t i = 0; i < rows; ++i)
#pragma unroll 1
    for (int64_t j = 0; j < right.samples; ++j) {
      const double at_y = down.at(cell / p.cells_wide, i), at_x = right.at(cell % p.cells_wide, j);
      const bool has = at_y >= -1 && at_y <= static_cast<double>(p.height) && at_x >= -1 && at_x <= static_cast<double>(p.width);
      const Between v(has ? at_y : 0.0, p.height), h(has ? at_x : 0.0, p.width);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int64_t row = k < 2 ? v.low : v.high, column = k % 2 == 0 ? h.low : h.high;
        const double weight = has ? (k < 2 ? 1 - v.fraction : v.fraction) * (k % 2 == 0 ? 1 - h.fraction : h.fraction) : 0.0;
        const double value = weight * static_cast<double>(x[(has ? row * p.width + column : 0) * p.x_pixel]);
        sum += value;
        best = first ? value : best < value ? value : best;
        first = false;
      }
    }
  const int64_t count = rows * right.samples;
  p.y[thread] = static_cast<float>(p.max ? best : sum / static_cast<double>(count > 1 ? count : 1));
}
