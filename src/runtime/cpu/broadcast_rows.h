// Walks the result of a broadcasting op as rows shared among threads, in the order of memory of either layout.
#pragma once

#include <algorithm>
#include <array>

#include "ingot/kernel.h"
#include "runtime/ops/broadcast.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {

// Dims in the order of memory, with ones in front up to `rank`.
inline Shape memory_shape(const Shape& shape, int rank, Layout layout) {
  Shape result;
  result.rank = rank;
  for (int d = 0; d < rank; ++d) result[d] = d < rank - shape.rank ? 1 : shape[d - (rank - shape.rank)];
  if (layout == Layout::kChannelsLast && rank >= 3) {
    const int64_t channels = result[1];
    for (int d = 1; d + 1 < rank; ++d) result[d] = result[d + 1];
    result[rank - 1] = channels;
  }
  return result;
}

// Whether memory of this operand reads the same in the layout of the result: all of its dims but one are 1, say.
inline bool reads_in_layout(const TensorType& type, const TensorType& result) {
  if (type.layout == result.layout) return type.shape.rank == result.shape.rank || result.layout == Layout::kLinear;
  if (type.shape.rank > result.shape.rank) return false;
  const auto same_in_both = [](const Shape& shape) {
    bool one_pixel = true;
    for (int d = 2; d < shape.rank; ++d) one_pixel = one_pixel && shape[d] == 1;
    return shape.rank < 3 || shape[1] == 1 || one_pixel;
  };
  // A channels-last operand has its own channels, where an operand in order of its dims meets those of the result.
  if (type.layout == Layout::kChannelsLast) return same_in_both(type.shape);
  return same_in_both(memory_shape(type.shape, result.shape.rank, Layout::kLinear));
}

// y[i] = f(a[i · a_step], b[i · b_step]), with steps of 0 or 1: loops that a compiler can vectorise.
template <class T, class To, class F>
void combine_row(const T* a, int64_t a_step, const T* b, int64_t b_step, To* y, int64_t n, F f) {
  if (n == 0) return;
  if (a_step && b_step) {
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  } else if (a_step) {
    const T one = *b;
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], one);
  } else if (b_step) {
    const T one = *a;
    for (int64_t i = 0; i < n; ++i) y[i] = f(one, b[i]);
  } else {
    std::fill_n(y, n, static_cast<To>(f(*a, *b)));
  }
}

// Calls go(at, count, offsets, steps): elements [at, at + count) of the result, where operand i starts at offsets[i] and
// moves on by steps[i] (0 or 1). `out` and `in` are memory shapes of one rank.
template <size_t N, class Go>
void broadcast_rows(const Shape& out, const std::array<Shape, N>& in, int64_t grain, ThreadPool& pool, Go&& go) {
  const int64_t total = out.elements();
  if (total == 0) return;
  bool flat = true;
  for (const Shape& shape : in) flat = flat && (shape == out || shape.elements() == 1);
  if (flat) {
    pool.parallel_for(total, grain, [&](int64_t begin, int64_t end, int) {
      std::array<int64_t, N> offsets{}, steps{};
      for (size_t i = 0; i < N; ++i) {
        steps[i] = in[i] == out ? 1 : 0;
        offsets[i] = steps[i] ? begin : 0;
      }
      go(begin, end - begin, offsets, steps);
    });
    return;
  }
  // Threads share the first dim that has more than one index; each walks the rest row by row.
  int split = 0;
  while (split + 1 < out.rank - 1 && out[split] == 1) ++split;
  if (out.rank < 2) split = -1;
  const int64_t parts = split < 0 ? 1 : out[split];
  pool.parallel_for(parts, std::max<int64_t>(1, grain * parts / total), [&](int64_t begin, int64_t end, int) {
    Shape part = out;
    std::array<Shape, N> part_in = in;
    std::array<int64_t, N> skip{};
    int64_t out_skip = 0;
    if (split >= 0) {
      part[split] = end - begin;
      out_skip = begin * (total / parts);
      for (size_t i = 0; i < N; ++i) {
        if (in[i][split] == 1) continue;
        skip[i] = begin * (in[i].elements() / in[i][split]);
        part_in[i][split] = end - begin;
      }
    }
    for_each_row<N>(part, part_in, [&](int64_t at, int64_t count, auto offsets, const auto& steps) {
      for (size_t i = 0; i < N; ++i) offsets[i] += skip[i];
      go(out_skip + at, count, offsets, steps);
    });
  });
}

}  // namespace ingot::cpu
