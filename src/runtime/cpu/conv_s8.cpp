// Convolution of quantised channels-last tensors on igemm_s8.h: an output pixel is a row, a kernel tap a segment, found by
// address instead of copied. Inputs whose channels don't fill steps of 4 (the first layer) are copied once with their
// padding, and then a whole kernel row of neighbouring taps is one segment.
#include <array>
#include <cstring>

#include "runtime/cpu/igemm_layer.h"
#include "runtime/ops/element.h"

namespace ingot::cpu {
namespace {

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }
int64_t at_or(const std::vector<int64_t>& list, size_t i, int64_t otherwise) { return i < list.size() ? list[i] : otherwise; }
size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// What does not depend on the run's shapes. One-dimensional layers have a height of 1.
struct ConvPlan {
  ConvParams params;
  int spatial = 2;
  int64_t channels = 0, outputs = 0, groups = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  bool copies = false;    // x is copied with its padding
  bool whole_rows = false;  // a segment is a kernel row, not a tap

  IgemmShape shape() const {
    IgemmShape s;
    s.groups = groups;
    s.outputs = outputs / groups;
    s.segments = whole_rows ? kernel_h : kernel_h * kernel_w;
    s.segment_bytes = whole_rows ? kernel_w * channels : channels / groups;
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
  const auto last = static_cast<size_t>(p.spatial - 1);
  p.kernel_w = w[w.rank - 1];
  p.stride_w = at_or(params.strides, last, 1);
  p.dilation_w = at_or(params.dilations, last, 1);
  if (p.spatial == 2) {
    p.kernel_h = w[2];
    p.stride_h = at_or(params.strides, 0, 1);
    p.dilation_h = at_or(params.dilations, 0, 1);
  }
  p.copies = w[1] % kStepBytes != 0;
  p.whole_rows = p.copies && p.groups == 1 && (p.dilation_w == 1 || p.kernel_w == 1);
  return p;
}

// One run: image sizes as the kernel walks them.
struct ConvGeometry {
  int64_t batch, in_h, in_w, out_h, out_w;
  PadPair pad_h, pad_w;
};

ConvGeometry geometry_of(const ConvPlan& p, const Shape& x, const Shape& y) {
  ConvGeometry g{};
  g.batch = x[0];
  const int last = p.spatial - 1;
  g.in_w = x[x.rank - 1];
  g.out_w = y[y.rank - 1];
  g.pad_w = conv_pads(p.params, last, p.spatial, g.in_w, p.kernel_w);
  g.in_h = g.out_h = 1;
  if (p.spatial == 2) {
    g.in_h = x[2];
    g.out_h = y[2];
    g.pad_h = conv_pads(p.params, 0, p.spatial, g.in_h, p.kernel_h);
  }
  return g;
}

int64_t padded_h(const ConvGeometry& g) { return g.in_h + g.pad_h.begin + g.pad_h.end; }
int64_t padded_w(const ConvGeometry& g) { return g.in_w + g.pad_w.begin + g.pad_w.end; }

class ConvKernel final : public Kernel {
 public:
  ConvKernel(ConvPlan plan, IgemmLayer layer, LoadedEpilogue epilogue, size_t table_bytes, uint8_t zero)
      : plan_(std::move(plan)), layer_(std::move(layer)), epilogue_(std::move(epilogue)), table_bytes_(table_bytes),
        zeros_(static_cast<size_t>(layer_.shape().steps() * kStepBytes), zero) {}

  Status run(const KernelArgs& args) noexcept override {
    ConvGeometry g = geometry_of(plan_, args.input_shapes[0], args.output_shapes[0]);
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    if (plan_.copies) {
      uint8_t* copy = static_cast<uint8_t*>(args.workspace) + table_bytes_;
      copy_padded(*args.pool, g, x, copy);
      x = copy;
      g.in_h = padded_h(g);
      g.in_w = padded_w(g);
      g.pad_h = g.pad_w = PadPair{};
    }
    const int64_t rows = g.batch * g.out_h * g.out_w;
    const RowEpilogue epilogue = bound_epilogue(epilogue_, args);
    const int64_t row_bytes = plan_.channels * plan_.stride_h * plan_.stride_w;
    const int64_t segment_channels = plan_.channels / plan_.groups, channels = plan_.channels;
    const bool dense = layer_.shape().segments == 1 && plan_.stride_h == 1 && plan_.stride_w == 1 && !plan_.copies &&
                       g.out_h == g.in_h && g.out_w == g.in_w;
    if (dense) {
      layer_.run(*args.pool, rows, row_bytes, epilogue, args.workspace,
                 [=](int64_t group, int64_t row, int64_t count, const uint8_t** table) {
                   const uint8_t* first = x + row * channels + group * segment_channels;
                   for (int64_t i = 0; i < count; ++i) table[i] = first + i * channels;
                 });
    } else {
      layer_.run(*args.pool, rows, row_bytes, epilogue, args.workspace,
                 [&](int64_t group, int64_t row, int64_t count, const uint8_t** table) {
                   fill(g, x + group * segment_channels, row, count, table);
                 });
    }
    return Status();
  }

