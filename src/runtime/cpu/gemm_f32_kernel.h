// The inner loops of gemm_f32.h for one instruction set: a tile of rows × blocks of 16 channels is summed in registers, then
// finished. Isa is one of the lane sets, plus madd(x, w, sum). For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/gemm_f32.h"
#include "runtime/ops/exact_math.h"

namespace ingot::cpu {
namespace {

template <class Isa>
[[gnu::always_inline]] inline typename Isa::F load_some(const float* p, int64_t n) {
  return n >= kFloatBlock ? Isa::load(p) : Isa::load_some(p, n);
}
template <class Isa>
[[gnu::always_inline]] inline void store_some(float* p, const typename Isa::F& value, int64_t n) {
  n >= kFloatBlock ? Isa::store(p, value) : Isa::store_some(p, value, n);
}

template <class Isa>
[[gnu::noinline]] void curve(typename Isa::F* t, const FloatEpilogue& e) {
  const auto y = exact::activation<Isa>(static_cast<UnaryFunction>(e.function), *t, Isa::set(e.function_alpha), Isa::set(e.function_beta));
  *t = Isa::or_nan(y, *t);
}

// One vector of `n` (≤ 16) channels from sum to result.
template <class Isa>
void finish(typename Isa::F t, int64_t at, int64_t channel, int64_t n, const FloatEpilogue& e) {
  if (e.alpha != 1.0f) t = Isa::mul(t, Isa::set(e.alpha));
  if (e.bias) t = Isa::add(t, load_some<Isa>(e.bias + channel, n));
  if (e.residual) t = Isa::add(t, load_some<Isa>(e.residual + at, n));
  if (e.curved) curve<Isa>(&t, e);
  else t = Isa::min(Isa::set(e.high), Isa::max(Isa::set(e.low), t));
  store_some<Isa>(e.out + at, t, n);
}

template <class Isa, int kBlocks, int kRows>
void float_tile(const FloatTile& tile) {
  using F = typename Isa::F;
  F sum[kRows][kBlocks];
  if (tile.first) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) sum[r][b] = Isa::set(0.0f);
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) sum[r][b] = Isa::load(tile.partial + (r * kBlocks + b) * kFloatBlock);
  }
  const float* weights = tile.weights;
  const int64_t block_stride = tile.block_stride, length = tile.run_length;
  const float* const* rows = tile.rows;
  for (int64_t run = tile.runs; run > 0; --run, rows += tile.row_stride) {
    const float* x[kRows];
    bool padding = tile.zeros != nullptr;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      padding = padding && rows[r] == tile.zeros;
      x[r] = rows[r] + tile.offset;
    }
    if (padding) {
      weights += length * kFloatBlock;
      continue;
    }
    for (int64_t k = 0; k < length; ++k, weights += kFloatBlock) {
      F w[kBlocks];
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) w[b] = Isa::load(weights + b * block_stride);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const F v = Isa::set(x[r][k]);
#pragma GCC unroll 16
        for (int b = 0; b < kBlocks; ++b) sum[r][b] = Isa::madd(v, w[b], sum[r][b]);
      }
    }
  }
  if (!tile.last) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) Isa::store(tile.partial + (r * kBlocks + b) * kFloatBlock, sum[r][b]);
    return;
  }
  const FloatEpilogue& e = *tile.epilogue;
  const int64_t channel = tile.channel;
  if (e.curved || tile.channels < kBlocks * kFloatBlock) {
    alignas(64) float sums[kRows * kBlocks * kFloatBlock];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) Isa::store(sums + (r * kBlocks + b) * kFloatBlock, sum[r][b]);
    for (int r = 0; r < kRows; ++r)
      for (int b = 0; b < kBlocks; ++b) {
        const int64_t c = b * kFloatBlock;
        finish<Isa>(Isa::load(sums + (r * kBlocks + b) * kFloatBlock), tile.out_offsets[r] + channel + c, channel + c,
                    tile.channels - c, e);
      }
    return;
  }
  if (e.alpha != 1.0f) {
    const F alpha = Isa::set(e.alpha);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) sum[r][b] = Isa::mul(sum[r][b], alpha);
  }
  if (e.bias) {
#pragma GCC unroll 16
    for (int b = 0; b < kBlocks; ++b) {
      const F bias = Isa::load(e.bias + channel + b * kFloatBlock);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sum[r][b] = Isa::add(sum[r][b], bias);
    }
  }
  if (e.residual) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b)
        sum[r][b] = Isa::add(sum[r][b], Isa::load(e.residual + tile.out_offsets[r] + channel + b * kFloatBlock));
  }
  const F low = Isa::set(e.low), high = Isa::set(e.high);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int b = 0; b < kBlocks; ++b)
      Isa::store(e.out + tile.out_offsets[r] + channel + b * kFloatBlock, Isa::min(high, Isa::max(low, sum[r][b])));
}

template <class Isa>
float softmax_terms(float* x, int64_t n) {
  using F = typename Isa::F;
  const float lowest = -__builtin_inff();
  const int64_t padded = (n + kFloatBlock - 1) / kFloatBlock * kFloatBlock;
  for (int64_t i = n; i < padded; ++i) x[i] = lowest;
  F most = Isa::set(lowest);
  for (int64_t i = 0; i < padded; i += kFloatBlock) most = Isa::max(most, Isa::load(x + i));  // a NaN comes through
  alignas(64) float lanes[kFloatBlock];
  Isa::store(lanes, most);
  float top = lowest;
  for (float v : lanes) top = top > v ? top : v;
  const F largest = Isa::set(top);
  F sum = Isa::set(0.0f);
  for (int64_t i = 0; i < padded; i += kFloatBlock) {
    const F e = exact::exp<Isa>(Isa::sub(Isa::load(x + i), largest));
    Isa::store(x + i, e);
    if (i + kFloatBlock <= n) sum = Isa::add(sum, e);
  }
  Isa::store(lanes, sum);
  for (int step = kFloatBlock / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  for (int64_t i = n / kFloatBlock * kFloatBlock; i < n; ++i) lanes[0] += x[i];
  for (int64_t i = n; i < padded; ++i) x[i] = 0.0f;
  return lanes[0];
}

template <class Isa>
void add_row(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += kFloatBlock)
    store_some<Isa>(x + i, Isa::add(load_some<Isa>(x + i, n - i), load_some<Isa>(y + i, n - i)), n - i);
}
template <class Isa>
void divide_row(float* x, int64_t n, float by) {
  const typename Isa::F divisor = Isa::set(by);
  for (int64_t i = 0; i < n; i += kFloatBlock) store_some<Isa>(x + i, Isa::div(load_some<Isa>(x + i, n - i), divisor), n - i);
}

// Fills the functions for 1…kRows rows of kBlocks blocks.
template <class Isa, int kBlocks, int kRows>
constexpr void add_tiles(FloatKernels& kernels) {
  static_assert(kBlocks <= kMaxFloatBlocks && kRows <= kMaxFloatRows);
  kernels.tile[kBlocks - 1][kRows - 1] = float_tile<Isa, kBlocks, kRows>;
  if (kernels.max_rows[kBlocks - 1] < kRows) kernels.max_rows[kBlocks - 1] = kRows;
  if constexpr (kRows > 1) add_tiles<Isa, kBlocks, kRows - 1>(kernels);
}
template <class Isa>
constexpr void add_rows(FloatKernels& kernels) {
  kernels.softmax_terms = softmax_terms<Isa>;
  kernels.add_row = add_row<Isa>;
  kernels.divide_row = divide_row<Isa>;
}

}  // namespace
}  // namespace ingot::cpu
