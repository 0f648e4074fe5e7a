// Depthwise convolution on bytes: kernels/depthwise_s8.cu. The blob: bias s32 [channel], padded to 16 bytes, then weights
// [tap][channel].
#include <array>
#include <cstring>
#include <string>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"

namespace ingot::cuda {
namespace {

struct Plan {
  ConvParams conv;
  int spatial = 2;
  int64_t channels = 0, taps = 0;
  Image image{};
  int64_t bias_bytes() const { return (channels * 4 + 15) / 16 * 16; }
  int64_t blob_bytes() const { return bias_bytes() + taps * channels; }
};

Plan plan_of(const Problem& problem) {
  Plan plan;
  plan.conv = std::get<ConvParams>(problem.params);
  const Shape& w = problem.inputs[1].type.shape;
  plan.spatial = w.rank - 2;
  plan.channels = w[0];
  plan.image = window_image(plan.spatial, w.span().subspan(2), plan.conv.strides, plan.conv.dilations);
  plan.taps = static_cast<int64_t>(plan.image.kernel_h) * plan.image.kernel_w;
  return plan;
}

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(Device& device, Plan plan, CUfunction function, DeviceMemory memory, DepthwiseParams params)
      : device_(device), plan_(std::move(plan)), function_(function), memory_(std::move(memory)), params_(params) {}

  Status run(const KernelArgs& args) noexcept override {
    DepthwiseParams params = params_;
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    const PadPair pad_h = plan_.spatial == 2 ? conv_pads(plan_.conv, 0, 2, x[2], plan_.image.kernel_h) : PadPair{};
    const PadPair pad_w = conv_pads(plan_.conv, plan_.spatial - 1, plan_.spatial, x[x.rank - 1], plan_.image.kernel_w);
    set_image_sizes(params.image, x, y, pad_h, pad_w);
    params.x = static_cast<const uint8_t*>(args.inputs[0]);
    params.epilogue.out = args.outputs[0];
    if (params.epilogue.residual_stored != Stored::kNone) params.epilogue.residual = args.inputs[3];
    const int64_t rows = static_cast<int64_t>(params.image.batch) * params.image.out_h * params.image.out_w;
    return launch(device_, function_, {blocks_for(rows * ((plan_.channels + 3) / 4))}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  Plan plan_;
  CUfunction function_;
  DeviceMemory memory_;
  DepthwiseParams params_;
};

class DepthwiseTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.conv.depthwise.s8.channels_last", 1, OpKind::kConv};
    return kInfo;
  }

  Support supports(const Problem& problem) const override { return {refuse_s8_depthwise(problem)}; }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const Plan plan = plan_of(problem);
    const std::byte* w = problem.inputs[1].constant.data();
    Blob blob(static_cast<size_t>(plan.blob_bytes()));
    if (const Operand* bias = optional_operand(problem.inputs, 2))
      std::memcpy(blob.data(), bias->constant.data(), static_cast<size_t>(plan.channels) * 4);
    for (int64_t c = 0; c < plan.channels; ++c)
      for (int64_t tap = 0; tap < plan.taps; ++tap) blob[static_cast<size_t>(plan.bias_bytes() + tap * plan.channels + c)] = w[c * plan.taps + tap];
    return blob;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    Plan plan = plan_of(problem);
    if (static_cast<int64_t>(blob.size()) != plan.blob_bytes())
      return Status(StatusCode::kInvalidEngine, "depthwise conv: packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                    " bytes, need " + std::to_string(plan.blob_bytes()) + "; rebuild the engine");
    INGOT_ASSIGN(Device* const device, Device::first());
    INGOT_ASSIGN(const CUfunction function, device->function(plan.channels % 4 == 0 ? "depthwise_s8_vector" : "depthwise_s8_bytes", 0));
    const TensorType& x = problem.inputs[0].type;
    std::vector<int32_t> zeros;
    for (int64_t c = 0; c < plan.channels; ++c) zeros.push_back(zero_point_of(x, c));
    ConstantPack pack;
    INGOT_ASSIGN(const EpilogueOffsets epilogue, add_epilogue(pack, "depthwise conv", problem, plan.conv.activation, 1, plan.channels,
                                                              blob.first(static_cast<size_t>(plan.channels) * 4)));
    const size_t weights = pack.add(blob.subspan(static_cast<size_t>(plan.bias_bytes())));
    const size_t zeros_at = pack.add(zeros);
    INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));
    DepthwiseParams params{};
    params.weights = static_cast<const int8_t*>(memory.at(weights));
    params.zeros = static_cast<const int32_t*>(memory.at(zeros_at));
    params.image = plan.image;
    params.is_signed = x.dtype == DataType::kS8;
    params.epilogue = placed_epilogue(epilogue, memory);
    return std::unique_ptr<Kernel>(std::make_unique<DepthwiseKernel>(*device, std::move(plan), function, std::move(memory), params));
  }
};

}  // namespace

std::span<const Tactic* const> depthwise_s8() {
  static const DepthwiseTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cuda
