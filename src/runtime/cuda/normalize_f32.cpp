// Instance, group and batch norm in either layout, and softmax along dims that are not the innermost: kernels/normalize_f32.cu.
#include <algorithm>
#include <array>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/normalize_params.h"
#include "runtime/cuda/plain_tactic.h"
#include "runtime/ops/normalization.h"

namespace ingot::cuda {
namespace {

const char* refuse_floats(const Problem& problem) {
  for (const Operand& input : problem.inputs)
    if (!input.present || input.type.dtype != DataType::kF32) return "an operand is not f32";
  if (problem.outputs[0].type.dtype != DataType::kF32) return "output is not f32";
  return problem.inputs[0].type.layout == problem.outputs[0].type.layout ? nullptr : "layouts differ";
}
int64_t pixels_of(const Shape& shape) {
  int64_t pixels = 1;
  for (int d = 2; d < shape.rank; ++d) pixels *= shape[d];
  return pixels;
}

class GroupNormKernel final : public Kernel {
 public:
  GroupNormKernel(Device& device, const Problem& problem, CUfunction whole, CUfunction lanes)
      : device_(device), op_(std::get<InstanceNormParams>(problem.params)), whole_(whole), lanes_(lanes) {
    params_.channels_last = problem.inputs[0].type.layout == Layout::kChannelsLast;
    params_.epsilon = op_.epsilon;
  }
  Status run(const KernelArgs& args) noexcept override {
    const Shape& x = args.input_shapes[0];
    if (x.elements() == 0) return {};
    GroupNormF32 p = params_;
    p.x = static_cast<const float*>(args.inputs[0]);
    p.scale = static_cast<const float*>(args.inputs[1]);
    p.bias = static_cast<const float*>(args.inputs[2]);
    p.y = static_cast<float*>(args.outputs[0]);
    p.pixels = pixels_of(x);
    p.channels = static_cast<int32_t>(x[1]);
    p.group = op_.groups > 0 ? static_cast<int32_t>(x[1] / op_.groups) : 1;
    const bool lanes = p.channels_last && p.group <= 16 && p.channels > p.group;
    p.together = lanes ? 32 / p.group : 1;
    p.units = static_cast<int32_t>(blocks_for(p.channels, static_cast<int64_t>(p.together) * p.group));
    return launch(device_, lanes ? lanes_ : whole_, {x[0] * p.units}, kThreads, 0, args.stream, p);
  }

