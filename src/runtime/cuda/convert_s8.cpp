// Ops on bytes that touch each element once: quantise, dequantise, functions by table, sums. kernels/convert_s8.cu.
#include <array>

#include "runtime/cuda/simple_kernel.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"

namespace ingot::cuda {
namespace {

int64_t pixels_of(const Shape& shape) {
  int64_t pixels = 1;
  for (int d = 2; d < shape.rank; ++d) pixels *= shape[d];
  return pixels;
}
int32_t channels_of(const Shape& shape) { return shape.rank < 2 ? 1 : static_cast<int32_t>(shape[1]); }

class QuantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.quantize.f32_s8", 1, OpKind::kQuantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.dtype != DataType::kF32) return {"input is not f32"};
    if (!is_per_tensor_byte(y) && !is_per_channel_byte(y)) return {"output is not u8/s8 with one scale, or one per channel"};
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    ConstantPack pack;
    const size_t scales = pack.add(y.quant->scales), zeros = pack.add(y.quant->zero_points);
    INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));
    QuantizeParams params{};
    params.scales = static_cast<const float*>(memory.at(scales));
    params.zeros = static_cast<const int32_t*>(memory.at(zeros));
    params.per_channel = y.quant->axis >= 0;
    params.is_signed = y.dtype == DataType::kS8;
    params.x_channels_last = x.layout == Layout::kChannelsLast;
    params.y_channels_last = y.layout == Layout::kChannelsLast;
    return make_simple(*device, "quantize_f32", std::move(memory), params, [](QuantizeParams& p, const KernelArgs& args) {
      p.x = static_cast<const float*>(args.inputs[0]);
      p.y = static_cast<uint8_t*>(args.outputs[0]);
      p.elements = args.output_shapes[0].elements();
      p.pixels = pixels_of(args.output_shapes[0]);
      p.channels = channels_of(args.output_shapes[0]);
    });
  }
};

class DequantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.dequantize.s8_f32", 1, OpKind::kDequantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (!is_per_tensor_byte(x)) return {"input is not u8/s8 with one scale"};
    if (y.dtype != DataType::kF32) return {"output is not f32"};
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    DequantizeParams params{};
    params.scale = scale_of(x);
    params.zero = zero_point_of(x);
    params.is_signed = x.dtype == DataType::kS8;
    params.x_channels_last = x.layout == Layout::kChannelsLast;
    params.y_channels_last = y.layout == Layout::kChannelsLast;
    return make_simple(*device, "dequantize_f32", DeviceMemory(), params, [](DequantizeParams& p, const KernelArgs& args) {
      p.x = static_cast<const uint8_t*>(args.inputs[0]);
      p.y = static_cast<float*>(args.outputs[0]);
      p.elements = args.output_shapes[0].elements();
      p.pixels = pixels_of(args.output_shapes[0]);
      p.channels = channels_of(args.output_shapes[0]);
    });
  }
};

Expected<std::unique_ptr<Kernel>> load_table(const UnaryParams& function, const Problem& problem) {
  INGOT_ASSIGN(Device* const device, Device::first());
  std::array<uint8_t, 256> table;
  fill_unary_table(function, problem.inputs[0].type, problem.outputs[0].type, table);
  INGOT_ASSIGN(DeviceMemory memory, DeviceMemory::upload(*device, std::as_bytes(std::span(table))));
  TableParams params{};
  params.table = static_cast<const uint8_t*>(memory.at(0));
  return make_simple(*device, "table_s8", std::move(memory), params, [](TableParams& p, const KernelArgs& args) {
    p.x = static_cast<const uint8_t*>(args.inputs[0]);
    p.y = static_cast<uint8_t*>(args.outputs[0]);
    p.elements = args.output_shapes[0].elements();
  });
}

class UnaryTableTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.unary.table.s8", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override { return {refuse_s8_table(problem)}; }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    return load_table(std::get<UnaryParams>(problem.params), problem);
  }
};

// QuantizeLinear of a quantised tensor: other scale, same values.
class RequantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.requantize.table.s8", 1, OpKind::kQuantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    return {refuse_s8_table(problem)};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    return load_table({}, problem);
  }
};

class AddTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.add.s8", 1, OpKind::kBinary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const auto& params = std::get<BinaryParams>(problem.params);
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
    if (params.function != BinaryFunction::kAdd && params.function != BinaryFunction::kSub) return {"function is neither add nor sub"};
    if (!is_clamp(params.activation.function)) return {"activation is no clamp"};
    if (!is_per_tensor_byte(a) || !is_per_tensor_byte(b) || !is_per_tensor_byte(y))
      return {"operands and result are not u8/s8 with one scale each"};
    if (!(a.shape == y.shape) || !(b.shape == y.shape)) return {"operands are broadcast"};
    if (a.layout != y.layout || b.layout != y.layout) return {"layouts differ"};
    if (!(std::max(scale_of(a), scale_of(b)) / std::min(scale_of(y), 1.0f) < 1e20f)) return {"scales are too far apart"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto& op = std::get<BinaryParams>(problem.params);
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
    const ResultLimits limits = result_limits(y, op.activation);
    AddParams params{};
    params.a_signed = a.dtype == DataType::kS8;
    params.b_signed = b.dtype == DataType::kS8;
    params.a_zero = zero_point_of(a);
    params.b_zero = zero_point_of(b);
    params.a_multiplier = multiplier(scale_of(a), 1.0f, scale_of(y));
    params.b_multiplier = multiplier(scale_of(b), 1.0f, scale_of(y));
    if (op.function == BinaryFunction::kSub) params.b_multiplier = -params.b_multiplier;
    params.low = limits.low;
    params.high = limits.high;
    params.zero = limits.zero;
    return make_simple(*device, "add_s8", DeviceMemory(), params, [](AddParams& p, const KernelArgs& args) {
      p.a = static_cast<const uint8_t*>(args.inputs[0]);
      p.b = static_cast<const uint8_t*>(args.inputs[1]);
      p.y = static_cast<uint8_t*>(args.outputs[0]);
      p.elements = args.output_shapes[0].elements();
    });
  }
};

}  // namespace

std::span<const Tactic* const> convert_s8() {
  static const QuantizeTactic quantize;
  static const DequantizeTactic dequantize;
  static const UnaryTableTactic unary;
  static const RequantizeTactic requantize;
  static const AddTactic add;
  static const std::array<const Tactic*, 5> list = {&quantize, &dequantize, &unary, &requantize, &add};
  return list;
}

}  // namespace ingot::cuda
