// Norms of f32 along channels, and softmax over lines that lie side by side. Statistics are double, summed in an order that is always the
// same: over channels-last tensors lanes go along channels, so that a warp reads neighbours.
#include "runtime/cuda/kernels/walk.cuh"
#include "runtime/cuda/normalize_params.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;

// The sum over all threads of a block whose lanes belong to one group; given to all.
INGOT_DEVICE double sum_of_block(double value) {
  __shared__ double warps[kThreads / 32];
#pragma unroll
  for (int other = 16; other > 0; other /= 2) value = __dadd_rn(value, __shfl_xor_sync(0xffffffffu, value, other));
  __syncthreads();
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum = __dadd_rn(sum, warps[i]);
  return sum;
}
// The sum over the channels of this lane's group and all warps: lane l has channel l of the block.
INGOT_DEVICE double sum_of_lanes(double value, int lane, int group) {
  __shared__ double parts[kThreads / 32][32];
  __syncthreads();
  parts[threadIdx.x >> 5][lane] = value;
  __syncthreads();
  double sum = 0;
  const int first = lane / group * group;
#pragma unroll 1
  for (int channel = first; channel < first + group; ++channel)
#pragma unroll
    for (int i = 0; i < kThreads / 32; ++i) sum = __dadd_rn(sum, parts[i][channel & 31]);
  return sum;
}

}  // namespace
}  // namespace ingot::cuda

// A block has one group, its elements spread over all threads.
extern "C" __global__ void __launch_bounds__(256) group_norm_f32(const __grid_constant__ ingot::cuda::GroupNormF32 p) {
  using namespace ingot::cuda;
  const int64_t n = blockIdx.x / p.units;
  const int32_t unit = static_cast<int32_t>(blockIdx.x % p.units), channel = unit * p.group;
  const int64_t count = p.pixels * p.group;
  const int64_t start = n * p.pixels * p.channels + (p.channels_last ? channel : channel * p.pixels);
  // Element i of a group: where it lies, and its channel.
  const bool is_small = count <= INT32_MAX;
  const auto place_of = [&](int64_t i) {
    if (!p.channels_last) return start + i;
    const int64_t pixel = quotient(is_small, i, p.group);
    return start + pixel * p.channels + i - pixel * p.group;
  };
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) sum = __dadd_rn(sum, p.x[place_of(i)]);
  const double elements = static_cast<double>(count), mean = __ddiv_rn(sum_of_block(sum), elements);
  double squares = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const double d = __dsub_rn(p.x[place_of(i)], mean);
    squares = __fma_rn(d, d, squares);
  }
  const double inverse = __ddiv_rn(1.0, __dsqrt_rn(__dadd_rn(__ddiv_rn(sum_of_block(squares), elements), p.epsilon)));
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int64_t at = place_of(i), c = p.channels_last ? (at - start) % p.channels + channel : channel + (p.group == 1 ? 0 : quotient(is_small, i, p.pixels));
    p.y[at] = static_cast<float>(__fma_rn(__dmul_rn(__dsub_rn(p.x[at], mean), inverse), static_cast<double>(p.scale[c]), static_cast<double>(p.bias[c])));
  }
}

