// What the Tensor Core layers share on the host, whatever their elements: tiles, how a convolution or a matrix product with constant weights
// is laid out along k, and what is launched. A matrix product is a window of one pixel. Sizes along channels and k are in bytes.
//
// Rows of k that the kernels can copy 16 bytes of at a time come about in three ways: as x lies; by a first launch that packs x into
// workspace (all halves, which have to be rounded anyway, and odd numbers of bytes); and, in 8-bit grouped convolutions, by putting
// several groups side by side, with zero weights between them. Where a window has few channels, packing puts what the window takes
// from an image row side by side, and the window becomes one pixel wide.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/gpu_model.h"
#include "runtime/cuda/kernel_params.h"
#include "runtime/ops/conv.h"
#include "runtime/tactic.h"

namespace ingot::cuda {

struct IgemmTile {
  int rows, outputs, warps, warp_rows, warp_outputs, stages;
  int blocks;           // on a multiprocessor, by registers
  bool pieces = false;  // there is a kernel for pieces of 8 and 4 bytes
  int threads() const { return 32 * warps; }
  int shared_bytes() const { return stages * (rows + outputs) * 64; }
  std::string name() const { return std::to_string(rows) + "x" + std::to_string(outputs); }
};
// One way to run a layer: its tile, and whether blocks share tiles, each with a slice of k.
struct IgemmVariant {
  IgemmTile tile;
  bool split = false;
};

// What does not depend on a run's shapes.
struct IgemmPlan {
  ConvParams conv;
  int spatial = 0;          // 0: a matrix product
  int64_t element = 1;      // bytes
  Image window{}, image{};  // the layer's; as the loader sees it
  int64_t inputs = 0;       // elements of one of the layer's groups
  int64_t outputs = 0, layer_groups = 1;
  int64_t groups = 1;       // of the product; each holds layer_groups / groups of the layer's
  int64_t channels = 0;     // bytes of all groups, as the loader sees them
  bool dense = false;       // every row of x is one row of the product
  bool packs = false;       // by a first launch
  bool packs_rows = false;  // and the window's columns with the channels

  // halves: elements of 2 bytes, which are always packed.
  static IgemmPlan of_conv(const Problem& problem, bool halves);
  static IgemmPlan of_matmul(const Problem& problem, bool halves);

  int64_t group_channels() const { return channels / groups; }
  int64_t taps() const { return static_cast<int64_t>(window.kernel_h) * window.kernel_w; }  // of the layer's weights
  int64_t k() const { return static_cast<int64_t>(image.kernel_h) * image.kernel_w * group_channels(); }
  int64_t k_pitch() const;
  int64_t steps() const { return (k_pitch() + 63) / 64; }
  int64_t bias_bytes() const;  // s32 for each output, padded
  int64_t weight_bytes() const { return outputs * k_pitch(); }
  // Where in the packed weights the layer's weight [output][input][tap] stands.
  int64_t place(int64_t output, int64_t input, int64_t tap) const;
  // Bytes of k that lie side by side and may be fetched together: 16, 8 or 4.
  int64_t piece() const;
  bool direct() const { return dense && piece() == 16; }
  const char* loader() const { return direct() ? "direct" : piece() == 16 ? "taps" : "pieces"; }
  // The kernel's view of where each piece of k lies, one entry per piece up to k_pitch; empty for the direct loader.
  std::vector<Tap> tap_table() const;

  // Null, or why the kernels cannot count or hold such a layer.
  const char* refuse(const Problem& problem, const IgemmVariant& variant) const;
  // Slices of k, the same for every run and device, so that sums of floats are; 1 where the variant does not split.
  int64_t slices(const Problem& problem, const IgemmVariant& variant) const;
  int64_t packed_bytes(const Shape& x, const Shape& y) const;
  size_t workspace_bytes(const Problem& problem, const IgemmVariant& variant) const;

  // Sizes of one run.
  void set_sizes(Image& sized, int64_t& rows, const Shape& x, const Shape& y) const;
  PackParams pack_params(const Image& own, int64_t rows, bool x_last, int32_t fill) const;
  template <class Params>
  void set_fixed(Params& params) const {
    params.image = image;
    params.outputs = static_cast<int32_t>(outputs / groups);
    params.channels = static_cast<int32_t>(channels);
    params.group_channels = static_cast<int32_t>(group_channels());
    params.k_pitch = static_cast<int32_t>(k_pitch());
    params.piece = static_cast<int32_t>(piece());
    params.partial_pitch = static_cast<int32_t>((outputs + 3) / 4 * 4);
  }

  // Microseconds by the model of problem.device.
  double estimate(const Problem& problem, const IgemmVariant& variant, std::span<const Shape> inputs, std::span<const Shape> outputs) const;

 private:
  void lay_out(bool halves);
  int64_t rows_of(const Shape& y) const;
};

}  // namespace ingot::cuda
