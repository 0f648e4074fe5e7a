// The best of a line, its k best, and running sums. Elements of all types are compared by one key: a 64-bit integer that orders them as the
// op wants them, best last. Where lines lie side by side a thread takes a line each, else a warp or a block takes one.
#include "runtime/cuda/along_axis_params.h"
#include "runtime/cuda/kernels/device.cuh"
#include "runtime/ops/op.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kNaN = INT64_MAX;

// Ascending with the element's value; equals have the same key, NaN has kNaN.
INGOT_DEVICE int64_t rising_key(const void* x, int64_t at, int32_t type) {
  switch (static_cast<DataType>(type)) {
    case DataType::kF32: {
      const float value = static_cast<const float*>(x)[at];
      if (value != value) return kNaN;
      const int32_t bits = __float_as_int(value);
      return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : bits;
    }
    case DataType::kS32: return static_cast<const int32_t*>(x)[at];
    case DataType::kS64: return static_cast<const int64_t*>(x)[at];
    case DataType::kS8: return static_cast<const int8_t*>(x)[at];
    default: return static_cast<const uint8_t*>(x)[at];
  }
}
INGOT_DEVICE int64_t line_start(int64_t line, int64_t length, int64_t stride) { return line / stride * length * stride + line % stride; }

struct Best {
  int64_t key, place;
};
// The better of two by key; of equals the first, or the last.
INGOT_DEVICE Best better(Best a, Best b, bool last) {
  if (a.place < 0) return b;
  if (b.place < 0 || a.key != b.key) return b.place < 0 || a.key > b.key ? a : b;
  return (a.place < b.place) != last ? a : b;
}
template <int kWarps>
INGOT_DEVICE Best best_of_all(Best mine, bool last) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    const Best theirs{__shfl_xor_sync(0xffffffffu, mine.key, other), __shfl_xor_sync(0xffffffffu, mine.place, other)};
    mine = better(mine, theirs, last);
  }
  if constexpr (kWarps > 1) {
    __shared__ Best warps[kWarps];
    __syncthreads();
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = mine;
    __syncthreads();
    mine = warps[0];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) mine = better(mine, warps[i], last);
  }
  return mine;
}

INGOT_DEVICE int64_t arg_key(const ArgReduceParams& p, int64_t at) {
  const int64_t key = rising_key(p.x, at, p.type);
  return p.largest || (key == kNaN && p.type == static_cast<int32_t>(DataType::kF32)) ? key : ~key;  // NaN is best both ways
}

// A line for every kWarps warps: k times the best of what comes behind the one before.
template <int kWarps>
INGOT_DEVICE void top_k(const TopKParams& p) {
  constexpr int kTogether = 8 / kWarps, kThreads = 32 * kWarps;  // lines of a block of 256
  const int64_t line = static_cast<int64_t>(blockIdx.x) * kTogether + (kWarps > 1 ? 0 : threadIdx.x >> 5);
  if (line >= p.lines) return;
  const int lane = static_cast<int>(threadIdx.x) % kThreads;
  const int64_t start = line_start(line, p.length, p.stride), to = line_start(line, p.k, p.stride);
  Best before{0, -1};
#pragma unroll 1
  for (int64_t k = 0; k < p.k; ++k) {
    Best mine{0, -1};
#pragma unroll 1
    for (int64_t i = lane; i < p.length; i += kThreads) {
      const int64_t rising = rising_key(p.x, start + i * p.stride, p.type), key = p.largest ? rising : ~rising;
      const bool behind = before.place < 0 || key < before.key || (key == before.key && i > before.place);
      if (behind) mine = better(mine, Best{key, i}, false);
    }
    before = best_of_all<kWarps>(mine, false);
    if (lane != 0) continue;
    const int64_t from = start + before.place * p.stride, at = to + k * p.stride;
    p.places[at] = before.place;
    switch (p.element_bytes) {
      case 1: static_cast<uint8_t*>(p.y)[at] = static_cast<const uint8_t*>(p.x)[from]; break;
      case 4: static_cast<uint32_t*>(p.y)[at] = static_cast<const uint32_t*>(p.x)[from]; break;
      default: static_cast<uint64_t*>(p.y)[at] = static_cast<const uint64_t*>(p.x)[from]; break;
    }
  }
}

