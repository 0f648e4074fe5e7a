// Convolution of quantised channels-last tensors on igemm_s8.h: an output pixel is a row, a kernel tap a segment, found by
// address instead of copied. Inputs whose channels don't fill steps of 4 (the first layer) are copied once with their
// padding, and then a whole kernel row of neighbouring taps is one segment.
#include <array>
#include <cstring>

#include "runtime/cpu/igemm_layer.h"
#include "runtime/cpu/tap_window.h"
#include "runtime/ops/element.h"

namespace ingot::cpu {
namespace {

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }
size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// What does not depend on the run's shapes.
struct ConvPlan {
  ConvParams params;
  int spatial = 2;
  int64_t channels = 0, outputs = 0, groups = 1;
  TapWindow window;
  bool copies = false;      // x is copied with its padding
  bool whole_rows = false;  // a segment is a kernel row, not a tap

  IgemmShape shape() const {
    IgemmShape s;
    s.groups = groups;
    s.outputs = outputs / groups;
    s.segments = whole_rows ? window.kernel_h : window.taps();
    s.segment_bytes = whole_rows ? window.kernel_w * channels : channels / groups;
    return s;
  }
};

ConvPlan plan_of(const Problem& problem) {
  const ConvParams& params = params_of(problem);
  const Shape& w = problem.inputs[1].type.shape;
  ConvPlan p;
  p.params = params;
  p.spatial = w.rank - 2;
  p.groups = params.groups;
  p.outputs = w[0];
  p.channels = w[1] * params.groups;
  p.window = tap_window_of(p.spatial, w.span().subspan(2), params.strides, params.dilations);
  p.copies = w[1] % kStepBytes != 0;
  p.whole_rows = p.copies && p.groups == 1 && (p.window.dilation_w == 1 || p.window.kernel_w == 1);
  return p;
}

PadPair pad_h_of(const ConvPlan& p, const Shape& x) {
  return p.spatial == 2 ? conv_pads(p.params, 0, p.spatial, x[2], p.window.kernel_h) : PadPair{};
}
PadPair pad_w_of(const ConvPlan& p, const Shape& x) {
  return conv_pads(p.params, p.spatial - 1, p.spatial, x[x.rank - 1], p.window.kernel_w);
}
int64_t sum(const PadPair& pad) { return pad.begin + pad.end; }

class ConvKernel final : public Kernel {
 public:
  ConvKernel(ConvPlan plan, IgemmLayer layer, LoadedEpilogue epilogue, size_t table_bytes, uint8_t zero)
      : plan_(std::move(plan)), layer_(std::move(layer)), epilogue_(std::move(epilogue)), table_bytes_(table_bytes),
        zeros_(static_cast<size_t>(layer_.shape().steps() * kStepBytes), zero) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape& in = args.input_shapes[0];
    const PadPair pad_h = pad_h_of(plan_, in), pad_w = pad_w_of(plan_, in);
    TapImage image = tap_image_of(in, args.output_shapes[0], pad_h, pad_w);
    TapWindow window = plan_.window;
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    if (plan_.copies) {
      uint8_t* copy = static_cast<uint8_t*>(args.workspace) + table_bytes_;
      const int64_t height = image.in_h + sum(pad_h), width = image.in_w + sum(pad_w);
      copy_padded(*args.pool, image, height, width, x, copy);
      x = copy;
      image.in_h = height;
      image.in_w = width;
      image.pad_h = image.pad_w = 0;
      if (plan_.whole_rows) window.kernel_w = 1;
    }
    const RowEpilogue epilogue = bound_epilogue(epilogue_, args);
    const int64_t channels = plan_.channels, group_channels = channels / plan_.groups;
    const int64_t row_bytes = channels * window.stride_h * window.stride_w;
    // Each output pixel reads the input pixel at its own place. Equal sizes alone don't say so: stride and padding may cancel.
    const bool dense = window.taps() == 1 && image.out_h == image.in_h && image.out_w == image.in_w && window.stride_h == 1 &&
                       window.stride_w == 1 && image.pad_h == 0 && image.pad_w == 0;
    if (dense) {
      layer_.run(*args.pool, image.pixels(), row_bytes, epilogue, args.workspace,
                 [=](int64_t group, int64_t row, int64_t count, const uint8_t** table) {
                   const uint8_t* first = x + row * channels + group * group_channels;
                   for (int64_t i = 0; i < count; ++i) table[i] = first + i * channels;
                 });
    } else {
      layer_.run(*args.pool, image.pixels(), row_bytes, epilogue, args.workspace,
                 [&](int64_t group, int64_t row, int64_t count, const uint8_t** table) {
                   find_taps(window, image, channels, x + group * group_channels, zeros_.data(), row, count, table);
                 });
    }
    return Status();
  }

