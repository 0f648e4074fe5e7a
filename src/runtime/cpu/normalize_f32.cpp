// Softmax, LayerNorm and InstanceNorm/GroupNorm of f32. Dims are seen in the order of memory as (outer, length, inner), so
// both layouts share the code; where inner > 1, rows of columns are worked on together.
#include <array>
#include <cmath>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/cpu/rows_f32.h"
#include "runtime/cpu/sums_f64.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 2048;   // elements below which another thread does not pay
constexpr int64_t kColumns = 128;  // columns worked on together

int64_t product(const Shape& shape, int from, int to) {
  int64_t count = 1;
  for (int i = from; i < to; ++i) count *= shape[i];
  return count;
}

int64_t grain_of(int64_t per_unit) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(per_unit, 1)); }

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(const Problem& problem, const SoftmaxParams& params, int axis)
      : rows_(row_kernels(problem.device.cpu)), log_(params.log), flatten_(params.flatten), axis_(axis),
        layout_(problem.inputs[0].type.layout) {}
  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const Shape shape = memory_shape(args.input_shapes[0], args.input_shapes[0].rank, layout_);
    if (shape.elements() == 0) return {};
    const int rank = shape.rank;
    const int64_t outer = product(shape, 0, axis_), length = rank == 0 ? 1 : flatten_ ? product(shape, axis_, rank) : shape[axis_];
    const int64_t inner = flatten_ ? 1 : product(shape, axis_ + 1, rank);
    if (inner == 1) {
      args.pool->parallel_for(outer, grain_of(length), [&](int64_t begin, int64_t end, int) {
        for (int64_t o = begin; o < end; ++o) rows_.softmax(x + o * length, y + o * length, length, log_);
      });
      return {};
    }
    const int64_t pieces = (inner + kColumns - 1) / kColumns;
    args.pool->parallel_for(outer * pieces, grain_of(length * std::min(inner, kColumns)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * kColumns, at = i / pieces * length * inner + first;
        columns(x + at, y + at, length, inner, std::min(kColumns, inner - first));
      }
    });
    return {};
  }

 private:
  // Softmax down each of n ≤ kColumns columns of `length` elements.
  void columns(const float* x, float* y, int64_t length, int64_t stride, int64_t n) const {
    float tops[kColumns], sums[kColumns] = {}, powers[kColumns];
    constexpr RowActivation kNone{}, kExp{UnaryFunction::kExp, 0, 0};
    std::copy_n(x, n, tops);
    for (int64_t k = 1; k < length; ++k) rows_.raise_to(tops, x + k * stride, n);
    for (int64_t k = 0; k < length; ++k) {
      float* to = log_ ? powers : y + k * stride;
      rows_.binary(BinaryFunction::kSub, kExp, x + k * stride, 1, tops, 1, to, n);
      rows_.add_to(sums, to, n);
    }
    if (log_)
      for (int64_t c = 0; c < n; ++c) sums[c] = std::log(sums[c]);
    for (int64_t k = 0; k < length; ++k) {
      if (log_) {
        rows_.binary(BinaryFunction::kSub, kNone, x + k * stride, 1, tops, 1, y + k * stride, n);
        rows_.binary(BinaryFunction::kSub, kNone, y + k * stride, 1, sums, 1, y + k * stride, n);
      } else {
        rows_.binary(BinaryFunction::kDiv, kNone, y + k * stride, 1, sums, 1, y + k * stride, n);
      }
    }
  }

  const RowKernels& rows_;
  bool log_, flatten_;
  int axis_;  // in the order of memory
  Layout layout_;
};

class LayerNormKernel final : public Kernel {
 public:
  LayerNormKernel(const Problem& problem, const LayerNormParams& params)
      : rows_(row_kernels(problem.device.cpu)), epsilon_(static_cast<float>(params.epsilon)), rms_(params.rms), axis_(params.axis) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[0];
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + shape.rank : axis_);
    const int64_t outer = product(shape, 0, axis), length = product(shape, axis, shape.rank);
    if (shape.elements() == 0) return {};
    const auto *x = static_cast<const float*>(args.inputs[0]), *scale = static_cast<const float*>(args.inputs[1]);
    const auto* bias = args.inputs.size() > 2 ? static_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = static_cast<float*>(args.outputs[0]);
    args.pool->parallel_for(outer, grain_of(length), [&](int64_t begin, int64_t end, int) {
      for (int64_t o = begin; o < end; ++o) rows_.layer_norm(x + o * length, scale, bias, y + o * length, length, epsilon_, rms_);
    });
    return {};
  }

 private:
  const RowKernels& rows_;
  float epsilon_;
  bool rms_;
  int64_t axis_;
};