// Floats run on in double and are rounded at each place, integers wrap.
template <class T, class Sum>
struct Running {
  const CumulateParams& p;
  Sum sum;
  INGOT_DEVICE explicit Running(const CumulateParams& params) : p(params), sum(static_cast<Sum>(params.product ? 1 : 0)) {}
  INGOT_DEVICE Sum load(int64_t at) const { return static_cast<Sum>(static_cast<const T*>(p.x)[at]); }
  INGOT_DEVICE void store(int64_t at, Sum value) const { static_cast<T*>(p.y)[at] = static_cast<T>(value); }
  // Takes the next element; gives what stands at its place.
  INGOT_DEVICE Sum next(Sum x) {
    const Sum before = sum;
    sum = p.product ? sum * x : sum + x;
    return p.exclusive ? before : sum;
  }
};
template <class T, class Sum>
INGOT_DEVICE void cumulate(const CumulateParams& p) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  Running<T, Sum> running(p);
  if (p.stride > 1) {
    if (thread >= p.lines) return;
    const int64_t start = line_start(thread, p.length, p.stride);
#pragma unroll 1
    for (int64_t i = 0; i < p.length; ++i) {
      const int64_t at = start + (p.reverse ? p.length - 1 - i : i) * p.stride;
      running.store(at, running.next(running.load(at)));
    }
    return;
  }
  // A warp takes 32 neighbours at a time; every lane adds them up in order and keeps what stands at its own place.
  const int64_t line = thread / 32, lane = thread % 32;
  if (line >= p.lines) return;
#pragma unroll 1
  for (int64_t first = 0; first < p.length; first += 32) {
    const int64_t i = first + lane, at = line * p.length + (p.reverse ? p.length - 1 - i : i);
    const Sum mine = i < p.length ? running.load(at) : Sum{0};
    Sum kept{0};
#pragma unroll 1
    for (int other = 0; other < 32 && first + other < p.length; ++other) {
      const Sum value = running.next(__shfl_sync(0xffffffffu, mine, other));
      if (other == lane) kept = value;
    }
    if (i < p.length) running.store(at, kept);
  }
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) arg_reduce_lines(const __grid_constant__ ingot::cuda::ArgReduceParams p) {
  using namespace ingot::cuda;
  const int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= p.lines) return;
  const int64_t start = line_start(line, p.length, p.stride);
  Best best{0, -1};
#pragma unroll 1
  for (int64_t i = 0; i < p.length; ++i) best = better(best, Best{arg_key(p, start + i * p.stride), i}, p.last);
  p.y[line] = best.place;
}
extern "C" __global__ void __launch_bounds__(256) arg_reduce_rows(const __grid_constant__ ingot::cuda::ArgReduceParams p) {
  using namespace ingot::cuda;
  const int64_t start = blockIdx.x * p.length;
  Best best{0, -1};
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < p.length; i += 256) best = better(best, Best{arg_key(p, start + i), i}, p.last);
  best = best_of_all<8>(best, p.last);
  if (threadIdx.x == 0) p.y[blockIdx.x] = best.place;
}

extern "C" __global__ void __launch_bounds__(256) top_k_warps(const __grid_constant__ ingot::cuda::TopKParams p) { ingot::cuda::top_k<1>(p); }
extern "C" __global__ void __launch_bounds__(256) top_k_blocks(const __grid_constant__ ingot::cuda::TopKParams p) { ingot::cuda::top_k<8>(p); }

extern "C" __global__ void __launch_bounds__(256) cumulate_any(const __grid_constant__ ingot::cuda::CumulateParams p) {
  using namespace ingot;
  switch (static_cast<DataType>(p.type)) {
    case DataType::kF32: return cuda::cumulate<float, double>(p);
    case DataType::kS32: return cuda::cumulate<int32_t, unsigned long long>(p);
    default: return cuda::cumulate<int64_t, unsigned long long>(p);
  }
}
