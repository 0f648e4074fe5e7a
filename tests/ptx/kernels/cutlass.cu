// Two kernels of CUTLASS as they come, 8-bit and half precision for sm_80, behind plain parameters: foreign code that the interpreter
// must run right. Needs CUTLASS' headers (scripts/setup cuda).
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/thread/linear_combination_clamp.h>
#include <cutlass/gemm/device/gemm.h>

using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;

using GemmS8 = cutlass::gemm::device::Gemm<int8_t, Row, int8_t, Column, int8_t, Row, int32_t, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
                                           cutlass::gemm::GemmShape<128, 128, 64>, cutlass::gemm::GemmShape<64, 64, 64>, cutlass::gemm::GemmShape<16, 8, 32>,
                                           cutlass::epilogue::thread::LinearCombinationClamp<int8_t, 8, int32_t, float>, Swizzle, 3>::GemmKernel;
using GemmF16 = cutlass::gemm::device::Gemm<cutlass::half_t, Row, cutlass::half_t, Column, float, Row, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
                                            cutlass::gemm::GemmShape<128, 64, 32>, cutlass::gemm::GemmShape<64, 32, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
                                            cutlass::epilogue::thread::LinearCombination<float, 4, float, float>, Swizzle, 3>::GemmKernel;

template <class Kernel, class In, class Out>
__device__ void product(int m, int n, int k, const In* a, const In* b, Out* c, int tiles_m, int tiles_n, float alpha) {
  extern __shared__ __align__(128) unsigned char shared[];
  const typename Kernel::Params params({m, n, k}, {tiles_m, tiles_n, 1}, {const_cast<In*>(a), k}, {const_cast<In*>(b), k}, {c, n}, {c, n}, {alpha, 0.0f});
  Kernel kernel;
  kernel(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
}

// What a launch needs: threads and bytes of shared memory.
extern "C" {
__device__ int s8_threads = GemmS8::kThreadCount, s8_bytes = sizeof(GemmS8::SharedStorage);
__device__ int f16_threads = GemmF16::kThreadCount, f16_bytes = sizeof(GemmF16::SharedStorage);

__global__ void __launch_bounds__(GemmS8::kThreadCount) cutlass_s8(int m, int n, int k, const int8_t* a, const int8_t* b, int8_t* c, int tiles_m, int tiles_n, float alpha) {
  product<GemmS8>(m, n, k, a, b, c, tiles_m, tiles_n, alpha);
}
__global__ void __launch_bounds__(GemmF16::kThreadCount) cutlass_f16(int m, int n, int k, const cutlass::half_t* a, const cutlass::half_t* b, float* c, int tiles_m, int tiles_n,
                                                                     float alpha) {
  product<GemmF16>(m, n, k, a, b, c, tiles_m, tiles_n, alpha);
}
}
