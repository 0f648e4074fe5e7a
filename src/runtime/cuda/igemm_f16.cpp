// Float convolution and matrix product with constant weights on Tensor Cores in half precision, f16 or bf16, where the build permits it.
// Tensors stay f32 in the plan. A first launch rounds x to halves in the workspace, channels-last and padded to 16 bytes, so that one loader
// serves every layout and channel count; the second multiplies with float sums (kernels/igemm_f16.cu).
// The blob: weights as halves [output][k] of each group, where IgemmPlan::place() says, with zeros between.
#include <array>
#include <cmath>
#include <cstring>
#include <deque>

#include "runtime/cuda/igemm_kernel.h"
#include "runtime/ops/half.h"
#include "runtime/ops/matmul.h"

namespace ingot::cuda {
namespace {

constexpr IgemmVariant kVariants[] = {
    {{128, 128, 8, 32, 64, 4, 2}}, {{128, 64, 8, 32, 32, 3, 2}}, {{64, 64, 4, 32, 32, 4, 4}},
    {{128, 32, 4, 32, 32, 4, 4}},  {{128, 128, 8, 32, 64, 4, 2}, true}, {{64, 64, 4, 32, 32, 4, 4}, true},
};

const char* type_name(DataType half) { return half == DataType::kBF16 ? "bf16" : "f16"; }

const char* refuse_halves(const Problem& problem, DataType half) {
  if (half == DataType::kF16 && !problem.device.allow_f16) return "half precision is not permitted: needs --fp16";
  if (half == DataType::kBF16 && !problem.device.allow_bf16) return "bf16 is not permitted: needs --bf16";
  return nullptr;
}

// Where the bytes are at hand: whether a weight would become infinite, which zeros of the padding would turn into NaN.
const char* refuse_weights(const Operand& weights, DataType half) {
  const float most = half == DataType::kBF16 ? 0x1.ffp127f : 65520.0f;  // from here on rounding gives infinity
  for (size_t at = 0; at + 4 <= weights.constant.size(); at += 4) {
    float value;
    std::memcpy(&value, &weights.constant[at], sizeof value);
    if (!(std::fabs(value) < most)) return half == DataType::kBF16 ? "a weight is beyond the range of bf16" : "a weight is beyond the range of half precision";
  }
  return nullptr;
}

Blob pack_weights(const Problem& problem, const IgemmPlan& plan, DataType half, bool transposed) {
  Blob blob(static_cast<size_t>(plan.weight_bytes()));
  const auto* w = reinterpret_cast<const float*>(problem.inputs[1].constant.data());
  for (int64_t o = 0; o < plan.outputs; ++o)
    for (int64_t c = 0; c < plan.inputs; ++c)
      for (int64_t tap = 0; tap < plan.taps(); ++tap) {
        const float value = transposed ? w[c * plan.outputs + o] : w[(o * plan.inputs + c) * plan.taps() + tap];
        const uint16_t rounded = half == DataType::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
        std::memcpy(blob.data() + o * plan.k_pitch() + plan.place(o, c, tap), &rounded, sizeof rounded);
      }
  return blob;
}

Expected<std::unique_ptr<Kernel>> load_kernel(const char* op, const Problem& problem, IgemmPlan plan, const Activation& activation, double alpha,
                                              const IgemmVariant& variant, DataType half, std::span<const std::byte> blob) {
  if (static_cast<int64_t>(blob.size()) != plan.weight_bytes())
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                  " bytes, need " + std::to_string(plan.weight_bytes()) + "; rebuild the engine");
  INGOT_ASSIGN(Device* const device, Device::first());
  INGOT_ASSIGN(const IgemmFunctions functions, igemm_functions(*device, plan, variant, type_name(half)));
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
  const int64_t slices = plan.slices(problem, variant);
  return std::unique_ptr<Kernel>(
      std::make_unique<IgemmKernel<IgemmParamsF16>>(*device, std::move(plan), variant, slices, functions, std::move(memory), params, x_last, 0));
}

class ConvTactic final : public Tactic {
 public:
  ConvTactic(const IgemmVariant& variant, DataType half)
      : name_("cuda.conv.igemm_" + variant.tile.name() + (variant.split ? "_split." : ".") + type_name(half) + ".channels_last"),
        info_{name_, 2, OpKind::kConv, {}, half}, variant_(variant) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_halves(problem, info_.arithmetic)) return {refusal};
    if (const char* refusal = refuse_f32_conv(problem)) return {refusal};
    if (!problem.inputs[1].is_constant) return {"weights are not constant"};
    if (problem.outputs[0].type.layout != Layout::kChannelsLast) return {"result is not channels_last"};
    if (is_depthwise(problem)) return {"depthwise: too few products for a matrix kernel"};
    if (const char* refusal = plan_of(problem).refuse(problem, variant_)) return {refusal};
    return {refuse_weights(problem.inputs[1], info_.arithmetic)};
  }
  size_t workspace_bytes(const Problem& problem) const override { return plan_of(problem).workspace_bytes(problem, variant_); }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override { return pack_weights(problem, plan_of(problem), info_.arithmetic, false); }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    return load_kernel("conv", problem, plan_of(problem), std::get<ConvParams>(problem.params).activation, 1, variant_, info_.arithmetic, blob);
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    return plan_of(problem).estimate(problem, variant_, inputs, outputs);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_conv(problem, true); }
  std::string name_;
  TacticInfo info_;
  IgemmVariant variant_;
};