// Channels-last, small groups: a block has as many as fit 32 channels, a lane one channel, a warp every eighth pixel.
extern "C" __global__ void __launch_bounds__(256) group_norm_f32_lanes(const __grid_constant__ ingot::cuda::GroupNormF32 p) {
  using namespace ingot::cuda;
  const int64_t n = blockIdx.x / p.units;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int32_t width = p.together * p.group, channel = static_cast<int32_t>(blockIdx.x % p.units) * width + lane;
  const bool has = lane < width && channel < p.channels;
  const int64_t start = n * p.pixels * p.channels + channel;
  double sum = 0;
  for (int64_t i = threadIdx.x >> 5; has && i < p.pixels; i += kThreads / 32) sum = __dadd_rn(sum, p.x[start + i * p.channels]);
  const double elements = static_cast<double>(p.pixels * p.group), mean = __ddiv_rn(sum_of_lanes(sum, lane, p.group), elements);
  double squares = 0;
  for (int64_t i = threadIdx.x >> 5; has && i < p.pixels; i += kThreads / 32) {
    const double d = __dsub_rn(p.x[start + i * p.channels], mean);
    squares = __fma_rn(d, d, squares);
  }
  const double inverse = __ddiv_rn(1.0, __dsqrt_rn(__dadd_rn(__ddiv_rn(sum_of_lanes(squares, lane, p.group), elements), p.epsilon)));
  if (!has) return;
  const double scale = p.scale[channel], bias = p.bias[channel];
  for (int64_t i = threadIdx.x >> 5; i < p.pixels; i += kThreads / 32) {
    const int64_t at = start + i * p.channels;
    p.y[at] = static_cast<float>(__fma_rn(__dmul_rn(__dsub_rn(p.x[at], mean), inverse), scale, bias));
  }
}

extern "C" __global__ void __launch_bounds__(256) batch_norm_f32(const __grid_constant__ ingot::cuda::BatchNormF32 p) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int64_t c = p.channels_last ? at % p.channels : at / p.pixels % p.channels;
  const double factor = __ddiv_rn(static_cast<double>(p.scale[c]), __dsqrt_rn(__dadd_rn(static_cast<double>(p.variance[c]), p.epsilon)));
  p.y[at] = static_cast<float>(__fma_rn(__dsub_rn(static_cast<double>(p.x[at]), static_cast<double>(p.mean[c])), factor, static_cast<double>(p.shift[c])));
}

// Rows that are not long, a warp each.
extern "C" __global__ void __launch_bounds__(256) softmax_f32_warps(const __grid_constant__ ingot::cuda::LinesF32 p) {
  using namespace ingot::cuda;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + (threadIdx.x >> 5);
  if (row >= p.lines) return;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const float* x = p.x + row * p.length;
  float most = -INFINITY;
  for (int64_t i = lane; i < p.length; i += 32) most = DeviceLane::max(most, x[i]);
#pragma unroll
  for (int other = 16; other > 0; other /= 2) most = DeviceLane::max(most, __shfl_xor_sync(0xffffffffu, most, other));
  double sum = 0;
  for (int64_t i = lane; i < p.length; i += 32) sum = __dadd_rn(sum, ingot::exact::exp<DeviceLane>(__fsub_rn(x[i], most)));
#pragma unroll
  for (int other = 16; other > 0; other /= 2) sum = __dadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, other));
  const float total = static_cast<float>(sum), log_total = p.log ? static_cast<float>(log(sum)) : 0.0f;
  for (int64_t i = lane; i < p.length; i += 32) {
    const float t = __fsub_rn(x[i], most);
    p.y[row * p.length + i] = p.log ? __fsub_rn(t, log_total) : __fdiv_rn(ingot::exact::exp<DeviceLane>(t), total);
  }
}

extern "C" __global__ void __launch_bounds__(256) softmax_f32_lines(const __grid_constant__ ingot::cuda::LinesF32 p) {
  using namespace ingot::cuda;
  const int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= p.lines) return;
  const int64_t start = line / p.stride * p.length * p.stride + line % p.stride;
  float most = -INFINITY;
  for (int64_t i = 0; i < p.length; ++i) most = DeviceLane::max(most, p.x[start + i * p.stride]);
  double sum = 0;
  for (int64_t i = 0; i < p.length; ++i) sum = __dadd_rn(sum, ingot::exact::exp<DeviceLane>(__fsub_rn(p.x[start + i * p.stride], most)));
  const float total = static_cast<float>(sum), log_total = p.log ? static_cast<float>(log(sum)) : 0.0f;
  for (int64_t i = 0; i < p.length; ++i) {
    const int64_t at = start + i * p.stride;
    const float t = __fsub_rn(p.x[at], most);
    p.y[at] = p.log ? __fsub_rn(t, log_total) : __fdiv_rn(ingot::exact::exp<DeviceLane>(t), total);
  }
}
