// Max and average pooling of f32: channels_last as rows of channels, in the order of the reference (so to the same bits);
// row-major, each plane by itself, global pools eight planes at a time.
#include <array>

#include "runtime/cpu/rows_f32.h"
#include "runtime/ops/window.h"
#include "runtime/tactic.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements read below which another thread does not pay

const PoolParams& params_of(const Problem& problem) { return std::get<PoolParams>(problem.params); }

// Window positions [first, last) of output o inside the input, the place of position 0, and how many positions count.
struct Stretch { int64_t first, last, start, padded; };
Stretch stretch_of(const WindowAxis& a, int64_t o) {
  const int64_t start = o * a.stride - a.pad.begin;
  const auto position = [&](int64_t limit) {
    return limit <= start ? 0 : std::min(a.kernel, (limit - start + a.dilation - 1) / a.dilation);
  };
  return {position(0), position(a.in), start, position(a.in + a.pad.end)};
}

class PoolKernel final : public Kernel {
 public:
  PoolKernel(const Problem& problem)
      : params_(params_of(problem)), rows_(row_kernels(problem.device.cpu)), max_(params_.function == PoolFunction::kMax),
        last_(problem.inputs[0].type.layout == Layout::kChannelsLast) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    if (y.elements() == 0) return {};
    const int n = x.rank - 2;
    Window window;
    if (params_.global) {
      WindowAxis& axis = window.axis[2];
      axis.in = 1;
      for (int i = 0; i < n; ++i) axis.in *= x[i + 2];
      axis.kernel = axis.in;
    } else {
      for (int i = 0; i < n; ++i) {
        WindowAxis& axis = window.axis[kMaxSpatialDims - n + i];
        axis.in = x[i + 2];
        axis.out = y[i + 2];
        axis.kernel = attribute(params_.kernel, i, 1);
        axis.stride = attribute(params_.strides, i, 1);
        axis.dilation = attribute(params_.dilations, i, 1);
        axis.pad = pool_pads(params_, i, n, axis.in);
      }
    }
    const auto* from = static_cast<const float*>(args.inputs[0]);
    auto* to = static_cast<float*>(args.outputs[0]);
    if (last_) run_channels_last(window, x[0], x[1], from, to, *args.pool);
    else if (params_.global) run_global(x[0] * x[1], window.axis[2].in, from, to, *args.pool);
    else run_planes(window, x[0] * x[1], from, to, *args.pool);
    return {};
  }

 private:
  static constexpr int64_t kPlanes = 8;
  float start() const { return max_ ? -__builtin_inff() : 0.0f; }
  int64_t divisor(const Stretch& d, const Stretch& h, const Stretch& w) const {
    if (params_.count_include_pad && !params_.global) return d.padded * h.padded * w.padded;
    const auto inside = [](const Stretch& s) { return std::max<int64_t>(0, s.last - s.first); };
    return inside(d) * inside(h) * inside(w);
  }

  // One output pixel at a time, its channels in pieces when there are few pixels and many taps.
  void run_channels_last(const Window& window, int64_t batch, int64_t channels, const float* x, float* y, ThreadPool& pool) const {
    const auto& [da, ha, wa] = window.axis;
    const int64_t pixels = da.out * ha.out * wa.out, taps = da.kernel * ha.kernel * wa.kernel;
    const int64_t piece = taps > 64 ? std::min<int64_t>(channels, 64) : channels, pieces = (channels + piece - 1) / piece;
    pool.parallel_for(batch * pixels * pieces, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, piece * taps)),
                      [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % pieces * piece, count = std::min(piece, channels - first), pixel = i / pieces;
        const int64_t n = pixel / pixels, at = pixel % pixels;
        const Stretch d = stretch_of(da, at / (ha.out * wa.out)), h = stretch_of(ha, at / wa.out % ha.out), w = stretch_of(wa, at % wa.out);
        const float* image = x + n * da.in * ha.in * wa.in * channels + first;
        float* out = y + pixel * channels + first;
        std::fill_n(out, count, start());
        for (int64_t z = d.first; z < d.last; ++z)
          for (int64_t v = h.first; v < h.last; ++v)
            for (int64_t u = w.first; u < w.last; ++u) {
              const int64_t plane = (d.start + z * da.dilation) * ha.in + h.start + v * ha.dilation;
              const float* tap = image + (plane * wa.in + w.start + u * wa.dilation) * channels;
              if (max_) rows_.raise_to(out, tap, count);
              else rows_.add_to(out, tap, count);
            }
        if (!max_) divide(out, count, divisor(d, h, w));
      }
    });
  }

  void divide(float* out, int64_t count, int64_t by) const {
    constexpr RowActivation kNone{};
    const auto n = static_cast<float>(by);
    if (by) rows_.binary(BinaryFunction::kDiv, kNone, out, 1, &n, 0, out, count);
    else std::fill_n(out, count, 0.0f);
  }
  static float greater(float a, float b) { return a > b || !(a == a) ? a : b; }  // NaN wins

  // Whole planes: sums of several planes side by side, since each is one chain of additions.
  void run_global(int64_t planes, int64_t pixels, const float* x, float* y, ThreadPool& pool) const {
    pool.parallel_for((planes + kPlanes - 1) / kPlanes, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, kPlanes * pixels)),
                      [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * kPlanes, count = std::min(kPlanes, planes - first);
        if (max_) {
          for (int64_t p = 0; p < count; ++p) y[first + p] = rows_.largest(x + (first + p) * pixels, pixels);
          continue;
        }
        float sums[kPlanes] = {};
        const float* from[kPlanes];
        for (int64_t p = 0; p < kPlanes; ++p) from[p] = x + (first + std::min(p, count - 1)) * pixels;
        for (int64_t k = 0; k < pixels; ++k)
          for (int64_t p = 0; p < kPlanes; ++p) sums[p] += from[p][k];
        for (int64_t p = 0; p < count; ++p) y[first + p] = pixels ? sums[p] / static_cast<float>(pixels) : 0.0f;
      }
    });
  }

  void run_planes(const Window& window, int64_t planes, const float* x, float* y, ThreadPool& pool) const {
    const auto& [da, ha, wa] = window.axis;
    const int64_t lines = da.out * ha.out, taps = da.kernel * ha.kernel * wa.kernel;
    pool.parallel_for(planes * lines, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, wa.out * taps)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const float* image = x + i / lines * da.in * ha.in * wa.in;
        const Stretch d = stretch_of(da, i % lines / ha.out), h = stretch_of(ha, i % ha.out);
        for (int64_t o = 0; o < wa.out; ++o) {
          const Stretch w = stretch_of(wa, o);
          float total = start();
          for (int64_t z = d.first; z < d.last; ++z)
            for (int64_t v = h.first; v < h.last; ++v) {
              const float* line = image + ((d.start + z * da.dilation) * ha.in + h.start + v * ha.dilation) * wa.in + w.start;
              for (int64_t u = w.first; u < w.last; ++u) total = max_ ? greater(total, line[u * wa.dilation]) : total + line[u * wa.dilation];
            }
          const int64_t by = max_ ? 1 : divisor(d, h, w);
          y[i * wa.out + o] = by ? total / static_cast<float>(by) : 0.0f;
        }
      }
    });
  }

  PoolParams params_;
  const RowKernels& rows_;
  bool max_, last_;
};

class PoolTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.pool.f32", 1, OpKind::kPool};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.dtype != DataType::kF32 || y.dtype != DataType::kF32) return {"input or output is not f32"};
    if (x.layout != y.layout) return {"layouts differ"};
    if (params_of(problem).function == PoolFunction::kLp) return {"neither max nor average"};
    if (problem.outputs.size() > 1 && problem.outputs[1].present) return {"indices are wanted"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "pool: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<PoolKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> pool_f32() {
  static const PoolTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
