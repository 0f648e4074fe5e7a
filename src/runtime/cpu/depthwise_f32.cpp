// Depthwise float convolution of channels_last tensors. Output rows are shared among threads; in each, pixels whose taps
// all lie inside go as one span, the few at its ends one by one with their taps clipped.
#include "runtime/cpu/depthwise_f32.h"

#include <algorithm>
#include <array>

#include "runtime/cpu/conv_geometry.h"
#include "runtime/cpu/f32_layer.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }
ConvLayer layer_of(const Problem& problem) {
  return conv_layer_of(params_of(problem), problem.inputs[0].type.shape, problem.inputs[1].type.shape);
}
int64_t lines_of(const ConvLayer& layer) { return layer.kernel[0] * layer.kernel[1]; }
int64_t ceil_div(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const Problem& problem, const float* weights)
      : layer_(layer_of(problem)), weights_(weights), kernels_(depthwise_kernels(problem.device.cpu)), dense_(kernels_.any),
        epilogue_(make_float_epilogue(layer_.params.activation, 1)) {
    const int64_t taps = layer_.kernel[2], stride = layer_.stride[2];
    if (layer_.dilation[2] == 1 && (taps == 3 || taps == 5) && stride <= 2) dense_ = kernels_.dense[taps == 5][stride - 1];
  }

  Status run(const KernelArgs& args) noexcept override {
    const ConvRun run = conv_run_of(layer_, args.input_shapes[0], args.output_shapes[0]);
    const FloatEpilogue epilogue = bound_epilogue(epilogue_, args);
    const float* x = static_cast<const float*>(args.inputs[0]);
    const int64_t rows = run.batch * run.out[0] * run.out[1];
    const int64_t products = std::max<int64_t>(1, run.out[2] * layer_.channels * layer_.taps());
    args.pool->parallel_for(rows, std::max<int64_t>(1, (1 << 16) / products), [&](int64_t begin, int64_t end, int thread) {
      const float** lines = static_cast<const float**>(args.workspace) + thread * lines_of(layer_);
      for (int64_t row = begin; row < end; ++row) run_row(run, x, row, lines, epilogue);
    });
    return {};
  }

 private:
  void run_row(const ConvRun& run, const float* x, int64_t row, const float** lines, const FloatEpilogue& epilogue) const {
    const int64_t channels = layer_.channels, line_floats = run.in[2] * channels;
    const int64_t h = row % run.out[1] * layer_.stride[1] - run.pad[1];
    const int64_t d = row / run.out[1] % run.out[0] * layer_.stride[0] - run.pad[0], n = row / run.out[1] / run.out[0];
    const int64_t stride = layer_.stride[2], dilation = layer_.dilation[2], pad = run.pad[2], taps = layer_.kernel[2];
    const auto start_at = [&](int64_t pixel) {
      const float** line = lines;
      for (int64_t kd = 0; kd < layer_.kernel[0]; ++kd)
        for (int64_t kh = 0; kh < layer_.kernel[1]; ++kh) {
          const int64_t id = d + kd * layer_.dilation[0], ih = h + kh * layer_.dilation[1];
          const bool outside = id < 0 || id >= run.in[0] || ih < 0 || ih >= run.in[1];
          *line++ = outside ? nullptr : x + ((n * run.in[0] + id) * run.in[1] + ih) * line_floats + (pixel * stride - pad) * channels;
        }
    };
    DepthwiseSpan span;
    span.lines = lines;
    span.line_count = lines_of(layer_);
    span.kernel_w = taps;
    span.tap_step = dilation * channels;
    span.pixel_step = stride * channels;
    span.weights = weights_;
    span.channels = channels;
    span.epilogue = &epilogue;
    const int64_t first_out = row * run.out[2];
    const int64_t inside_begin = std::min(ceil_div(pad, stride), run.out[2]);
    const int64_t room = run.in[2] + pad - (taps - 1) * dilation;  // pixel · stride must stay below
    const int64_t inside_end = std::clamp(ceil_div(room, stride), inside_begin, run.out[2]);
    const auto clipped = [&](int64_t begin, int64_t end) {
      for (int64_t pixel = begin; pixel < end; ++pixel) {
        const int64_t w = pixel * stride - pad;
        span.tap_begin = std::min(ceil_div(-w, dilation), taps);
        span.tap_end = std::clamp(ceil_div(run.in[2] - w, dilation), span.tap_begin, taps);
        span.count = 1;
        span.out = (first_out + pixel) * channels;
        start_at(pixel);
        kernels_.any(span);
      }
    };
    clipped(0, inside_begin);
    if (inside_begin < inside_end) {
      span.tap_begin = 0;
      span.tap_end = taps;
      span.count = inside_end - inside_begin;
      span.out = (first_out + inside_begin) * channels;
      start_at(inside_begin);
      dense_(span);
    }
    clipped(inside_end, run.out[2]);
  }

  ConvLayer layer_;
  const float* weights_;
  const DepthwiseKernels& kernels_;
  DepthwiseFunction dense_;
  FloatEpilogue epilogue_;
};

class DepthwiseTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv.depthwise.f32.channels_last", 1, OpKind::kConv};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem, Layout::kChannelsLast)) return {refusal};
    if (!is_depthwise(problem.inputs[1].type.shape, params_of(problem))) return {"not depthwise: more than one channel in a group"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    return static_cast<size_t>(lines_of(layer_of(problem)) * problem.device.threads) * sizeof(float*);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const ConvLayer layer = layer_of(problem);
    Blob blob(static_cast<size_t>(floats(layer)) * sizeof(float));
    pack_blocks(reinterpret_cast<const float*>(problem.inputs[1].constant.data()), layer.taps(), layer.channels, 1, layer.taps(), 0,
                (layer.channels + kFloatBlock - 1) / kFloatBlock, reinterpret_cast<float*>(blob.data()));
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_ASSIGN(const float* weights, floats_in_blob("conv", blob, floats(layer_of(problem))));
    return std::unique_ptr<Kernel>(std::make_unique<DepthwiseKernel>(problem, weights));
  }

 private:
  static int64_t floats(const ConvLayer& layer) {
    return (layer.channels + kFloatBlock - 1) / kFloatBlock * kFloatBlock * layer.taps();
  }
};

}  // namespace

std::span<const Tactic* const> depthwise_f32() {
  static const DepthwiseTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
