// Geometry and epilogues of 8-bit layers.
#include "runtime/cuda/s8_layer.h"

#include "runtime/ops/window.h"

namespace ingot::cuda {

Stored stored_as(DataType type) {
  switch (type) {
    case DataType::kU8: return Stored::kU8;
    case DataType::kS8: return Stored::kS8;
    default: return Stored::kF32;
  }
}

Image window_image(int spatial, std::span<const int64_t> kernel, const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations) {
  const auto of = [](const std::vector<int64_t>& values, int i) { return static_cast<int32_t>(attribute(values, i, 1)); };
  Image image{};
  image.kernel_h = spatial == 2 ? static_cast<int32_t>(kernel[0]) : 1;
  image.kernel_w = static_cast<int32_t>(kernel[static_cast<size_t>(spatial) - 1]);
  image.stride_h = spatial == 2 ? of(strides, 0) : 1;
  image.stride_w = of(strides, spatial - 1);
  image.dilation_h = spatial == 2 ? of(dilations, 0) : 1;
  image.dilation_w = of(dilations, spatial - 1);
  return image;
}

void set_image_sizes(Image& image, const Shape& x, const Shape& y, PadPair pad_h, PadPair pad_w) {
  image.batch = static_cast<int32_t>(x[0]);
  image.in_h = x.rank == 4 ? static_cast<int32_t>(x[2]) : 1;
  image.in_w = static_cast<int32_t>(x[x.rank - 1]);
  image.out_h = y.rank == 4 ? static_cast<int32_t>(y[2]) : 1;
  image.out_w = static_cast<int32_t>(y[y.rank - 1]);
  image.pad_h = static_cast<int32_t>(pad_h.begin);
  image.pad_w = static_cast<int32_t>(pad_w.begin);
}

Expected<EpilogueOffsets> add_epilogue(ConstantPack& pack, const char* op, const Problem& problem, const Activation& activation,
                                       double alpha, int64_t channels, std::span<const std::byte> bias) {
  INGOT_ASSIGN(const LayerEpilogue layer, make_layer_epilogue(op, problem, activation, alpha, channels));
  EpilogueOffsets offsets;
  Epilogue& e = offsets.epilogue;
  e.low = layer.result.low;
  e.high = layer.result.high;
  e.scale = layer.result.scale;
  e.zero = layer.result.zero;
  e.residual_multiplier = layer.residual_multiplier;
  e.residual_zero = layer.residual_zero;
  e.alpha = static_cast<float>(activation.alpha);
  e.beta = static_cast<float>(activation.beta);
  e.function = static_cast<int32_t>(activation.function);
  e.curved = layer.curved;
  e.stored = stored_as(problem.outputs[0].type.dtype);
  if (const Operand* residual = optional_operand(problem.inputs, 3)) e.residual_stored = stored_as(residual->type.dtype);
  e.channels = static_cast<int32_t>(channels);
  offsets.multiplier = pack.add(layer.multipliers);
  offsets.bias = pack.add(bias);
  offsets.per_channel = !layer.zero.empty();
  if (offsets.per_channel) {
    offsets.low = pack.add(layer.low);
    offsets.high = pack.add(layer.high);
    offsets.scale = pack.add(layer.scale);
    offsets.residual = pack.add(layer.residual);
    offsets.zero = pack.add(layer.zero);
  }
  return offsets;
}

Epilogue placed_epilogue(const EpilogueOffsets& offsets, const DeviceMemory& memory) {
  Epilogue e = offsets.epilogue;
  const auto floats = [&](size_t offset) { return static_cast<const float*>(memory.at(offset)); };
  e.multiplier = floats(offsets.multiplier);
  e.bias = static_cast<const int32_t*>(memory.at(offsets.bias));
  if (offsets.per_channel) {
    e.channel_low = floats(offsets.low);
    e.channel_high = floats(offsets.high);
    e.channel_scale = floats(offsets.scale);
    e.channel_residual = floats(offsets.residual);
    e.channel_zero = static_cast<const int32_t*>(memory.at(offsets.zero));
  }
  return e;
}

}  // namespace ingot::cuda
