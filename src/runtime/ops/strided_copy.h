// Moves elements between two strided views of one shape; transposing, slicing, joining and repeating are all this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ingot/types.h"

namespace ingot {

// Dims, outermost first, each with its stride in elements on both sides. A source stride may be zero or negative.
struct StridedCopy {
  static constexpr int kMaxRank = 2 * Shape::kMaxRank;
  int rank = 0;
  std::array<int64_t, kMaxRank> dims{}, source_strides{}, target_strides{};
  void add_dim(int64_t dim, int64_t source_stride, int64_t target_stride);
};
// Offsets are applied by the caller. Elements have 1, 2, 4 or 8 bytes.
void copy_strided(StridedCopy view, size_t element_bytes, const void* source, void* target);
// Writes `count` times the element at `value`.
void fill_elements(void* target, int64_t count, size_t element_bytes, const void* value);

using Strides = std::array<int64_t, Shape::kMaxRank>;
Strides row_major_strides(const Shape& shape);

// Calls f(offset) at each place of a view, the last dim fastest. F returns nothing.
template <class F>
void for_each_offset(int rank, const int64_t* dims, const int64_t* strides, F&& f) {
  for (int i = 0; i < rank; ++i)
    if (dims[i] == 0) return;
  if (rank == 0) return f(int64_t{0});
  std::array<int64_t, StridedCopy::kMaxRank> index{};
  const int64_t inner = dims[rank - 1], inner_stride = strides[rank - 1];
  int64_t offset = 0;
  while (true) {
    for (int64_t i = 0; i < inner; ++i) f(offset + i * inner_stride);
    int d = rank - 2;
    for (; d >= 0; --d) {
      const auto at = static_cast<size_t>(d);
      offset += strides[d];
      if (++index[at] < dims[d]) break;
      offset -= strides[d] * dims[d];
      index[at] = 0;
    }
    if (d < 0) return;
  }
}

}  // namespace ingot
