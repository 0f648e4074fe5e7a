// Float convolution and matrix product with constant weights on Tensor Cores in half precision, where the build permits it. Tensors stay f32
// in the plan. A first launch rounds x to halves in the workspace, channels-last and padded to 8 channels a group, so that one loader
// with copies of 16 bytes serves every layout and channel count; the second multiplies with float sums (kernels/igemm_f16.cu).
// The blob: weights as halves [group][output][tap][padded channel].
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "runtime/cuda/f32_layer.h"
#include "runtime/cuda/igemm_plan.h"
#include "runtime/cuda/launch.h"
#include "runtime/ops/half.h"
#include "runtime/ops/matmul.h"

namespace ingot::cuda {
namespace {

constexpr IgemmTile kTiles[] = {{128, 64, 256, 3}, {64, 64, 128, 4}};
constexpr int64_t kHalf = 2, kAlign = 16;

class HalfKernel final : public Kernel {
 public:
  HalfKernel(Device& device, IgemmPlan plan, const IgemmTile& tile, CUfunction rounds, CUfunction multiplies, DeviceMemory memory,
             const IgemmParamsF16& params, bool x_last)
      : device_(device), plan_(std::move(plan)), tile_(tile), rounds_(rounds), multiplies_(multiplies), memory_(std::move(memory)), params_(params), x_last_(x_last) {}

  Status run(const KernelArgs& args) noexcept override {
    IgemmParamsF16 params = params_;
    plan_.set_sizes(params.image, params.rows, args.input_shapes[0], args.output_shapes[0]);
    if (params.rows == 0) return {};
    const int64_t all = plan_.inputs * plan_.groups;
    HalvesParams halves{};
    halves.x = static_cast<const float*>(args.inputs[0]);
    halves.y = args.workspace;
    halves.plane = plan_.spatial == 0 ? params.rows : static_cast<int64_t>(params.image.in_h) * params.image.in_w;
    const int64_t rows = plan_.spatial == 0 ? params.rows : halves.plane * params.image.batch;
    halves.elements = rows * (plan_.channels / kAlign);
    halves.image_stride = halves.plane * all;
    halves.row_stride = x_last_ ? all : 1;
    halves.channel_stride = x_last_ ? 1 : halves.plane;
    halves.groups = static_cast<int32_t>(plan_.groups);
    halves.group_channels = static_cast<int32_t>(plan_.inputs);
    halves.padded = static_cast<int32_t>(plan_.group_channels() / kHalf);
    INGOT_TRY(launch(device_, rounds_, {blocks_for(halves.elements)}, kThreads, 0, args.stream, halves));
    params.x = static_cast<const uint8_t*>(args.workspace);
    bind_epilogue(params.epilogue, args);
    const Grid grid{blocks_for(params.rows, tile_.rows), static_cast<int>(blocks_for(params.outputs, tile_.outputs)), static_cast<int>(plan_.groups)};
    return launch(device_, multiplies_, grid, tile_.threads, tile_.shared_bytes(), args.stream, params);
  }

 private:
  Device& device_;
  IgemmPlan plan_;
  IgemmTile tile_;
  CUfunction rounds_, multiplies_;
  DeviceMemory memory_;
  IgemmParamsF16 params_;
  bool x_last_;
};

// Where the bytes are at hand: false if a weight would become infinite.
bool fits_halves(const Operand& weights) {
  for (size_t at = 0; at + 4 <= weights.constant.size(); at += 4) {
    float value;
    std::memcpy(&value, &weights.constant[at], sizeof value);
    if (!(std::fabs(value) < 65520.0f)) return false;
  }
  return true;
}

Blob pack_weights(const Problem& problem, const IgemmPlan& plan, bool transposed) {
  Blob blob(static_cast<size_t>(plan.weight_bytes()));
  const auto* w = reinterpret_cast<const float*>(problem.inputs[1].constant.data());
  for (int64_t o = 0; o < plan.outputs; ++o)
    for (int64_t tap = 0; tap < plan.taps; ++tap)
      for (int64_t c = 0; c < plan.inputs; ++c) {
        const uint16_t half = f32_to_f16(transposed ? w[c * plan.outputs + o] : w[(o * plan.inputs + c) * plan.taps + tap]);
        std::memcpy(blob.data() + o * plan.k_pitch() + tap * plan.group_channels() + c * kHalf, &half, sizeof half);
      }
  return blob;
}

Expected<std::unique_ptr<Kernel>> load_kernel(const char* op, const Problem& problem, IgemmPlan plan, const Activation& activation,
                                              double alpha, const IgemmTile& tile, std::span<const std::byte> blob) {
  if (static_cast<int64_t>(blob.size()) != plan.weight_bytes())
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                  " bytes, need " + std::to_string(plan.weight_bytes()) + "; rebuild the engine");
  INGOT_ASSIGN(Device* const device, Device::first());
  const std::string name = "igemm_f16_" + std::to_string(tile.rows) + "x" + std::to_string(tile.outputs) + "_" + plan.loader();
  INGOT_ASSIGN(const CUfunction multiplies, device->function(name.c_str(), tile.shared_bytes()));
  INGOT_ASSIGN(const CUfunction rounds, device->function("halves_f32", 0));
  ConstantPack pack;
  const size_t weights = pack.add(blob), padding = pack.add(std::vector<uint8_t>(16));
  const std::vector<Tap> table = plan.tap_table();
  const size_t taps = pack.add(table);
  INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));
  IgemmParamsF16 params{};
  params.weights = static_cast<const int8_t*>(memory.at(weights));
  params.padding = static_cast<const uint8_t*>(memory.at(padding));
  params.taps = table.empty() ? nullptr : static_cast<const Tap*>(memory.at(taps));
  plan.set_fixed(params);
  params.epilogue = make_epilogue_f32(activation, alpha, plan.outputs);
  const bool x_last = plan.spatial == 0 || problem.inputs[0].type.layout == Layout::kChannelsLast;
  return std::unique_ptr<Kernel>(std::make_unique<HalfKernel>(*device, std::move(plan), tile, rounds, multiplies, std::move(memory), params, x_last));
}

