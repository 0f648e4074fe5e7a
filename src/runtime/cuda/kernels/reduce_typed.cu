// Reductions of f32, whole numbers and quantised bytes: a block has 32 results that lie side by side, a lane each, and its eight warps
// share each set, so that lanes read neighbours where kept dims are the dense ones. Floats add up in double, whole numbers wrap.
#include "runtime/cuda/kernels/walk.cuh"
#include "runtime/cuda/reduce_params.h"
#include "runtime/ops/op.h"

namespace ingot::cuda {
namespace {

constexpr int kParts = 8;

// How to take one element in, and to join two totals.
enum class Step { kSum, kMax, kMin, kProduct };
INGOT_DEVICE double join(Step step, double a, double b) {
  switch (step) {
    case Step::kSum: return __dadd_rn(a, b);
    case Step::kProduct: return __dmul_rn(a, b);
    case Step::kMax: return a != a ? a : b != b ? b : a > b ? a : b;
    default: return a != a ? a : b != b ? b : a < b ? a : b;
  }
}
INGOT_DEVICE int64_t join(Step step, int64_t a, int64_t b) {
  switch (step) {
    case Step::kSum: return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case Step::kProduct: return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Step::kMax: return a > b ? a : b;
    default: return a < b ? a : b;
  }
}
INGOT_DEVICE Step step_of(ReduceFunction function) {
  return function == ReduceFunction::kMax ? Step::kMax : function == ReduceFunction::kMin ? Step::kMin : function == ReduceFunction::kProd ? Step::kProduct : Step::kSum;
}

INGOT_DEVICE void load(const ReduceTyped& p, int64_t at, double& x) { x = static_cast<const float*>(p.x)[at]; }
INGOT_DEVICE void load(const ReduceTyped& p, int64_t at, int64_t& x) {
  switch (static_cast<DataType>(p.type)) {
    case DataType::kS32: x = static_cast<const int32_t*>(p.x)[at]; return;
    case DataType::kS64: x = static_cast<const int64_t*>(p.x)[at]; return;
    default: x = widen(static_cast<const uint8_t*>(p.x)[at], static_cast<DataType>(p.type) == DataType::kS8) - p.x_zero; return;
  }
}

// The fold of this lane's set; given to all warps. `change` is what becomes of an element first.
template <class Wide, class Change>
INGOT_DEVICE Wide fold_set(const ReduceTyped& p, int64_t base, bool has, Step step, Wide start, Change&& change) {
  __shared__ Wide parts[kParts][32];
  const int lane = static_cast<int>(threadIdx.x) & 31, part = static_cast<int>(threadIdx.x) >> 5;
  Wide total = start;
#pragma unroll 1
  for (int64_t i = part; has && i < p.set_size; i += kParts) {
    int64_t rest = i, at = base;
#pragma unroll 1
    for (int d = p.reduced_rank - 1; d >= 0; --d) {
      const int64_t next = rest / p.reduced_dims[d];
      at += (rest - next * p.reduced_dims[d]) * p.reduced_strides[d];
      rest = next;
    }
    Wide x;
    load(p, at, x);
    total = join(step, total, change(x));
  }
  __syncthreads();
  parts[part][lane] = total;
  __syncthreads();
  total = parts[0][lane];
#pragma unroll
  for (int other = 1; other < kParts; ++other) total = join(step, total, parts[other][lane]);
  return total;
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) reduce_lanes_f32(const __grid_constant__ ingot::cuda::ReduceTyped p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t result = static_cast<int64_t>(blockIdx.x) * 32 + (threadIdx.x & 31);
  const bool has = result < p.results;
  int64_t base[1];
  offsets_of(p.kept, has ? result : 0, base);
  const auto function = static_cast<ReduceFunction>(p.function);
  const Step step = step_of(function);
  double most = 0;
  if (function == ReduceFunction::kLogSumExp) {
    most = fold_set<double>(p, base[0], has, Step::kMax, -INFINITY, [](double x) { return x; });
    if (most == -INFINITY) most = 0;  // as the logarithm of nothing
  }
  double total = fold_set<double>(p, base[0], has, step, step == Step::kMax ? -INFINITY : step == Step::kMin ? INFINITY : step == Step::kProduct ? 1.0 : 0.0, [&](double x) {
    switch (function) {
      case ReduceFunction::kL1: return fabs(x);
      case ReduceFunction::kL2: case ReduceFunction::kSumSquare: return __dmul_rn(x, x);
      case ReduceFunction::kLogSumExp: return most == INFINITY ? (x == INFINITY ? 1.0 : x != x ? x : 0.0) : exp(__dsub_rn(x, most));
      default: return x;
    }
  });
  if (!has || threadIdx.x >= 32) return;
  switch (function) {
    case ReduceFunction::kMean: total = __ddiv_rn(total, static_cast<double>(p.set_size)); break;
    case ReduceFunction::kL2: total = __dsqrt_rn(total); break;
    case ReduceFunction::kLogSum: total = log(total); break;
    case ReduceFunction::kLogSumExp: total = __dadd_rn(most, log(total)); break;
    default: break;
  }
  static_cast<float*>(p.y)[result] = static_cast<float>(total);
}

extern "C" __global__ void __launch_bounds__(256) reduce_lanes_whole(const __grid_constant__ ingot::cuda::ReduceTyped p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t result = static_cast<int64_t>(blockIdx.x) * 32 + (threadIdx.x & 31);
  const bool has = result < p.results;
  int64_t base[1];
  offsets_of(p.kept, has ? result : 0, base);
  const auto function = static_cast<ReduceFunction>(p.function);
  const auto type = static_cast<DataType>(p.type);
  const Step step = step_of(function);
  const bool is_byte = type == DataType::kU8 || type == DataType::kS8;
  const int64_t least = type == DataType::kS64 ? INT64_MIN : type == DataType::kS32 ? INT32_MIN : (type == DataType::kS8 ? -128 : 0) - p.x_zero;
  const int64_t most = type == DataType::kS64 ? INT64_MAX : type == DataType::kS32 ? INT32_MAX : (type == DataType::kS8 ? 127 : 255) - p.x_zero;
  int64_t total = fold_set<int64_t>(p, base[0], has, step, step == Step::kMax ? least : step == Step::kMin ? most : step == Step::kProduct ? 1 : 0, [&](int64_t x) {
    if (function == ReduceFunction::kL1) return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
    return function == ReduceFunction::kSumSquare ? static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x)) : x;
  });
  if (!has || threadIdx.x >= 32) return;
  if (is_byte) {
    static_cast<uint8_t*>(p.y)[result] = static_cast<uint8_t>(round_to_byte(__fmul_rn(static_cast<float>(total), p.factor), p.low, p.high, p.y_zero));
    return;
  }
  if (function == ReduceFunction::kMean) total = p.set_size == 0 ? 0 : total / p.set_size;
  if (type == DataType::kS32) static_cast<int32_t*>(p.y)[result] = static_cast<int32_t>(total);
  else static_cast<int64_t*>(p.y)[result] = total;
}
