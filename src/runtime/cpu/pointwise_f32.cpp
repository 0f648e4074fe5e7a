// Float functions of one value and of two, with broadcasting, in either layout.
#include <array>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/cpu/rows_f32.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // elements below which another thread does not pay

RowActivation row_activation(UnaryFunction function, double alpha, double beta) {
  return {function, static_cast<float>(alpha), static_cast<float>(beta)};
}

class UnaryKernel final : public Kernel {
 public:
  UnaryKernel(const Problem& problem, const UnaryParams& params)
      : rows_(row_kernels(problem.device.cpu)), function_(row_activation(params.function, params.alpha, params.beta)) {}
  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    args.pool->parallel_for(args.output_shapes[0].elements(), kGrain,
                            [&](int64_t begin, int64_t end, int) { rows_.unary(function_, x + begin, y + begin, end - begin); });
    return {};
  }

 private:
  const RowKernels& rows_;
  RowActivation function_;
};

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(const Problem& problem, const BinaryParams& params)
      : rows_(row_kernels(problem.device.cpu)), function_(params.function),
        activation_(row_activation(params.activation.function, params.activation.alpha, params.activation.beta)),
        layout_(problem.outputs[0].type.layout), rank_(problem.outputs[0].type.shape.rank) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape out = memory_shape(args.output_shapes[0], rank_, layout_);
    const std::array<Shape, 2> in = {memory_shape(args.input_shapes[0], rank_, layout_), memory_shape(args.input_shapes[1], rank_, layout_)};
    const auto *a = static_cast<const float*>(args.inputs[0]), *b = static_cast<const float*>(args.inputs[1]);
    auto* y = static_cast<float*>(args.outputs[0]);
    broadcast_rows<2>(out, in, kGrain, *args.pool, [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
      rows_.binary(function_, activation_, a + offsets[0], steps[0], b + offsets[1], steps[1], y + at, n);
    });
    return {};
  }

 private:
  const RowKernels& rows_;
  BinaryFunction function_;
  RowActivation activation_;
  Layout layout_;
  int rank_;
};

Support check_floats(const Problem& problem) {
  for (const Operand& input : problem.inputs)
    if (!input.present || input.type.dtype != DataType::kF32) return {"an operand is not f32"};
  if (problem.outputs[0].type.dtype != DataType::kF32) return {"output is not f32"};
  return {};
}

class UnaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.unary.f32", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const Support floats = check_floats(problem); !floats) return floats;
    if (!rows_know(std::get<UnaryParams>(problem.params).function)) return {"no kernel for this function"};
    if (problem.inputs[0].type.layout != problem.outputs[0].type.layout) return {"layouts differ"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "unary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(problem, std::get<UnaryParams>(problem.params)));
  }
};

class BinaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.binary.f32", 1, OpKind::kBinary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const Support floats = check_floats(problem); !floats) return floats;
    const auto& params = std::get<BinaryParams>(problem.params);
    if (!rows_know(params.function) || !rows_know(params.activation.function)) return {"no kernel for this function"};
    for (const Operand& input : problem.inputs)
      if (!reads_in_layout(input.type, problem.outputs[0].type)) return {"an operand has another layout"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "binary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<BinaryKernel>(problem, std::get<BinaryParams>(problem.params)));
  }
};

}  // namespace

std::span<const Tactic* const> pointwise_f32() {
  static const UnaryTactic unary;
  static const BinaryTactic binary;
  static const std::array<const Tactic*, 2> list = {&unary, &binary};
  return list;
}

}  // namespace ingot::cpu
