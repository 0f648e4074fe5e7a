// Brings x into the form that the matrix kernels copy 16 bytes of at a time: a pixel's channels padded to a multiple of 16 bytes, or, where
// there are few (a network's first layer), all that a window takes from one image row, side by side; the window is then one pixel wide.
#pragma once

#include "runtime/cuda/kernels/device.cuh"

namespace ingot::cuda {
namespace {

// One thread for 16 bytes; kEach elements in them, which Pack::element() makes and Pack::join() puts together.
template <class Pack>
INGOT_DEVICE void pack(const PackParams& p) {
  constexpr int kEach = Pack::kEach;
  const int64_t at = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= p.elements) return;
  const int32_t pieces = p.padded / kEach, per_pixel = p.groups * pieces;
  const int64_t pixel = at / per_pixel, row = pixel / p.columns, image = row / p.rows;
  const int32_t place = static_cast<int32_t>(at - pixel * per_pixel), group = place / pieces, first = (place - group * pieces) * kEach;
  const auto* x = static_cast<const typename Pack::Source*>(p.x) + image * p.image_stride + (row - image * p.rows) * p.row_stride +
                  static_cast<int64_t>(group) * p.group_channels * p.channel_stride;
  int32_t tap = first / p.group_channels, channel = first - tap * p.group_channels;
  int32_t column = static_cast<int32_t>(pixel - row * p.columns) * p.stride - p.pad + tap * p.dilation;
  uint32_t words[4] = {};
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const bool inside = tap < p.taps && static_cast<uint32_t>(column) < static_cast<uint32_t>(p.x_columns);
    const uint32_t element = inside ? Pack::element(x[column * p.column_stride + channel * p.channel_stride]) : static_cast<uint32_t>(p.fill);
    words[i * 4 / kEach] |= element << i % (kEach / 4) * (128 / kEach);
    if (++channel == p.group_channels) {
      channel = 0;
      ++tap;
      column += p.dilation;
    }
  }
  static_cast<uint4*>(p.y)[at] = make_uint4(words[0], words[1], words[2], words[3]);
}

}  // namespace
}  // namespace ingot::cuda
