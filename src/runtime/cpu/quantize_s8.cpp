// QuantizeLinear f32 → u8/s8 and DequantizeLinear back, one scale per tensor; quantising may also bring row-major images to
// channels_last, as networks receive them.
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
        scale_(scale_of(problem.outputs[0].type)), zero_(zero_point_of(problem.outputs[0].type)),
        turns_(problem.inputs[0].type.layout != problem.outputs[0].type.layout) {}

  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<uint8_t*>(args.outputs[0]);
    const Shape& shape = args.output_shapes[0];
    if (!turns_) {
      args.pool->parallel_for(shape.elements(), kGrain, [&](int64_t begin, int64_t end, int) {
        kernels_.quantize(x + begin, end - begin, scale_, zero_, stored_, y + begin);
      });
      return {};
    }
    // Pieces of rows of one plane after the other, spread over the pixels of the result.
    const int64_t channels = shape[1];
    int64_t pixels = 1;
    for (int d = 2; d < shape.rank; ++d) pixels *= shape[d];
    const int64_t pieces = (pixels + kPiece - 1) / kPiece;
    args.pool->parallel_for(shape[0] * pieces, 1, [&](int64_t begin, int64_t end, int) {
      uint8_t bytes[kPiece];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / pieces, first = i % pieces * kPiece, count = std::min(kPiece, pixels - first);
        for (int64_t c = 0; c < channels; ++c) {
          kernels_.quantize(x + (n * channels + c) * pixels + first, count, scale_, zero_, stored_, bytes);
          uint8_t* out = y + (n * pixels + first) * channels + c;
          for (int64_t p = 0; p < count; ++p) out[p * channels] = bytes[p];
        }
      }
    });
    return {};
  }

 private:
  static constexpr int64_t kPiece = 256;
  const ChannelwiseKernels& kernels_;
  Stored stored_;
  float scale_;
  int32_t zero_;
  bool turns_;  // row-major to channels last
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
    if (!is_per_tensor_byte(y)) return {"output is not u8/s8 with one scale"};
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
