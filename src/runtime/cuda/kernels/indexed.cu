// Selecting, padding, and reading and writing by index: a thread moves one element. An index out of range reads zeros and writes nothing.
#include "runtime/cuda/kernels/walk.cuh"
#include "runtime/ops/scatter.h"

namespace ingot::cuda {
namespace {

INGOT_DEVICE int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

INGOT_DEVICE int64_t index_at(const void* indices, int64_t i, int32_t wide) {
  return wide ? static_cast<const int64_t*>(indices)[i] : static_cast<const int32_t*>(indices)[i];
}
// Counted from either end; −1 out of range.
INGOT_DEVICE int64_t place_in(int64_t index, int64_t dim) {
  if (index < 0) index += dim;
  return index >= 0 && index < dim ? index : -1;
}
// The place that row `row` of indices names over several dims; −1 out of range.
template <class Params>
INGOT_DEVICE int64_t named_place(const Params& p, int64_t row) {
  int64_t place = 0;
#pragma unroll 1
  for (int k = 0; k < p.named; ++k) {
    const int64_t one = place_in(index_at(p.indices, row * p.named + k, p.wide), p.dims[k]);
    if (one < 0) return -1;
    place = place * p.dims[k] + one;
  }
  return place;
}

template <class T>
INGOT_DEVICE void select(const WhereParams& p, int64_t at) {
  int64_t offsets[3];
  offsets_of(p.walk, at, offsets);
  const bool first = p.condition[offsets[0]] != 0;
  static_cast<T*>(p.out)[at] = first ? static_cast<const T*>(p.x)[offsets[1]] : static_cast<const T*>(p.y)[offsets[2]];
}

// The place in 0 … kept − 1 that index k outside repeats.
INGOT_DEVICE int64_t repeated(Beyond beyond, int64_t k, int64_t kept) {
  if (beyond == Beyond::kEdge) return k < 0 ? 0 : kept - 1;
  const int64_t twice = 2 * (kept - 1), period = beyond == Beyond::kWrap ? kept : twice > 1 ? twice : 1;
  k %= period;
  if (k < 0) k += period;
  return k < kept ? k : period - k;
}
template <class T>
INGOT_DEVICE void pad(const PadParams& p, int64_t at) {
  int64_t rest = at, from = 0;
  bool outside = false;
#pragma unroll 1
  for (int d = p.rank - 1; d >= 0; --d) {
    const int64_t next = quotient(p.elements <= INT32_MAX, rest, p.dims[d]);
    int64_t k = rest - next * p.dims[d] - p.before[d];
    if (k < 0 || k >= p.kept[d]) {
      outside = outside || p.beyond == Beyond::kConstant;
      k = p.beyond == Beyond::kConstant ? 0 : repeated(p.beyond, k, p.kept[d]);
    }
    from += (k + p.crop[d]) * p.x_strides[d];
    rest = next;
  }
  const T* value = static_cast<const T*>(p.value);
  static_cast<T*>(p.y)[at] = !outside ? static_cast<const T*>(p.x)[from] : value ? *value : static_cast<T>(p.fill);
}

template <class T>
INGOT_DEVICE void gather_elements(const GatherElementsParams& p, int64_t at) {
  int64_t from[1];
  offsets_of(p.walk, at, from);
  const int64_t place = place_in(index_at(p.indices, at, p.wide), p.axis_dim);
  static_cast<T*>(p.y)[at] = place < 0 ? T{} : static_cast<const T*>(p.x)[from[0] + place * p.axis_stride];
}
template <class T>
INGOT_DEVICE void gather_nd(const GatherNdParams& p, int64_t at) {
  const int64_t row = quotient(p.elements <= INT32_MAX, at, p.slice), place = named_place(p, row);
  static_cast<T*>(p.y)[at] = place < 0 ? T{} : static_cast<const T*>(p.x)[row / p.rows * p.batch_size + place * p.slice + at - row * p.slice];
}

// In units of a slice; −1: nowhere.
INGOT_DEVICE int64_t place_of(const ScatterParams& p, int64_t unit) {
  if (p.by_rows) return named_place(p, unit);
  int64_t offset[1];
  offsets_of(p.walk, unit, offset);
  const int64_t place = place_in(index_at(p.indices, unit, p.wide), p.axis_dim);
  return place < 0 ? -1 : offset[0] + place * p.axis_stride;
}
template <class T>
INGOT_DEVICE void scatter(const ScatterParams& p, int64_t at) {
  const int64_t unit = quotient(p.elements <= INT32_MAX, at, p.slice), place = place_of(p, unit);
  if (place >= 0 && p.owners[place] == static_cast<int32_t>(unit))
    static_cast<T*>(p.y)[place * p.slice + at - unit * p.slice] = static_cast<const T*>(p.updates)[at];
}
template <class T>
INGOT_DEVICE T combine(ScatterReduction reduction, T stored, T update) {
  switch (reduction) {  // a NaN wins
    case ScatterReduction::kMin: return stored != stored || !(update < stored || update != update) ? stored : update;
    case ScatterReduction::kMax: return stored != stored || !(update > stored || update != update) ? stored : update;
    case ScatterReduction::kAdd: return stored + update;
    default: return stored * update;
  }
}
template <class T>
INGOT_DEVICE void scatter_in_order(const ScatterParams& p, int64_t line) {
  const auto reduction = static_cast<ScatterReduction>(p.reduction);
#pragma unroll 1
  for (int64_t k = 0; k < p.sequence; ++k) {
    const int64_t unit = p.by_rows ? k : (line / p.inner * p.sequence + k) * p.inner + line % p.inner, place = place_of(p, unit);
    if (place < 0) continue;
    const int64_t inside = p.by_rows ? line : 0;
    T& stored = static_cast<T*>(p.y)[place * p.slice + inside];
    stored = combine(reduction, stored, static_cast<const T*>(p.updates)[unit * p.slice + inside]);
  }
}

template <class T>
INGOT_DEVICE void one_hot(const OneHotParams& p, int64_t at) {
  const int64_t outer = at / (p.depth * p.inner), inside = at - outer * p.depth * p.inner, k = inside / p.inner, i = outer * p.inner + inside % p.inner;
  int64_t index = 0;
  switch (static_cast<DataType>(p.index_type)) {
    case DataType::kF32: {
      const float x = static_cast<const float*>(p.indices)[i];
      index = x == x ? static_cast<int64_t>(x) : 0;
      break;
    }
    case DataType::kS32: index = static_cast<const int32_t*>(p.indices)[i]; break;
    case DataType::kU8: index = static_cast<const uint8_t*>(p.indices)[i]; break;
    default: index = static_cast<const int64_t*>(p.indices)[i]; break;
  }
  static_cast<T*>(p.y)[at] = static_cast<const T*>(p.values)[place_in(index, p.depth) == k];
}
template <class T>
INGOT_DEVICE void keep_triangle(const TriluParams& p, int64_t at) {
  const int64_t row = at / p.columns, diagonal = at - row * p.columns - row % p.rows, k = p.k ? index_at(p.k, 0, p.wide) : 0;
  const bool kept = p.upper ? diagonal >= k : diagonal <= k;
  static_cast<T*>(p.y)[at] = kept ? static_cast<const T*>(p.x)[at] : T{};
}
template <class T>
INGOT_DEVICE void reverse_sequence(const ReverseSequenceParams& p, int64_t at) {
  const int64_t t = at / p.time_stride % p.time, length = index_at(p.lengths, at / p.batch_stride % p.batch, p.wide);
  const int64_t from = t < length && length <= p.time ? at + (length - 1 - 2 * t) * p.time_stride : at;
  static_cast<T*>(p.y)[at] = static_cast<const T*>(p.x)[from];
}
template <class T>
INGOT_DEVICE void fill(const FillParams& p, int64_t at) {
  static_cast<T*>(p.y)[at] = static_cast<T>(static_cast<uint64_t>(p.first) + static_cast<uint64_t>(at) * static_cast<uint64_t>(p.step));
}

}  // namespace
}  // namespace ingot::cuda

