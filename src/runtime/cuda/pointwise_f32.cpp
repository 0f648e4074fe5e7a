// Functions of f32 and casts: kernels/pointwise_f32.cu.
#include <algorithm>
#include <array>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/move_views.h"
#include "runtime/ops/op.h"

namespace ingot::cuda {
namespace {

bool known(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kAbs: case UnaryFunction::kNeg: case UnaryFunction::kExp: case UnaryFunction::kLog: case UnaryFunction::kSqrt:
    case UnaryFunction::kReciprocal: case UnaryFunction::kErf: case UnaryFunction::kFloor: case UnaryFunction::kCeil:
    case UnaryFunction::kRound: case UnaryFunction::kSign: return true;
    default: return is_activation(f);
  }
}
bool known(BinaryFunction f) {
  switch (f) {
    case BinaryFunction::kAdd: case BinaryFunction::kSub: case BinaryFunction::kMul: case BinaryFunction::kDiv: case BinaryFunction::kMin:
    case BinaryFunction::kMax: case BinaryFunction::kPRelu: return true;
    default: return false;
  }
}

const char* refuse_operands(const Problem& problem) {
  for (const Operand& input : problem.inputs)
    if (!input.present || input.type.dtype != DataType::kF32) return "an operand is not f32";
  if (problem.outputs[0].type.dtype != DataType::kF32) return "output is not f32";
  return nullptr;
}

class UnaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.unary.f32", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_operands(problem)) return {refusal};
    if (!known(std::get<UnaryParams>(problem.params).function)) return {"no kernel for this function"};
    if (problem.inputs[0].type.layout != problem.outputs[0].type.layout) return {"layouts differ"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto& function = std::get<UnaryParams>(problem.params);
    UnaryF32 params{};
    params.function = static_cast<int32_t>(function.function);
    params.alpha = static_cast<float>(function.alpha);
    params.beta = static_cast<float>(function.beta);
    return make_simple(*device, "unary_f32", DeviceMemory(), params, [](UnaryF32& p, const KernelArgs& args) {
      p.x = static_cast<const float*>(args.inputs[0]);
      p.y = static_cast<float*>(args.outputs[0]);
      p.elements = args.output_shapes[0].elements();
    });
  }
};

// The dims of a result in the order of its memory, each with the strides of both operands.
void set_broadcast(BinaryF32& p, const Shape& y, Layout layout, const std::array<Shape, 2>& shapes, const std::array<Layout, 2>& layouts) {
  const Strides out = strides_of(y, layout);
  std::array<Strides, 2> strides{};
  for (size_t i = 0; i < 2; ++i) {
    const Strides own = strides_of(shapes[i], layouts[i]);
    for (int d = 0; d < y.rank; ++d) {
      const int from = d - (y.rank - shapes[i].rank);
      strides[i][static_cast<size_t>(d)] = from < 0 || shapes[i][from] == 1 ? 0 : own[static_cast<size_t>(from)];
    }
  }
  std::array<int, Shape::kMaxRank> order{};
  for (int d = 0; d < y.rank; ++d) order[static_cast<size_t>(d)] = d;
  std::stable_sort(order.begin(), order.begin() + y.rank, [&](int a, int b) { return out[static_cast<size_t>(a)] > out[static_cast<size_t>(b)]; });
  p.rank = 0;
  for (int i = 0; i < y.rank; ++i) {
    const auto d = static_cast<size_t>(order[static_cast<size_t>(i)]);
    const int64_t dim = y[static_cast<int>(d)], a = strides[0][d], b = strides[1][d];
    if (dim == 1) continue;
    const int last = p.rank - 1;
    if (p.rank > 0 && p.a_strides[last] == a * dim && p.b_strides[last] == b * dim) {
      p.dims[last] *= dim;
      p.a_strides[last] = a;
      p.b_strides[last] = b;
      continue;
    }
    p.dims[p.rank] = dim;
    p.a_strides[p.rank] = a;
    p.b_strides[p.rank++] = b;
  }
}

class BinaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.binary.f32", 1, OpKind::kBinary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_operands(problem)) return {refusal};
    const auto& params = std::get<BinaryParams>(problem.params);
    if (!known(params.function) || !known(params.activation.function)) return {"no kernel for this function"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto& op = std::get<BinaryParams>(problem.params);
    BinaryF32 params{};
    params.operation = static_cast<int32_t>(op.function);
    params.function = static_cast<int32_t>(op.activation.function);
    params.alpha = static_cast<float>(op.activation.alpha);
    params.beta = static_cast<float>(op.activation.beta);
    const Layout layout = problem.outputs[0].type.layout;
    const std::array<Layout, 2> layouts = {problem.inputs[0].type.layout, problem.inputs[1].type.layout};
    return make_simple(*device, "binary_f32", DeviceMemory(), params, [layout, layouts](BinaryF32& p, const KernelArgs& args) {
      p.a = static_cast<const float*>(args.inputs[0]);
      p.b = static_cast<const float*>(args.inputs[1]);
      p.y = static_cast<float*>(args.outputs[0]);
      p.elements = args.output_shapes[0].elements();
      if (p.elements != 0) set_broadcast(p, args.output_shapes[0], layout, {args.input_shapes[0], args.input_shapes[1]}, layouts);
    });
  }
};

class CastTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.cast", 1, OpKind::kCast};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    const auto takes = [](DataType type) { return type == DataType::kF32 || type == DataType::kS32 || type == DataType::kS64 || type == DataType::kBool; };
    if ((!takes(x.dtype) && x.dtype != DataType::kU8) || !takes(y.dtype)) return {"types are not among f32, s32, s64 and bool"};
    if (x.dtype == DataType::kF32 && y.dtype != DataType::kBool) return {"from f32 to an integer"};
    if (x.layout != y.layout) return {"layouts differ"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    cuda::CastParams params{};
    params.from = static_cast<int32_t>(problem.inputs[0].type.dtype);
    params.to = static_cast<int32_t>(problem.outputs[0].type.dtype);
    return make_simple(*device, "cast_numbers", DeviceMemory(), params, [](cuda::CastParams& p, const KernelArgs& args) {
      p.x = args.inputs[0];
      p.y = args.outputs[0];
      p.elements = args.output_shapes[0].elements();
    });
  }
};

}  // namespace

std::span<const Tactic* const> pointwise_f32() {
  static const UnaryTactic unary;
  static const BinaryTactic binary;
  static const CastTactic cast;
  static const std::array<const Tactic*, 3> list = {&unary, &binary, &cast};
  return list;
}

}  // namespace ingot::cuda
