// Layer norm, attention and pools of f32: kernels/rows_f32.cu.
#include <algorithm>
#include <array>

#include "runtime/cuda/s8_layer.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/move_views.h"
#include "runtime/ops/op.h"
#include "runtime/ops/pool.h"
#include "runtime/ops/type_rule.h"

namespace ingot::cuda {
namespace {

constexpr int kRowThreads = 128;

const char* refuse_floats(const Problem& problem, size_t operands) {
  for (size_t i = 0; i < problem.inputs.size() && i < operands; ++i)
    if (problem.inputs[i].present && problem.inputs[i].type.dtype != DataType::kF32) return "an operand is not f32";
  if (problem.outputs[0].type.dtype != DataType::kF32) return "output is not f32";
  for (size_t i = 1; i < problem.outputs.size(); ++i)
    if (problem.outputs[i].present) return "more than one output is wanted";
  return nullptr;
}
bool all_linear(const Problem& problem) {
  for (const Operand& input : problem.inputs)
    if (input.present && input.type.layout != Layout::kLinear) return false;
  return problem.outputs[0].type.layout == Layout::kLinear;
}

// One block for each row; `Bind` fills in the run's addresses and sizes and gives the number of blocks and of shared bytes.
struct Blocks {
  int64_t count = 0;
  int shared_bytes = 0;
};
template <class Params, class Bind>
class BlockKernel final : public Kernel {
 public:
  BlockKernel(Device& device, CUfunction function, const Params& params, Bind bind) : device_(device), function_(function), params_(params), bind_(std::move(bind)) {}
  Status run(const KernelArgs& args) noexcept override {
    Params params = params_;
    const Blocks blocks = bind_(params, args);
    return launch(device_, function_, {blocks.count}, kRowThreads, blocks.shared_bytes, args.stream, params);
  }

 private:
  Device& device_;
  CUfunction function_;
  Params params_;
  Bind bind_;
};
template <class Params, class Bind>
Expected<std::unique_ptr<Kernel>> make_blocks(const char* name, int shared_bytes, const Params& params, Bind bind) {
  INGOT_ASSIGN(Device* const device, Device::first());
  INGOT_ASSIGN(const CUfunction function, device->function(name, shared_bytes));
  return std::unique_ptr<Kernel>(std::make_unique<BlockKernel<Params, Bind>>(*device, function, params, std::move(bind)));
}

class LayerNormTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.layer_norm.f32", 1, OpKind::kLayerNorm};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_floats(problem, 3)) return {refusal};
    if (!all_linear(problem)) return {"tensors are not row-major"};
    const Shape &x = problem.inputs[0].type.shape, &scale = problem.inputs[1].type.shape;
    const int64_t axis = std::get<LayerNormParams>(problem.params).axis;
    if (scale.rank != x.rank - static_cast<int>(axis < 0 ? axis + x.rank : axis)) return {"scale is broadcast"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    const auto norm = std::get<LayerNormParams>(problem.params);
    RowsF32 params{};
    params.rms = norm.rms;
    params.epsilon = static_cast<float>(norm.epsilon);
    params.stride = 1;
    return make_blocks("layer_norm_f32", 0, params, [axis = norm.axis](RowsF32& p, const KernelArgs& args) {
      const Shape& x = args.input_shapes[0];
      p.x = static_cast<const float*>(args.inputs[0]);
      p.scale = static_cast<const float*>(args.inputs[1]);
      p.bias = args.inputs.size() > 2 ? static_cast<const float*>(args.inputs[2]) : nullptr;
      p.y = static_cast<float*>(args.outputs[0]);
      p.length = 1;
      for (int d = static_cast<int>(axis < 0 ? axis + x.rank : axis); d < x.rank; ++d) p.length *= x[d];
      p.rows = p.length == 0 ? 0 : x.elements() / p.length;
      return Blocks{p.rows, 0};
    });
  }
};

class AttentionTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.attention.rows.f32", 1, OpKind::kAttention};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_floats(problem, 4)) return {refusal};
    if (!all_linear(problem)) return {"tensors are not row-major"};
    if (problem.inputs[2].max_shape[2] * 4 > kMostShared) return {"too many keys for shared memory"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    const auto& attention = std::get<AttentionParams>(problem.params);
    AttentionF32 params{};
    params.scale = static_cast<float>(attention.scale);
    params.k_transposed = attention.k_transposed;
    const bool masked = problem.inputs.size() > 3 && problem.inputs[3].present;
    return make_blocks("attention_f32", static_cast<int>(problem.inputs[2].max_shape[2] * 4), params, [masked](AttentionF32& p, const KernelArgs& args) {
      const Shape &q = args.input_shapes[0], &v = args.input_shapes[2];
      p.q = static_cast<const float*>(args.inputs[0]);
      p.k = static_cast<const float*>(args.inputs[1]);
      p.v = static_cast<const float*>(args.inputs[2]);
      p.y = static_cast<float*>(args.outputs[0]);
      p.heads = static_cast<int32_t>(q[1]);
      p.queries = static_cast<int32_t>(q[2]);
      p.depth = static_cast<int32_t>(q[3]);
      p.keys = static_cast<int32_t>(v[2]);
      p.values = static_cast<int32_t>(v[3]);
      p.rows = q[0] * q[1] * q[2];
      if (masked) {
        const Shape& mask = args.input_shapes[3];
        const Strides own = row_major_strides(mask);
        p.mask = static_cast<const float*>(args.inputs[3]);
        for (int d = 0; d < 4; ++d) {
          const int from = d - (4 - mask.rank);
          p.mask_strides[d] = from < 0 || mask[from] == 1 ? 0 : own[static_cast<size_t>(from)];
        }
      }
      return Blocks{p.rows, static_cast<int>(p.keys) * 4};
    });
  }

