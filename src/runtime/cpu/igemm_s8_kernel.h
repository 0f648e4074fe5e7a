// The inner loops of igemm_s8.h for one instruction set: a tile of rows × blocks of 16 channels is summed in registers over
// all k, then finished. Isa gives the step: activation<kSigned>(p) spreads 4 bytes, weights(p) reads one packed step,
// dot(sum, a, w) adds 16 products of length 4. For ISA files only: everything has internal linkage.
#pragma once

#include "runtime/cpu/row_epilogue.h"

namespace ingot::cpu {
namespace {

template <class Isa, bool kSigned, int kBlocks, int kRows>
void igemm_tile(const IgemmTile& t) {
  using I = typename Isa::I;
  I sum[kRows][kBlocks];
#pragma GCC unroll 16
  for (int b = 0; b < kBlocks; ++b) {
    const I bias = Isa::load(t.bias + b * kBlockChannels);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sum[r][b] = bias;
  }
  const int8_t* weights = t.weights;
  const int64_t block_bytes = t.block_bytes;
  const uint8_t* const* pointers = t.pointers;
  for (int64_t s = t.segments; s > 0; --s, pointers += kRows) {
    const uint8_t* x[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) x[r] = pointers[r];
    for (int64_t k = 0; k < t.steps * kStepBytes; k += kStepBytes, weights += kPackedStep) {
      typename Isa::W w[kBlocks];
#pragma GCC unroll 16
      for (int b = 0; b < kBlocks; ++b) w[b] = Isa::weights(weights + b * block_bytes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const auto a = Isa::template activation<kSigned>(x[r] + k);
#pragma GCC unroll 16
        for (int b = 0; b < kBlocks; ++b) Isa::dot(sum[r][b], a, w[b]);
      }
    }
  }
  if constexpr (PacksLines<Isa> && kBlocks == 4) {
    const RowEpilogue& e = *t.epilogue;
    if (!e.curved && e.residual_stored == Stored::kNone && packs_lines(e, t.channels)) {  // the most frequent end stays in registers
      const auto limits = Isa::byte_limits(e.zero, static_cast<int>(e.low) + e.zero, static_cast<int>(e.high) + e.zero);
      typename Isa::F multiplier[kBlocks];
#pragma GCC unroll 4
      for (int b = 0; b < kBlocks; ++b) multiplier[b] = Isa::load(e.multiplier + t.channel + b * kBlockChannels);
      const auto most = Isa::set(0x1p30f);
      const bool is_signed = e.stored == Stored::kS8;
      uint8_t* out = static_cast<uint8_t*>(e.out) + t.row * e.out_stride + t.channel;
      const int64_t stride = e.out_stride;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r, out += stride) {
        I y[kBlocks];
#pragma GCC unroll 4
        for (int b = 0; b < kBlocks; ++b) y[b] = Isa::round(Isa::min(Isa::mul(Isa::to_float(sum[r][b]), multiplier[b]), most));
        if (is_signed) Isa::store_packed(reinterpret_cast<int8_t*>(out), y, limits);
        else Isa::store_packed(out, y, limits);
      }
      return;
    }
  }
  alignas(64) int32_t sums[kRows * kBlocks * kBlockChannels];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int b = 0; b < kBlocks; ++b) Isa::store(sums + (r * kBlocks + b) * kBlockChannels, sum[r][b]);
  finish_rows<Isa>(sums, kRows, kBlocks * kBlockChannels, t.row, t.channel, t.channels, *t.epilogue);
}

// Fills the functions for 1…kMaxRows rows of kBlocks blocks.
template <class Isa, bool kSigned, int kBlocks, int kRows>
constexpr void add_tiles(IgemmFunction (&row)[kMaxTileRows]) {
  row[kRows - 1] = igemm_tile<Isa, kSigned, kBlocks, kRows>;
  if constexpr (kRows > 1) add_tiles<Isa, kSigned, kBlocks, kRows - 1>(row);
}
template <class Isa, int kBlocks, int kMaxRows>
constexpr void add_tiles(IgemmFunction (&table)[2][kMaxTileBlocks][kMaxTileRows], int (&max_rows)[kMaxTileBlocks]) {
  static_assert(kBlocks <= kMaxTileBlocks && kMaxRows <= kMaxTileRows);
  add_tiles<Isa, false, kBlocks, kMaxRows>(table[0][kBlocks - 1]);
  add_tiles<Isa, true, kBlocks, kMaxRows>(table[1][kBlocks - 1]);
  max_rows[kBlocks - 1] = kMaxRows;
}

constexpr IgemmKernels same_for_exact(IgemmKernels k) {
  for (int s = 0; s < 2; ++s)
    for (int b = 0; b < kMaxTileBlocks; ++b)
      for (int r = 0; r < kMaxTileRows; ++r) k.exact[s][b][r] = k.fast[s][b][r];
  for (int b = 0; b < kMaxTileBlocks; ++b) k.max_rows_exact[b] = k.max_rows[b];
  return k;
}

}  // namespace
}  // namespace ingot::cpu
