// ArgReduce, TopK and running sums: kernels/along_axis.cu. All give the reference's results to the bit.
#include <string>

#include "runtime/cuda/along_axis_params.h"
#include "runtime/cuda/plain_tactic.h"
#include "runtime/ops/op.h"
#include "runtime/ops/type_rule.h"

namespace ingot::cuda {
namespace {

// Params::lines, length and stride along dim `axis` of x.
template <class Params>
void set_lines(Params& p, const Shape& x, int64_t axis) {
  const int at = static_cast<int>(axis < 0 ? axis + x.rank : axis);
  p.length = x[at];
  p.lines = p.stride = 1;
  for (int d = 0; d < x.rank; ++d) {
    if (d != at) p.lines *= x[d];
    if (d > at) p.stride *= x[d];
  }
}

// Launches one of two kernels, with `blocks` of 256 threads; `Bind` gives which and how many.
struct Choice {
  bool second = false;
  int64_t blocks = 0;
};
template <class Params, class Bind>
class LinesKernel final : public Kernel {
 public:
  LinesKernel(Device& device, CUfunction first, CUfunction second, const Params& params, Bind bind)
      : device_(device), first_(first), second_(second), params_(params), bind_(std::move(bind)) {}
  Status run(const KernelArgs& args) noexcept override {
    Params params = params_;
    Choice choice;
    INGOT_TRY(bind_(params, args, choice));
    return launch(device_, choice.second ? second_ : first_, {choice.blocks}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  CUfunction first_, second_;
  Params params_;
  Bind bind_;
};
template <class Params, class Bind>
Expected<std::unique_ptr<Kernel>> make_lines(Device& device, const char* first, const char* second, const Params& params, Bind bind) {
  INGOT_ASSIGN(const CUfunction one, device.function(first, 0));
  INGOT_ASSIGN(const CUfunction other, device.function(second, 0));
  return std::unique_ptr<Kernel>(std::make_unique<LinesKernel<Params, Bind>>(device, one, other, params, std::move(bind)));
}

const char* refuse_type(const Problem& problem) {
  if (const char* refusal = refuse_layouts(problem)) return refusal;
  switch (problem.inputs[0].type.dtype) {
    case DataType::kF32: case DataType::kS32: case DataType::kS64: case DataType::kS8: case DataType::kU8: return nullptr;
    default: return "elements are neither f32, s32, s64, s8 nor u8";
  }
}

Expected<std::unique_ptr<Kernel>> load_arg_reduce(const Problem& problem, Device& device) {
  const auto& op = std::get<ingot::ArgReduceParams>(problem.params);
  cuda::ArgReduceParams params{};
  params.type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  params.largest = op.largest;
  params.last = op.select_last_index;
  return make_lines(device, "arg_reduce_lines", "arg_reduce_rows", params, [axis = op.axis](cuda::ArgReduceParams& p, const KernelArgs& args, Choice& choice) -> Status {
    set_lines(p, args.input_shapes[0], axis);
    p.x = args.inputs[0];
    p.y = static_cast<int64_t*>(args.outputs[0]);
    choice.second = p.stride == 1 && p.length >= 32;
    choice.blocks = choice.second ? p.lines : blocks_for(p.lines);
    return {};
  });
}

const char* refuse_top_k(const Problem& problem) {
  for (const Operand& output : problem.outputs)
    if (!output.present) return "an output is left out";
  return refuse_type(problem);
}
Expected<std::unique_ptr<Kernel>> load_top_k(const Problem& problem, Device& device) {
  const auto& op = std::get<ingot::TopKParams>(problem.params);
  cuda::TopKParams params{};
  params.type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  params.element_bytes = static_cast<int32_t>(element_bytes(problem.inputs[0].type.dtype));
  params.largest = op.largest;
  return make_lines(device, "top_k_warps", "top_k_blocks", params, [axis = op.axis](cuda::TopKParams& p, const KernelArgs& args, Choice& choice) -> Status {
    const Shape& x = args.input_shapes[0];
    set_lines(p, x, axis);
    p.k = args.output_shapes[0][static_cast<int>(axis < 0 ? axis + x.rank : axis)];
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.places = static_cast<int64_t*>(args.outputs[1]);
    choice.second = p.length > 512;
    choice.blocks = p.k == 0 ? 0 : choice.second ? p.lines : blocks_for(p.lines, 8);
    return {};
  });
}

const char* refuse_cumulate(const Problem& problem) {
  if (const char* refusal = refuse_layouts(problem)) return refusal;
  const DataType type = problem.inputs[0].type.dtype;
  if (type != DataType::kF32 && type != DataType::kS32 && type != DataType::kS64) return "elements are neither f32, s32 nor s64";
  return problem.inputs[1].is_constant ? nullptr : "the axis is computed in the run";
}
Expected<std::unique_ptr<Kernel>> load_cumulate(const Problem& problem, Device& device) {
  const auto& op = std::get<ingot::CumulateParams>(problem.params);
  cuda::CumulateParams params{};
  params.type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  params.product = op.product;
  params.exclusive = op.exclusive;
  params.reverse = op.reverse;
  const DataType axis_type = problem.inputs[1].type.dtype;
  return make_lines(device, "cumulate_any", "cumulate_any", params, [axis_type](cuda::CumulateParams& p, const KernelArgs& args, Choice& choice) -> Status {
    const Shape& x = args.input_shapes[0];
    int axis = 0;
    INGOT_TRY(read_axis("cumulate", read_index({axis_type, args.input_shapes[1], args.host_inputs[1], true}, 0), x.rank, axis));
    set_lines(p, x, axis);
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    choice.blocks = p.length == 0 ? 0 : blocks_for(p.stride == 1 ? p.lines * 32 : p.lines);
    return {};
  });
}

}  // namespace

std::span<const Tactic* const> along_axis() {
  static const PlainTactic arg_reduce(OpKind::kArgReduce, "cuda.arg_reduce", refuse_type, load_arg_reduce), top_k(OpKind::kTopK, "cuda.top_k", refuse_top_k, load_top_k),
      cumulate(OpKind::kCumulate, "cuda.cumulate", refuse_cumulate, load_cumulate);
  static const std::array<const Tactic*, 3> list = {&arg_reduce, &top_k, &cumulate};
  return list;
}

}  // namespace ingot::cuda
