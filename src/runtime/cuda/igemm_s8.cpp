// Quantised convolution and matrix product with constant weights on the Tensor Core kernels of kernels/igemm_s8.cu. Each tile shape is
// a tactic of its own. The blob: bias s32 [output], zero point of x folded in, padded to 16 bytes; then weights
// [group][output][k], k = (tap, channel), a row padded with zeros to a multiple of 16.
#include <array>
#include <cstring>
#include <string>

#include "runtime/cuda/igemm_plan.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/matmul.h"

namespace ingot::cuda {
namespace {

constexpr IgemmTile kTiles[] = {{128, 128, 256, 3}, {128, 64, 256, 3}, {64, 64, 128, 4}};

int64_t blob_bytes(const IgemmPlan& plan) { return plan.bias_bytes() + plan.weight_bytes(); }

class IgemmKernel final : public Kernel {
 public:
  IgemmKernel(Device& device, IgemmPlan plan, const IgemmTile& tile, CUfunction function, DeviceMemory memory, IgemmParams params)
      : device_(device), plan_(std::move(plan)), tile_(tile), function_(function), memory_(std::move(memory)), params_(params) {}

  Status run(const KernelArgs& args) noexcept override {
    IgemmParams params = params_;
    plan_.set_sizes(params.image, params.rows, args.input_shapes[0], args.output_shapes[0]);
    params.x = static_cast<const uint8_t*>(args.inputs[0]);
    params.epilogue.out = args.outputs[0];
    if (params.epilogue.residual_stored != Stored::kNone) params.epilogue.residual = args.inputs[3];
    const Grid grid{blocks_for(params.rows, tile_.rows), static_cast<int>(blocks_for(params.outputs, tile_.outputs)),
                    static_cast<int>(plan_.groups)};
    return launch(device_, function_, grid, tile_.threads, tile_.shared_bytes(), args.stream, params);
  }

 private:
  Device& device_;
  IgemmPlan plan_;
  IgemmTile tile_;
  CUfunction function_;
  DeviceMemory memory_;
  IgemmParams params_;
};

Expected<Blob> prepare_blob(const Problem& problem, const IgemmPlan& plan, bool transposed) {
  const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
  const Operand* bias = optional_operand(problem.inputs, 2);
  const int32_t zero = zero_point_of(problem.inputs[0].type);
  Blob blob(static_cast<size_t>(blob_bytes(plan)));
  const int64_t per_group = plan.group_channels();
  for (int64_t o = 0; o < plan.outputs; ++o) {
    std::byte* row = blob.data() + plan.bias_bytes() + o * plan.k_pitch();
    int64_t sum = 0;
    for (int64_t tap = 0; tap < plan.taps; ++tap)
      for (int64_t c = 0; c < per_group; ++c) {
        const int8_t value = transposed ? w[c * plan.outputs + o] : w[(o * per_group + c) * plan.taps + tap];
        row[tap * per_group + c] = static_cast<std::byte>(value);
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
                                              double alpha, const IgemmTile& tile, std::span<const std::byte> blob) {
  if (static_cast<int64_t>(blob.size()) != blob_bytes(plan))
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights have the wrong size: got " +
                                                  std::to_string(blob.size()) + " bytes, need " + std::to_string(blob_bytes(plan)) +
                                                  "; rebuild the engine");
  INGOT_ASSIGN(Device* const device, Device::first());
  const TensorType& x = problem.inputs[0].type;
  const std::string name = "igemm_s8_" + std::to_string(tile.rows) + "x" + std::to_string(tile.outputs) + "_" + plan.loader() +
                           (x.dtype == DataType::kS8 ? "_s8" : "_u8");
  INGOT_ASSIGN(const CUfunction function, device->function(name.c_str(), tile.shared_bytes()));

  ConstantPack pack;
  INGOT_ASSIGN(const EpilogueOffsets epilogue,
               add_epilogue(pack, op, problem, activation, alpha, plan.outputs, blob.first(static_cast<size_t>(plan.outputs) * 4)));
  const size_t weights = pack.add(blob.subspan(static_cast<size_t>(plan.bias_bytes())));
  const size_t padding = pack.add(std::vector<uint8_t>(16, static_cast<uint8_t>(zero_point_of(x))));
  const std::vector<Tap> table = plan.tap_table();
  const size_t taps = pack.add(table);
  INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));

  IgemmParams params{};
  params.weights = static_cast<const int8_t*>(memory.at(weights));
  params.padding = static_cast<const uint8_t*>(memory.at(padding));
  params.taps = table.empty() ? nullptr : static_cast<const Tap*>(memory.at(taps));
  plan.set_fixed(params);
  params.epilogue = placed_epilogue(epilogue, memory);
  return std::unique_ptr<Kernel>(std::make_unique<IgemmKernel>(*device, std::move(plan), tile, function, std::move(memory), params));
}

class ConvTactic final : public Tactic {
 public:
  ConvTactic(const char* name, const IgemmTile& tile) : info_{name, 1, OpKind::kConv}, tile_(tile) {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_s8_conv(problem)) return {refusal};
    const IgemmPlan plan = IgemmPlan::of_conv(problem);
    if (tile_.rows == 128 && tile_.outputs == 128 && plan.piece() != 16) return {"channels are not a multiple of 16"};
    return {plan.refuse_sizes()};
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }
  Expected<Blob> prepare(const Problem& problem) const override { return prepare_blob(problem, IgemmPlan::of_conv(problem), false); }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    return load_kernel("conv", problem, IgemmPlan::of_conv(problem), std::get<ConvParams>(problem.params).activation, 1, tile_, blob);
  }

 private:
  TacticInfo info_;
  IgemmTile tile_;
};

class MatMulTactic final : public Tactic {
 public:
  MatMulTactic(const char* name, const IgemmTile& tile) : info_{name, 1, OpKind::kMatMul}, tile_(tile) {}
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
    const IgemmPlan plan = IgemmPlan::of_matmul(problem);
    if (tile_.rows == 128 && tile_.outputs == 128 && plan.piece() != 16) return {"inner dim is not a multiple of 16"};
    if (problem.outputs[0].max_shape.elements() / plan.outputs > (int64_t{1} << 30)) return {"too many rows"};
    return {plan.refuse_sizes()};
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }
  Expected<Blob> prepare(const Problem& problem) const override {
    return prepare_blob(problem, IgemmPlan::of_matmul(problem), !std::get<MatMulParams>(problem.params).transpose_b);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const auto& params = std::get<MatMulParams>(problem.params);
    return load_kernel("matmul", problem, IgemmPlan::of_matmul(problem), params.activation, params.alpha, tile_, blob);
  }

 private:
  TacticInfo info_;
  IgemmTile tile_;
};

}  // namespace

std::span<const Tactic* const> igemm_s8() {
  static const ConvTactic conv_large{"cuda.conv.igemm_128x128.s8.channels_last", kTiles[0]},
      conv_tall{"cuda.conv.igemm_128x64.s8.channels_last", kTiles[1]}, conv_small{"cuda.conv.igemm_64x64.s8.channels_last", kTiles[2]};
  static const MatMulTactic matmul_large{"cuda.matmul.igemm_128x128.s8", kTiles[0]}, matmul_tall{"cuda.matmul.igemm_128x64.s8", kTiles[1]},
      matmul_small{"cuda.matmul.igemm_64x64.s8", kTiles[2]};
  static const std::array<const Tactic*, 6> list = {&conv_large, &conv_tall, &conv_small, &matmul_large, &matmul_tall, &matmul_small};
  return list;
}

}  // namespace ingot::cuda
