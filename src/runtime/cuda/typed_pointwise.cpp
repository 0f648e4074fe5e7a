// Functions of one and two integers or bools, comparisons, casts that truncate, and sums and products of quantised bytes with broadcasting:
// kernels/typed_pointwise.cu. Equal to the reference to the bit.
#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/plain_tactic.h"
#include "runtime/cuda/typed_params.h"
#include "runtime/ops/element.h"
#include "runtime/ops/op.h"
#include "runtime/ops/requantize.h"
#include "runtime/s8_problem.h"

namespace ingot::cuda {
namespace {

template <class Params>
void bind_two(Params& p, const KernelArgs& args, Layout layout, const std::array<Layout, 2>& layouts) {
  const Shape& y = args.output_shapes[0];
  const std::array<Strides, 2> strides = {broadcast_strides(args.input_shapes[0], layouts[0], y.rank), broadcast_strides(args.input_shapes[1], layouts[1], y.rank)};
  p.elements = y.elements();
  p.walk = make_walk(y, layout, strides);
}

const char* refuse_binary(const Problem& problem) {
  const auto& op = std::get<BinaryParams>(problem.params);
  const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type;
  if (a.dtype != b.dtype || is_quantized(a) || is_quantized(b)) return "operands are quantised, or of two types";
  if (op.activation.function != UnaryFunction::kIdentity) return "has an activation";
  const bool compares = op.function >= BinaryFunction::kEqual && op.function <= BinaryFunction::kGreaterOrEqual;
  switch (a.dtype) {
    case DataType::kF32: case DataType::kU8: return compares ? nullptr : "no comparison";
    case DataType::kBool: return op.function == BinaryFunction::kAnd || op.function == BinaryFunction::kOr || op.function == BinaryFunction::kXor || op.function == BinaryFunction::kEqual ? nullptr : "no kernel for this function";
    case DataType::kS32: case DataType::kS64: break;
    default: return "operands are neither f32, s32, s64, u8 nor bool";
  }
  switch (op.function) {
    case BinaryFunction::kPow: case BinaryFunction::kPRelu: case BinaryFunction::kShiftLeft: case BinaryFunction::kShiftRight: case BinaryFunction::kAnd:
    case BinaryFunction::kOr: case BinaryFunction::kXor: return "no kernel for this function";
    default: return nullptr;
  }
}
Expected<std::unique_ptr<Kernel>> load_binary(const Problem& problem, Device& device) {
  BinaryTyped params{};
  params.operation = static_cast<int32_t>(std::get<BinaryParams>(problem.params).function);
  params.type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  const std::array<Layout, 2> layouts = {problem.inputs[0].type.layout, problem.inputs[1].type.layout};
  return make_simple(device, "binary_typed", DeviceMemory(), params, [layouts, layout = problem.outputs[0].type.layout](BinaryTyped& p, const KernelArgs& args) {
    p.a = args.inputs[0];
    p.b = args.inputs[1];
    p.y = args.outputs[0];
    bind_two(p, args, layout, layouts);
  });
}

const char* refuse_unary(const Problem& problem) {
  const UnaryFunction f = std::get<UnaryParams>(problem.params).function;
  const TensorType& x = problem.inputs[0].type;
  if (x.layout != problem.outputs[0].type.layout) return "layouts differ";
  const bool whole = f == UnaryFunction::kAbs || f == UnaryFunction::kNeg || f == UnaryFunction::kSign || f == UnaryFunction::kBitwiseNot;
  switch (x.dtype) {
    case DataType::kBool: return f == UnaryFunction::kNot ? nullptr : "no kernel for this function";
    case DataType::kF32: return f == UnaryFunction::kIsNan || f == UnaryFunction::kIsInf ? nullptr : "the result is no bool";
    case DataType::kS32: case DataType::kS64: return whole ? nullptr : "no kernel for this function";
    default: return "input is neither f32, s32, s64 nor bool";
  }
}
Expected<std::unique_ptr<Kernel>> load_unary(const Problem& problem, Device& device) {
  const auto& op = std::get<UnaryParams>(problem.params);
  UnaryTyped params{};
  params.function = static_cast<int32_t>(op.function);
  params.type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  const bool either = op.alpha == 0 && op.beta == 0;
  params.finds_negative = either || op.alpha != 0;
  params.finds_positive = either || op.beta != 0;
  return make_simple(device, "unary_typed", DeviceMemory(), params, [](UnaryTyped& p, const KernelArgs& args) {
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
  });
}

const char* refuse_cast(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  if (x.dtype != DataType::kF32) return "input is not f32";
  if (x.layout != y.layout) return "layouts differ";
  return y.dtype == DataType::kS32 || y.dtype == DataType::kS64 ? nullptr : "output is neither s32 nor s64";
}
Expected<std::unique_ptr<Kernel>> load_cast(const Problem& problem, Device& device) {
  cuda::CastParams params{};
  params.to = static_cast<int32_t>(problem.outputs[0].type.dtype);
  return make_simple(device, "cast_truncate", DeviceMemory(), params, [](cuda::CastParams& p, const KernelArgs& args) {
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
  });
}

const char* refuse_bytes_binary(const Problem& problem) {
  const auto& op = std::get<BinaryParams>(problem.params);
  const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
  if (op.function != BinaryFunction::kAdd && op.function != BinaryFunction::kSub && op.function != BinaryFunction::kMul) return "function is neither add, sub nor mul";
  if (!is_per_tensor_byte(a) || !is_per_tensor_byte(b)) return "operands are not u8/s8 with one scale each";
  if (y.dtype == DataType::kF32 ? y.quant.has_value() : !is_per_tensor_byte(y)) return "output is neither f32 nor u8/s8 with one scale";
  if (!is_activation(op.activation.function)) return "activation cannot be fused";
  const float s_y = is_quantized(y) ? std::min(scale_of(y), 1.0f) : 1.0f;
  return std::max({scale_of(a), scale_of(b), scale_of(a) * scale_of(b)}) / s_y < 1e20f ? nullptr : "scales are too far apart";
}
Expected<std::unique_ptr<Kernel>> load_bytes_binary(const Problem& problem, Device& device) {
  const auto& op = std::get<BinaryParams>(problem.params);
  const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
  BinaryS8 params{};
  params.to_float = !is_quantized(y);
  params.curved = !params.to_float && !is_clamp(op.activation.function);
  const float s_y = params.to_float || params.curved ? 1.0f : scale_of(y);
  params.a_signed = a.dtype == DataType::kS8;
  params.b_signed = b.dtype == DataType::kS8;
  params.a_zero = zero_point_of(a);
  params.b_zero = zero_point_of(b);
  params.product = op.function == BinaryFunction::kMul;
  params.a_multiplier = multiplier(scale_of(a), params.product ? scale_of(b) : 1.0f, s_y);
  params.b_multiplier = multiplier(scale_of(b), 1.0f, s_y);
  if (op.function == BinaryFunction::kSub) params.b_multiplier = -params.b_multiplier;
  const ResultLimits limits = result_limits(y, params.curved ? Activation{} : op.activation);
  params.low = limits.low;
  params.high = limits.high;
  params.scale = limits.scale;
  params.zero = limits.zero;
  params.function = static_cast<int32_t>(op.activation.function);
  params.alpha = static_cast<float>(op.activation.alpha);
  params.beta = static_cast<float>(op.activation.beta);
  const std::array<Layout, 2> layouts = {a.layout, b.layout};
  return make_simple(device, "binary_s8", DeviceMemory(), params, [layouts, layout = y.layout](BinaryS8& p, const KernelArgs& args) {
    p.a = static_cast<const uint8_t*>(args.inputs[0]);
    p.b = static_cast<const uint8_t*>(args.inputs[1]);
    p.y = args.outputs[0];
    bind_two(p, args, layout, layouts);
  });
}

}  // namespace

std::span<const Tactic* const> typed_pointwise() {
  static const PlainTactic binary(OpKind::kBinary, "cuda.binary.typed", refuse_binary, load_binary), unary(OpKind::kUnary, "cuda.unary.typed", refuse_unary, load_unary),
      cast(OpKind::kCast, "cuda.cast.truncate", refuse_cast, load_cast), bytes(OpKind::kBinary, "cuda.binary.s8", refuse_bytes_binary, load_bytes_binary);
  static const std::array<const Tactic*, 4> list = {&binary, &unary, &cast, &bytes};
  return list;
}

}  // namespace ingot::cuda
