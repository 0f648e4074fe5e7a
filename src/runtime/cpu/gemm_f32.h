// The float matrix product that all float kernels stand on: y[r,o] = act( alpha · Σ_k x[r,k] · w[o,k] + bias[o] + residual[r,o] ).
// Rows of x are given by pointers to their pieces ("runs"), so that no im2col copy is made; the rows of y by offsets.
// All instruction sets read one packing of the weights, [block of 16 channels][k][16], and each output is summed with k
// ascending, so that neither the tile it falls in nor the thread changes it. Plain data only: ISA files include this.
#pragma once

#include <cstdint>

#include "runtime/cpu/cpu_features.h"

namespace ingot::cpu {

inline constexpr int kFloatBlock = 16;
inline constexpr int kMaxFloatBlocks = 4;  // blocks in a tile
inline constexpr int kMaxFloatRows = 12;   // rows in a tile

// What happens to a sum before it is stored. Pointers are for channel 0.
struct FloatEpilogue {
  float* out = nullptr;
  const float* bias = nullptr;      // null: none
  const float* residual = nullptr;  // null: none; laid out as `out`
  float alpha = 1;
  float low = -__builtin_inff(), high = __builtin_inff();
  bool curved = false;              // an activation that is no clamp
  int64_t function = 0;             // UnaryFunction
  float function_alpha = 0, function_beta = 0;
};

struct FloatTile {
  const float* const* rows;  // rows[run · row_stride + r]
  int64_t row_stride;
  int64_t offset;            // added to every row pointer
  const float* zeros;        // a run is left out where all rows point here; null: never
  int64_t runs, run_length;  // k = run · run_length + place in the run
  const float* weights;      // at the first k of the tile's first block
  int64_t block_stride;      // floats from block to block
  float* partial;            // [row][block][16] sums between pieces of k; read unless `first`, written unless `last`
  bool first, last;
  const int64_t* out_offsets;  // of each row's channel 0 in out and residual
  int64_t channel, channels;   // the tile's first channel, and how many exist from there on
  const FloatEpilogue* epilogue;
};
using FloatTileFunction = void (*)(const FloatTile&);

struct FloatKernels {
  int max_rows[kMaxFloatBlocks];                             // by blocks − 1
  FloatTileFunction tile[kMaxFloatBlocks][kMaxFloatRows];    // [blocks − 1][rows − 1]
  // x[i] = e^(x[i] − max x) for i < n, then zeros up to a multiple of 16; returns Σ.
  float (*softmax_terms)(float* x, int64_t n);
  void (*add_row)(float* x, const float* y, int64_t n);   // x += y
  void (*divide_row)(float* x, int64_t n, float by);      // x /= by
  // Blocks per tile that suit so many rows.
  int blocks_for(int64_t rows) const {
    int blocks = kMaxFloatBlocks;
    while (blocks > 1 && max_rows[blocks - 1] < rows && max_rows[blocks - 1] < 6) --blocks;
    return blocks;
  }
};
extern const FloatKernels kFloatScalar, kFloatAvx2, kFloatAvx512;

inline const FloatKernels& float_kernels(const CpuFeatures& cpu) {
  if (cpu.avx512) return kFloatAvx512;
  return cpu.level >= CpuLevel::kAvx2 ? kFloatAvx2 : kFloatScalar;
}

}  // namespace ingot::cpu
