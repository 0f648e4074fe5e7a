// Quantised convolution and matrix product with constant weights on the Tensor Core kernels of kernels/igemm_s8.cu. Each tile shape, and
// each split along k, is a tactic of its own. The blob: bias s32 [output], zero point of x folded in (that of x + 128 where x is s8), padded to 16 bytes;
// then weights [output][k] of each group, where IgemmPlan::place() says, with zeros between.
#include <array>
#include <cstring>
#include <deque>

#include "runtime/cuda/igemm_kernel.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/matmul.h"

namespace ingot::cuda {
namespace {

// In the order in which estimates that tie are decided.
constexpr IgemmVariant kVariants[] = {
    {{128, 128, 8, 32, 64, 3, 2}},           {{128, 256, 8, 64, 64, 3, 1}},          {{128, 64, 8, 32, 32, 3, 2}},
    {{64, 64, 4, 32, 32, 4, 4, true}},       {{128, 32, 4, 32, 32, 4, 4, true}},     {{128, 128, 8, 32, 64, 3, 2}, true},
    {{64, 64, 4, 32, 32, 4, 4, true}, true},
};

bool is_signed(const Problem& problem) { return problem.inputs[0].type.dtype == DataType::kS8; }
int64_t blob_bytes(const IgemmPlan& plan) { return plan.bias_bytes() + plan.weight_bytes(); }

Blob prepare_blob(const Problem& problem, const IgemmPlan& plan, bool transposed) {
  const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
  const Operand* bias = optional_operand(problem.inputs, 2);
  const int32_t zero = unsigned_zero(problem.inputs[0].type, 0);
  Blob blob(static_cast<size_t>(blob_bytes(plan)));
  for (int64_t o = 0; o < plan.outputs; ++o) {
    std::byte* row = blob.data() + plan.bias_bytes() + o * plan.k_pitch();
    int64_t sum = 0;
    for (int64_t c = 0; c < plan.inputs; ++c)
      for (int64_t tap = 0; tap < plan.taps(); ++tap) {
        const int8_t value = transposed ? w[c * plan.outputs + o] : w[(o * plan.inputs + c) * plan.taps() + tap];
        row[plan.place(o, c, tap)] = static_cast<std::byte>(value);
        sum += value;
      }
    int32_t start = 0;
    if (bias) std::memcpy(&start, bias->constant.data() + o * 4, sizeof start);
    const auto folded = static_cast<uint32_t>(static_cast<uint64_t>(start - zero * sum));
    std::memcpy(blob.data() + o * 4, &folded, sizeof folded);
  }
  return blob;
}

Expected<std::unique_ptr<Kernel>> load_kernel(const char* op, const Problem& problem, IgemmPlan plan, const Activation& activation,
                                              double alpha, const IgemmVariant& variant, std::span<const std::byte> blob) {
  if (static_cast<int64_t>(blob.size()) != blob_bytes(plan))
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights have the wrong size: got " +
                                                  std::to_string(blob.size()) + " bytes, need " + std::to_string(blob_bytes(plan)) +
                                                  "; rebuild the engine");
  INGOT_ASSIGN(Device* const device, Device::first());
  INGOT_ASSIGN(const IgemmFunctions functions, igemm_functions(*device, plan, variant, "s8"));

  ConstantPack pack;
  INGOT_ASSIGN(const EpilogueOffsets epilogue,
               add_epilogue(pack, op, problem, activation, alpha, plan.outputs, blob.first(static_cast<size_t>(plan.outputs) * 4)));
  const auto zero = static_cast<uint8_t>(zero_point_of(problem.inputs[0].type));
  const size_t weights = pack.add(blob.subspan(static_cast<size_t>(plan.bias_bytes())));
  const size_t padding = pack.add(std::vector<uint8_t>(16, zero));
  const std::vector<Tap> table = plan.tap_table();
  const size_t taps = pack.add(table);
  INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));

  IgemmParams params{};
  params.weights = static_cast<const int8_t*>(memory.at(weights));
  params.padding = static_cast<const uint8_t*>(memory.at(padding));
  params.taps = table.empty() ? nullptr : static_cast<const Tap*>(memory.at(taps));
  params.flip = is_signed(problem) ? 0x80808080u : 0;
  plan.set_fixed(params);
  params.epilogue = placed_epilogue(epilogue, memory);
  const int64_t slices = plan.slices(problem, variant);
  return std::unique_ptr<Kernel>(
      std::make_unique<IgemmKernel<IgemmParams>>(*device, std::move(plan), variant, slices, functions, std::move(memory), params, true, zero));
}

