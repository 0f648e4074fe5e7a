// Arguments of the CUDA kernels: plain data that host and device see alike. Pointers are device addresses; sizes are in
// elements. Tensors are channels-last, u8 or s8 unless said otherwise.
#pragma once

#include <cstdint>

#include "ingot/types.h"

namespace ingot::cuda {

enum class Stored : int32_t { kNone, kU8, kS8, kF32 };

// What happens to int32 sums (docs/numerics.md), as RowEpilogue of the CPU:
//   t = float(acc + bias)·m;  t = fma(float(r − z_r), m_r, t) or t + r;  curved: t = f(t);  y = clamp(rne(t [/ s]), lo, hi) + z
struct Epilogue {
  const float* multiplier;  // per channel
  const int32_t* bias;      // per channel, zero point of x folded in where the kernel wants it
  const void* residual;     // shape and layout of out
  void* out;
  // Per channel, where the result has scales per channel; null: the numbers below.
  const float *channel_low, *channel_high, *channel_scale, *channel_residual;
  const int32_t* channel_zero;
  float low, high, scale, residual_multiplier, alpha, beta;
  int32_t zero, residual_zero;
  int32_t function;  // UnaryFunction
  int32_t curved;    // f is no clamp, or a float residual comes before rounding
  Stored stored, residual_stored;
  int32_t channels;  // of out, all groups
};

// One image geometry; one-dimensional problems have a height of 1.
struct Image {
  int32_t batch, in_h, in_w, out_h, out_w;
  int32_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, kernel_h, kernel_w;
};

// A tap as the matrix kernel's loader sees it: where k (or a piece of 4, 8 or 16 of it) lies relative to the window's origin.
struct Tap {
  int16_t dy, dx;   // pixels, dilation counted in; dy = kNoTap behind the last k
  int32_t channel;  // within the group
};
inline constexpr int16_t kNoTap = 0x4000;

template <class Finish>
struct MatrixParams {     // sizes along k and between pixels are in bytes, whatever the elements
  const uint8_t* x;
  const int8_t* weights;  // [group][output][k_pitch], k = tap-major, channels within; zeros up to k_pitch
  const uint8_t* padding; // 16 bytes of the zero point
  void* partial;          // null, or the sums of each slice of k: [slice][row][partial_pitch], int32 or float
  const Tap* taps;        // one per piece of k; null for the direct loader
  Image image;
  int64_t rows;           // output pixels of the batch, or rows of a matrix
  int32_t outputs;        // per group
  int32_t channels;       // of x, all groups: bytes from pixel to pixel
  int32_t group_channels;
  int32_t k_pitch;        // bytes of a weight row: a multiple of 16
  int32_t piece;          // bytes per entry of taps: 16, 8 or 4
  int32_t slices, slice_steps;  // of k, where there is partial: steps of 64 bytes in each slice but the last
  int32_t partial_pitch;  // channels of the result, up to a multiple of 4
  uint32_t flip;          // what x is combined with by exclusive or: 0x80808080 makes u8 of s8
  Finish epilogue;
};
using IgemmParams = MatrixParams<Epilogue>;

struct DepthwiseParams {
  const uint8_t* x;
  const int8_t* weights;  // [tap][channel]
  const int32_t* zeros;   // of x, per channel
  Image image;
  int32_t is_signed;
  Epilogue epilogue;      // bias without zero points
};

struct PoolParams8 {
  const uint8_t* x;
  void* out;
  Image image;
  int32_t pad_end_h, pad_end_w;
  int32_t channels, is_signed, x_zero;
  int32_t is_max, count_padding;
  double x_scale, y_scale;  // average: m = float(s_x / (s_y · n))
  float low, high;
  int32_t zero;
  Stored stored;
};

struct QuantizeParams {
  const float* x;
  uint8_t* y;
  const float* scales;      // one, or one per channel
  const int32_t* zeros;
  int64_t elements, pixels; // pixels: product of the spatial dims
  int32_t channels, per_channel, is_signed;
  int32_t x_channels_last, y_channels_last;
};

struct DequantizeParams {
  const uint8_t* x;
  float* y;
  int64_t elements, pixels;
  float scale;
  int32_t zero, channels, is_signed;
  int32_t x_channels_last, y_channels_last;
};

struct TableParams {        // y = table[x]
  const uint8_t *x, *table;
  uint8_t* y;
  int64_t elements;
};

struct AddParams {          // y = clamp(rne(fma(float(a − z_a), m_a, float(b − z_b)·m_b)), low, high) + z
  const uint8_t *a, *b;
  uint8_t* y;
  int64_t elements;
  int32_t a_signed, b_signed, a_zero, b_zero, zero;
  float a_multiplier, b_multiplier, low, high;
};

struct ReformatParams {     // [batch][channels][pixels] ↔ [batch][pixels][channels], elements of 1, 2 or 4 bytes
  const void* x;
  void* y;
  int64_t batch, rows, columns;  // of x, which becomes [batch][columns][rows]
  int32_t element_bytes;
};

inline constexpr int kMaxDims = 16;  // of a strided copy

struct CopyParams {         // target[Σ i·target_stride] = source[Σ i·source_stride]; strides in elements
  const void* source;
  void* target;
  int64_t elements;
  int32_t rank, element_bytes;  // 1, 2, 4 or 8
  int64_t dims[kMaxDims], source_strides[kMaxDims], target_strides[kMaxDims];
};

// f32 from here on.
struct UnaryF32 {
  const float* x;
  float* y;
  int64_t elements;
  int32_t function;         // UnaryFunction
  float alpha, beta;
};

struct BinaryF32 {          // y = f(a ∘ b), dense y; strides of a and b are 0 where they are broadcast
  const float *a, *b;
  float* y;
  int64_t elements;
  int32_t rank, operation;  // BinaryFunction
  int32_t function;         // the activation behind it
  float alpha, beta;
  int64_t dims[8], a_strides[8], b_strides[8];
};

struct RowsF32 {            // softmax and norms over `length` elements that lie `stride` apart; one block for each row
  const float *x, *scale, *bias;
  float* y;
  int64_t rows, length, stride;  // row r starts at (r / stride)·length·stride + r % stride
  float epsilon;
  int32_t rms, log;
};

struct ReduceF32 {          // one block for each result
  const float* x;
  float* y;
  int64_t results, set_size;
  int32_t function;         // ReduceFunction
  int32_t kept_rank, reduced_rank;
  int64_t kept_dims[8], kept_strides[8], reduced_dims[8], reduced_strides[8];
};

struct EpilogueF32 {        // y = f(alpha·sum + bias[column] + residual)
  const float *bias, *residual;  // may be null; residual lies as out
  float* out;
  float multiplier, alpha, beta;
  int32_t function;         // UnaryFunction
  int32_t channels;         // from row to row of out, where rows are dense
};

using IgemmParamsF16 = MatrixParams<EpilogueF32>;

// x as [image][row][column][group][padded], padded: elements in a multiple of 16 bytes. What stands there for a column are `taps` columns
// of x with all their channels, the first at column·stride − pad; `fill` stands for columns beside the image and behind the last tap.
struct PackParams {
  const void* x;
  void* y;
  int64_t elements;         // threads: 16 bytes of y each
  int64_t image_stride, row_stride, column_stride, channel_stride;  // of x, in elements
  int32_t rows, columns;    // of y
  int32_t x_columns;
  int32_t taps, stride, dilation, pad;
  int32_t groups, group_channels, padded;
  int32_t fill;             // an element's bits
};

// Products of `matrices` pairs, each y[rows, columns] = a[rows, k]·b[k, columns]. In a convolution rows are output pixels, matrices
// are groups, and k = (tap, channel). Strides are in elements.
struct GemmF32 {
  const float *a, *b;
  int64_t rows;
  int32_t columns, k, row_tiles;
  int32_t batch_rank;       // matrix i: index over batch_dims, last one fastest
  int64_t batch_dims[8], a_batch[8], b_batch[8];
  int64_t a_image, a_row, a_channel;      // image: convolution only; row: a matrix row, or an input pixel
  int64_t b_tap, b_channel, b_column;
  int64_t out_batch, out_plane, out_image, out_row, out_column;  // row r: r / plane·image + r % plane·row
  int32_t bias_batch, group_channels;
  Image image;
  EpilogueF32 epilogue;
};

struct DepthwiseF32 {       // one thread for each result, or for 4
  const float *x, *weights; // weights as in the model, [channel][tap]; for 4: [tap][channel]
  int64_t elements;         // threads
  Image image;
  int32_t channels, x_channels_last, y_channels_last;
  EpilogueF32 epilogue;
};

struct AttentionF32 {       // one block for each query row
  const float *q, *k, *v, *mask;
  float* y;
  int64_t rows;             // B·H·S
  int32_t heads, queries, keys, depth, values;
  int32_t k_transposed;
  float scale;
  int64_t mask_strides[4];  // of b, h, s, t; 0 where broadcast
};

struct GatherParams {       // y[o, i, n] = x[o, index[i], n]; an index out of range gives zeros
  const void* x;
  const void* indices;
  void* y;
  int64_t elements, indices_count, inner, dim;
  int32_t element_bytes, wide_indices;
};

struct CastParams {
  const void* x;
  void* y;
  int64_t elements;
  int32_t from, to;         // DataType: f32, s32, s64, bool, u8
};

struct PoolF32 {
  const float* x;
  float* y;
  Image image;
  int32_t pad_end_h, pad_end_w, channels, channels_last, is_max, count_padding;
};

}  // namespace ingot::cuda