 private:
  static constexpr int64_t kMostShared = 96 * 1024;
};

class PoolTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.pool.f32", 1, OpKind::kPool};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_floats(problem, 1)) return {refusal};
    const auto& params = std::get<PoolParams>(problem.params);
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.shape.rank != 3 && x.shape.rank != 4) return {"not one or two spatial dims"};
    if (x.layout != y.layout) return {"layouts differ"};
    if (params.function != PoolFunction::kMax && params.function != PoolFunction::kAverage) return {"neither max nor average"};
    for (int64_t pad : params.pads)
      if (pad < 0) return {"negative padding"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto pool = std::get<PoolParams>(problem.params);
    PoolF32 fixed{};
    fixed.image = pool.global ? Image{1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1}
                              : window_image(problem.inputs[0].type.shape.rank - 2, pool.kernel, pool.strides, pool.dilations);
    fixed.channels_last = problem.inputs[0].type.layout == Layout::kChannelsLast;
    fixed.is_max = pool.function == PoolFunction::kMax;
    fixed.count_padding = pool.count_include_pad && !pool.global;
    INGOT_ASSIGN(const CUfunction function, device->function("pool_f32", 0));
    return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(*device, function, pool, fixed));
  }

 private:
  class PoolKernel final : public Kernel {
   public:
    PoolKernel(Device& device, CUfunction function, PoolParams pool, const PoolF32& params) : device_(device), function_(function), pool_(std::move(pool)), params_(params) {}
    Status run(const KernelArgs& args) noexcept override {
      PoolF32 p = params_;
      const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
      const int spatial = x.rank - 2;
      const PadPair pad_w = pool_.global ? PadPair{} : pool_pads(pool_, spatial - 1, spatial, x[x.rank - 1]);
      const PadPair pad_h = spatial == 2 && !pool_.global ? pool_pads(pool_, 0, spatial, x[2]) : PadPair{};
      set_image_sizes(p.image, x, y, pad_h, pad_w);
      p.pad_end_h = static_cast<int32_t>(pad_h.end);
      p.pad_end_w = static_cast<int32_t>(pad_w.end);
      if (pool_.global) {
        p.image.kernel_h = p.image.in_h;
        p.image.kernel_w = p.image.in_w;
      }
      p.channels = static_cast<int32_t>(x[1]);
      p.x = static_cast<const float*>(args.inputs[0]);
      p.y = static_cast<float*>(args.outputs[0]);
      return launch(device_, function_, {blocks_for(y.elements())}, kThreads, 0, args.stream, p);
    }

   private:
    Device& device_;
    CUfunction function_;
    PoolParams pool_;
    PoolF32 params_;
  };
};

}  // namespace

std::span<const Tactic* const> rows_f32() {
  static const LayerNormTactic layer_norm;
  static const AttentionTactic attention;
  static const PoolTactic pool;
  static const std::array<const Tactic*, 3> list = {&layer_norm, &attention, &pool};
  return list;
}

}  // namespace ingot::cuda