class ConvTactic final : public Tactic {
 public:
  ConvTactic(const char* name, const IgemmTile& tile) : info_{name, 1, OpKind::kConv, {}, DataType::kF16}, tile_(tile) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    if (!problem.device.allow_f16) return {"half precision is not permitted: needs --fp16"};
    if (const char* refusal = refuse_f32_conv(problem)) return {refusal};
    if (!problem.inputs[1].is_constant) return {"weights are not constant"};
    if (problem.outputs[0].type.layout != Layout::kChannelsLast) return {"result is not channels_last"};
    if (is_depthwise(problem)) return {"depthwise: too few products for a matrix kernel"};
    if (const char* refusal = plan_of(problem).refuse_sizes()) return {refusal};
    if (!fits_halves(problem.inputs[1])) return {"a weight is beyond the range of half precision"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const Shape& x = problem.inputs[0].max_shape;
    return static_cast<size_t>(x.elements() / std::max<int64_t>(1, x[1]) * plan_of(problem).channels);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override { return pack_weights(problem, plan_of(problem), false); }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    return load_kernel("conv", problem, plan_of(problem), std::get<ConvParams>(problem.params).activation, 1, tile_, blob);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_conv(problem, kHalf, kAlign); }
  TacticInfo info_;
  IgemmTile tile_;
};

class MatMulTactic final : public Tactic {
 public:
  MatMulTactic(const char* name, const IgemmTile& tile) : info_{name, 1, OpKind::kMatMul, {}, DataType::kF16}, tile_(tile) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    if (!problem.device.allow_f16) return {"half precision is not permitted: needs --fp16"};
    if (const char* refusal = refuse_f32_layer(problem, params.activation)) return {refusal};
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type;
    if (!problem.inputs[1].is_constant || b.shape.rank != 2 || !b.shape.is_static() || b.shape.elements() == 0) return {"weights are not a constant matrix"};
    if (params.transpose_a) return {"first operand is transposed"};
    if (a.shape.rank < 1) return {"first operand is a scalar"};
    if (a.layout != Layout::kLinear || problem.outputs[0].type.layout != Layout::kLinear) return {"tensors are not row-major"};
    if (a.shape[a.shape.rank - 1] != b.shape[params.transpose_b ? 1 : 0]) return {"inner dims differ or vary"};
    const IgemmPlan plan = plan_of(problem);
    if (problem.outputs[0].max_shape.elements() / plan.outputs > (int64_t{1} << 30)) return {"too many rows"};
    if (const char* refusal = plan.refuse_sizes()) return {refusal};
    if (!fits_halves(problem.inputs[1])) return {"a weight is beyond the range of half precision"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const IgemmPlan plan = plan_of(problem);
    return static_cast<size_t>(problem.inputs[0].max_shape.elements() / plan.inputs * plan.channels);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    return pack_weights(problem, plan_of(problem), !std::get<MatMulParams>(problem.params).transpose_b);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    return load_kernel("matmul", problem, plan_of(problem), params.activation, params.alpha, tile_, blob);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_matmul(problem, kHalf, kAlign); }
  TacticInfo info_;
  IgemmTile tile_;
};

}  // namespace

std::span<const Tactic* const> igemm_f16() {
  static const ConvTactic conv_tall{"cuda.conv.igemm_128x64.f16.channels_last", kTiles[0]}, conv_small{"cuda.conv.igemm_64x64.f16.channels_last", kTiles[1]};
  static const MatMulTactic matmul_tall{"cuda.matmul.igemm_128x64.f16", kTiles[0]}, matmul_small{"cuda.matmul.igemm_64x64.f16", kTiles[1]};
  static const std::array<const Tactic*, 4> list = {&conv_tall, &conv_small, &matmul_tall, &matmul_small};
  return list;
}

}  // namespace ingot::cuda
