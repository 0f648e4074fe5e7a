// Transposed convolution of f32 in either layout: kernels/conv_transpose.cu. Constant weights are kept as [group][tap][channel][output].
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/cuda/conv_transpose_params.h"
#include "runtime/cuda/f32_layer.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/ops/conv.h"

namespace ingot::cuda {
namespace {

int64_t number(const std::vector<int64_t>& list, int i, int64_t otherwise) { return static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : otherwise; }

// Padding at the front of spatial dim i that is cut off the result.
int64_t front_pad(const ConvTransposeParams& op, int i, int64_t kernel, int64_t in, int64_t out) {
  const bool same = op.auto_pad == AutoPad::kSameUpper || op.auto_pad == AutoPad::kSameLower;
  if (op.output_shape.empty() && !same) return op.auto_pad == AutoPad::kNotSet ? number(op.pads, i, 0) : 0;
  const int64_t full = (in - 1) * number(op.strides, i, 1) + (kernel - 1) * number(op.dilations, i, 1) + 1 + number(op.output_padding, i, 0);
  const int64_t total = std::max<int64_t>(0, full - out);
  return op.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
}

class ConvTransposeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.conv_transpose.simt.f32", 1, OpKind::kConvTranspose};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const auto& op = std::get<ConvTransposeParams>(problem.params);
    if (const char* refusal = refuse_f32_layer(problem, op.activation)) return {refusal};
    const Shape &x = problem.inputs[0].type.shape, &w = problem.inputs[1].type.shape;
    if (x.rank != 3 && x.rank != 4) return {"not one or two spatial dims"};
    if (w.rank != x.rank || !w.is_static() || w.elements() == 0) return {"weights are empty, of another rank or of a shape that varies"};
    if (op.groups < 1 || w[0] % op.groups != 0 || x[1] != w[0]) return {"channels are not those of the weights"};
    for (int64_t pad : op.pads)
      if (pad < 0) return {"negative padding"};
    return {};
  }
  uint32_t packed_inputs(const Problem& problem) const override { return problem.inputs[1].is_constant ? 0b10 : 0; }
  Expected<Blob> prepare(const Problem& problem) const override {
    if (!problem.inputs[1].is_constant) return Blob{};
    const Sizes s(problem);
    Blob blob(static_cast<size_t>(s.bytes()));
    std::byte* to = blob.data();
    for (int64_t group = 0; group < s.groups; ++group)
      for (int64_t tap = 0; tap < s.taps; ++tap)
        for (int64_t c = 0; c < s.channels; ++c)
          for (int64_t o = 0; o < s.outputs; ++o, to += 4)
            std::memcpy(to, problem.inputs[1].constant.data() + (((group * s.channels + c) * s.outputs + o) * s.taps + tap) * 4, 4);
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const Sizes s(problem);
    const bool packed = problem.inputs[1].is_constant;
    const int64_t need = packed ? s.bytes() : 0;
    if (static_cast<int64_t>(blob.size()) != need)
      return Status(StatusCode::kInvalidEngine, "conv_transpose: packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                    " bytes, need " + std::to_string(need) + "; rebuild the engine");
    INGOT_ASSIGN(Device* const device, Device::first());
    DeviceMemory weights;
    if (packed) {
      INGOT_ASSIGN(weights, DeviceMemory::upload(*device, blob));
    }
    const auto& op = std::get<ConvTransposeParams>(problem.params);
    const Shape& w = problem.inputs[1].type.shape;
    const int spatial = w.rank - 2;
    ConvTransposeF32 params{};
    params.image = window_image(spatial, w.span().subspan(2), op.strides, op.dilations);
    params.weights = packed ? static_cast<const float*>(weights.at(0)) : nullptr;
    params.group_channels = static_cast<int32_t>(s.channels);
    params.group_outputs = static_cast<int32_t>(s.outputs);
    params.channels = static_cast<int32_t>(s.channels * s.groups);
    params.outputs = static_cast<int32_t>(s.outputs * s.groups);
    params.x_channels_last = problem.inputs[0].type.layout == Layout::kChannelsLast;
    params.y_channels_last = problem.outputs[0].type.layout == Layout::kChannelsLast;
    params.w_group = s.channels * s.outputs * s.taps;
    params.w_tap = packed ? s.channels * s.outputs : 1;
    params.w_channel = packed ? s.outputs : s.outputs * s.taps;
    params.w_output = packed ? 1 : s.taps;
    params.epilogue = make_epilogue_f32(op.activation, 1, params.outputs);
    return make_simple(*device, "conv_transpose_f32", std::move(weights), params, [op, spatial](ConvTransposeF32& p, const KernelArgs& args) {
      const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
      const PadPair pad_w{front_pad(op, spatial - 1, p.image.kernel_w, x[x.rank - 1], y[y.rank - 1]), 0};
      const PadPair pad_h{spatial == 2 ? front_pad(op, 0, p.image.kernel_h, x[2], y[2]) : 0, 0};
      set_image_sizes(p.image, x, y, pad_h, pad_w);
      p.x = static_cast<const float*>(args.inputs[0]);
      if (!p.weights) p.weights = static_cast<const float*>(args.inputs[1]);
      p.elements = y.elements();
      bind_epilogue(p.epilogue, args);
    });
  }

 private:
  // Of one group.
  struct Sizes {
    int64_t groups, channels, outputs, taps = 1;
    explicit Sizes(const Problem& problem) : groups(std::get<ConvTransposeParams>(problem.params).groups) {
      const Shape& w = problem.inputs[1].type.shape;
      channels = w[0] / groups;
      outputs = w[1];
      for (int d = 2; d < w.rank; ++d) taps *= w[d];
    }
    int64_t bytes() const { return groups * channels * outputs * taps * 4; }
  };
};

}  // namespace

std::span<const Tactic* const> conv_transpose_f32() {
  static const ConvTransposeTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cuda
