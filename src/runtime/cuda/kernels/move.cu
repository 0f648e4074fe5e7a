// Strided copies: transposing, slicing, joining, repeating. A thread moves one element, in the order of the target.
#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

template <class T>
INGOT_DEVICE void copy(const CopyParams& p) {
  const int64_t index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= p.elements) return;
  int64_t rest = index, from = 0, to = 0;
  for (int d = p.rank - 1; d >= 0; --d) {
    const int64_t next = rest / p.dims[d], at = rest - next * p.dims[d];
    from += at * p.source_strides[d];
    to += at * p.target_strides[d];
    rest = next;
  }
  static_cast<T*>(p.target)[to] = static_cast<const T*>(p.source)[from];
}

template <class T>
INGOT_DEVICE void gather(const GatherParams& p) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int64_t row = at / p.inner, n = at - row * p.inner, outer = row / p.indices_count, i = row - outer * p.indices_count;
  int64_t index = p.wide_indices ? static_cast<const int64_t*>(p.indices)[i] : static_cast<const int32_t*>(p.indices)[i];
  if (index < 0) index += p.dim;
  const bool inside = index >= 0 && index < p.dim;
  static_cast<T*>(p.y)[at] = inside ? static_cast<const T*>(p.x)[(outer * p.dim + index) * p.inner + n] : T{};
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(256) copy_strided(const __grid_constant__ ingot::cuda::CopyParams p) {
  using namespace ingot::cuda;
  switch (p.element_bytes) {
    case 1: return copy<uint8_t>(p);
    case 2: return copy<uint16_t>(p);
    case 4: return copy<uint32_t>(p);
    default: return copy<uint64_t>(p);
  }
}
extern "C" __global__ void __launch_bounds__(256) gather_blocks(const __grid_constant__ ingot::cuda::GatherParams p) {
  using namespace ingot::cuda;
  switch (p.element_bytes) {
    case 1: return gather<uint8_t>(p);
    case 2: return gather<uint16_t>(p);
    case 4: return gather<uint32_t>(p);
    default: return gather<uint64_t>(p);
  }
}
