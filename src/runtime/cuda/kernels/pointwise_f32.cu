// Functions of one f32 and of two, with broadcasting. Activations are the contract's fixed sequences; the logarithm, which the
// contract leaves to libm, is computed in double and rounded once.
#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

INGOT_DEVICE float function_of(UnaryFunction f, float x, float alpha, float beta) {
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
    case UnaryFunction::kLog: return static_cast<float>(log(static_cast<double>(x)));
    default: {
      const float y = exact::activation<DeviceLane>(f, x, alpha, beta);
      return x == x ? y : x;
    }
  }
}

INGOT_DEVICE float operation(BinaryFunction f, float a, float b) {
  switch (f) {
    case BinaryFunction::kAdd: return __fadd_rn(a, b);
    case BinaryFunction::kSub: return __fsub_rn(a, b);
    case BinaryFunction::kMul: return __fmul_rn(a, b);
    case BinaryFunction::kDiv: return __fdiv_rn(a, b);
    case BinaryFunction::kMin: return a != a ? a : b != b ? b : a < b ? a : b;
    case BinaryFunction::kMax: return a != a ? a : b != b ? b : a > b ? a : b;
    default: return a < 0 ? __fmul_rn(a, b) : a;  // kPRelu
  }
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) unary_f32(const __grid_constant__ ingot::cuda::UnaryF32 p) {
  using namespace ingot;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < p.elements) p.y[at] = cuda::function_of(static_cast<UnaryFunction>(p.function), p.x[at], p.alpha, p.beta);
}

extern "C" __global__ void __launch_bounds__(256) binary_f32(const __grid_constant__ ingot::cuda::BinaryF32 p) {
  using namespace ingot;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  int64_t rest = at, a = 0, b = 0;
  for (int d = p.rank - 1; d >= 0; --d) {
    const int64_t next = rest / p.dims[d], i = rest - next * p.dims[d];
    a += i * p.a_strides[d];
    b += i * p.b_strides[d];
    rest = next;
  }
  const float t = cuda::operation(static_cast<BinaryFunction>(p.operation), p.a[a], p.b[b]);
  p.y[at] = cuda::function_of(static_cast<UnaryFunction>(p.function), t, p.alpha, p.beta);
}

extern "C" __global__ void __launch_bounds__(256) cast_numbers(const __grid_constant__ ingot::cuda::CastParams p) {
  using namespace ingot;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  double number = 0;
  int64_t whole = 0;
  bool is_whole = true;
  switch (static_cast<DataType>(p.from)) {
    case DataType::kF32: number = static_cast<const float*>(p.x)[at]; is_whole = false; break;
    case DataType::kS32: whole = static_cast<const int32_t*>(p.x)[at]; break;
    case DataType::kS64: whole = static_cast<const int64_t*>(p.x)[at]; break;
    case DataType::kBool: whole = static_cast<const uint8_t*>(p.x)[at] != 0; break;
    default: whole = static_cast<const uint8_t*>(p.x)[at]; break;
  }
  switch (static_cast<DataType>(p.to)) {
    case DataType::kF32: static_cast<float*>(p.y)[at] = is_whole ? static_cast<float>(whole) : static_cast<float>(number); break;
    case DataType::kS32: static_cast<int32_t*>(p.y)[at] = is_whole ? static_cast<int32_t>(whole) : __double2int_rz(number); break;
    case DataType::kS64: static_cast<int64_t*>(p.y)[at] = is_whole ? whole : __double2ll_rz(number); break;
    default: static_cast<uint8_t*>(p.y)[at] = is_whole ? whole != 0 : number != 0; break;  // bool
  }
}
