// Element-wise functions of all types of a chain, for kernels made for one chain: function codes are constants there, and of each
// switch one case remains. Definitions as in runtime/ops; what is the C library's there is computed in double here.
#pragma once

#include "runtime/cuda/chain_params.h"
#include "runtime/cuda/kernels/lane.cuh"

namespace ingot::cuda {

// Integers have an unsigned twin, in which sums wrap.
template <class T> struct Wrapping;
template <> struct Wrapping<int8_t> { using U = uint32_t; enum : int64_t { kLow = -128, kHigh = 127 }; enum : bool { kSigned = true }; };
template <> struct Wrapping<uint8_t> { using U = uint32_t; enum : int64_t { kLow = 0, kHigh = 255 }; enum : bool { kSigned = false }; };
template <> struct Wrapping<int32_t> { using U = uint32_t; enum : int64_t { kLow = INT32_MIN, kHigh = INT32_MAX }; enum : bool { kSigned = true }; };
template <> struct Wrapping<int64_t> { using U = uint64_t; enum : int64_t { kLow = INT64_MIN, kHigh = INT64_MAX }; enum : bool { kSigned = true }; };

// Truncates and saturates; NaN gives 0.
template <class T>
INGOT_DEVICE T saturated(double x) {
  if (!(x == x)) return T{0};
  if (x <= static_cast<double>(Wrapping<T>::kLow)) return static_cast<T>(Wrapping<T>::kLow);
  if (x >= static_cast<double>(Wrapping<T>::kHigh)) return static_cast<T>(Wrapping<T>::kHigh);
  return static_cast<T>(__double2ll_rz(x));
}

INGOT_DEVICE float unary(UnaryFunction f, float x, double alpha, double beta) {
  const double d = x;
  switch (f) {
    case UnaryFunction::kIdentity: return x;
    case UnaryFunction::kAbs: return fabsf(x);
    case UnaryFunction::kNeg: return -x;
    case UnaryFunction::kExp: return x == x ? exact::exp<DeviceLane>(x) : x;
    case UnaryFunction::kErf: return x == x ? exact::erf<DeviceLane>(x) : x;
    case UnaryFunction::kSqrt: return __fsqrt_rn(x);
    case UnaryFunction::kReciprocal: return __fdiv_rn(1.0f, x);
    case UnaryFunction::kFloor: return floorf(x);
    case UnaryFunction::kCeil: return ceilf(x);
    case UnaryFunction::kRound: return rintf(x);
    case UnaryFunction::kSign: return x > 0 ? 1.0f : x < 0 ? -1.0f : x;
    case UnaryFunction::kLog: return static_cast<float>(log(d));
    case UnaryFunction::kSin: return static_cast<float>(sin(d));
    case UnaryFunction::kCos: return static_cast<float>(cos(d));
    case UnaryFunction::kTan: return static_cast<float>(tan(d));
    case UnaryFunction::kAsin: return static_cast<float>(asin(d));
    case UnaryFunction::kAcos: return static_cast<float>(acos(d));
    case UnaryFunction::kAtan: return static_cast<float>(atan(d));
    case UnaryFunction::kSinh: return static_cast<float>(sinh(d));
    case UnaryFunction::kCosh: return static_cast<float>(cosh(d));
    case UnaryFunction::kAsinh: return static_cast<float>(asinh(d));
    case UnaryFunction::kAcosh: return static_cast<float>(acosh(d));
    case UnaryFunction::kAtanh: return static_cast<float>(atanh(d));
    default: {
      const float y = exact::activation<DeviceLane>(f, x, static_cast<float>(alpha), static_cast<float>(beta));
      return x == x ? y : x;
    }
  }
}
template <class T>
INGOT_DEVICE T unary(UnaryFunction f, T x, double alpha, double beta) {
  using U = typename Wrapping<T>::U;
  switch (f) {
    case UnaryFunction::kRelu: return x > 0 ? x : T{0};
    case UnaryFunction::kClip: {
      const T low = saturated<T>(alpha), high = saturated<T>(beta);
      return x > high ? high : x < low ? (low < high ? low : high) : x;
    }
    case UnaryFunction::kAbs: return x > 0 || !Wrapping<T>::kSigned ? x : static_cast<T>(U{0} - static_cast<U>(x));
    case UnaryFunction::kNeg: return static_cast<T>(U{0} - static_cast<U>(x));
    case UnaryFunction::kSign: return static_cast<T>((x > 0) - (x < 0));
    case UnaryFunction::kBitwiseNot: return static_cast<T>(~x);
    default: return x;
  }
}
INGOT_DEVICE bool unary(UnaryFunction f, bool x, double, double) { return x != (f == UnaryFunction::kNot); }
INGOT_DEVICE bool is_special(UnaryFunction f, float x, double alpha, double beta) {
  if (f == UnaryFunction::kIsNan) return x != x;
  const bool either = alpha == 0 && beta == 0;
  return fabsf(x) == __int_as_float(0x7f800000) && (either || (x < 0 ? alpha : beta) != 0);
}

INGOT_DEVICE float binary(BinaryFunction f, float a, float b) {
  switch (f) {
    case BinaryFunction::kAdd: return __fadd_rn(a, b);
    case BinaryFunction::kSub: return __fsub_rn(a, b);
    case BinaryFunction::kMul: return __fmul_rn(a, b);
    case BinaryFunction::kDiv: return __fdiv_rn(a, b);
    case BinaryFunction::kPow: return b == 2 ? __fmul_rn(a, a) : static_cast<float>(pow(static_cast<double>(a), static_cast<double>(b)));
    case BinaryFunction::kMin: return a != a || a < b ? a : b;
    case BinaryFunction::kMax: return a != a || a > b ? a : b;
    case BinaryFunction::kMod: {
      const float r = fmodf(a, b);
      return r != 0 && (r < 0) != (b < 0) ? __fadd_rn(r, b) : r;
    }
    case BinaryFunction::kFmod: return fmodf(a, b);
    default: return a < 0 ? __fmul_rn(b, a) : a;  // kPRelu
  }
}
template <class T>
INGOT_DEVICE T power(T base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (Wrapping<T>::kSigned && base == static_cast<T>(-1)) return exponent % 2 ? base : T{1};
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<T>(result);
}
template <class T>
INGOT_DEVICE T binary(BinaryFunction f, T a, T b) {
  using U = typename Wrapping<T>::U;
  constexpr bool kSigned = Wrapping<T>::kSigned;
  switch (f) {
    case BinaryFunction::kAdd: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case BinaryFunction::kSub: return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case BinaryFunction::kMul: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case BinaryFunction::kDiv:
      if (b == 0) return 0;
      if (kSigned && b == static_cast<T>(-1)) return static_cast<T>(U{0} - static_cast<U>(a));
      return static_cast<T>(a / b);
    case BinaryFunction::kPow: return power<T>(a, static_cast<int64_t>(b));
    case BinaryFunction::kMin: return a < b ? a : b;
    case BinaryFunction::kMax: return a > b ? a : b;
    case BinaryFunction::kMod: {
      if (b == 0 || (kSigned && b == static_cast<T>(-1))) return 0;
      const T r = static_cast<T>(a % b);
      return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
    }
    case BinaryFunction::kFmod: return b == 0 || (kSigned && b == static_cast<T>(-1)) ? T{0} : static_cast<T>(a % b);
    case BinaryFunction::kPRelu: return a < 0 ? static_cast<T>(static_cast<U>(a) * static_cast<U>(b)) : a;
    case BinaryFunction::kBitwiseAnd: return static_cast<T>(a & b);
    case BinaryFunction::kBitwiseOr: return static_cast<T>(a | b);
    case BinaryFunction::kBitwiseXor: return static_cast<T>(a ^ b);
    case BinaryFunction::kShiftLeft: return b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<U>(a) << b);
    default:  // kShiftRight
      if (b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8) return a < 0 ? static_cast<T>(-1) : T{0};
      return static_cast<T>(a >> b);
  }
}
INGOT_DEVICE bool binary(BinaryFunction f, bool a, bool b) {
  return f == BinaryFunction::kAnd ? a && b : f == BinaryFunction::kOr ? a || b : a != b;
}
template <class T>
INGOT_DEVICE bool compare(BinaryFunction f, T a, T b) {
  switch (f) {
    case BinaryFunction::kEqual: return a == b;
    case BinaryFunction::kLess: return a < b;
    case BinaryFunction::kLessOrEqual: return a <= b;
    case BinaryFunction::kGreater: return a > b;
    default: return a >= b;
  }
}