 private:
  void copy_padded(ThreadPool& pool, const TapImage& image, int64_t height, int64_t width, const uint8_t* x, uint8_t* copy) const {
    const int64_t pixel = plan_.channels, row = width * pixel;
    const int zero = zeros_[0];
    pool.parallel_for(image.batch * height, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        uint8_t* out = copy + r * row;
        const int64_t y = r % height - image.pad_h;
        if (y < 0 || y >= image.in_h) {
          std::memset(out, zero, static_cast<size_t>(row));
          continue;
        }
        const int64_t left = image.pad_w * pixel, middle = image.in_w * pixel;
        std::memset(out, zero, static_cast<size_t>(left));
        std::memcpy(out + left, x + (r / height * image.in_h + y) * middle, static_cast<size_t>(middle));
        std::memset(out + left + middle, zero, static_cast<size_t>(row - left - middle));
      }
    });
    std::memset(copy + image.batch * height * row, 0, kStepBytes);  // the last step may reach past the last pixel
  }

  ConvPlan plan_;
  IgemmLayer layer_;
  LoadedEpilogue epilogue_;
  size_t table_bytes_;
  std::vector<uint8_t> zeros_;  // a segment of padding: the zero point
};

class ConvTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv.igemm.s8.channels_last", 1, OpKind::kConv};
    return kInfo;
  }

  Support supports(const Problem& problem) const override { return {refuse_s8_conv(problem)}; }

  size_t workspace_bytes(const Problem& problem) const override {
    const ConvPlan plan = plan_of(problem);
    size_t bytes = align_up(IgemmLayer::table_bytes(plan.shape(), problem.device.threads));
    if (plan.copies) {
      const Shape& x = problem.inputs[0].max_shape;
      const TapWindow& w = plan.window;
      // With auto_pad a smaller image may be padded more, but never beyond a kernel's reach.
      const int64_t in_h = plan.spatial == 2 ? x[2] : 1, in_w = x[x.rank - 1];
      const int64_t height = in_h + std::max(sum(pad_h_of(plan, x)), w.kernel_h * w.dilation_h + w.stride_h);
      const int64_t width = in_w + std::max(sum(pad_w_of(plan, x)), w.kernel_w * w.dilation_w + w.stride_w);
      bytes += static_cast<size_t>(x[0] * height * width * plan.channels + kStepBytes);
    }
    return bytes;
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const ConvPlan plan = plan_of(problem);
    const IgemmShape shape = plan.shape();
    const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
    const int64_t per_group = plan.channels / plan.groups, taps = plan.window.taps();
    const Operand* bias = optional_operand(problem.inputs, 2);
    return pack_igemm(shape, unsigned_zero(problem.inputs[0].type),
                      bias ? reinterpret_cast<const int32_t*>(bias->constant.data()) : nullptr,
                      [=](int64_t group, int64_t output, int64_t segment, int64_t k) {
                        const int64_t channel = k % per_group;
                        const int64_t tap = plan.whole_rows ? segment * plan.window.kernel_w + k / per_group : segment;
                        return w[((group * shape.outputs + output) * per_group + channel) * taps + tap];
                      });
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    ConvPlan plan = plan_of(problem);
    const TensorType& x = problem.inputs[0].type;
    INGOT_ASSIGN(IgemmLayer layer, IgemmLayer::load("conv", plan.shape(), x.dtype == DataType::kS8, problem.device.cpu.level, blob));
    INGOT_ASSIGN(LoadedEpilogue epilogue, load_epilogue("conv", problem, plan.params.activation, 1, plan.outputs));
    const size_t table_bytes = align_up(IgemmLayer::table_bytes(plan.shape(), problem.device.threads));
    return std::unique_ptr<Kernel>(std::make_unique<ConvKernel>(std::move(plan), std::move(layer), std::move(epilogue),
                                                                table_bytes, static_cast<uint8_t>(zero_point_of(x))));
  }
};

}  // namespace

std::span<const Tactic* const> conv_s8() {
  static const ConvTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
