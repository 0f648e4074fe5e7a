// Element by element on integers, bools and quantised bytes, with broadcasting: comparisons, arithmetic that wraps, logic; casts that
// truncate. One thread for each result; docs/numerics.md says what comes of division by 0 and the like.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/kernels/walk.cuh"
#include "runtime/cuda/typed_params.h"
#include "runtime/ops/op.h"

namespace ingot::cuda {
namespace {

INGOT_DEVICE int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
template <class T>
INGOT_DEVICE bool compared(BinaryFunction f, T a, T b) {
  switch (f) {
    case BinaryFunction::kEqual: return a == b;
    case BinaryFunction::kLess: return a < b;
    case BinaryFunction::kLessOrEqual: return a <= b;
    case BinaryFunction::kGreater: return a > b;
    default: return a >= b;
  }
}
// T is s32 or s64, U the same without a sign.
template <class T, class U>
INGOT_DEVICE T computed(BinaryFunction f, T a, T b) {
  const bool no_quotient = b == 0 || b == static_cast<T>(-1);
  switch (f) {
    case BinaryFunction::kAdd: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case BinaryFunction::kSub: return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case BinaryFunction::kMul: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case BinaryFunction::kDiv: return b == 0 ? T{0} : no_quotient ? static_cast<T>(U{0} - static_cast<U>(a)) : a / b;
    case BinaryFunction::kMin: return a < b ? a : b;
    case BinaryFunction::kMax: return a > b ? a : b;
    case BinaryFunction::kBitwiseAnd: return a & b;
    case BinaryFunction::kBitwiseOr: return a | b;
    case BinaryFunction::kBitwiseXor: return a ^ b;
    default: {  // kMod, kFmod
      const T r = no_quotient ? T{0} : a % b;
      return f == BinaryFunction::kMod && r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
  }
}
template <class T, class U>
INGOT_DEVICE void binary(const BinaryTyped& p, int64_t at, int64_t a, int64_t b) {
  const auto f = static_cast<BinaryFunction>(p.operation);
  const T x = static_cast<const T*>(p.a)[a], y = static_cast<const T*>(p.b)[b];
  if (f >= BinaryFunction::kEqual && f <= BinaryFunction::kGreaterOrEqual) static_cast<uint8_t*>(p.y)[at] = compared(f, x, y);
  else if constexpr (sizeof(U) >= 4) static_cast<T*>(p.y)[at] = computed<T, U>(f, x, y);
}

// Toward zero, and to the nearest that T has; NaN gives 0.
template <class T>
INGOT_DEVICE T truncated(float x, float least, float beyond, T lowest, T highest) {
  if (x != x) return T{0};
  return x < least ? lowest : x >= beyond ? highest : static_cast<T>(x);
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) binary_typed(const __grid_constant__ ingot::cuda::BinaryTyped p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  int64_t from[2];
  offsets_of(p.walk, at, from);
  const int64_t a = from[0], b = from[1];
  switch (static_cast<DataType>(p.type)) {
    case DataType::kS32: return binary<int32_t, uint32_t>(p, at, a, b);
    case DataType::kS64: return binary<int64_t, uint64_t>(p, at, a, b);
    case DataType::kU8: return binary<uint8_t, uint8_t>(p, at, a, b);
    case DataType::kF32: {
      static_cast<uint8_t*>(p.y)[at] = compared(static_cast<BinaryFunction>(p.operation), static_cast<const float*>(p.a)[a], static_cast<const float*>(p.b)[b]);
      return;
    }
    default: {  // bool
      const bool x = static_cast<const uint8_t*>(p.a)[a] != 0, y = static_cast<const uint8_t*>(p.b)[b] != 0;
      const auto f = static_cast<BinaryFunction>(p.operation);
      static_cast<uint8_t*>(p.y)[at] = f == BinaryFunction::kAnd ? x && y : f == BinaryFunction::kOr ? x || y : f == BinaryFunction::kXor ? x != y : x == y;
      return;
    }
  }
}

namespace ingot::cuda {
namespace {

template <class T, class U>
INGOT_DEVICE T unary(UnaryFunction f, T x) {
  const T negative = static_cast<T>(U{0} - static_cast<U>(x));
  switch (f) {
    case UnaryFunction::kAbs: return x < 0 ? negative : x;
    case UnaryFunction::kNeg: return negative;
    case UnaryFunction::kSign: return x > 0 ? T{1} : x < 0 ? static_cast<T>(-1) : T{0};
    case UnaryFunction::kBitwiseNot: return ~x;
    default: return x;
  }
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) unary_typed(const __grid_constant__ ingot::cuda::UnaryTyped p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  const auto f = static_cast<UnaryFunction>(p.function);
  switch (static_cast<DataType>(p.type)) {
    case DataType::kS32: static_cast<int32_t*>(p.y)[at] = unary<int32_t, uint32_t>(f, static_cast<const int32_t*>(p.x)[at]); return;
    case DataType::kS64: static_cast<int64_t*>(p.y)[at] = unary<int64_t, uint64_t>(f, static_cast<const int64_t*>(p.x)[at]); return;
    case DataType::kF32: {  // kIsNan, kIsInf
      const float x = static_cast<const float*>(p.x)[at];
      const bool infinite = (p.finds_positive && x == INFINITY) || (p.finds_negative && x == -INFINITY);
      static_cast<uint8_t*>(p.y)[at] = f == UnaryFunction::kIsNan ? x != x : infinite;
      return;
    }
    default: static_cast<uint8_t*>(p.y)[at] = static_cast<const uint8_t*>(p.x)[at] == 0; return;  // kNot
  }
}

extern "C" __global__ void __launch_bounds__(256) cast_truncate(const __grid_constant__ ingot::cuda::CastParams p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  const float x = static_cast<const float*>(p.x)[at];
  switch (static_cast<DataType>(p.to)) {
    case DataType::kS32: static_cast<int32_t*>(p.y)[at] = truncated<int32_t>(x, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX); return;
    default: static_cast<int64_t*>(p.y)[at] = truncated<int64_t>(x, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX); return;
  }
}

// Between f32 and the floats of 16 bits.
extern "C" __global__ void __launch_bounds__(256) cast_halves(const __grid_constant__ ingot::cuda::CastParams p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  const auto from = static_cast<DataType>(p.from), to = static_cast<DataType>(p.to);
  float x;
  if (from == DataType::kF16) x = __half2float(static_cast<const __half*>(p.x)[at]);
  else if (from == DataType::kBF16) x = __uint_as_float(static_cast<uint32_t>(static_cast<const uint16_t*>(p.x)[at]) << 16);
  else x = static_cast<const float*>(p.x)[at];
  if (to == DataType::kF16) static_cast<__half*>(p.y)[at] = __float2half_rn(x);
  else if (to == DataType::kBF16) static_cast<__nv_bfloat16*>(p.y)[at] = __float2bfloat16_rn(x);
  else static_cast<float*>(p.y)[at] = x;
}

extern "C" __global__ void __launch_bounds__(256) binary_s8(const __grid_constant__ ingot::cuda::BinaryS8 p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  int64_t from[2];
  offsets_of(p.walk, at, from);
  const int32_t a = widen(p.a[from[0]], p.a_signed) - p.a_zero, b = widen(p.b[from[1]], p.b_signed) - p.b_zero;
  float t = p.product ? __fmul_rn(static_cast<float>(a * b), p.a_multiplier)
                      : __fmaf_rn(static_cast<float>(a), p.a_multiplier, __fmul_rn(static_cast<float>(b), p.b_multiplier));
  if (p.curved || p.to_float) {
    const float curved = exact::activation<DeviceLane>(static_cast<UnaryFunction>(p.function), t, p.alpha, p.beta);
    t = t == t ? curved : t;
  }
  if (p.to_float) {
    static_cast<float*>(p.y)[at] = t;
    return;
  }
  if (p.curved) t = __fdiv_rn(t, p.scale);
  static_cast<uint8_t*>(p.y)[at] = static_cast<uint8_t>(round_to_byte(t, p.low, p.high, p.zero));
}
