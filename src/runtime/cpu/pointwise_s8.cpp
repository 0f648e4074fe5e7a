// Element-wise ops on quantised tensors: add, sub and mul with broadcasting on channelwise_s8.h, and every function of one
// byte as a table.
#include <array>
#include <cmath>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/cpu/s8_layer.h"
#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // bytes below which another thread does not pay

class BinaryKernel final : public Kernel {
 public:
  BinaryKernel(const Problem& problem, const BinaryParams& params)
      : kernels_(channelwise_kernels(problem.device.cpu.level)), result_(stored_result(problem.outputs[0].type, params.activation)),
        layout_(problem.outputs[0].type.layout), rank_(problem.outputs[0].type.shape.rank) {
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
    const float s_y = is_quantized(y) && !result_.curved ? scale_of(y) : 1.0f;
    run_.a_stored = stored_as(a.dtype);
    run_.b_stored = stored_as(b.dtype);
    run_.a_zero = zero_point_of(a);
    run_.b_zero = zero_point_of(b);
    run_.product = params.function == BinaryFunction::kMul;
    run_.a_multiplier = multiplier(scale_of(a), run_.product ? scale_of(b) : 1.0f, s_y);
    run_.b_multiplier = multiplier(scale_of(b), 1.0f, s_y);
    if (params.function == BinaryFunction::kSub) run_.b_multiplier = -run_.b_multiplier;
  }

  Status run(const KernelArgs& args) noexcept override {
    RowEpilogue result = result_;
    result.out = args.outputs[0];
    const Shape out = memory_shape(args.output_shapes[0], rank_, layout_);
    const std::array<Shape, 2> in = {memory_shape(args.input_shapes[0], rank_, layout_),
                                     memory_shape(args.input_shapes[1], rank_, layout_)};
    broadcast_rows<2>(out, in, kGrain, *args.pool, [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
      BinaryRun run = run_;
      run.epilogue = &result;
      run.a = static_cast<const uint8_t*>(args.inputs[0]) + offsets[0];
      run.b = static_cast<const uint8_t*>(args.inputs[1]) + offsets[1];
      run.a_step = steps[0];
      run.b_step = steps[1];
      run.n = n;
      run.at = at;
      kernels_.binary(run);
    });
    return {};
  }

 private:
  const ChannelwiseKernels& kernels_;
  RowEpilogue result_;
  Layout layout_;
  int rank_;
  BinaryRun run_{};
};

class BinaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.binary.s8", 1, OpKind::kBinary};
    return kInfo;
  }

  Support supports(const Problem& problem) const override {
    const auto& params = std::get<BinaryParams>(problem.params);
    const TensorType &a = problem.inputs[0].type, &b = problem.inputs[1].type, &y = problem.outputs[0].type;
    if (!is_byte(a.dtype) || !is_byte(b.dtype)) return {"operands are not u8 or s8"};
    if (params.function != BinaryFunction::kAdd && params.function != BinaryFunction::kSub && params.function != BinaryFunction::kMul)
      return {"function is neither add, sub nor mul"};
    if (!is_per_tensor_byte(a) || !is_per_tensor_byte(b)) return {"operands need one scale and zero point each"};
    if (y.dtype == DataType::kF32 ? y.quant.has_value() : !is_per_tensor_byte(y))
      return {"output is neither f32 nor u8/s8 with one scale"};
    if (!is_activation(params.activation.function)) return {"activation cannot be fused"};
    if (!reads_in_layout(a, y) || !reads_in_layout(b, y)) return {"operands are not in the output's layout"};
    const float s_y = is_quantized(y) ? std::min(scale_of(y), 1.0f) : 1.0f;
    if (!(std::max({scale_of(a), scale_of(b), scale_of(a) * scale_of(b)}) / s_y < 1e20f)) return {"scales are too far apart"};
    return {};
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "binary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<BinaryKernel>(problem, std::get<BinaryParams>(problem.params)));
  }
};

class TableKernel final : public Kernel {
 public:
  TableKernel(const UnaryParams& params, const TensorType& x, const TensorType& y) { fill_unary_table(params, x, y, table_); }

  Status run(const KernelArgs& args) noexcept override {
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    auto* y = static_cast<uint8_t*>(args.outputs[0]);
    args.pool->parallel_for(args.output_shapes[0].elements(), kGrain, [&](int64_t begin, int64_t end, int) {
      int64_t i = begin;
      for (; i + 8 <= end; i += 8) {  // one store of 8, since byte stores are what limits this
        uint64_t in, out = 0;
        __builtin_memcpy(&in, x + i, 8);
        for (int b = 0; b < 8; ++b) out |= static_cast<uint64_t>(table_[in >> (8 * b) & 255]) << (8 * b);
        __builtin_memcpy(y + i, &out, 8);
      }
      for (; i < end; ++i) y[i] = table_[x[i]];
    });
    return {};
  }

 private:
  std::array<uint8_t, 256> table_;
};

class UnaryTableTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.unary.table.s8", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override { return {refuse_s8_table(problem)}; }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "unary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<TableKernel>(std::get<UnaryParams>(problem.params), problem.inputs[0].type,
                                                                 problem.outputs[0].type));
  }
};

// QuantizeLinear of a quantised tensor: other scale, same values.
class RequantizeTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.requantize.table.s8", 1, OpKind::kQuantizeLinear};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (optional_operand(problem.inputs, 1)) return {"scale is an input"};
    return {refuse_s8_table(problem)};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "requantize: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<TableKernel>(UnaryParams{}, problem.inputs[0].type, problem.outputs[0].type));
  }
};

}  // namespace

std::span<const Tactic* const> pointwise_s8() {
  static const BinaryTactic binary;
  static const UnaryTableTactic table;
  static const RequantizeTactic requantize;
  static const std::array<const Tactic*, 3> list = {&binary, &table, &requantize};
  return list;
}

}  // namespace ingot::cpu
