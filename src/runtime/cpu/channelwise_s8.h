// Kernels in which each channel of a channels-last tensor stays by itself: depthwise convolution, pooling, element-wise
// functions. Plain data only: ISA files include this. All instruction sets give the same bytes.
#pragma once

#include "runtime/cpu/igemm_s8.h"

namespace ingot::cpu {

inline constexpr int kMaxTilePixels = 8;

// Depthwise convolution of a run of neighbouring pixels in one output row, or in several whose windows lie in the same 4 · row_groups
// input rows, for a group of channels. Four input rows are brought side by side, byte by byte, once for each column that the run
// touches; an output then sums products of 4 over its columns. Interleaving within 128-bit lanes leaves channels 16·l + 4·j … + 3 of
// lane l in register j. A register of `width` bytes holds width / lanes_bytes pixels of a group of lane_bytes channels, so that
// narrow layers fill it too; weights, bias and multipliers are stored in the registers' order, repeated for each pixel.
struct DepthwiseRow {
  const uint8_t* x = nullptr;      // column 0 of an input row, or padding
  int64_t step = 0;                // bytes from column to column; 0 for padding
};
struct DepthwiseRun {
  const DepthwiseRow* rows;        // 4 · row_groups
  const uint8_t* padding;          // a pixel, repeated to fill a register
  int64_t first_column, in_columns;  // of the window of the first pixel (may be negative); how many exist
  int64_t columns, row_groups;     // how many columns the run touches; row groups: of 4
  int64_t taps, tap_step, pixel_step;  // columns of a pixel, from one to the next, from pixel to pixel
  int64_t pixels, out_rows, out_row_pixels;  // in each of out_rows rows, that far apart in the output
  uint8_t* scratch;                // [row group][register][column % pixel_step][column / pixel_step][lane_bytes], see `plane`
  int64_t plane;                   // columns that there is room for in one [column / pixel_step]; a multiple of the pixels of a register
  const int8_t* weights;           // [output row][tap][row group][register][width], or twice that as words for `exact` on AVX2
  const int32_t* bias;             // [register][width / 4]
  const float* multiplier;         // as bias
  const int16_t* zeros;            // with epilogue->integers or curved_bytes: [channel % 16 < 8 …, then ≥ 8 …], width in all
  const uint8_t *low, *high;       // likewise, the limits as stored bytes: [width]
  bool curved_bytes;               // u8/s8 result of a curve without residual, with one scale for all channels and epilogue->reciprocal
  int64_t channel, channels;       // first one, and how many exist (≤ lane_bytes)
  int64_t all_channels;            // of a pixel of x
  int64_t pixel;                   // of output
  const RowEpilogue* epilogue;
  FinishFunction finish;
};
struct DepthwiseKernel {
  int64_t width = 0, lane_bytes = 0;  // 0 ends the list
  bool words_if_exact = false;     // `exact` wants weights as 16-bit words: even bytes, then odd ones, in each register
  void (*fast[2])(const DepthwiseRun&) = {};   // [signed x]; exact while no pair of products leaves 16 bits
  void (*exact[2])(const DepthwiseRun&) = {};
};

// For each pixel the largest byte, or the scaled sum, over its taps.
struct PoolTile {
  const uint8_t* const* pointers;  // [tap][pixel]
  int64_t taps, pixels, channels;
  int64_t pixel;                   // of output
  int32_t offset;                  // average: added to each sum, −z_x · taps
  const float* multiplier;         // average: per pixel
  const RowEpilogue* epilogue;     // out, stored, zero, low, high
};

// y = a·m_a + b·m_b, or (a·b)·m_a, over n elements; a step of 0 repeats one element.
struct BinaryRun {
  const void *a, *b;
  Stored a_stored, b_stored;
  int64_t a_step, b_step, n;
  int32_t a_zero, b_zero;
  float a_multiplier, b_multiplier;
  bool product;
  int64_t at;                      // first element of out
  const RowEpilogue* epilogue;
};

struct ChannelwiseKernels {
  DepthwiseKernel depthwise[3];
  void (*max_pool[2])(const PoolTile&);      // [signed x]
  void (*average_pool[2])(const PoolTile&);
  void (*binary)(const BinaryRun&);
  // y = clamp(rne(x / scale) + zero)
  void (*quantize)(const float* x, int64_t n, float scale, int32_t zero, Stored stored, void* y);
  // The same for rows of `channels` values, by the epilogue's numbers per channel.
  void (*quantize_rows)(const float* x, int64_t rows, int64_t channels, const RowEpilogue& result, void* y);
  // out[3i + c] = planes[c][i] for the first pixels, as many as it likes; returns how many. Null: none.
  int64_t (*interleave3)(const uint8_t* const* planes, int64_t pixels, uint8_t* out);
  // y = scale · (x − zero)
  void (*dequantize)(const void* x, Stored stored, int64_t n, float scale, int32_t zero, float* y);
};
extern const ChannelwiseKernels kChannelwiseScalar, kChannelwiseAvx2, kChannelwiseAvxVnni, kChannelwiseAvx512Vnni;

}  // namespace ingot::cpu
