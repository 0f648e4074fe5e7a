// Element-wise ops on quantised tensors: add, sub and mul with broadcasting on channelwise_s8.h, and every function of one
// byte as a table.
#include <array>
#include <cmath>

#include "runtime/cpu/s8_layer.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // bytes below which another thread does not pay

// Dims in the order of memory, with ones in front up to `rank`.
Shape memory_shape(const Shape& shape, int rank, Layout layout) {
  Shape result;
  result.rank = rank;
  for (int d = 0; d < rank; ++d) result[d] = d < rank - shape.rank ? 1 : shape[d - (rank - shape.rank)];
  if (layout == Layout::kChannelsLast && rank >= 3) {
    const int64_t channels = result[1];
    for (int d = 1; d + 1 < rank; ++d) result[d] = result[d + 1];
    result[rank - 1] = channels;
  }
  return result;
}

// Whether memory of this operand reads the same in the layout of the result.
bool has_layout(const TensorType& type, const TensorType& result) {
  if (type.layout == result.layout) return type.shape.rank == result.shape.rank || result.layout == Layout::kLinear;
  const Shape shape = memory_shape(type.shape, result.shape.rank, Layout::kLinear);
  int64_t behind = 1;
  for (int d = 2; d < shape.rank; ++d) behind = shape[d] == 1 ? behind : 2;
  return shape.rank < 3 || shape[1] == 1 || behind == 1;
}

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
    const int64_t total = out.elements();
    if (total == 0) return {};
    const auto bytes = [](const void* p, int64_t at) { return static_cast<const uint8_t*>(p) + at; };
    const auto go = [&](int64_t at, int64_t n, int64_t a, int64_t b, int64_t a_step, int64_t b_step) {
      BinaryRun run = run_;
      run.epilogue = &result;
      run.a = bytes(args.inputs[0], a);
      run.b = bytes(args.inputs[1], b);
      run.a_step = a_step;
      run.b_step = b_step;
      run.n = n;
      run.at = at;
      kernels_.binary(run);
    };
    const bool a_whole = in[0] == out, b_whole = in[1] == out;
    if ((a_whole || in[0].elements() == 1) && (b_whole || in[1].elements() == 1)) {
      args.pool->parallel_for(total, kGrain, [&](int64_t begin, int64_t end, int) {
        go(begin, end - begin, a_whole ? begin : 0, b_whole ? begin : 0, a_whole, b_whole);
      });
      return {};
    }
    // Threads share the first dim that has more than one index; each walks the rest row by row.
    int split = 0;
    while (split + 1 < rank_ - 1 && out[split] == 1) ++split;
    if (rank_ < 2) split = -1;
    const int64_t parts = split < 0 ? 1 : out[split];
    args.pool->parallel_for(parts, std::max<int64_t>(1, kGrain * parts / total), [&](int64_t begin, int64_t end, int) {
      Shape part = out;
      std::array<Shape, 2> part_in = in;
      std::array<int64_t, 2> skip{};
      int64_t out_skip = 0;
      if (split >= 0) {
        part[split] = end - begin;
        out_skip = begin * (total / parts);
        for (size_t i = 0; i < 2; ++i) {
          if (in[i][split] == 1) continue;
          skip[i] = begin * (in[i].elements() / in[i][split]);
          part_in[i][split] = end - begin;
        }
      }
      for_each_row<2>(part, part_in, [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
        go(out_skip + at, n, skip[0] + offsets[0], skip[1] + offsets[1], steps[0], steps[1]);
      });
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
    if (!has_layout(a, y) || !has_layout(b, y)) return {"operands are not in the output's layout"};
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

// Why a byte → byte function cannot be a table; null if it can.
const char* refuse_table(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  if (!is_byte(x.dtype) || !is_byte(y.dtype)) return "input and output are not both u8 or s8";
  if (!is_per_tensor_byte(x) || !is_per_tensor_byte(y)) return "input and output need one scale and zero point each";
  if (x.layout != y.layout) return "layouts differ";
  return nullptr;
}

class UnaryTableTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.unary.table.s8", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override { return {refuse_table(problem)}; }
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
    return {refuse_table(problem)};
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
