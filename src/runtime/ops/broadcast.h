// Walks the output of a broadcasting op row by row, with each input's offset and step.
#pragma once

#include <array>
#include <cstdint>

#include "ingot/types.h"

namespace ingot {

// Calls row(out_offset, count, offsets, steps) for each row of `out`'s last dim; a step is 0 where that input is
// broadcast.
template <size_t N, class Row>
void for_each_row(const Shape& out, const std::array<Shape, N>& inputs, Row&& row) {
  if (out.elements() == 0) return;
  std::array<std::array<int64_t, Shape::kMaxRank>, N> strides{};
  for (size_t i = 0; i < N; ++i) {
    int64_t stride = 1;
    for (int d = out.rank - 1, j = inputs[i].rank - 1; j >= 0; --d, --j) {
      if (inputs[i][j] != 1) strides[i][static_cast<size_t>(d)] = stride;
      stride *= inputs[i][j];
    }
  }
  const int last = out.rank - 1;
  const int64_t count = out.rank ? out[last] : 1, rows = out.elements() / count;
  std::array<int64_t, N> offsets{}, steps{};
  for (size_t i = 0; i < N && last >= 0; ++i) steps[i] = strides[i][static_cast<size_t>(last)];
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t r = 0; r < rows; ++r) {
    row(r * count, count, offsets, steps);
    for (int d = last - 1; d >= 0; --d) {
      const size_t at = static_cast<size_t>(d);
      const bool carry = ++index[at] == out[d];
      for (size_t i = 0; i < N; ++i) offsets[i] += carry ? -strides[i][at] * (out[d] - 1) : strides[i][at];
      if (!carry) break;
      index[at] = 0;
    }
  }
}

}  // namespace ingot