class ConvTactic final : public Tactic {
 public:
  explicit ConvTactic(const IgemmVariant& variant)
      : name_("cuda.conv.igemm_" + variant.tile.name() + (variant.split ? "_split" : "") + ".s8.channels_last"), info_{name_, 2, OpKind::kConv}, variant_(variant) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_s8_conv(problem)) return {refusal};
    return {plan_of(problem).refuse(problem, variant_)};
  }
  size_t workspace_bytes(const Problem& problem) const override { return plan_of(problem).workspace_bytes(problem, variant_); }
  uint32_t packed_inputs(const Problem&) const override { return 0b110; }
  Expected<Blob> prepare(const Problem& problem) const override { return prepare_blob(problem, plan_of(problem), false); }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    return load_kernel("conv", problem, plan_of(problem), std::get<ConvParams>(problem.params).activation, 1, variant_, blob);
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    return plan_of(problem).estimate(problem, variant_, inputs, outputs);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_conv(problem, false); }
  std::string name_;
  TacticInfo info_;
  IgemmVariant variant_;
};

class MatMulTactic final : public Tactic {
 public:
  explicit MatMulTactic(const IgemmVariant& variant)
      : name_("cuda.matmul.igemm_" + variant.tile.name() + (variant.split ? "_split" : "") + ".s8"), info_{name_, 2, OpKind::kMatMul}, variant_(variant) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    if (problem.inputs.size() < 2 || problem.inputs[1].type.shape.rank != 2) return {"weights are not a matrix"};
    const Shape& b = problem.inputs[1].type.shape;
    if (const char* refusal = refuse_s8_layer(problem, params.transpose_b ? 0 : 1, params.activation)) return {refusal};
    const TensorType& a = problem.inputs[0].type;
    if (params.transpose_a) return {"first operand is transposed"};
    if (a.shape.rank < 1) return {"first operand is a scalar"};
    if (a.layout != Layout::kLinear || problem.outputs[0].type.layout != Layout::kLinear) return {"tensors are not row-major"};
    if (!b.is_static() || b.elements() == 0) return {"weights are empty"};
    if (a.shape[a.shape.rank - 1] != b[params.transpose_b ? 1 : 0]) return {"inner dims differ or vary"};
    return {plan_of(problem).refuse(problem, variant_)};
  }
  size_t workspace_bytes(const Problem& problem) const override { return plan_of(problem).workspace_bytes(problem, variant_); }
  uint32_t packed_inputs(const Problem&) const override { return 0b110; }
  Expected<Blob> prepare(const Problem& problem) const override {
    return prepare_blob(problem, plan_of(problem), !std::get<MatMulParams>(problem.params).transpose_b);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    return load_kernel("matmul", problem, plan_of(problem), params.activation, params.alpha, variant_, blob);
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    return plan_of(problem).estimate(problem, variant_, inputs, outputs);
  }

 private:
  static IgemmPlan plan_of(const Problem& problem) { return IgemmPlan::of_matmul(problem, false); }
  std::string name_;
  TacticInfo info_;
  IgemmVariant variant_;
};

}  // namespace

std::span<const Tactic* const> igemm_s8() {
  static const auto list = [] {
    static std::deque<ConvTactic> convs;  // info() holds views of their names: they never move
    static std::deque<MatMulTactic> matmuls;
    std::array<const Tactic*, 2 * std::size(kVariants)> all{};
    for (size_t i = 0; i < std::size(kVariants); ++i) {
      all[i] = &convs.emplace_back(kVariants[i]);
      all[std::size(kVariants) + i] = &matmuls.emplace_back(kVariants[i]);
    }
    return all;
  }();
  return list;
}

}  // namespace ingot::cuda
