// Max and average pooling, global too, of quantised channels-last tensors on channelwise_s8.h.
#include <array>

#include "runtime/cpu/s8_layer.h"
#include "runtime/cpu/tap_window.h"
#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

const PoolParams& params_of(const Problem& problem) { return std::get<PoolParams>(problem.params); }
int spatial_of(const Shape& x) { return x.rank - 2; }

// A global pool is a window as large as the image; over an empty one it sees padding only.
TapWindow window_of(const PoolParams& params, const Shape& x) {
  TapWindow w;
  if (!params.global) return tap_window_of(spatial_of(x), params.kernel, params.strides, params.dilations);
  w.kernel_w = std::max<int64_t>(x[x.rank - 1], 1);
  w.kernel_h = x.rank == 4 ? std::max<int64_t>(x[2], 1) : 1;
  return w;
}

// How many window positions of output `out` fall into [begin, end) of an axis.
int64_t positions(int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t begin, int64_t end) {
  const int64_t start = out * stride - pad;
  const auto first_from = [&](int64_t limit) {
    return limit <= start ? 0 : std::min(kernel, (limit - start + dilation - 1) / dilation);
  };
  return first_from(end) - first_from(begin);
}

class PoolKernel final : public Kernel {
 public:
  PoolKernel(PoolParams params, const TensorType& x, const TensorType& y, int64_t table_entries, CpuLevel level)
      : params_(std::move(params)), kernels_(channelwise_kernels(level)), result_(stored_result(y, {})),
        signed_(x.dtype == DataType::kS8), x_zero_(zero_point_of(x)), x_scale_(scale_of(x)),
        y_scale_(is_quantized(y) ? scale_of(y) : 1.0f), table_entries_(table_entries) {
    const bool max = params_.function == PoolFunction::kMax;
    // Padding never wins a maximum, and adds z − z = 0 to a sum.
    const auto fill = max ? static_cast<uint8_t>(signed_ ? -128 : 0) : static_cast<uint8_t>(x_zero_);
    padding_.assign(static_cast<size_t>(x.shape[1]), fill);
  }

  Status run(const KernelArgs& args) noexcept override {
    const Shape& in = args.input_shapes[0];
    const int spatial = spatial_of(in);
    const TapWindow window = window_of(params_, in);
    const PadPair pad_w = pool_pads(params_, spatial - 1, spatial, in[in.rank - 1]);
    const PadPair pad_h = spatial == 2 ? pool_pads(params_, 0, spatial, in[2]) : PadPair{};
    const TapImage image = tap_image_of(in, args.output_shapes[0], pad_h, pad_w);
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    RowEpilogue result = result_;
    result.out = args.outputs[0];
    const bool max = params_.function == PoolFunction::kMax;
    args.pool->parallel_for(image.pixels(), 4, [&](int64_t begin, int64_t end, int thread) {
      const uint8_t** table = static_cast<const uint8_t**>(args.workspace) + thread * table_entries_;
      float multipliers[kMaxTilePixels];
      PoolTile tile{};
      tile.pointers = table;
      tile.taps = window.taps();
      tile.channels = in[1];
      tile.offset = static_cast<int32_t>(-x_zero_ * tile.taps);
      tile.multiplier = multipliers;
      tile.epilogue = &result;
      for (int64_t pixel = begin; pixel < end; pixel += tile.pixels) {
        tile.pixel = pixel;
        tile.pixels = std::min<int64_t>(kMaxTilePixels, end - pixel);
        find_taps(window, image, in[1], x, padding_.data(), pixel, tile.pixels, table);
        if (max) {
          kernels_.max_pool[signed_](tile);
          continue;
        }
        for (int64_t i = 0; i < tile.pixels; ++i) multipliers[i] = multiplier_of(window, image, pad_h, pad_w, pixel + i);
        kernels_.average_pool[signed_](tile);
      }
    });
    return Status();
  }

 private:
  float multiplier_of(const TapWindow& w, const TapImage& image, PadPair pad_h, PadPair pad_w, int64_t pixel) const {
    const bool pads = params_.count_include_pad && !params_.global;
    const int64_t out_x = pixel % image.out_w, out_y = pixel / image.out_w % image.out_h;
    const int64_t across = positions(out_x, w.kernel_w, w.stride_w, w.dilation_w, pad_w.begin, pads ? -pad_w.begin : 0,
                                     image.in_w + (pads ? pad_w.end : 0));
    const int64_t down = positions(out_y, w.kernel_h, w.stride_h, w.dilation_h, pad_h.begin, pads ? -pad_h.begin : 0,
                                   image.in_h + (pads ? pad_h.end : 0));
    return across * down == 0 ? 0.0f : average_multiplier(x_scale_, y_scale_, across * down);
  }

  PoolParams params_;
  const ChannelwiseKernels& kernels_;
  RowEpilogue result_;
  bool signed_;
  int32_t x_zero_;
  float x_scale_, y_scale_;
  int64_t table_entries_;
  std::vector<uint8_t> padding_;
};

class PoolTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.pool.s8.channels_last", 1, OpKind::kPool};
    return kInfo;
  }

  Support supports(const Problem& problem) const override { return {refuse_s8_pool(problem)}; }

  size_t workspace_bytes(const Problem& problem) const override {
    return static_cast<size_t>(problem.device.threads * table_entries(problem)) * sizeof(const uint8_t*);
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "pool: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(params_of(problem), problem.inputs[0].type, problem.outputs[0].type,
                                                                table_entries(problem), problem.device.cpu.level));
  }

 private:
  static int64_t table_entries(const Problem& problem) {
    return window_of(params_of(problem), problem.inputs[0].max_shape).taps() * kMaxTilePixels;
  }
};

}  // namespace

std::span<const Tactic* const> pool_s8() {
  static const PoolTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
