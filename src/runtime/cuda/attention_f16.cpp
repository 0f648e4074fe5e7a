// Fused attention in half precision on Tensor Cores, where the build permits it: kernels/attention_f16.cu. Tensors stay f32 in the plan; a first
// launch rounds q, k and v to halves in the workspace, rows padded to 32, 64 or 128, k turned where it lies the other way.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/cuda/attention_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/ops/element.h"
#include "runtime/ops/normalization.h"
#include "runtime/ops/strided_copy.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kMostDepth = 128, kQueries = 64;
constexpr int kBlock = 128;

// Halves of a row of q, k and v.
int padded_depth(const Shape& q, const Shape& v) {
  const int64_t depth = std::max(q[3], v[3]);
  return depth <= 32 ? 32 : depth <= 64 ? 64 : 128;
}

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(Device& device, const Problem& problem, CUfunction rounds, CUfunction attends)
      : device_(device), rounds_(rounds), attends_(attends), op_(std::get<AttentionParams>(problem.params)),
        padded_(padded_depth(problem.inputs[0].max_shape, problem.inputs[2].max_shape)),
        masked_(problem.inputs.size() > 3 && problem.inputs[3].present) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &q = args.input_shapes[0], &v = args.input_shapes[2];
    const int64_t heads = q[0] * q[1], queries = q[2], depth = q[3], keys = v[2];
    const int64_t tiles = blocks_for(queries, kQueries);
    if (heads * queries * v[3] == 0) return {};
    if (heads * tiles > INT32_MAX || queries > INT32_MAX / 2 || keys > INT32_MAX / 2)
      return Status(StatusCode::kUnsupported, "cuda: attention is too large: got " + std::to_string(queries) + " queries and " + std::to_string(keys) +
                                                  " keys of " + std::to_string(heads) + " heads, need fewer than 2^30, and 2^31 tiles of 64");
    auto* space = static_cast<std::byte*>(args.workspace);
    AttentionHalves halves{};
    halves.padded = padded_;
    int64_t most = 0;
    const auto add = [&](int which, int64_t rows, int64_t channels, bool turned) {
      AttentionHalves::Part& part = halves.parts[which];
      part.x = static_cast<const float*>(args.inputs[static_cast<size_t>(which)]);
      part.y = space;
      part.rows = heads * rows;
      part.plane = rows;
      part.head_stride = rows * channels;
      part.row_stride = turned ? 1 : channels;
      part.channel_stride = turned ? rows : 1;
      part.channels = static_cast<int32_t>(channels);
      space += part.rows * padded_ * 2;
      most = std::max(most, part.rows * padded_ / (turned ? 8 : 4));
    };
    add(0, queries, depth, false);
    add(1, keys, depth, op_.k_transposed);
    add(2, keys, v[3], false);
    INGOT_TRY(launch(device_, rounds_, {blocks_for(most), 3}, kThreads, 0, args.stream, halves));

    AttentionF16 p{};
    p.q = halves.parts[0].y;
    p.k = halves.parts[1].y;
    p.v = halves.parts[2].y;
    p.y = static_cast<float*>(args.outputs[0]);
    p.heads = static_cast<int32_t>(q[1]);
    p.queries = static_cast<int32_t>(queries);
    p.keys = static_cast<int32_t>(keys);
    p.values = static_cast<int32_t>(v[3]);
    p.tiles = static_cast<int32_t>(tiles);
    p.scale = static_cast<float>(op_.scale);
    if (masked_) {
      const Shape& mask = args.input_shapes[3];
      const Strides own = row_major_strides(mask);
      p.mask = static_cast<const float*>(args.inputs[3]);
      for (int d = 0; d < 3; ++d) {
        const int from = d - (4 - mask.rank);
        p.mask_strides[d] = from < 0 || mask[from] == 1 ? 0 : own[static_cast<size_t>(from)];
      }
      p.mask_step = mask.rank > 0 && mask[mask.rank - 1] != 1;
    }
    return launch(device_, attends_, {heads * tiles}, kBlock, shared_bytes(padded_), args.stream, p);
  }

  static int shared_bytes(int padded) { return 8 * padded * (padded == 128 ? 32 : 64); }

 private:
  Device& device_;
  CUfunction rounds_, attends_;
  AttentionParams op_;
  int padded_;
  bool masked_;
};

class AttentionTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.attention.flash.f16", 1, OpKind::kAttention, {}, DataType::kF16};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (!problem.device.allow_f16) return {"half precision is not permitted: needs --fp16"};
    for (const Operand& input : problem.inputs) {
      if (input.present && input.type.dtype != DataType::kF32) return {"an operand is not f32"};
      if (input.present && input.type.layout != Layout::kLinear) return {"tensors are not row-major"};
    }
    const TensorType& y = problem.outputs[0].type;
    if (y.dtype != DataType::kF32 || y.layout != Layout::kLinear) return {"the result is not f32 and row-major"};
    if (problem.inputs[0].max_shape[3] > kMostDepth || problem.inputs[2].max_shape[3] > kMostDepth) return {"rows of more than 128 elements"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const Shape &q = problem.inputs[0].max_shape, &v = problem.inputs[2].max_shape;
    return static_cast<size_t>(q[0] * q[1] * (q[2] + 2 * v[2]) * padded_depth(q, v) * 2);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const int padded = padded_depth(problem.inputs[0].max_shape, problem.inputs[2].max_shape);
    INGOT_ASSIGN(const CUfunction rounds, device->function("attention_halves", 0));
    INGOT_ASSIGN(const CUfunction attends, device->function(("attention_f16_" + std::to_string(padded)).c_str(), AttentionKernel::shared_bytes(padded)));
    return std::unique_ptr<Kernel>(std::make_unique<AttentionKernel>(*device, problem, rounds, attends));
  }
};

}  // namespace

std::span<const Tactic* const> attention_f16() {
  static const AttentionTactic attention;
  static const std::array<const Tactic*, 1> list = {&attention};
  return list;
}

}  // namespace ingot::cuda
