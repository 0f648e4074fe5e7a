// What the Tensor Core layers share on the host, whatever their elements: tiles, and how a convolution or a matrix product with constant
// weights is laid out along k. A matrix product is a window of one pixel. Sizes along channels and k are in bytes.
#pragma once

#include <vector>

#include "runtime/cuda/kernel_params.h"
#include "runtime/ops/conv.h"
#include "runtime/tactic.h"

namespace ingot::cuda {

struct IgemmTile {
  int rows, outputs, threads, stages;
  int shared_bytes() const { return stages * (rows + outputs) * 64; }
};

// What does not depend on a run's shapes.
struct IgemmPlan {
  ConvParams conv;
  int spatial = 0;  // 0: a matrix product
  Image image{};
  int64_t channels = 0, outputs = 0, groups = 1, taps = 1;  // channels: bytes of all groups
  int64_t inputs = 0;  // channels of one group as elements, without padding
  bool dense = false;  // every row of x is one row of the product

  // Elements have `element` bytes; a group's channels are padded to a multiple of `align` bytes.
  static IgemmPlan of_conv(const Problem& problem, int64_t element = 1, int64_t align = 1);
  static IgemmPlan of_matmul(const Problem& problem, int64_t element = 1, int64_t align = 1);

  int64_t group_channels() const { return channels / groups; }
  int64_t k() const { return taps * group_channels(); }
  int64_t k_pitch() const;
  int64_t bias_bytes() const;  // s32 for each output, padded
  int64_t weight_bytes() const { return outputs * k_pitch(); }
  // Bytes of k that lie side by side and may be fetched together.
  int64_t piece() const;
  bool direct() const { return dense && piece() == 16; }
  const char* loader() const;
  // Null, or why no kernel can count them.
  const char* refuse_sizes() const;
  // The kernel's view of where each piece of k lies, one entry per piece up to k_pitch; empty for the direct loader.
  std::vector<Tap> tap_table() const;
  // Sizes of one run.
  void set_sizes(Image& sized, int64_t& rows, const Shape& x, const Shape& y) const;
  template <class Params>
  void set_fixed(Params& params) const {
    params.image = image;
    params.outputs = static_cast<int32_t>(outputs / groups);
    params.channels = static_cast<int32_t>(channels);
    params.group_channels = static_cast<int32_t>(group_channels());
    params.k_pitch = static_cast<int32_t>(k_pitch());
    params.piece = static_cast<int32_t>(piece());
  }
};

}  // namespace ingot::cuda
