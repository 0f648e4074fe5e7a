// Transposed float convolution of channels_last tensors on gemm_f32.h. Output pixels whose coordinates leave the same
// remainders by the strides read the same taps, so each such class is an ordinary product: a pixel is a row, found by
// address, and a tap a run. With a 2×2 kernel and stride 2 each class has one tap and the whole is four products.
#include <array>
#include <vector>

#include "runtime/cpu/conv_geometry.h"
#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"

namespace ingot::cpu {
namespace {

const ConvTransposeParams& params_of(const Problem& problem) { return std::get<ConvTransposeParams>(problem.params); }

// A tap of one axis in a class: its place in the kernel, and input coordinate minus the pixel's number in the class.
struct AxisTap {
  int64_t kernel, shift;
};

struct Axis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  // Taps that reach output coordinates o with (o + pad) mod stride = remainder.
  std::vector<AxisTap> taps(int64_t remainder) const {
    std::vector<AxisTap> list;
    for (int64_t k = 0; k < kernel; ++k)
      if ((remainder - k * dilation) % stride == 0) list.push_back({k, (remainder - k * dilation) / stride});
    return list;
  }
};

struct PixelClass {
  int64_t remainder[3];
  std::vector<AxisTap> taps[3];
  int64_t weights = 0;  // where its packed weights begin
  int64_t runs() const { return static_cast<int64_t>(taps[0].size() * taps[1].size() * taps[2].size()); }
};

// What does not depend on a run's shapes.
struct Layer {
  ConvTransposeParams params;
  int spatial;
  int64_t channels, outputs, groups;
  Axis axis[3];
  std::vector<PixelClass> classes;
  int64_t floats = 0, most_runs = 1;

  explicit Layer(const Problem& problem) : params(params_of(problem)) {
    const Shape& w = problem.inputs[1].type.shape;
    spatial = w.rank - 2;
    groups = params.groups;
    channels = w[0];
    outputs = w[1] * groups;
    for (int i = 0; i < spatial; ++i)
      axis[kMaxSpatialDims - spatial + i] = {w[i + 2], attribute(params.strides, i, 1), attribute(params.dilations, i, 1)};
    for (int64_t d = 0; d < axis[0].stride; ++d)
      for (int64_t h = 0; h < axis[1].stride; ++h)
        for (int64_t x = 0; x < axis[2].stride; ++x) {
          PixelClass c{{d, h, x}, {axis[0].taps(d), axis[1].taps(h), axis[2].taps(x)}, floats};
          floats += c.runs() * channels * blocks_of(outputs / groups) * kFloatBlock;
          most_runs = std::max(most_runs, c.runs());
          classes.push_back(std::move(c));
        }
  }

  int64_t pad(int i, int64_t in, int64_t out) const {
    const Axis& a = axis[kMaxSpatialDims - spatial + i];
    const bool same = params.auto_pad == AutoPad::kSameUpper || params.auto_pad == AutoPad::kSameLower;
    if (params.output_shape.empty() && !same) return params.auto_pad == AutoPad::kNotSet ? attribute(params.pads, i, 0) : 0;
    const int64_t full = (in - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 + attribute(params.output_padding, i, 0);
    const int64_t total = std::max<int64_t>(0, full - out);
    return params.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
  }
};

class ConvTransposeKernel final : public Kernel {
 public:
  ConvTransposeKernel(const Problem& problem, const float* weights)
      : layer_(problem), weights_(weights), kernels_(float_kernels(problem.device.cpu)),
        epilogue_(make_float_epilogue(layer_.params.activation, 1)), zeros_(static_cast<size_t>(layer_.channels), 0.0f) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
    for (int i = 0; i < layer_.spatial; ++i) {
      const int a = kMaxSpatialDims - layer_.spatial + i;
      in[a] = x[i + 2], out[a] = y[i + 2];
      pad[a] = layer_.pad(i, in[a], out[a]);
    }
    FloatGemm g;
    g.groups = layer_.groups;
    g.group_channels = layer_.outputs / layer_.groups;
    g.blocks = blocks_of(g.group_channels);
    g.run_length = g.group_offset = layer_.channels / layer_.groups;
    g.epilogue = bound_epilogue(epilogue_, args);
    const float* data = static_cast<const float*>(args.inputs[0]);
    for (const PixelClass& c : layer_.classes) {
      // Pixel m of an axis is at o = remainder + m · stride − pad; `first` is the first m with o ≥ 0.
      int64_t first[3], count[3];
      g.rows = x[0];
      for (int a = 0; a < 3; ++a) {
        const int64_t stride = layer_.axis[a].stride, lead = pad[a] - c.remainder[a];
        first[a] = lead <= 0 ? 0 : (lead + stride - 1) / stride;
        const int64_t room = out[a] + lead - first[a] * stride;
        count[a] = room <= 0 ? 0 : (room + stride - 1) / stride;
        g.rows *= count[a];
      }
      g.runs = c.runs();
      g.weights = weights_ + c.weights;
      run_gemm(g, kernels_, *args.pool, static_cast<std::byte*>(args.workspace), gemm_scratch_bytes(layer_.most_runs, 0),
               [&](int64_t row, int64_t rows, const RowTable& table) {
        for (int64_t i = 0; i < rows; ++i) {
          int64_t at = row + i, m[3];
          for (int a = 2; a >= 0; --a) m[a] = first[a] + at % count[a], at /= count[a];
          int64_t o = at;
          for (int a = 0; a < 3; ++a) o = o * out[a] + c.remainder[a] + m[a] * layer_.axis[a].stride - pad[a];
          table.out_offsets[i] = o * layer_.outputs;
          const float** pointer = table.pointers + i;
          for (const AxisTap& d : c.taps[0])
            for (const AxisTap& h : c.taps[1])
              for (const AxisTap& w : c.taps[2]) {
                const int64_t id = m[0] + d.shift, ih = m[1] + h.shift, iw = m[2] + w.shift;
                const bool inside = id >= 0 && id < in[0] && ih >= 0 && ih < in[1] && iw >= 0 && iw < in[2];
                *pointer = inside ? data + (((at * in[0] + id) * in[1] + ih) * in[2] + iw) * layer_.channels : zeros_.data();
                pointer += table.stride;
              }
        }
      });
    }
    return {};
  }

