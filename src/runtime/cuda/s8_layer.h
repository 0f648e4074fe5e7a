// What the 8-bit layers on a GPU share: geometry, and epilogue numbers brought to the device.
#pragma once

#include "runtime/cuda/device.h"
#include "runtime/cuda/kernel_params.h"
#include "runtime/ops/conv.h"
#include "runtime/s8_problem.h"

namespace ingot::cuda {

Stored stored_as(DataType type);  // u8, s8; f32 for all others

// The window of one or two spatial dims; sizes of images and pads come with each run.
Image window_image(int spatial, std::span<const int64_t> kernel, const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations);
void set_image_sizes(Image& image, const Shape& x, const Shape& y, PadPair pad_h, PadPair pad_w);

// Offsets in a pack, until it is uploaded.
struct EpilogueOffsets {
  Epilogue epilogue{};
  size_t multiplier = 0, bias = 0, low = 0, high = 0, scale = 0, residual = 0, zero = 0;
  bool per_channel = false;
};
// Adds the epilogue of one layer to a pack. `bias` has one value per channel.
Expected<EpilogueOffsets> add_epilogue(ConstantPack& pack, const char* op, const Problem& problem, const Activation& activation,
                                       double alpha, int64_t channels, std::span<const std::byte> bias);
Epilogue placed_epilogue(const EpilogueOffsets& offsets, const DeviceMemory& memory);

}  // namespace ingot::cuda