// name: a kernel for elements of 1, 2, 4 or 8 bytes.
#define INGOT_BY_BYTES(name, Params, function)                                                            \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ ingot::cuda::Params p) { \
    using namespace ingot::cuda;                                                                          \
    const int64_t at = thread_index();                                                                    \
    if (at >= p.elements) return;                                                                         \
    switch (p.element_bytes) {                                                                            \
      case 1: return function<uint8_t>(p, at);                                                            \
      case 2: return function<uint16_t>(p, at);                                                           \
      case 4: return function<uint32_t>(p, at);                                                           \
      default: return function<uint64_t>(p, at);                                                          \
    }                                                                                                     \
  }
INGOT_BY_BYTES(where_any, WhereParams, select)
INGOT_BY_BYTES(pad_any, PadParams, pad)
INGOT_BY_BYTES(gather_elements, GatherElementsParams, gather_elements)
INGOT_BY_BYTES(gather_nd, GatherNdParams, gather_nd)
INGOT_BY_BYTES(scatter_write, ScatterParams, scatter)
INGOT_BY_BYTES(one_hot, OneHotParams, one_hot)
INGOT_BY_BYTES(trilu, TriluParams, keep_triangle)
INGOT_BY_BYTES(reverse_sequence, ReverseSequenceParams, reverse_sequence)

// The last of several units for one place writes it, as if they came one after the other.
extern "C" __global__ void __launch_bounds__(256) scatter_claim(const __grid_constant__ ingot::cuda::ScatterParams p) {
  using namespace ingot::cuda;
  const int64_t unit = thread_index();
  if (unit >= p.units) return;
  const int64_t place = place_of(p, unit);
  if (place >= 0) atomicMax(p.owners + place, static_cast<int32_t>(unit));
}
extern "C" __global__ void __launch_bounds__(256) scatter_reduce(const __grid_constant__ ingot::cuda::ScatterParams p) {
  using namespace ingot;
  using namespace ingot::cuda;
  const int64_t line = thread_index();
  if (line >= p.elements) return;
  switch (static_cast<DataType>(p.dtype)) {
    case DataType::kF32: return scatter_in_order<float>(p, line);
    case DataType::kS32: return scatter_in_order<int32_t>(p, line);
    default: return scatter_in_order<long long>(p, line);
  }
}
extern "C" __global__ void __launch_bounds__(256) fill_any(const __grid_constant__ ingot::cuda::FillParams p) {
  using namespace ingot::cuda;
  const int64_t at = thread_index();
  if (at >= p.elements) return;
  if (p.is_float) {
    static_cast<float*>(p.y)[at] = __fadd_rn(p.float_first, __fmul_rn(static_cast<float>(at), p.float_step));
    return;
  }
  switch (p.element_bytes) {
    case 1: return fill<uint8_t>(p, at);
    case 2: return fill<uint16_t>(p, at);
    case 4: return fill<uint32_t>(p, at);
    default: return fill<uint64_t>(p, at);
  }
}