class InstanceNormKernel final : public Kernel {
 public:
  InstanceNormKernel(const Problem& problem, const InstanceNormParams& params)
      : rows_(row_kernels(problem.device.cpu)), epsilon_(params.epsilon), groups_(params.groups), layout_(problem.inputs[0].type.layout) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[0];
    if (shape.elements() == 0) return {};
    const int64_t channels = shape[1], groups = groups_ > 0 ? groups_ : channels, pixels = product(shape, 2, shape.rank);
    const bool last = layout_ == Layout::kChannelsLast && shape.rank >= 3;
    const Image image{static_cast<const float*>(args.inputs[0]), static_cast<const float*>(args.inputs[1]),
                      static_cast<const float*>(args.inputs[2]), static_cast<float*>(args.outputs[0]), channels, channels / groups, pixels};
    // Channels last: several small groups together, so that rows are worth their while.
    const int64_t together = last ? std::max<int64_t>(1, std::min(groups, kColumns / image.per_group)) : 1;
    const int64_t units = (groups + together - 1) / together;
    args.pool->parallel_for(shape[0] * units, grain_of(together * image.per_group * pixels), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % units * together;
        if (last) groups_last(image, i / units, first, std::min(together, groups - first));
        else group_planes(image, i / units, first);
      }
    });
    return {};
  }

 private:
  struct Image {
    const float *x, *scale, *bias;
    float* y;
    int64_t channels, per_group, pixels;
  };
  static float factor_of(const Image& image, int64_t channel, double inverse) {
    return static_cast<float>(inverse * static_cast<double>(image.scale[channel]));
  }
  double inverse_of(double squares, double count) const { return 1 / std::sqrt(squares / count + epsilon_); }

  // x − mean squared, over pieces that stay in the cache.
  double squares_from(const float* x, int64_t n, float mean) const {
    constexpr RowActivation kNone{};
    float piece[256];
    double total = 0;
    for (int64_t i = 0; i < n; i += 256) {
      const int64_t count = std::min<int64_t>(256, n - i);
      rows_.binary(BinaryFunction::kSub, kNone, x + i, 1, &mean, 0, piece, count);
      total += fold_row<FoldSquares>(piece, count);
    }
    return total;
  }

  void group_planes(const Image& image, int64_t n, int64_t group) const {
    constexpr RowActivation kNone{};
    const int64_t first = group * image.per_group, count = image.per_group * image.pixels;
    const float* x = image.x + (n * image.channels + first) * image.pixels;
    float* y = image.y + (n * image.channels + first) * image.pixels;
    const double exact_mean = fold_row<FoldSum>(x, count) / static_cast<double>(count);
    const auto mean = static_cast<float>(exact_mean);
    // Σ(x−m)² about the rounded mean is larger by n(m−μ)².
    const double off = static_cast<double>(mean) - exact_mean;
    const double inverse = inverse_of(squares_from(x, count, mean) - static_cast<double>(count) * off * off, static_cast<double>(count));
    for (int64_t c = 0; c < image.per_group; ++c) {
      float* out = y + c * image.pixels;
      rows_.binary(BinaryFunction::kSub, kNone, x + c * image.pixels, 1, &mean, 0, out, image.pixels);
      rows_.scale(out, factor_of(image, first + c, inverse), image.pixels);
      rows_.binary(BinaryFunction::kAdd, kNone, out, 1, image.bias + first + c, 0, out, image.pixels);
    }
  }

  // `count` groups of one sample; each group wider than kColumns comes alone and is walked in pieces of columns.
  void groups_last(const Image& image, int64_t n, int64_t group, int64_t count) const {
    constexpr RowActivation kNone{};
    const int64_t first = group * image.per_group, width = count * image.per_group;
    const float* x = image.x + n * image.pixels * image.channels + first;
    float* y = image.y + n * image.pixels * image.channels + first;
    const auto total = static_cast<double>(image.per_group * image.pixels);
    double sums[kColumns], means[kColumns], inverses[kColumns];  // of columns, then of groups
    float centres[kColumns], factors[kColumns], row[kColumns];
    const auto gather = [&](auto&& take, double* of_groups) {
      std::fill_n(of_groups, count, 0.0);
      for (int64_t at = 0; at < width; at += kColumns) {
        const int64_t columns = std::min(kColumns, width - at);
        std::fill_n(sums, columns, 0.0);
        for (int64_t p = 0; p < image.pixels; ++p) take(x + p * image.channels + at, columns);
        for (int64_t c = 0; c < columns; ++c) of_groups[(at + c) / image.per_group] += sums[c];
      }
    };
    gather([&](const float* from, int64_t columns) { fold_columns<FoldSum>(sums, from, columns); }, means);
    for (int64_t g = 0; g < count; ++g) means[g] /= total;
    for (int64_t c = 0; c < std::min(width, kColumns); ++c) centres[c] = static_cast<float>(means[c / image.per_group]);
    gather([&](const float* from, int64_t columns) {
      rows_.binary(BinaryFunction::kSub, kNone, from, 1, centres, 1, row, columns);
      fold_columns<FoldSquares>(sums, row, columns);
    }, inverses);
    for (int64_t g = 0; g < count; ++g) {
      const double off = static_cast<double>(static_cast<float>(means[g])) - means[g];
      inverses[g] = inverse_of(inverses[g] - total * off * off, total);
    }
    for (int64_t at = 0; at < width; at += kColumns) {
      const int64_t columns = std::min(kColumns, width - at);
      for (int64_t c = 0; c < columns; ++c)
        factors[c] = factor_of(image, first + at + c, inverses[(at + c) / image.per_group]);
      for (int64_t p = 0; p < image.pixels; ++p) {
        float* out = y + p * image.channels + at;
        rows_.binary(BinaryFunction::kSub, kNone, x + p * image.channels + at, 1, centres, 1, row, columns);
        rows_.binary(BinaryFunction::kMul, kNone, row, 1, factors, 1, row, columns);
        rows_.binary(BinaryFunction::kAdd, kNone, row, 1, image.bias + first + at, 1, out, columns);
      }
    }
  }

  const RowKernels& rows_;
  double epsilon_;
  int64_t groups_;
  Layout layout_;
};

