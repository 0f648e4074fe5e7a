// Float convolution on gemm_f32.h: an output pixel is a row, found by address instead of copied. Where taps along the last
// dim are neighbours in memory, a whole kernel row is one run; pixels whose kernel rows hang over the border then copy
// theirs with zeros. The second tactic reads row-major images of few channels (a first layer) and writes channels_last.
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/cpu/conv_geometry.h"
#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"

namespace ingot::cpu {
namespace {

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }

// How k is cut into runs. The order of k is (channel plane, kernel d, kernel h, kernel w, channel).
struct Runs {
  int64_t planes = 1;       // row-major input: channels, each a plane of its own
  int64_t pixel = 1;        // floats of a pixel that one run reads
  int64_t width = 1;        // taps along the last dim in one run
  int64_t count = 1, length = 1;
  int64_t patch_floats = 0;

  static Runs of(const ConvLayer& layer, Layout input) {
    Runs r;
    const bool linear = input == Layout::kLinear;
    r.planes = linear ? layer.group_channels() : 1;
    r.pixel = linear ? 1 : layer.group_channels();
    const bool neighbours = layer.dilation[2] == 1 && (linear || layer.groups == 1);
    r.width = neighbours ? layer.kernel[2] : 1;
    r.length = r.width * r.pixel;
    r.count = r.planes * layer.taps() / r.width;
    r.patch_floats = r.width > 1 ? r.count * r.length : 0;
    return r;
  }
};

class ConvKernel final : public Kernel {
 public:
  ConvKernel(const Problem& problem, Layout input, const float* weights, bool finite)
      : layer_(conv_layer_of(params_of(problem), problem.inputs[0].type.shape, problem.inputs[1].type.shape)),
        runs_(Runs::of(layer_, input)), linear_(input == Layout::kLinear), finite_(finite), weights_(weights),
        kernels_(float_kernels(problem.device.cpu)), epilogue_(make_float_epilogue(layer_.params.activation, 1)),
        zeros_(static_cast<size_t>(runs_.length + (layer_.groups - 1) * group_offset(problem.inputs[0].max_shape)), 0.0f) {}

  Status run(const KernelArgs& args) noexcept override {
    const ConvRun run = conv_run_of(layer_, args.input_shapes[0], args.output_shapes[0]);
    FloatGemm g;
    g.rows = run.batch * run.pixels();
    g.groups = layer_.groups;
    g.group_channels = layer_.group_outputs();
    g.blocks = blocks_of(g.group_channels);
    g.runs = runs_.count;
    g.run_length = runs_.length;
    g.group_offset = group_offset(args.input_shapes[0]);
    g.patch_floats = runs_.patch_floats;
    g.zeros = finite_ ? zeros_.data() : nullptr;
    g.weights = weights_;
    g.epilogue = bound_epilogue(epilogue_, args);
    const float* x = static_cast<const float*>(args.inputs[0]);
    run_gemm(g, kernels_, *args.pool, static_cast<std::byte*>(args.workspace), gemm_scratch_bytes(runs_.count, runs_.patch_floats),
             [&](int64_t row, int64_t count, const RowTable& table) {
               for (int64_t i = 0; i < count; ++i) table.out_offsets[i] = (row + i) * layer_.outputs;
               fill(run, x, row, count, table);
             });
    return {};
  }

 private:
  // Floats from the first input of one group to that of the next.
  int64_t group_offset(const Shape& x) const {
    if (!linear_) return layer_.group_channels();
    int64_t plane = 1;
    for (int i = 2; i < x.rank; ++i) plane *= x[i];
    return layer_.group_channels() * plane;
  }