 private:
  Device& device_;
  InstanceNormParams op_;
  CUfunction whole_, lanes_;
  GroupNormF32 params_{};
};
Expected<std::unique_ptr<Kernel>> load_group_norm(const Problem& problem, Device& device) {
  INGOT_ASSIGN(const CUfunction whole, device.function("group_norm_f32", 0));
  INGOT_ASSIGN(const CUfunction lanes, device.function("group_norm_f32_lanes", 0));
  return std::unique_ptr<Kernel>(std::make_unique<GroupNormKernel>(device, problem, whole, lanes));
}

Expected<std::unique_ptr<Kernel>> load_batch_norm(const Problem& problem, Device& device) {
  BatchNormF32 params{};
  params.epsilon = std::get<BatchNormParams>(problem.params).epsilon;
  params.channels_last = problem.inputs[0].type.layout == Layout::kChannelsLast;
  return make_simple(device, "batch_norm_f32", DeviceMemory(), params, [](BatchNormF32& p, const KernelArgs& args) {
    const Shape& x = args.input_shapes[0];
    const auto input = [&](size_t i) { return static_cast<const float*>(args.inputs[i]); };
    p.x = input(0);
    p.scale = input(1);
    p.shift = input(2);
    p.mean = input(3);
    p.variance = input(4);
    p.y = static_cast<float*>(args.outputs[0]);
    p.elements = x.elements();
    p.pixels = std::max<int64_t>(pixels_of(x), 1);
    p.channels = x.rank > 1 ? static_cast<int32_t>(x[1]) : 1;
  });
}

// Along which dim of memory a softmax runs: 0 … rank − 1; the last one is served by rows.
int memory_axis(const SoftmaxParams& op, const TensorType& x) {
  const int rank = x.shape.rank, axis = static_cast<int>(op.axis < 0 ? op.axis + rank : op.axis);
  if (x.layout != Layout::kChannelsLast || rank < 3 || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}
const char* refuse_softmax(const Problem& problem) {
  if (const char* refusal = refuse_floats(problem)) return refusal;
  const auto& op = std::get<SoftmaxParams>(problem.params);
  if (problem.inputs[0].type.shape.rank == 0) return "a scalar";
  return op.flatten && problem.inputs[0].type.layout != Layout::kLinear ? "flattened dims are not row-major" : nullptr;
}
// Of rows that lie one behind the other long ones are a block's work each, others a warp's; all other lines a thread's.
class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(Device& device, const Problem& problem, CUfunction rows, CUfunction warps, CUfunction lines)
      : device_(device), op_(std::get<SoftmaxParams>(problem.params)), layout_(problem.inputs[0].type.layout),
        axis_(memory_axis(op_, problem.inputs[0].type)), rows_(rows), warps_(warps), lines_(lines) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& x = args.input_shapes[0];
    Shape memory = x;
    if (layout_ == Layout::kChannelsLast && x.rank >= 3) {
      for (int d = 1; d + 1 < x.rank; ++d) memory[d] = x[d + 1];
      memory[x.rank - 1] = x[1];
    }
    LinesF32 p{};
    p.x = static_cast<const float*>(args.inputs[0]);
    p.y = static_cast<float*>(args.outputs[0]);
    p.log = op_.log;
    p.length = p.stride = p.lines = 1;
    for (int d = 0; d < memory.rank; ++d) (d < axis_ ? p.lines : d == axis_ || op_.flatten ? p.length : p.stride) *= memory[d];
    p.lines *= p.stride;
    if (p.length == 0 || p.lines == 0) return {};
    if (p.stride > 1 || p.length <= 8) return launch(device_, lines_, {blocks_for(p.lines)}, kThreads, 0, args.stream, p);
    if (p.length <= kLongRow) return launch(device_, warps_, {blocks_for(p.lines, kThreads / 32)}, kThreads, 0, args.stream, p);
    RowsF32 rows{};
    rows.x = p.x;
    rows.y = p.y;
    rows.rows = p.lines;
    rows.length = p.length;
    rows.stride = 1;
    rows.log = p.log;
    return launch(device_, rows_, {p.lines}, kRowThreads, 0, args.stream, rows);
  }

 private:
  static constexpr int kRowThreads = 128;
  static constexpr int64_t kLongRow = 1024;
  Device& device_;
  SoftmaxParams op_;
  Layout layout_;
  int axis_;
  CUfunction rows_, warps_, lines_;
};
Expected<std::unique_ptr<Kernel>> load_softmax(const Problem& problem, Device& device) {
  INGOT_ASSIGN(const CUfunction rows, device.function("softmax_f32", 0));
  INGOT_ASSIGN(const CUfunction warps, device.function("softmax_f32_warps", 0));
  INGOT_ASSIGN(const CUfunction lines, device.function("softmax_f32_lines", 0));
  return std::unique_ptr<Kernel>(std::make_unique<SoftmaxKernel>(device, problem, rows, warps, lines));
}

}  // namespace

std::span<const Tactic* const> normalize_f32() {
  static const PlainTactic group_norm(OpKind::kInstanceNorm, "cuda.group_norm.f32", refuse_floats, load_group_norm),
      batch_norm(OpKind::kBatchNorm, "cuda.batch_norm.f32", refuse_floats, load_batch_norm), softmax(OpKind::kSoftmax, "cuda.softmax.f32", refuse_softmax, load_softmax);
  static const std::array<const Tactic*, 3> list = {&group_norm, &batch_norm, &softmax};
  return list;
}

}  // namespace ingot::cuda
