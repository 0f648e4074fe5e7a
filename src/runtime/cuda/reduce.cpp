// Reductions in every layout: f32 by rows (kernels/rows_f32.cu) where a set is long and dense, else by lanes; whole numbers and quantised bytes
// by lanes (kernels/reduce_typed.cu).
#include <algorithm>
#include <array>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/plain_tactic.h"
#include "runtime/cuda/reduce_params.h"
#include "runtime/ops/element.h"
#include "runtime/ops/op.h"
#include "runtime/s8_problem.h"

namespace ingot::cuda {
namespace {

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(Device& device, const Problem& problem, CUfunction rows, CUfunction lanes)
      : device_(device), op_(std::get<ReduceParams>(problem.params)), x_layout_(problem.inputs[0].type.layout), y_layout_(problem.outputs[0].type.layout),
        has_axes_(problem.inputs.size() > 1 && problem.inputs[1].present), rows_(rows), lanes_(lanes) {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (has_axes_) axes_type_ = problem.inputs[1].type.dtype;
    params_.function = static_cast<int32_t>(op_.function);
    params_.type = static_cast<int32_t>(x.dtype);
    if (!is_quantized(x)) return;
    const ResultLimits limits = result_limits(y, {});
    params_.x_zero = zero_point_of(x);
    params_.y_zero = limits.zero;
    params_.low = limits.low;
    params_.high = limits.high;
    x_scale_ = scale_of(x);
    y_scale_ = scale_of(y);
  }

  Status run(const KernelArgs& args) noexcept override {
    ReduceTyped p = params_;
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    std::array<bool, Shape::kMaxRank> reduced{};
    const int64_t count = has_axes_ ? args.input_shapes[1].elements() : 0;
    for (int64_t i = 0; i < count; ++i) {
      int64_t axis = read_index({axes_type_, args.input_shapes[1], args.host_inputs[1], true}, i);
      if (axis < 0) axis += x.rank;
      if (axis >= 0 && axis < x.rank) reduced[static_cast<size_t>(axis)] = true;
    }
    if (count == 0 && !op_.noop_with_empty_axes) reduced.fill(true);
    const Strides strides = strides_of(x, x_layout_);
    std::array<Strides, 1> kept{};
    int to = 0;
    p.set_size = 1;
    for (int d = 0; d < x.rank; ++d) {
      const auto at = static_cast<size_t>(d);
      if (reduced[at]) {
        p.set_size *= x[d];
        if (op_.keepdims) ++to;
      } else {
        kept[0][static_cast<size_t>(to++)] = strides[at];
      }
    }
    const std::array<int, Shape::kMaxRank> order = memory_order(x.rank, strides);
    for (int i = 0; i < x.rank; ++i) {
      const auto d = static_cast<size_t>(order[static_cast<size_t>(i)]);
      const int64_t dim = x[static_cast<int>(d)];
      if (!reduced[d] || dim == 1) continue;
      const int last = p.reduced_rank - 1;
      const bool runs_on = p.reduced_rank > 0 && p.reduced_strides[last] == strides[d] * dim;
      const int at = runs_on ? last : p.reduced_rank++;
      p.reduced_dims[at] = runs_on ? p.reduced_dims[at] * dim : dim;
      p.reduced_strides[at] = strides[d];
    }
    p.kept = make_walk(y, y_layout_, kept);
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.results = y.elements();
    const double divisor = op_.function == ReduceFunction::kMean ? static_cast<double>(std::max<int64_t>(p.set_size, 1)) : 1;
    p.factor = static_cast<float>(static_cast<double>(x_scale_) / (static_cast<double>(y_scale_) * divisor));
    const bool dense = p.set_size >= 64 && p.reduced_rank > 0 && p.reduced_strides[p.reduced_rank - 1] == 1;
    return rows_ && dense ? run_by_rows(p, args.stream) : launch(device_, lanes_, {blocks_for(p.results, 32)}, kThreads, 0, args.stream, p);
  }

 private:
  Status run_by_rows(const ReduceTyped& p, void* stream) const {
    ReduceF32 rows{};
    rows.x = static_cast<const float*>(p.x);
    rows.y = static_cast<float*>(p.y);
    rows.results = p.results;
    rows.set_size = p.set_size;
    rows.function = p.function;
    rows.kept_rank = p.kept.rank;
    rows.reduced_rank = p.reduced_rank;
    for (int d = 0; d < kWalkDims; ++d) {
      rows.kept_dims[d] = p.kept.dims[d];
      rows.kept_strides[d] = p.kept.strides[0][d];
      rows.reduced_dims[d] = p.reduced_dims[d];
      rows.reduced_strides[d] = p.reduced_strides[d];
    }
    return launch(device_, rows_, {p.results}, 128, 0, stream, rows);
  }

  Device& device_;
  ReduceParams op_;
  Layout x_layout_, y_layout_;
  bool has_axes_;
  DataType axes_type_ = DataType::kS64;
  float x_scale_ = 1, y_scale_ = 1;
  CUfunction rows_, lanes_;
  ReduceTyped params_{};
};

const char* refuse(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  const ReduceFunction f = std::get<ReduceParams>(problem.params).function;
  if (x.dtype != y.dtype) return "types of input and output differ";
  const bool whole = f == ReduceFunction::kSum || f == ReduceFunction::kMean || f == ReduceFunction::kMax || f == ReduceFunction::kMin;
  switch (x.dtype) {
    case DataType::kF32: return nullptr;
    case DataType::kS32: case DataType::kS64: return whole || f == ReduceFunction::kProd || f == ReduceFunction::kL1 || f == ReduceFunction::kSumSquare ? nullptr : "no kernel for this function of integers";
    default: break;
  }
  if (!is_per_tensor_byte(x) || !is_per_tensor_byte(y)) return "input is neither f32, s32, s64 nor u8/s8 with one scale";
  return whole ? nullptr : "no kernel for this function of bytes";
}
Expected<std::unique_ptr<Kernel>> load(const Problem& problem, Device& device) {
  const bool is_float = problem.inputs[0].type.dtype == DataType::kF32;
  CUfunction rows = nullptr;
  if (is_float && std::get<ReduceParams>(problem.params).function != ReduceFunction::kLogSumExp) {
    INGOT_ASSIGN(rows, device.function("reduce_f32", 0));
  }
  INGOT_ASSIGN(const CUfunction lanes, device.function(is_float ? "reduce_lanes_f32" : "reduce_lanes_whole", 0));
  return std::unique_ptr<Kernel>(std::make_unique<ReduceKernel>(device, problem, rows, lanes));
}

}  // namespace

std::span<const Tactic* const> reduce() {
  static const PlainTactic tactic(OpKind::kReduce, "cuda.reduce", refuse, load);
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cuda
