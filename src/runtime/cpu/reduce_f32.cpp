// Reduce of f32 over any dims, in either layout. Dims in the order of memory are merged into runs that stay and runs that
// go; the innermost run is either folded row by row, or its columns are folded side by side. Sums are made in double.
#include <array>
#include <cmath>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/cpu/sums_f64.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;   // elements below which another thread does not pay
constexpr int64_t kColumns = 256;  // columns folded side by side

// Strides, in elements, of the model's dims of a dense tensor.
Strides memory_strides(const Shape& shape, Layout layout) {
  if (layout == Layout::kLinear || shape.rank < 3) return row_major_strides(shape);
  Shape turned = shape;
  for (int d = 1; d + 1 < shape.rank; ++d) turned[d] = shape[d + 1];
  turned[shape.rank - 1] = shape[1];
  const Strides in_memory = row_major_strides(turned);
  Strides strides{};
  strides[0] = in_memory[0];
  strides[1] = 1;
  for (size_t d = 2; d < static_cast<size_t>(shape.rank); ++d) strides[d] = in_memory[d - 1];
  return strides;
}

struct Run {
  bool reduced = false;
  int64_t dim = 1, in = 0, out = 0;  // strides; out is 0 for a reduced run
};
struct Runs {
  std::array<Run, Shape::kMaxRank> list{};
  int count = 0;
};

// Runs from the outermost in; dims of size 1 are left out.
Runs runs_of(const Shape& x, Layout x_layout, const std::array<bool, Shape::kMaxRank>& is_reduced, const Shape& y, Layout y_layout,
             bool keepdims) {
  const Strides in = memory_strides(x, x_layout), out = memory_strides(y, y_layout);
  const bool turned = x_layout == Layout::kChannelsLast && x.rank >= 3;
  Runs runs;
  for (int i = 0; i < x.rank; ++i) {
    const int d = !turned || i == 0 ? i : i + 1 < x.rank ? i + 1 : 1;
    const auto at = static_cast<size_t>(d);
    if (x[d] == 1) continue;
    size_t y_dim = at;
    if (!keepdims)
      for (size_t k = 0; k < at; ++k) y_dim -= is_reduced[k];
    const Run run{is_reduced[at], x[d], in[at], is_reduced[at] ? 0 : out[y_dim]};
    Run* last = runs.count > 0 ? &runs.list[static_cast<size_t>(runs.count - 1)] : nullptr;
    if (last && last->reduced == run.reduced && (run.reduced || last->out == run.out * run.dim)) {
      last->dim *= run.dim;
      last->in = run.in;
      last->out = run.out;
    } else {
      runs.list[static_cast<size_t>(runs.count++)] = run;
    }
  }
  return runs;
}

float finish(ReduceFunction function, double total, double count) {
  switch (function) {
    case ReduceFunction::kMean: return static_cast<float>(total / count);
    case ReduceFunction::kL2: return static_cast<float>(std::sqrt(total));
    case ReduceFunction::kLogSum: return static_cast<float>(std::log(total));
    default: return static_cast<float>(total);
  }
}

// The runs of one kind around the innermost.
struct Around {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> dims{}, in{}, out{};
  int64_t count() const {
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= dims[static_cast<size_t>(i)];
    return product;
  }
  void offsets(int64_t index, int64_t& in_at, int64_t& out_at) const {
    for (int i = rank - 1; i >= 0; --i) {
      const auto at = static_cast<size_t>(i);
      in_at += index % dims[at] * in[at];
      out_at += index % dims[at] * out[at];
      index /= dims[at];
    }
  }
};