class NormTactic final : public Tactic {
 public:
  NormTactic(OpKind op, std::string_view name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    for (const Operand& input : problem.inputs)
      if (input.present && input.type.dtype != DataType::kF32) return {"an operand is not f32"};
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (y.dtype != DataType::kF32) return {"output is not f32"};
    if (x.layout != y.layout) return {"layouts differ"};
    for (size_t i = 1; i < problem.inputs.size(); ++i)
      if (problem.inputs[i].type.layout != Layout::kLinear) return {"scale or bias is not row-major"};
    for (size_t i = 1; i < problem.outputs.size(); ++i)
      if (problem.outputs[i].present) return {"statistics are wanted"};
    if (info_.op == OpKind::kLayerNorm && x.layout != Layout::kLinear) return {"input is not row-major"};
    int axis = 0;
    if (info_.op == OpKind::kSoftmax && !memory_axis(problem, axis)) return {"dims to flatten are apart in channels_last"};
    return {};
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    if (info_.op == OpKind::kLayerNorm)
      return std::unique_ptr<Kernel>(std::make_unique<LayerNormKernel>(problem, std::get<LayerNormParams>(problem.params)));
    if (info_.op == OpKind::kInstanceNorm)
      return std::unique_ptr<Kernel>(std::make_unique<InstanceNormKernel>(problem, std::get<InstanceNormParams>(problem.params)));
    int axis = 0;
    memory_axis(problem, axis);
    return std::unique_ptr<Kernel>(std::make_unique<SoftmaxKernel>(problem, std::get<SoftmaxParams>(problem.params), axis));
  }

 private:
  // The axis of a softmax in the order of memory; false where flattened dims are not together there.
  static bool memory_axis(const Problem& problem, int& axis) {
    const auto& params = std::get<SoftmaxParams>(problem.params);
    const TensorType& x = problem.inputs[0].type;
    const int rank = x.shape.rank;
    axis = static_cast<int>(params.axis < 0 ? params.axis + rank : params.axis);
    if (rank == 0) axis = 0;
    if (x.layout != Layout::kChannelsLast || rank < 3) return true;
    if (params.flatten) return axis <= 1;  // dims 0 and 1 …; the order within a set does not matter
    axis = axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
    return true;
  }
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> normalize_f32() {
  static const NormTactic softmax(OpKind::kSoftmax, "cpu.softmax.f32"), layer_norm(OpKind::kLayerNorm, "cpu.layer_norm.f32"),
      instance_norm(OpKind::kInstanceNorm, "cpu.instance_norm.f32");
  static const std::array<const Tactic*, 3> list = {&softmax, &layer_norm, &instance_norm};
  return list;
}

}  // namespace ingot::cpu
