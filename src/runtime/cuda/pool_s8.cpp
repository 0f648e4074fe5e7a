// Max and average pooling on bytes, global too: kernels/pool_s8.cu.
#include <array>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/pool.h"

namespace ingot::cuda {
namespace {

class PoolKernel final : public Kernel {
 public:
  PoolKernel(Device& device, CUfunction function, const Problem& problem)
      : device_(device), function_(function), pool_(std::get<PoolParams>(problem.params)) {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    const int spatial = x.shape.rank - 2;
    if (!pool_.global) params_.image = window_image(spatial, pool_.kernel, pool_.strides, pool_.dilations);
    else params_.image = Image{1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1};
    params_.channels = static_cast<int32_t>(x.shape[1]);
    params_.is_signed = x.dtype == DataType::kS8;
    params_.is_max = pool_.function == PoolFunction::kMax;
    params_.count_padding = pool_.count_include_pad && !pool_.global;
    params_.x_zero = zero_point_of(x);
    params_.x_scale = scale_of(x);
    params_.y_scale = is_quantized(y) ? scale_of(y) : 1.0f;
    const ResultLimits limits = result_limits(y, {});
    params_.low = limits.low;
    params_.high = limits.high;
    params_.zero = limits.zero;
    params_.stored = stored_as(y.dtype);
  }

  Status run(const KernelArgs& args) noexcept override {
    PoolParams8 params = params_;
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    const int spatial = x.rank - 2;
    const PadPair pad_w = pool_pads(pool_, spatial - 1, spatial, x[x.rank - 1]);
    const PadPair pad_h = spatial == 2 ? pool_pads(pool_, 0, spatial, x[2]) : PadPair{};
    set_image_sizes(params.image, x, y, pad_h, pad_w);
    params.pad_end_h = static_cast<int32_t>(pad_h.end);
    params.pad_end_w = static_cast<int32_t>(pad_w.end);
    if (pool_.global) {
      params.image.kernel_h = params.image.in_h;
      params.image.kernel_w = params.image.in_w;
      params.image.pad_h = params.image.pad_w = params.pad_end_h = params.pad_end_w = 0;
    }
    params.x = static_cast<const uint8_t*>(args.inputs[0]);
    params.out = args.outputs[0];
    return launch(device_, function_, {blocks_for(y.elements())}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  CUfunction function_;
  PoolParams pool_;
  PoolParams8 params_{};
};

class PoolTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.pool.s8.channels_last", 1, OpKind::kPool};
    return kInfo;
  }

  Support supports(const Problem& problem) const override { return {refuse_s8_pool(problem)}; }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "pool: packed constants: got some, need none");
    INGOT_ASSIGN(Device* const device, Device::first());
    INGOT_ASSIGN(const CUfunction function, device->function("pool_s8", 0));
    return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(*device, function, problem));
  }
};

}  // namespace

std::span<const Tactic* const> pool_s8() {
  static const PoolTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cuda