 private:
  Layer layer_;
  const float* weights_;
  const FloatKernels& kernels_;
  FloatEpilogue epilogue_;
  std::vector<float> zeros_;  // a pixel of padding
};

class ConvTransposeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv_transpose.igemm.f32.channels_last", 1, OpKind::kConvTranspose};
    return kInfo;
  }

  Support supports(const Problem& problem) const override {
    const ConvTransposeParams& params = params_of(problem);
    if (const char* refusal = refuse_f32_layer(problem, params.activation)) return {refusal};
    const TensorType &x = problem.inputs[0].type, &w = problem.inputs[1].type, &y = problem.outputs[0].type;
    if (x.shape.rank < 3 || x.shape.rank > 2 + kMaxSpatialDims) return {"not one to three spatial dims"};
    if (w.shape.rank != x.shape.rank || y.shape.rank != x.shape.rank) return {"weights, input and result differ in rank"};
    if (!problem.inputs[1].is_constant || !w.shape.is_static()) return {"weights are not constant"};
    if (w.shape.elements() == 0) return {"weights are empty"};
    if (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast) return {"tensors are not channels_last"};
    if (params.groups < 1 || w.shape[0] % params.groups != 0) return {"input channels are not a multiple of groups"};
    if (params.groups > 1 && w.shape[1] < 4) return {"too few output channels in a group"};
    if (x.shape[1] != w.shape[0]) return {"input channels differ from the weights'"};
    int64_t classes = 1;
    for (int64_t stride : params.strides) {
      if (stride < 1 || stride > 64) return {"a stride above 64"};
      classes *= stride;
    }
    if (classes > 4096) return {"strides too large"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    return gemm_scratch_bytes(Layer(problem).most_runs, 0) * static_cast<size_t>(problem.device.threads);
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b10; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const Layer layer(problem);
    const auto* w = reinterpret_cast<const float*>(problem.inputs[1].constant.data());
    Blob blob(static_cast<size_t>(layer.floats) * sizeof(float));
    auto* out = reinterpret_cast<float*>(blob.data());
    const int64_t inputs = layer.channels / layer.groups, outputs = layer.outputs / layer.groups;
    const int64_t taps = layer.axis[0].kernel * layer.axis[1].kernel * layer.axis[2].kernel;
    for (const PixelClass& c : layer.classes)
      for (int64_t group = 0; group < layer.groups; ++group)
        for (int64_t block = 0; block < blocks_of(outputs); ++block)
          for (const AxisTap& d : c.taps[0])
            for (const AxisTap& h : c.taps[1])
              for (const AxisTap& x : c.taps[2])
                for (int64_t k = 0; k < inputs; ++k)
                  for (int64_t o = block * kFloatBlock; o < (block + 1) * kFloatBlock; ++o) {
                    const int64_t tap = (d.kernel * layer.axis[1].kernel + h.kernel) * layer.axis[2].kernel + x.kernel;
                    *out++ = o < outputs ? w[((group * inputs + k) * outputs + o) * taps + tap] : 0.0f;
                  }
    return blob;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_ASSIGN(const float* weights, floats_in_blob("conv_transpose", blob, Layer(problem).floats));
    return std::unique_ptr<Kernel>(std::make_unique<ConvTransposeKernel>(problem, weights));
  }
};

}  // namespace

std::span<const Tactic* const> conv_transpose_f32() {
  static const ConvTransposeTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
