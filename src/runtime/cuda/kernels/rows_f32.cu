// Softmax, norms, reductions, attention and pools of f32. Sums are in double, as reference code's; a block of 128 threads works on one
// row, one result, or one query.
#include "runtime/cuda/kernels/device.cuh"
#include "runtime/ops/reduce.h"

namespace ingot::cuda {
namespace {

constexpr int kRowThreads = 128;
constexpr double kInfinity = __builtin_huge_val();

enum class Fold { kSum, kMax, kMin, kProduct };
INGOT_DEVICE double join(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::kSum: return __dadd_rn(a, b);
    case Fold::kProduct: return __dmul_rn(a, b);
    case Fold::kMax: return a != a ? a : b != b ? b : a > b ? a : b;
    default: return a != a ? a : b != b ? b : a < b ? a : b;
  }
}
// The fold of one value per thread, given to all threads, in an order that is always the same.
INGOT_DEVICE double fold_block(Fold fold, double value) {
  __shared__ double parts[kRowThreads];
  __syncthreads();
  parts[threadIdx.x] = value;
  __syncthreads();
  for (int half = kRowThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] = join(fold, parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  return parts[0];
}

INGOT_DEVICE int64_t row_start(const RowsF32& p, int64_t row) { return row / p.stride * p.length * p.stride + row % p.stride; }

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(128) softmax_f32(const __grid_constant__ ingot::cuda::RowsF32 p) {
  using namespace ingot::cuda;
  const int64_t start = row_start(p, blockIdx.x);
  double top = -kInfinity;
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) top = join(Fold::kMax, top, p.x[start + i * p.stride]);
  const float most = static_cast<float>(fold_block(Fold::kMax, top));
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) {
    const float e = ingot::exact::exp<DeviceLane>(__fsub_rn(p.x[start + i * p.stride], most));
    sum = __dadd_rn(sum, e);
  }
  sum = fold_block(Fold::kSum, sum);
  const float total = static_cast<float>(sum), log_total = static_cast<float>(log(sum));
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) {
    const float t = __fsub_rn(p.x[start + i * p.stride], most);
    p.y[start + i * p.stride] = p.log ? __fsub_rn(t, log_total) : __fdiv_rn(ingot::exact::exp<DeviceLane>(t), total);
  }
}

extern "C" __global__ void __launch_bounds__(128) layer_norm_f32(const __grid_constant__ ingot::cuda::RowsF32 p) {
  using namespace ingot::cuda;
  const int64_t start = static_cast<int64_t>(blockIdx.x) * p.length;
  const double count = static_cast<double>(p.length);
  double sum = 0;
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) sum = __dadd_rn(sum, p.x[start + i]);
  const double mean = p.rms ? 0.0 : __ddiv_rn(fold_block(Fold::kSum, sum), count);
  double squares = 0;
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) {
    const double d = __dsub_rn(p.x[start + i], mean);
    squares = __fma_rn(d, d, squares);
  }
  const double inverse = __ddiv_rn(1.0, __dsqrt_rn(__dadd_rn(__ddiv_rn(fold_block(Fold::kSum, squares), count), p.epsilon)));
  for (int64_t i = threadIdx.x; i < p.length; i += kRowThreads) {
    const float t = static_cast<float>(__dmul_rn(__dsub_rn(p.x[start + i], mean), inverse));
    const float scaled = __fmul_rn(t, p.scale[i]);
    p.y[start + i] = p.bias ? __fadd_rn(scaled, p.bias[i]) : scaled;
  }
}

extern "C" __global__ void __launch_bounds__(128) reduce_f32(const __grid_constant__ ingot::cuda::ReduceF32 p) {
  using namespace ingot;
  using namespace ingot::cuda;
  int64_t base = 0, rest = blockIdx.x;
  for (int d = p.kept_rank - 1; d >= 0; --d) {
    base += rest % p.kept_dims[d] * p.kept_strides[d];
    rest /= p.kept_dims[d];
  }
  const auto function = static_cast<ReduceFunction>(p.function);
  const Fold fold = function == ReduceFunction::kMax ? Fold::kMax : function == ReduceFunction::kMin ? Fold::kMin
                  : function == ReduceFunction::kProd ? Fold::kProduct : Fold::kSum;
  double total = fold == Fold::kMax ? -kInfinity : fold == Fold::kMin ? kInfinity : fold == Fold::kProduct ? 1.0 : 0.0;
  for (int64_t i = threadIdx.x; i < p.set_size; i += kRowThreads) {
    int64_t left = i, at = base;
    for (int d = p.reduced_rank - 1; d >= 0; --d) {
      at += left % p.reduced_dims[d] * p.reduced_strides[d];
      left /= p.reduced_dims[d];
    }
    double x = p.x[at];
    if (function == ReduceFunction::kL1) x = fabs(x);
    if (function == ReduceFunction::kL2 || function == ReduceFunction::kSumSquare) x = __dmul_rn(x, x);
    total = join(fold, total, x);
  }
  total = fold_block(fold, total);
  if (threadIdx.x != 0) return;
  if (function == ReduceFunction::kMean) total = __ddiv_rn(total, static_cast<double>(p.set_size));
  if (function == ReduceFunction::kL2) total = __dsqrt_rn(total);
  if (function == ReduceFunction::kLogSum) total = log(total);
  p.y[blockIdx.x] = static_cast<float>(total);
}

