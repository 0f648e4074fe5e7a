// Convolution 3×3 with stride 1 by Winograd's F(4×4, 3×3) in integers, exactly. Tiles of 4×4 outputs come from 6×6 inputs d:
//   V = Bᵀ d B with the usual B, |V| ≤ 68 · 255;   U = G' g G'ᵀ, rows of G scaled by 12, 6, 6, 24, 24, 3 to be integers, |U| ≤ 49 · 128;
//   M = Σ over channels of U · V, 36 products instead of 144, of 16 bits;   Y = A'ᵀ M A', rows of A scaled to 24, 12, 6, 6 times their own.
// So Y holds 9 · 2^s · y, s = 2 … 6, modulo 2³²; times the inverse of 9 modulo 2³² and shifted right by s that is y, whatever
// wrapped on the way, as long as |y| < 2^25. Plain data only: ISA files include this. All instruction sets give the same bytes.
#pragma once

#include "runtime/cpu/igemm_s8.h"

namespace ingot::cpu {

inline constexpr int kWinogradOut = 4, kWinogradIn = 6, kWinogradProducts = 36, kWinogradTaps = 9;
inline constexpr int kMaxWinogradTiles = 8;   // computed together
inline constexpr int kMaxWinogradBlocks = 2;  // of 16 output channels
inline constexpr int64_t kWinogradChannelStep = 32;  // V has room for whole steps

// V of one tile: v[product · product_stride + channel].
struct WinogradInput {
  const uint8_t* pixels[kWinogradProducts];  // row by row
  int64_t channels;
  int16_t* v;
  int64_t product_stride;
};

// Where a tile's results go: its first output pixel, and how many rows and columns of it exist.
struct WinogradPlace {
  int64_t pixel = 0, rows = 0, columns = 0;
};

struct WinogradTiles {
  const int16_t* v;                // [product][tile][channel]
  int64_t product_stride, tile_stride;
  int64_t pairs;                   // of input channels
  const int16_t* u;                // [block][product][pair][16][2]
  int64_t block_stride;
  const int32_t* bias;             // of the first channel
  int64_t channel, channels;       // first one, and how many exist (≤ 16 · blocks)
  const WinogradPlace* places;     // of each tile
  int64_t row_pixels;              // of the output image
  int32_t* m;                      // scratch: kWinogradProducts · kMaxWinogradTiles · kMaxWinogradBlocks · 16
  const RowEpilogue* epilogue;
  FinishFunction finish;
};

struct WinogradKernels {
  int max_tiles, max_blocks;
  void (*input[2])(const WinogradInput&);  // [signed x]
  void (*tiles[kMaxWinogradBlocks][kMaxWinogradTiles])(const WinogradTiles&);  // [blocks − 1][tiles − 1]
};
extern const WinogradKernels kWinogradScalar, kWinogradAvx2, kWinogradAvxVnni, kWinogradAvx512Vnni;

}  // namespace ingot::cpu