  void fill(const ConvRun& run, const float* x, int64_t row, int64_t count, const RowTable& table) const {
    const int64_t pixel = linear_ ? 1 : layer_.channels;
    const int64_t line = run.in[2] * pixel, slice = run.in[1] * line, volume = run.in[0] * slice;
    const int64_t image = linear_ ? layer_.channels * volume : volume;
    const int64_t* kernel = layer_.kernel;
    const int64_t steps = kernel[2] / runs_.width;
    // Equal sizes alone don't say that a pixel reads the one at its place: strides and padding behind may cancel.
    const bool plain = runs_.count == 1 && runs_.width == 1 && run.in[0] == run.out[0] && run.in[1] == run.out[1] &&
                       run.in[2] == run.out[2] && run.pad[0] + run.pad[1] + run.pad[2] == 0 &&
                       layer_.stride[0] * layer_.stride[1] * layer_.stride[2] == 1;
    if (plain) {
      for (int64_t i = 0; i < count; ++i) table.pointers[i] = x + (row + i) * pixel;
      return;
    }
    Position p = Position::at(run, row);
    for (int64_t i = 0; i < count; ++i, p.next(run)) {
      const float** pointer = table.pointers + i;
      const int64_t d0 = p.d * layer_.stride[0] - run.pad[0], h0 = p.h * layer_.stride[1] - run.pad[1];
      const int64_t w0 = p.w * layer_.stride[2] - run.pad[2];
      const bool inside = w0 >= 0 && w0 + runs_.width <= run.in[2];
      const int64_t from = std::clamp<int64_t>(-w0, 0, runs_.width), to = std::clamp<int64_t>(run.in[2] - w0, from, runs_.width);
      const bool slice_inside = kernel[0] == 1 && d0 >= 0 && d0 < run.in[0];
      if (inside && runs_.planes == 1 && slice_inside && steps == 1 && h0 >= 0 && h0 + (kernel[1] - 1) * layer_.dilation[1] < run.in[1]) {
        const float* base = x + p.n * image + d0 * slice + h0 * line + w0 * pixel;
        for (int64_t kh = 0; kh < kernel[1]; ++kh, pointer += table.stride, base += layer_.dilation[1] * line) *pointer = base;
        continue;
      }
      float* patch = table.patches + i * runs_.patch_floats;
      for (int64_t c = 0; c < runs_.planes; ++c)
        for (int64_t kd = 0; kd < kernel[0]; ++kd)
          for (int64_t kh = 0; kh < kernel[1]; ++kh) {
            const int64_t d = d0 + kd * layer_.dilation[0], h = h0 + kh * layer_.dilation[1];
            const bool outside = d < 0 || d >= run.in[0] || h < 0 || h >= run.in[1];
            const float* base = x + p.n * image + c * volume + d * slice + h * line + w0 * pixel;
            if (runs_.width > 1) {
              if (outside) {
                *pointer = zeros_.data();
              } else if (inside) {
                *pointer = base;
              } else {
                std::memset(patch, 0, static_cast<size_t>(runs_.length) * sizeof(float));
                std::memcpy(patch + from * pixel, base + from * pixel, static_cast<size_t>((to - from) * pixel) * sizeof(float));
                *pointer = patch;
                patch += runs_.length;
              }
              pointer += table.stride;
              continue;
            }
            for (int64_t kw = 0; kw < steps; ++kw, pointer += table.stride) {
              const int64_t shift = kw * layer_.dilation[2], w = w0 + shift;
              *pointer = outside || w < 0 || w >= run.in[2] ? zeros_.data() : base + shift * pixel;
            }
          }
    }
  }

  ConvLayer layer_;
  Runs runs_;
  bool linear_, finite_;
  const float* weights_;
  const FloatKernels& kernels_;
  FloatEpilogue epilogue_;
  std::vector<float> zeros_;  // a run of padding, for every group
};

class ConvTactic final : public Tactic {
 public:
  explicit ConvTactic(Layout input) : input_(input) {}

  const TacticInfo& info() const override {
    static constexpr TacticInfo kLast{"cpu.conv.igemm.f32.channels_last", 1, OpKind::kConv};
    static constexpr TacticInfo kFirst{"cpu.conv.igemm_first.f32.linear_to_channels_last", 1, OpKind::kConv};
    return input_ == Layout::kLinear ? kFirst : kLast;
  }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem, input_)) return {refusal};
    const Shape& w = problem.inputs[1].type.shape;
    if (is_depthwise(w, params_of(problem))) return {"depthwise: too few products for a matrix kernel"};
    if (input_ == Layout::kLinear && (params_of(problem).groups != 1 || w[1] > 16)) return {"row-major input of many channels"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    const Runs runs = Runs::of(layer_of(problem), input_);
    return gemm_scratch_bytes(runs.count, runs.patch_floats) * static_cast<size_t>(problem.device.threads);
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b10; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const ConvLayer layer = layer_of(problem);
    const auto* w = reinterpret_cast<const float*>(problem.inputs[1].constant.data());
    // Behind the weights: 1 if all are finite, else 0.
    Blob blob(static_cast<size_t>(floats(layer) + 1) * sizeof(float));
    auto* out = reinterpret_cast<float*>(blob.data());
    const int64_t channels = layer.group_channels(), outputs = layer.group_outputs(), taps = layer.taps(), depth = channels * taps;
    bool finite = true;
    for (int64_t i = 0; i < layer.outputs * depth; ++i) finite = finite && std::isfinite(w[i]);
    for (int64_t group = 0; group < layer.groups; ++group, w += outputs * depth)
      for (int64_t block = 0; block < blocks_of(outputs); ++block)
        for (int64_t k = 0; k < depth; ++k) {
          const int64_t in_weights = input_ == Layout::kLinear ? k : k % channels * taps + k / channels;
          for (int64_t o = block * kFloatBlock; o < (block + 1) * kFloatBlock; ++o)
            *out++ = o < outputs ? w[o * depth + in_weights] : 0.0f;
        }
    *out = finite ? 1.0f : 0.0f;
    return blob;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const int64_t count = floats(layer_of(problem));
    INGOT_ASSIGN(const float* weights, floats_in_blob("conv", blob, count + 1));
    return std::unique_ptr<Kernel>(std::make_unique<ConvKernel>(problem, input_, weights, weights[count] == 1.0f));
  }

 private:
  static ConvLayer layer_of(const Problem& problem) {
    return conv_layer_of(params_of(problem), problem.inputs[0].type.shape, problem.inputs[1].type.shape);
  }
  static int64_t floats(const ConvLayer& layer) {
    return layer.groups * blocks_of(layer.group_outputs()) * kFloatBlock * layer.group_channels() * layer.taps();
  }

  Layout input_;
};

}  // namespace

std::span<const Tactic* const> conv_f32() {
  static const ConvTactic channels_last(Layout::kChannelsLast), first(Layout::kLinear);
  static const std::array<const Tactic*, 2> list = {&channels_last, &first};
  return list;
}

}  // namespace ingot::cpu
