// The 8-bit matrix product that convolution and MatMul share: y[r,o] = epilogue( bias[o] + Σ_k u(x[r,k]) · w[o,k] ), where the
// rows of x are given by pointers to their pieces ("segments"), so that no im2col copy is made. u(x) is x for u8 and
// x + 128 for s8; zero points are folded into the bias. All instruction sets read one packing of the weights,
// [block of 16 channels][step of 4 k][16][4], and give the same bytes. Plain data only: ISA files include this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {

inline constexpr int kBlockChannels = 16;
inline constexpr int kStepBytes = 4;
inline constexpr int kPackedStep = kBlockChannels * kStepBytes;
inline constexpr int kMaxTileRows = 8;
inline constexpr int kMaxTileBlocks = 4;

enum class Stored : uint8_t { kNone, kU8, kS8, kF32 };

// What happens to a row of int32 sums (numbers as in docs/numerics.md). Pointers are for channel 0 and row 0.
struct RowEpilogue {
  const float* multiplier = nullptr;  // per channel, padded to whole blocks: s_x s_w / s_y, or s_x s_w if `curved` or f32 output
  void* out = nullptr;
  const void* residual = nullptr;
  int64_t out_stride = 0;             // elements from row to row, of both out and residual
  Stored stored = Stored::kU8;
  Stored residual_stored = Stored::kNone;
  int32_t residual_zero = 0;
  float residual_multiplier = 0;      // s_r / s_y, or s_r if `curved` or f32 output
  float low = 0, high = 0;            // limits of the result before the zero point is added; of the real value for f32
  int32_t zero = 0;
  bool integers = false;              // u8/s8 result, neither residual nor curve, all multipliers < 1: scaled sums fit int32
  bool curved = false;                // an activation that is no clamp: y = clamp(rne(f(t) / scale) + zero)
  float scale = 1;
  // f(t) / scale may be computed as fma(f(t), inverse, f(t) · inverse_low): no result of a clamp and rounding differs.
  bool reciprocal = false;
  float inverse = 0, inverse_low = 0;
  // Per channel, padded as `multiplier`, where the result has scales per channel; they stand for the numbers above then.
  const float *channel_low = nullptr, *channel_high = nullptr, *channel_scale = nullptr, *channel_residual = nullptr;
  const float *channel_inverse = nullptr, *channel_inverse_low = nullptr;  // null unless `reciprocal`
  const int32_t* channel_zero = nullptr;  // null: one scale for all
  int64_t function = 0;               // UnaryFunction
  double alpha = 0, beta = 0;
};

struct IgemmTile {
  const uint8_t* const* pointers;  // [segment][row]
  int64_t segments, steps;         // each segment is steps × 4 bytes
  const int8_t* weights;           // of the tile's first block
  int64_t block_bytes;             // from block to block
  const int32_t* bias;             // of the tile's first channel
  int64_t channel, channels;       // first one, and how many exist (≤ 16 · blocks)
  int64_t row;                     // of output
  const RowEpilogue* epilogue;
};
using IgemmFunction = void (*)(const IgemmTile&);
// From sums[r][c] of `rows` ≤ 16 rows from `row` on and `channels` channels from `channel` on to stored results; sums are readable to
// whole blocks of 16.
using FinishFunction = void (*)(const int32_t* sums, int rows, int64_t sum_stride, int64_t row, int64_t channel, int64_t channels,
                                const RowEpilogue& epilogue);

// [signed x][blocks − 1][rows − 1]. `fast` is exact while 255 · |w0 + w1| ≤ 32767 for each same-signed pair of a step;
// `exact` always. Where the instruction set has no such limit both are the same.
struct IgemmKernels {
  int max_blocks;
  int max_rows[kMaxTileBlocks];        // by blocks − 1
  int max_rows_exact[kMaxTileBlocks];
  IgemmFunction fast[2][kMaxTileBlocks][kMaxTileRows];
  IgemmFunction exact[2][kMaxTileBlocks][kMaxTileRows];
  FinishFunction finish;               // of other kernels' sums, so that they need no copy of it
};
extern const IgemmKernels kIgemmScalar, kIgemmAvx2, kIgemmAvxVnni, kIgemmAvx512Vnni;

}  // namespace ingot::cpu