class MatMulTactic final : public Tactic {
 public:
  MatMulTactic(const IgemmVariant& variant, DataType half)
      : name_("cuda.matmul.igemm_" + variant.tile.name() + (variant.split ? "_split." : ".") + type_name(half)), info_{name_, 2, OpKind::kMatMul, {}, half},
        variant_(variant) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    if (const char* refusal = refuse_halves(problem, info_.arithmetic)) return {refusal};
    if (const char* refusal = refuse_f32_layer(problem, params.activation)) return {refusal};
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type;
    if (!problem.inputs[1].is_constant || b.shape.rank != 2 || !b.shape.is_static() || b.shape.elements() == 0) return {"weights are not a constant matrix"};
    if (params.transpose_a) return {"first operand is transposed"};
    if (a.shape.rank < 1) return {"first operand is a scalar"};
    if (a.layout != Layout::kLinear || problem.outputs[0].type.layout != Layout::kLinear) return {"tensors are not row-major"};
    if (a.shape[a.shape.rank - 1] != b.shape[params.transpose_b ? 1 : 0]) return {"inner dims differ or vary"};
    if (const char* refusal = plan_of(problem).refuse(problem, variant_)) return {refusal};
    return {refuse_weights(problem.inputs[1], info_.arithmetic)};
  }
  size_t workspace_bytes(const Problem& problem) const override { return plan_of(problem).workspace_bytes(problem, variant_); }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    return pack_weights(problem, plan_of(problem), info_.arithmetic, !std::get<MatMulParams>(problem.params).transpose_b);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    return load_kernel("matmul", problem, plan_of(problem), params.activation, params.alpha, variant_, info_.arithmetic, blob);
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    return plan_of(problem).estimate(problem, variant_, inputs, outputs);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_matmul(problem, true); }
  std::string name_;
  TacticInfo info_;
  IgemmVariant variant_;
};

}  // namespace

std::span<const Tactic* const> igemm_f16() {
  static const auto list = [] {
    static std::deque<ConvTactic> convs;  // info() holds views of their names: they never move
    static std::deque<MatMulTactic> matmuls;
    std::array<const Tactic*, 4 * std::size(kVariants)> all{};
    size_t next = 0;
    for (DataType half : {DataType::kF16, DataType::kBF16})
      for (const IgemmVariant& variant : kVariants) {
        all[next++] = &convs.emplace_back(variant, half);
        all[next++] = &matmuls.emplace_back(variant, half);
      }
    return all;
  }();
  return list;
}

}  // namespace ingot::cuda
