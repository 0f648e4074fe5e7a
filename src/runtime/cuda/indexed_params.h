// Arguments of the kernels that select, pad and read or write by index; see kernel_params.h. One thread for each of `elements`, dense
// in the order of the target unless said otherwise; elements have 1, 2, 4 or 8 bytes; indices are s32, or s64 where `wide`.
#pragma once

#include <cstdint>

namespace ingot::cuda {

inline constexpr int kWalkDims = 8;

// The dims of a dense tensor in the order of its memory, with the strides of N operands along them; 0 where one is broadcast.
template <int N>
struct Walk {
  int32_t rank, is_small;   // is_small: places fit 32 bits
  int64_t dims[kWalkDims], strides[N][kWalkDims];
};

struct WhereParams {
  const uint8_t* condition;
  const void *x, *y;
  void* out;
  int64_t elements;
  int32_t element_bytes;
  Walk<3> walk;
};

enum class Beyond : int32_t { kConstant, kReflect, kEdge, kWrap };  // as PadMode
struct PadParams {
  const void *x, *value;     // value: of one element, or null
  void* y;
  int64_t elements;
  int32_t element_bytes, rank;
  Beyond beyond;
  uint64_t fill;             // where value is null
  int64_t dims[kWalkDims], kept[kWalkDims], before[kWalkDims], crop[kWalkDims], x_strides[kWalkDims];
};

struct GatherElementsParams {
  const void *x, *indices;
  void* y;
  int64_t elements, axis_dim, axis_stride;
  int32_t element_bytes, wide;
  Walk<1> walk;              // of y, with x's strides; 0 along the axis
};

struct GatherNdParams {
  const void *x, *indices;
  void* y;
  int64_t elements, slice, rows, batch_size;  // elements of a slice; rows of one batch; elements of x in one batch
  int32_t named, element_bytes, wide;
  int64_t dims[kWalkDims];   // that an index names
};

// Updates come in `units` of `slice` elements each, whose place in y the indices give.
struct ScatterParams {
  const void *indices, *updates;
  void* y;
  int32_t* owners;           // the last unit that writes a place, −1 for none; in claim and write
  int64_t elements;          // threads
  int64_t units, slice;
  int32_t element_bytes, wide, by_rows;
  int64_t axis_dim, axis_stride;
  Walk<1> walk;              // one element a unit: of the indices, with y's strides; 0 along the axis
  int32_t named;             // by_rows: as in GatherNdParams
  int64_t dims[kWalkDims];
  // In order: each thread makes the units of one line, one after the other.
  int64_t sequence, inner;
  int32_t reduction, dtype;  // ScatterReduction, DataType
};

struct OneHotParams {
  const void *indices, *values;
  void* y;
  int64_t elements, depth, inner;
  int32_t element_bytes, index_type;  // DataType
};

struct TriluParams {
  const void *x, *k;         // k null: 0
  void* y;
  int64_t elements, rows, columns;
  int32_t element_bytes, wide, upper;
};

struct ReverseSequenceParams {
  const void *x, *lengths;
  void* y;
  int64_t elements, batch_stride, batch, time_stride, time;
  int32_t element_bytes, wide;
};

struct FillParams {          // y = first + i·step; step 0: the bits of `first`
  void* y;
  int64_t elements, first, step;
  float float_first, float_step;
  int32_t element_bytes, is_float;
};

}  // namespace ingot::cuda
