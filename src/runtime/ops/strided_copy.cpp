// Bodies of strided_copy.h: dims that run on in both views are merged, so that most copies end in long rows.
#include "runtime/ops/strided_copy.h"

#include <cstring>

namespace ingot {
namespace {

// Typed loads and stores go through memcpy: a view may start anywhere.
template <class T>
void copy_row(const std::byte* source, int64_t source_stride, std::byte* target, int64_t target_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, source + i * source_stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
    std::memcpy(target + i * target_stride * static_cast<int64_t>(sizeof(T)), &element, sizeof(T));
  }
}

void copy_row(size_t element_bytes, const std::byte* source, int64_t source_stride, std::byte* target,
              int64_t target_stride, int64_t count) {
  if (source_stride == 1 && target_stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count) * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1: return copy_row<uint8_t>(source, source_stride, target, target_stride, count);
    case 2: return copy_row<uint16_t>(source, source_stride, target, target_stride, count);
    case 4: return copy_row<uint32_t>(source, source_stride, target, target_stride, count);
    default: return copy_row<uint64_t>(source, source_stride, target, target_stride, count);
  }
}

// Drops dims of size 1 and joins neighbours; false when there is nothing to copy.
bool merge_dims(StridedCopy& view) {
  StridedCopy merged;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t dim = view.dims[at], source = view.source_strides[at], target = view.target_strides[at];
    if (dim == 0) return false;
    if (dim == 1) continue;
    if (merged.rank > 0) {
      const auto last = static_cast<size_t>(merged.rank - 1);
      if (merged.source_strides[last] == source * dim && merged.target_strides[last] == target * dim) {
        merged.dims[last] *= dim;
        merged.source_strides[last] = source;
        merged.target_strides[last] = target;
        continue;
      }
    }
    merged.add_dim(dim, source, target);
  }
  if (merged.rank == 0) merged.add_dim(1, 1, 1);
  view = merged;
  return true;
}

}  // namespace

void StridedCopy::add_dim(int64_t dim, int64_t source_stride, int64_t target_stride) {
  const auto at = static_cast<size_t>(rank++);
  dims[at] = dim;
  source_strides[at] = source_stride;
  target_strides[at] = target_stride;
}

void copy_strided(StridedCopy view, size_t element_bytes, const void* source, void* target) {
  if (!merge_dims(view)) return;
  const auto bytes = static_cast<int64_t>(element_bytes);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const auto inner = static_cast<size_t>(view.rank - 1);
  std::array<int64_t, StridedCopy::kMaxRank> index{};
  int64_t from_at = 0, to_at = 0;
  while (true) {
    copy_row(element_bytes, from + from_at * bytes, view.source_strides[inner], to + to_at * bytes,
             view.target_strides[inner], view.dims[inner]);
    int d = view.rank - 2;
    for (; d >= 0; --d) {
      const auto at = static_cast<size_t>(d);
      from_at += view.source_strides[at];
      to_at += view.target_strides[at];
      if (++index[at] < view.dims[at]) break;
      from_at -= view.source_strides[at] * view.dims[at];
      to_at -= view.target_strides[at] * view.dims[at];
      index[at] = 0;
    }
    if (d < 0) return;
  }
}

void fill_elements(void* target, int64_t count, size_t element_bytes, const void* value) {
  auto* to = static_cast<std::byte*>(target);
  if (element_bytes == 1) {
    uint8_t byte;
    std::memcpy(&byte, value, 1);
    if (count > 0) std::memset(to, byte, static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i, to += element_bytes) std::memcpy(to, value, element_bytes);
}

Strides row_major_strides(const Shape& shape) {
  // Dims of size 0 count as 1, so that no product overflows beyond what checked_elements() admits.
  Strides strides{};
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

}  // namespace ingot
