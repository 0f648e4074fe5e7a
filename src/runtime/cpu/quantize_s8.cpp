// QuantizeLinear f32 → u8/s8, with one scale or one per channel, and DequantizeLinear back with one; quantising may also bring
// row-major images to channels_last, as networks receive them.
#include <algorithm>
#include <array>

#include "runtime/cpu/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 2048;

class QuantizeKernel final : public Kernel {
 public:
  QuantizeKernel(const Problem& problem)
      : kernels_(channelwise_kernels(problem.device.cpu.level)), stored_(stored_as(problem.outputs[0].type.dtype)),
        turns_(problem.inputs[0].type.layout != problem.outputs[0].type.layout),
        channels_last_(problem.outputs[0].type.layout == Layout::kChannelsLast), result_(channel_results(problem.outputs[0].type)) {}

  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<uint8_t*>(args.outputs[0]);
    const Shape& shape = args.output_shapes[0];
    const bool per_channel = result_.scale.size() > 1;
    if (!turns_ && !per_channel) {
      args.pool->parallel_for(shape.elements(), kGrain, [&](int64_t begin, int64_t end, int) {
        kernels_.quantize(x + begin, end - begin, result_.scale[0], result_.zero[0], stored_, y + begin);
      });
      return {};
    }
    const int64_t channels = shape[1];
    if (!turns_ && channels_last_) {
      const RowEpilogue result = result_.row();
      const int64_t rows = channels == 0 ? 0 : shape.elements() / channels;
      args.pool->parallel_for(rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(channels, 1)), [&](int64_t begin, int64_t end, int) {
        kernels_.quantize_rows(x + begin * channels, end - begin, channels, result, y + begin * channels);
      });
      return {};
    }
    // Pieces of rows of one plane after the other; where the layout turns, spread over the pixels of the result.
    int64_t pixels = 1;
    for (int d = 2; d < shape.rank; ++d) pixels *= shape[d];
    const int64_t pieces = (pixels + kPiece - 1) / kPiece;
    args.pool->parallel_for(shape[0] * pieces, 1, [&](int64_t begin, int64_t end, int) {
      uint8_t bytes[3][kPiece];
      const bool of_three = turns_ && channels == 3 && kernels_.interleave3;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / pieces, first = i % pieces * kPiece, count = std::min(kPiece, pixels - first);
        for (int64_t c = 0; c < channels; ++c) {
          const auto at = static_cast<size_t>(per_channel ? c : 0);
          const int64_t from = (n * channels + c) * pixels + first;
          kernels_.quantize(x + from, count, result_.scale[at], result_.zero[at], stored_, turns_ ? bytes[of_three ? c : 0] : y + from);
          if (!turns_ || of_three) continue;
          uint8_t* out = y + (n * pixels + first) * channels + c;
          for (int64_t p = 0; p < count; ++p) out[p * channels] = bytes[0][p];
        }
        if (!of_three) continue;
        const uint8_t* planes[] = {bytes[0], bytes[1], bytes[2]};
        uint8_t* out = y + (n * pixels + first) * 3;
        for (int64_t p = kernels_.interleave3(planes, count, out); p < count; ++p)
          for (int64_t c = 0; c < 3; ++c) out[3 * p + c] = bytes[c][p];
      }
    });
    return {};
  }

 private:
  // One of each, or one per channel and room to read whole blocks.
  struct ChannelResults {
    std::vector<float> scale, low, high;
    std::vector<int32_t> zero;
    Stored stored = Stored::kU8;
    RowEpilogue row() const {
      RowEpilogue e;
      e.stored = stored;
      e.channel_scale = scale.data();
      e.channel_low = low.data();
      e.channel_high = high.data();
      e.channel_zero = zero.data();
      return e;
    }
  };
  static ChannelResults channel_results(const TensorType& type) {
    ChannelResults r;
    r.stored = stored_as(type.dtype);
    const int64_t count = type.quant->axis < 0 ? 1 : type.shape[1], padded = type.quant->axis < 0 ? 1 : count + kBlockChannels;
    const int32_t lowest = type.dtype == DataType::kU8 ? 0 : -128;
    for (int64_t c = 0; c < padded; ++c) {
      const int32_t zero = c < count ? zero_point_of(type, c) : 0;
      r.scale.push_back(c < count ? scale_of(type, c) : 1.0f);
      r.zero.push_back(zero);
      r.low.push_back(static_cast<float>(lowest - zero));
      r.high.push_back(static_cast<float>(lowest + 255 - zero));
    }
    return r;
  }

  static constexpr int64_t kPiece = 256;
  const ChannelwiseKernels& kernels_;
  Stored stored_;
  bool turns_;  // row-major to channels last
  bool channels_last_;
  ChannelResults result_;
};

class DequantizeKernel final : public Kernel {
 public:
  DequantizeKernel(const Problem& problem)
      : kernels_(channelwise_kernels(problem.device.cpu.level)), stored_(stored_as(problem.inputs[0].type.dtype)),
        scale_(scale_of(problem.inputs[0].type)), zero_(zero_point_of(problem.inputs[0].type)) {}

  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    args.pool->parallel_for(args.output_shapes[0].elements(), kGrain, [&](int64_t begin, int64_t end, int) {
      kernels_.dequantize(x + begin, stored_, end - begin, scale_, zero_, y + begin);
    });
    return {};
  }

 private:
  const ChannelwiseKernels& kernels_;
  Stored stored_;
  float scale_;
  int32_t zero_;
};

class QuantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.quantize.f32_s8", 1, OpKind::kQuantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.dtype != DataType::kF32) return {"input is not f32"};
    if (!is_per_tensor_byte(y) && !is_per_channel_byte(y)) return {"output is not u8/s8 with one scale, or one per channel"};
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    if (x.layout != y.layout && x.layout != Layout::kLinear) return {"channels_last to row-major"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "quantize: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<QuantizeKernel>(problem));
  }
};

class DequantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.dequantize.s8_f32", 1, OpKind::kDequantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (!is_per_tensor_byte(x)) return {"input is not u8/s8 with one scale"};
    if (y.dtype != DataType::kF32) return {"output is not f32"};
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    if (x.layout != y.layout) return {"layouts differ"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "dequantize: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<DequantizeKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> quantize_s8() {
  static const QuantizeTactic quantize;
  static const DequantizeTactic dequantize;
  static const std::array<const Tactic*, 2> list = {&quantize, &dequantize};
  return list;
}

}  // namespace ingot::cpu
