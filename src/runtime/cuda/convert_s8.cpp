// Ops that touch each element once: quantise, dequantise, functions by table, sums, changes of layout. kernels/convert_s8.cu.
#include <array>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"

namespace ingot::cuda {
namespace {

Status no_blob(const char* op, std::span<const std::byte> blob) {
  if (blob.empty()) return {};
  return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed constants: got some, need none");
}

int64_t pixels_of(const Shape& shape) {
  int64_t pixels = 1;
  for (int d = 2; d < shape.rank; ++d) pixels *= shape[d];
  return pixels;
}
int32_t channels_of(const Shape& shape) { return shape.rank < 2 ? 1 : static_cast<int32_t>(shape[1]); }

// A kernel whose parameters are fixed but for addresses and sizes, which `Bind` fills in.
template <class Params, class Bind>
class SimpleKernel final : public Kernel {
 public:
  SimpleKernel(Device& device, CUfunction function, DeviceMemory memory, const Params& params, Bind bind)
      : device_(device), function_(function), memory_(std::move(memory)), params_(params), bind_(bind) {}
  Status run(const KernelArgs& args) noexcept override {
    Params params = params_;
    bind_(params, args);
    return launch(device_, function_, {blocks_for(params.elements)}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  CUfunction function_;
  DeviceMemory memory_;
  Params params_;
  Bind bind_;
};
template <class Params, class Bind>
Expected<std::unique_ptr<Kernel>> make_simple(Device& device, const char* name, DeviceMemory memory, const Params& params, Bind bind) {
  INGOT_ASSIGN(const CUfunction function, device.function(name, 0));
  return std::unique_ptr<Kernel>(std::make_unique<SimpleKernel<Params, Bind>>(device, function, std::move(memory), params, bind));
}

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
    INGOT_TRY(no_blob("quantize", blob));
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
    INGOT_TRY(no_blob("dequantize", blob));
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

const char* refuse_table(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  if (!is_byte(x.dtype) || !is_byte(y.dtype)) return "input and output are not both u8 or s8";
  if (!is_per_tensor_byte(x) || !is_per_tensor_byte(y)) return "input and output need one scale and zero point each";
  if (x.layout != y.layout) return "layouts differ";
  return nullptr;
}

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
  Support supports(const Problem& problem) const override { return {refuse_table(problem)}; }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob("unary", blob));
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
    return {refuse_table(problem)};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob("requantize", blob));
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
    INGOT_TRY(no_blob("add", blob));
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

class ReformatKernel final : public Kernel {
 public:
  ReformatKernel(Device& device, CUfunction function, bool to_channels_last, int element) : device_(device), function_(function), to_(to_channels_last), element_(element) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.output_shapes[0];
    ReformatParams params{};
    params.x = args.inputs[0];
    params.y = args.outputs[0];
    params.batch = shape[0];
    params.rows = to_ ? shape[1] : pixels_of(shape);
    params.columns = to_ ? pixels_of(shape) : shape[1];
    params.element_bytes = element_;
    const Grid grid{params.batch * blocks_for(params.rows, 32) * blocks_for(params.columns, 32)};
    if (grid.x == 0) return {};
    void* arguments[] = {&params};
    return check(device_.driver().cuLaunchKernel(function_, static_cast<unsigned>(grid.x), 1, 1, 32, 8, 1, 0,
                                                 static_cast<CUstream>(args.stream), arguments, nullptr), "cuLaunchKernel");
  }

 private:
  Device& device_;
  CUfunction function_;
  bool to_;
  int element_;
};

class CopyKernel final : public Kernel {
 public:
  CopyKernel(Device& device, size_t element) : device_(device), element_(element) {}
  Status run(const KernelArgs& args) noexcept override {
    const size_t bytes = static_cast<size_t>(args.output_shapes[0].elements()) * element_;
    if (bytes == 0 || args.inputs[0] == args.outputs[0]) return {};
    return check(device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(args.outputs[0]), reinterpret_cast<CUdeviceptr>(args.inputs[0]),
                                                    bytes, static_cast<CUstream>(args.stream)), "cuMemcpyDtoDAsync");
  }

 private:
  Device& device_;
  size_t element_;
};

// Identity: a copy, or a change of layout.
class IdentityTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.identity.move", 1, OpKind::kIdentity};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.dtype != y.dtype) return {"element types differ"};
    const size_t element = element_bytes(x.dtype);
    if (x.layout != y.layout && element != 1 && element != 4) return {"elements have neither 1 nor 4 bytes"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob("identity", blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    const size_t element = element_bytes(x.dtype);
    if (x.layout == y.layout || x.shape.rank < 3) return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(*device, element));
    INGOT_ASSIGN(const CUfunction function, device->function(element == 1 ? "turn_bytes" : "turn_words", 0));
    return std::unique_ptr<Kernel>(std::make_unique<ReformatKernel>(*device, function, y.layout == Layout::kChannelsLast, static_cast<int>(element)));
  }
};

// Ops that relabel bytes.
class RelabelTactic final : public Tactic {
 public:
  RelabelTactic(OpKind op, const char* name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    if (problem.inputs[0].type.dtype != problem.outputs[0].type.dtype) return {"element types differ"};
    const auto plain = [](const Operand& operand) {
      const Shape& shape = operand.type.shape;
      if (operand.type.layout == Layout::kLinear || shape.rank < 3 || shape[1] == 1) return true;
      for (int d = 2; d < shape.rank; ++d)
        if (shape[d] != 1) return false;
      return true;
    };
    if (!plain(problem.inputs[0]) || !plain(problem.outputs[0])) return {"channels_last data would have to be reordered"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob("relabel", blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(*device, element_bytes(problem.inputs[0].type.dtype)));
  }

 private:
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> convert_s8() {
  static const QuantizeTactic quantize;
  static const DequantizeTactic dequantize;
  static const UnaryTableTactic unary;
  static const RequantizeTactic requantize;
  static const AddTactic add;
  static const IdentityTactic identity;
  static const RelabelTactic reshape{OpKind::kReshape, "cuda.reshape.move"}, flatten{OpKind::kFlatten, "cuda.flatten.move"},
      squeeze{OpKind::kSqueeze, "cuda.squeeze.move"}, unsqueeze{OpKind::kUnsqueeze, "cuda.unsqueeze.move"};
  static const std::array<const Tactic*, 10> list = {&quantize, &dequantize, &unary, &requantize, &add,
                                                     &identity, &reshape,    &flatten, &squeeze,  &unsqueeze};
  return list;
}

}  // namespace ingot::cuda