// Casts: integers drop high bits, floats truncate and saturate.
template <class To, class From>
struct Cast { static INGOT_DEVICE To of(From x) { return static_cast<To>(x); } };
template <class To>
struct Cast<To, float> { static INGOT_DEVICE To of(float x) { return saturated<To>(x); } };
template <>
struct Cast<float, float> { static INGOT_DEVICE float of(float x) { return x; } };
template <class From>
struct Cast<bool, From> { static INGOT_DEVICE bool of(From x) { return x != 0; } };
template <>
struct Cast<bool, float> { static INGOT_DEVICE bool of(float x) { return x != 0; } };

// Elements in memory; a bool is any byte but 0.
template <class T>
INGOT_DEVICE T load(const void* x, int64_t at) { return static_cast<const T*>(x)[at]; }
template <>
INGOT_DEVICE bool load<bool>(const void* x, int64_t at) { return static_cast<const uint8_t*>(x)[at] != 0; }
template <class T>
INGOT_DEVICE void store(void* y, int64_t at, T value) { static_cast<T*>(y)[at] = value; }
template <>
INGOT_DEVICE void store<bool>(void* y, int64_t at, bool value) { static_cast<uint8_t*>(y)[at] = value ? 1 : 0; }

INGOT_DEVICE float dequantised(int32_t q, float scale, int32_t zero) { return __fmul_rn(scale, static_cast<float>(q - zero)); }
// clamp(rne(x / s) + z); NaN gives z.
template <class T>
INGOT_DEVICE T quantised(float x, float scale, int32_t zero) {
  const float t = __fdiv_rn(x, scale);
  const float bounded = t > 0x1p30f ? 0x1p30f : t < -0x1p30f ? -0x1p30f : t == t ? t : 0.0f;
  const int32_t q = __float2int_rn(bounded) + zero;
  constexpr int32_t kLow = static_cast<int32_t>(Wrapping<T>::kLow), kHigh = static_cast<int32_t>(Wrapping<T>::kHigh);
  return static_cast<T>(q < kLow ? kLow : q > kHigh ? kHigh : q);
}