// y = softmax(scale · q kᵀ + mask) v. Dynamic shared memory: one float for each key.
extern "C" __global__ void __launch_bounds__(128) attention_f32(const __grid_constant__ ingot::cuda::AttentionF32 p) {
  using namespace ingot::cuda;
  extern __shared__ float scores[];
  const int64_t row = blockIdx.x, head = row / p.queries, s = row - head * p.queries;
  const float* q = p.q + row * p.depth;
  const float* k = p.k + head * p.keys * p.depth;
  const float* v = p.v + head * p.keys * p.values;
  const int64_t b = head / p.heads, h = head - b * p.heads;
  const float* mask = p.mask ? p.mask + b * p.mask_strides[0] + h * p.mask_strides[1] + s * p.mask_strides[2] : nullptr;
  double top = -kInfinity;
  for (int32_t t = static_cast<int32_t>(threadIdx.x); t < p.keys; t += kRowThreads) {
    float dot = 0;
    for (int32_t d = 0; d < p.depth; ++d)
      dot = __fmaf_rn(q[d], p.k_transposed ? k[static_cast<int64_t>(d) * p.keys + t] : k[static_cast<int64_t>(t) * p.depth + d], dot);
    float score = __fmul_rn(dot, p.scale);
    if (mask) score = __fadd_rn(score, mask[t * p.mask_strides[3]]);
    scores[t] = score;
    top = join(Fold::kMax, top, score);
  }
  const float most = static_cast<float>(fold_block(Fold::kMax, top));
  double sum = 0;
  for (int32_t t = static_cast<int32_t>(threadIdx.x); t < p.keys; t += kRowThreads) {
    scores[t] = ingot::exact::exp<DeviceLane>(__fsub_rn(scores[t], most));
    sum = __dadd_rn(sum, scores[t]);
  }
  const float total = static_cast<float>(fold_block(Fold::kSum, sum));
  for (int32_t e = static_cast<int32_t>(threadIdx.x); e < p.values; e += kRowThreads) {
    float y = 0;
    for (int32_t t = 0; t < p.keys; ++t) y = __fmaf_rn(scores[t], v[static_cast<int64_t>(t) * p.values + e], y);
    p.y[row * p.values + e] = __fdiv_rn(y, total);
  }
}

extern "C" __global__ void __launch_bounds__(256, 4) pool_f32(const __grid_constant__ ingot::cuda::PoolF32 p) {
  using namespace ingot::cuda;
  const Image& image = p.image;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t pixels = static_cast<int64_t>(image.out_h) * image.out_w;
  if (at >= image.batch * pixels * p.channels) return;
  const int64_t group = at / (pixels * p.channels), inner = at - group * pixels * p.channels;
  const int64_t channel = p.channels_last ? inner % p.channels : inner / pixels;
  const int64_t pixel = p.channels_last ? inner / p.channels : inner % pixels;
  const int32_t out_y = static_cast<int32_t>(pixel / image.out_w), out_x = static_cast<int32_t>(pixel % image.out_w);
  const int32_t top = out_y * image.stride_h - image.pad_h, left = out_x * image.stride_w - image.pad_w;
  double total = p.is_max ? -kInfinity : 0.0;
  int64_t count = 0;
  for (int32_t ky = 0; ky < image.kernel_h; ++ky) {
    const int32_t y = top + ky * image.dilation_h;
    for (int32_t kx = 0; kx < image.kernel_w; ++kx) {
      const int32_t x = left + kx * image.dilation_w;
      const bool inside = static_cast<uint32_t>(y) < static_cast<uint32_t>(image.in_h) && static_cast<uint32_t>(x) < static_cast<uint32_t>(image.in_w);
      count += inside || (p.count_padding && y < image.in_h + p.pad_end_h && x < image.in_w + p.pad_end_w);
      if (!inside) continue;
      const int64_t place = static_cast<int64_t>(y) * image.in_w + x, plane = static_cast<int64_t>(image.in_h) * image.in_w;
      const float value = p.x[p.channels_last ? (group * plane + place) * p.channels + channel : (group * p.channels + channel) * plane + place];
      total = join(p.is_max ? Fold::kMax : Fold::kSum, total, value);
    }
  }
  p.y[at] = static_cast<float>(p.is_max ? total : count == 0 ? 0.0 : __ddiv_rn(total, static_cast<double>(count)));
}
