// Float convolution with moved taps, on gemm_f32.h: a piece of the result's places is sampled straight into the packed layout of
// the right-hand matrix, and the weights' rows are multiplied with it, so that the result comes out channel by channel. Places are
// found in double, as by the reference code.
#include <algorithm>
#include <cmath>

#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kPiece = 128;  // places at a time: their samples of all taps and channels stay in the cache
enum InputIndex : size_t { kX, kW, kOffset, kBias, kMask };

struct Sizes {
  int64_t batch, channels, height, width, results, group_in, kernel_h, kernel_w, out_h, out_w;
  static Sizes of(const Shape& x, const Shape& w, const Shape& y) { return {x[0], x[1], x[2], x[3], w[0], w[1], w[2], w[3], y[2], y[3]}; }
  int64_t taps() const { return kernel_h * kernel_w; }
  int64_t places() const { return out_h * out_w; }
  int64_t depth() const { return group_in * taps(); }
  size_t column_bytes() const { return static_cast<size_t>((depth() * kPiece * 4 + 63) / 64 * 64); }
};

// Where one tap of a piece's places reads: four pixels and their shares, 0 where a pixel is outside.
struct Samples {
  int32_t pixel[4][kPiece];
  float share[4][kPiece];
};

class DeformConvKernel final : public Kernel {
 public:
  explicit DeformConvKernel(const Problem& problem)
      : params_(std::get<DeformConvParams>(problem.params)), kernels_(float_kernels(problem.device.cpu)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Sizes z = Sizes::of(args.input_shapes[kX], args.input_shapes[kW], args.output_shapes[0]);
    const int64_t pieces = (z.places() + kPiece - 1) / kPiece, products = kPiece * z.results * z.depth();
    args.pool->parallel_for(z.batch * params_.groups * pieces, std::max<int64_t>(1, kProductsPerThread / std::max<int64_t>(1, products)),
                            [&](int64_t begin, int64_t end, int thread) {
      std::byte* own = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(thread) * (z.column_bytes() + gemm_scratch_bytes(1, 0));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kPiece;
        run_piece(args, z, i / pieces / params_.groups, i / pieces % params_.groups, first, std::min(kPiece, z.places() - first), own);
      }
    });
    return {};
  }

 private:
  void run_piece(const KernelArgs& args, const Sizes& z, int64_t image, int64_t group, int64_t first, int64_t count, std::byte* own) const {
    float* columns = reinterpret_cast<float*>(own);
    sample_piece(args, z, image, group, first, count, columns);
    const int64_t rows = z.results / params_.groups;
    const float* w = static_cast<const float*>(args.inputs[kW]) + group * rows * z.depth();
    float* y = static_cast<float*>(args.outputs[0]) + (image * z.results + group * rows) * z.places() + first;
    FloatGemm g;
    g.rows = rows;
    g.blocks = blocks_of(count);
    g.group_channels = count;
    g.run_length = z.depth();
    g.weights = columns;
    g.epilogue.out = y;
    if (args.inputs.size() > kBias && args.inputs[kBias]) {
      const float* bias = static_cast<const float*>(args.inputs[kBias]) + group * rows;
      for (int64_t row = 0; row < rows; ++row) std::fill_n(y + row * z.places(), count, bias[row]);
      g.epilogue.residual = y;
    }
    const int64_t most = kernels_.blocks_for(rows), panels = (g.blocks + most - 1) / most;
    run_gemm_part(g, kernels_, panels, 0, rows, 0, panels, own + z.column_bytes(), [&](int64_t row, int64_t n, const RowTable& table) {
      for (int64_t i = 0; i < n; ++i) {
        table.pointers[i] = w + (row + i) * z.depth();
        table.out_offsets[i] = (row + i) * z.places();
      }
    });
  }

  // columns[block of 16 places][channel, tap][16]
  void sample_piece(const KernelArgs& args, const Sizes& z, int64_t image, int64_t group, int64_t first, int64_t count, float* columns) const {
    const int64_t in_offset_group = z.channels / params_.offset_groups, padded = blocks_of(count) * kFloatBlock, taps = z.taps();
    const float* x = static_cast<const float*>(args.inputs[kX]) + image * z.channels * z.height * z.width;
    for (int64_t tap = 0; tap < taps; ++tap) {
      Samples samples;
      int64_t placed = -1;
      for (int64_t c = 0; c < z.group_in; ++c) {
        const int64_t channel = group * z.group_in + c, offset_group = channel / in_offset_group;
        if (offset_group != placed) place_tap(args, z, image, offset_group, tap, first, count, samples);
        placed = offset_group;
        const float* plane = x + channel * z.height * z.width;
        float* to = columns + (c * taps + tap) * kFloatBlock;
        for (int64_t i = 0; i < padded; ++i) {
          float sum = 0;
          for (int corner = 0; corner < 4 && i < count; ++corner)
            if (const float share = samples.share[corner][i]; share != 0) sum += share * plane[samples.pixel[corner][i]];
          to[i / kFloatBlock * z.depth() * kFloatBlock + i % kFloatBlock] = sum;
        }
      }
    }
  }

  void place_tap(const KernelArgs& args, const Sizes& z, int64_t image, int64_t offset_group, int64_t tap, int64_t first, int64_t count, Samples& samples) const {
    const int64_t places = z.places(), at = (image * params_.offset_groups + offset_group) * z.taps() + tap;
    const float* offsets = static_cast<const float*>(args.inputs[kOffset]) + at * 2 * places + first;
    const float* mask = args.inputs.size() > kMask && args.inputs[kMask] ? static_cast<const float*>(args.inputs[kMask]) + at * places + first : nullptr;
    const auto of = [](const std::vector<int64_t>& values, size_t i, int64_t otherwise) { return i < values.size() ? values[i] : otherwise; };
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = first + i, row = place / z.out_w * of(params_.strides, 0, 1) + tap / z.kernel_w * of(params_.dilations, 0, 1) - of(params_.pads, 0, 0),
                    column = place % z.out_w * of(params_.strides, 1, 1) + tap % z.kernel_w * of(params_.dilations, 1, 1) - of(params_.pads, 1, 0);
      const double v = static_cast<double>(row) + static_cast<double>(offsets[i]), h = static_cast<double>(column) + static_cast<double>(offsets[places + i]);
      const bool inside = v > -1 && v < static_cast<double>(z.height) && h > -1 && h < static_cast<double>(z.width);  // NaN is not
      const auto top = static_cast<int64_t>(inside ? std::floor(v) : 0), left = static_cast<int64_t>(inside ? std::floor(h) : 0);
      const double down = v - static_cast<double>(top), right = h - static_cast<double>(left), all = mask ? static_cast<double>(mask[i]) : 1;
      for (int corner = 0; corner < 4; ++corner) {
        const int64_t py = top + corner / 2, px = left + corner % 2;
        const bool counts = inside && py >= 0 && py < z.height && px >= 0 && px < z.width;
        samples.pixel[corner][i] = counts ? static_cast<int32_t>(py * z.width + px) : 0;
        samples.share[corner][i] = counts ? static_cast<float>(all * (corner / 2 ? down : 1 - down) * (corner % 2 ? right : 1 - right)) : 0;
      }
    }
  }

  DeformConvParams params_;
  const FloatKernels& kernels_;
};

class DeformConvTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.deformconv.sampled.f32", 1, OpKind::kDeformConv};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (problem.inputs.size() < 3 || problem.inputs.size() > 5) return {"unknown operands"};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands) {
        if (!operand.present) continue;
        if (operand.type.dtype != DataType::kF32) return {"an operand is not f32"};
        if (operand.type.layout != Layout::kLinear) return {"tensors are not row-major"};
      }
    const Shape& x = problem.inputs[kX].max_shape;
    if (x.rank != 4) return {"not a picture of two dims"};
    if (x[2] * x[3] > INT32_MAX) return {"2^31 pixels or more"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const Sizes z = Sizes::of(problem.inputs[kX].max_shape, problem.inputs[kW].max_shape, problem.outputs[0].max_shape);
    return (z.column_bytes() + gemm_scratch_bytes(1, 0)) * static_cast<size_t>(problem.device.threads);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(floats_in_blob("deform_conv", blob, 0).take_status());
    return std::unique_ptr<Kernel>(std::make_unique<DeformConvKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> deform_conv_f32() {
  static const DeformConvTactic tactic;
  static const Tactic* const list[] = {&tactic};
  return list;
}

}  // namespace ingot::cpu