template <class Fold>
void reduce(ReduceFunction function, const Runs& runs, double count, const float* x, float* y, ThreadPool& pool) {
  Around kept, gone;
  const Run inner = runs.count > 0 ? runs.list[static_cast<size_t>(runs.count - 1)] : Run{true, 1, 1, 0};
  for (int i = 0; i + 1 < runs.count; ++i) {
    const Run& run = runs.list[static_cast<size_t>(i)];
    Around& list = run.reduced ? gone : kept;
    const auto at = static_cast<size_t>(list.rank++);
    list.dims[at] = run.dim, list.in[at] = run.in, list.out[at] = run.out;
  }
  const int64_t width = inner.reduced ? 1 : std::min(kColumns, inner.dim);
  const int64_t pieces = inner.reduced ? 1 : (inner.dim + width - 1) / width, units = kept.count() * pieces;
  const int64_t per_unit = gone.count() * (inner.reduced ? inner.dim : width);
  pool.parallel_for(units, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, per_unit)), [&](int64_t begin, int64_t end, int) {
    double totals[kColumns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * width, columns = inner.reduced ? 1 : std::min(width, inner.dim - first);
      int64_t in_at = first, out_at = first * inner.out;
      kept.offsets(i / pieces, in_at, out_at);
      std::fill_n(totals, columns, Fold::kStart);
      for_each_offset(gone.rank, gone.dims.data(), gone.in.data(), [&](int64_t offset) {
        const float* from = x + in_at + offset;
        if (inner.reduced) totals[0] = Fold::join(totals[0], fold_row<Fold>(from, inner.dim));
        else fold_columns<Fold>(totals, from, columns);
      });
      for (int64_t c = 0; c < columns; ++c) y[out_at + c * inner.out] = finish(function, totals[c], count);
    }
  });
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(const Problem& problem, const ReduceParams& params)
      : params_(params), x_layout_(problem.inputs[0].type.layout), y_layout_(problem.outputs[0].type.layout),
        axes_type_(problem.inputs.size() > 1 ? problem.inputs[1].type.dtype : DataType::kS64),
        has_axes_(problem.inputs.size() > 1 && problem.inputs[1].present) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    std::array<bool, Shape::kMaxRank> is_reduced{};
    const int64_t axes = has_axes_ ? args.input_shapes[1].elements() : 0;
    if (axes == 0) is_reduced.fill(!params_.noop_with_empty_axes);
    for (int64_t i = 0; i < axes; ++i) {
      int axis = 0;
      INGOT_TRY(read_axis("reduce", read_index({axes_type_, args.input_shapes[1], args.inputs[1], true}, i), x.rank, axis));
      is_reduced[static_cast<size_t>(axis)] = true;
    }
    if (y.elements() == 0) return {};
    int64_t count = 1;
    for (int d = 0; d < x.rank; ++d)
      if (is_reduced[static_cast<size_t>(d)]) count *= x[d];
    const Runs runs = runs_of(x, x_layout_, is_reduced, y, y_layout_, params_.keepdims);
    const auto* from = static_cast<const float*>(args.inputs[0]);
    auto* to = static_cast<float*>(args.outputs[0]);
    const auto go = [&]<class Fold>(Fold) { reduce<Fold>(params_.function, runs, static_cast<double>(count), from, to, *args.pool); };
    switch (params_.function) {
      case ReduceFunction::kMax: go(FoldMax{}); break;
      case ReduceFunction::kMin: go(FoldMin{}); break;
      case ReduceFunction::kProd: go(FoldProduct{}); break;
      case ReduceFunction::kL1: go(FoldMagnitudes{}); break;
      case ReduceFunction::kL2: case ReduceFunction::kSumSquare: go(FoldSquares{}); break;
      default: go(FoldSum{}); break;
    }
    return {};
  }

 private:
  ReduceParams params_;
  Layout x_layout_, y_layout_;
  DataType axes_type_;
  bool has_axes_;
};

class ReduceTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.reduce.f32", 1, OpKind::kReduce};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (problem.inputs[0].type.dtype != DataType::kF32 || problem.outputs[0].type.dtype != DataType::kF32) return {"input or output is not f32"};
    if (std::get<ReduceParams>(problem.params).function == ReduceFunction::kLogSumExp) return {"no kernel for this function"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "reduce: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(problem, std::get<ReduceParams>(problem.params)));
  }
};

}  // namespace

std::span<const Tactic* const> reduce_f32() {
  static const ReduceTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