 private:
  void copy_padded(ThreadPool& pool, const ConvGeometry& g, const uint8_t* x, uint8_t* copy) const {
    const int64_t height = padded_h(g), pixel = plan_.channels, row = padded_w(g) * pixel;
    const int zero = zeros_[0];
    pool.parallel_for(g.batch * height, 16, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        uint8_t* out = copy + r * row;
        const int64_t y = r % height - g.pad_h.begin;
        if (y < 0 || y >= g.in_h) {
          std::memset(out, zero, static_cast<size_t>(row));
          continue;
        }
        const int64_t left = g.pad_w.begin * pixel, middle = g.in_w * pixel;
        std::memset(out, zero, static_cast<size_t>(left));
        std::memcpy(out + left, x + (r / height * g.in_h + y) * middle, static_cast<size_t>(middle));
        std::memset(out + left + middle, zero, static_cast<size_t>(row - left - middle));
      }
    });
    std::memset(copy + g.batch * height * row, 0, kStepBytes);
  }

  // Addresses of the taps (or kernel rows) of pixels row…row + count.
  void fill(const ConvGeometry& g, const uint8_t* x, int64_t row, int64_t count, const uint8_t** table) const {
    const int64_t taps_w = plan_.whole_rows ? 1 : plan_.kernel_w;
    const int64_t reach_h = (plan_.kernel_h - 1) * plan_.dilation_h, reach_w = (taps_w - 1) * plan_.dilation_w;
    int64_t top[kMaxTileRows], left[kMaxTileRows], image[kMaxTileRows];
    int64_t out_x = row % g.out_w, out_y = row / g.out_w % g.out_h, n = row / g.out_w / g.out_h;
    bool inside = true;
    for (int64_t i = 0; i < count; ++i) {
      top[i] = out_y * plan_.stride_h - g.pad_h.begin;
      left[i] = out_x * plan_.stride_w - g.pad_w.begin;
      image[i] = n * g.in_h;
      inside = inside && top[i] >= 0 && left[i] >= 0 && top[i] + reach_h < g.in_h && left[i] + reach_w < g.in_w;
      if (++out_x == g.out_w) {
        out_x = 0;
        if (++out_y == g.out_h) out_y = 0, ++n;
      }
    }
    if (inside) {
      const uint8_t* first[kMaxTileRows];
      for (int64_t i = 0; i < count; ++i) first[i] = x + ((image[i] + top[i]) * g.in_w + left[i]) * plan_.channels;
      for (int64_t h = 0; h < plan_.kernel_h; ++h) {
        int64_t offset = h * plan_.dilation_h * g.in_w * plan_.channels;
        for (int64_t w = 0; w < taps_w; ++w, offset += plan_.dilation_w * plan_.channels, table += count)
          for (int64_t i = 0; i < count; ++i) table[i] = first[i] + offset;
      }
      return;
    }
    for (int64_t h = 0; h < plan_.kernel_h; ++h) {
      for (int64_t w = 0; w < taps_w; ++w, table += count) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t in_y = top[i] + h * plan_.dilation_h, in_x = left[i] + w * plan_.dilation_w;
          const bool real = in_y >= 0 && in_y < g.in_h && in_x >= 0 && in_x < g.in_w;
          table[i] = real ? x + ((image[i] + in_y) * g.in_w + in_x) * plan_.channels : zeros_.data();
        }
      }
    }
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

  Support supports(const Problem& problem) const override {
    const ConvParams& params = params_of(problem);
    if (const char* refusal = refuse_s8_layer(problem, 0, params.activation)) return {refusal};
    const TensorType& x = problem.inputs[0].type;
    const TensorType& w = problem.inputs[1].type;
    if (x.shape.rank != 3 && x.shape.rank != 4) return {"not one or two spatial dims"};
    if (w.shape.rank != x.shape.rank) return {"weights and input differ in rank"};
    if (x.layout != Layout::kChannelsLast || problem.outputs[0].type.layout != Layout::kChannelsLast)
      return {"tensors are not channels_last"};
    if (!w.shape.is_static() || w.shape.elements() == 0) return {"weights are empty"};
    if (params.groups < 1 || w.shape[0] % params.groups != 0) return {"output channels are not a multiple of groups"};
    if (x.shape[1] != w.shape[1] * params.groups) return {"input channels differ from the weights'"};
    if (w.shape[1] == 1 && w.shape[0] == params.groups) return {"depthwise: too few products for a matrix kernel"};
    for (int64_t pad : params.pads)
      if (pad < 0) return {"negative padding"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    const ConvPlan plan = plan_of(problem);
    size_t bytes = align_up(IgemmLayer::table_bytes(plan.shape(), problem.device.threads));
    if (plan.copies) {
      const ConvGeometry g = geometry_of(plan, problem.inputs[0].max_shape, problem.outputs[0].max_shape);
      // With auto_pad a smaller image may be padded more, but never beyond a kernel's reach.
      const int64_t h = std::max(padded_h(g), g.in_h + plan.kernel_h * plan.dilation_h + plan.stride_h);
      const int64_t w = std::max(padded_w(g), g.in_w + plan.kernel_w * plan.dilation_w + plan.stride_w);
      bytes += static_cast<size_t>(g.batch * h * w * plan.channels + kStepBytes);
    }
    return bytes;
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const ConvPlan plan = plan_of(problem);
    const IgemmShape shape = plan.shape();
    const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
    const int64_t per_group = plan.channels / plan.groups, taps = plan.kernel_h * plan.kernel_w;
    const Operand* bias = optional_operand(problem.inputs, 2);
    return pack_igemm(shape, unsigned_zero(problem.inputs[0].type),
                      bias ? reinterpret_cast<const int32_t*>(bias->constant.data()) : nullptr,
                      [=](int64_t group, int64_t output, int64_t segment, int64_t k) {
                        const int64_t channel = k % per_group;
                        const int64_t tap = plan.whole_rows ? segment * plan.kernel_w + k / per_group : segment;
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