// Where element `at` of the result lies in an input.
template <int kInputs>
INGOT_DEVICE void find_offsets(const ChainParams& p, int64_t at, int64_t (&offsets)[kInputs]) {
  for (int i = 0; i < kInputs; ++i) offsets[i] = 0;
  for (int d = p.rank - 1; d > 0; --d) {
    const int64_t next = at / p.dims[d], index = at - next * p.dims[d];
    for (int i = 0; i < kInputs; ++i) offsets[i] += index * p.strides[i][d];
    at = next;
  }
  for (int i = 0; i < kInputs; ++i) offsets[i] += at * p.strides[i][0];
}

// A reduction's fold, in double.
enum class ChainFold : int32_t { kSum, kMax, kMin, kProd };
INGOT_DEVICE double fold_start(ChainFold f) {
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  return f == ChainFold::kSum ? 0.0 : f == ChainFold::kProd ? 1.0 : f == ChainFold::kMax ? -infinity : infinity;
}
INGOT_DEVICE double fold(ChainFold f, double a, double b) {
  switch (f) {
    case ChainFold::kSum: return __dadd_rn(a, b);
    case ChainFold::kProd: return __dmul_rn(a, b);
    case ChainFold::kMax: return a != a || b != b ? (a != a ? a : b) : a > b ? a : b;
    default: return a != a || b != b ? (a != a ? a : b) : a < b ? a : b;
  }
}
// Of all 256 threads of a block; thread 0 has the result.
INGOT_DEVICE double fold_threads(ChainFold f, double value) {
  __shared__ double partial[8];
  for (int width = 16; width > 0; width /= 2) value = fold(f, value, __shfl_down_sync(0xffffffffu, value, width));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x != 0) return value;
  for (int warp = 1; warp < 8; ++warp) value = fold(f, value, partial[warp]);
  return value;
}

}  // namespace ingot::cuda
