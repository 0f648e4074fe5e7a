// Float matrix products by oneDNN. `packed`: b is constant; the rows of a, all batches together, are cut into blocks of one
// size, so every row goes through the same primitive: the last block is filled up in the workspace. `dynamic`: one primitive
// for one pair of matrices. The pool shares out blocks or pairs. The blob holds plain weights, packed at load.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/layer_onednn.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

using Desc = dnnl::matmul::primitive_desc;
constexpr int64_t kMaxRows = 64;

const MatMulParams& params_of(const Problem& problem) { return std::get<MatMulParams>(problem.params); }
size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// One call: a [m,k] · b [k,n].
struct Block {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_b = false;
  dnnl::memory::desc b() const { return transpose_b ? strided({k, n}, {1, k}) : row_major({k, n}); }
};

int64_t leading(const Shape& shape, int dims) {
  int64_t count = 1;
  for (int i = 0; i < dims; ++i) count *= shape[i];
  return count;
}

// Blocks of equal size, as many as needed for the most rows there are.
Block packed_block(const Problem& problem) {
  const Shape &a = problem.inputs[0].max_shape, &b = problem.inputs[1].type.shape;
  const bool transposed = params_of(problem).transpose_b;
  const int64_t rows = std::max<int64_t>(1, leading(a, a.rank - 1)), blocks = (rows + kMaxRows - 1) / kMaxRows;
  return {(rows + blocks - 1) / blocks, b[b.rank - (transposed ? 2 : 1)], b[b.rank - (transposed ? 1 : 2)], transposed};
}

Block pair_block(const Problem& problem) {
  const Shape &a = problem.inputs[0].type.shape, &b = problem.inputs[1].type.shape;
  const bool transposed = params_of(problem).transpose_b;
  return {a[a.rank - 2], b[b.rank - (transposed ? 2 : 1)], a[a.rank - 1], transposed};
}

Desc describe(const Problem& problem, const Block& block, const dnnl::memory::desc& weights) {
  const dnnl::memory::desc source = row_major({block.m, block.k}), result = row_major({block.m, block.n});
  const dnnl::memory::desc bias = operand_at(problem.inputs, 2) ? row_major({1, block.n}) : dnnl::memory::desc();
  const dnnl::primitive_attr attributes = epilogue_attributes(params_of(problem).activation, operand_at(problem.inputs, 3) ? &result : nullptr);
  return described<Desc>([&] {
#if DNNL_VERSION_MAJOR >= 3
    return Desc(onednn_engine(), source, weights, bias, result, attributes, true);
#else
    return Desc({source, weights, bias, result}, attributes, onednn_engine(), true);
#endif
  });
}
Desc describe_packed(const Problem& problem, const Block& block) { return describe(problem, block, any_format({block.k, block.n})); }
Desc describe_pair(const Problem& problem, const Block& block) { return describe(problem, block, block.b()); }

const char* refuse(const Problem& problem) {
  const MatMulParams& params = params_of(problem);
  if (const char* refusal = refuse_f32_layer(problem, params.activation)) return refusal;
  if (const char* refusal = refuse_onednn(problem.device, params.activation)) return refusal;
  for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
    for (const Operand& operand : operands)
      if (operand.present && operand.type.layout != Layout::kLinear) return "tensors are not row-major";
  if (problem.inputs[0].type.shape.rank < 2 || problem.inputs[1].type.shape.rank < 2) return "an operand is a vector";
  if (params.transpose_a) return "the first operand is transposed";
  if (params.alpha != 1) return "the product is scaled";
  const Operand* residual = operand_at(problem.inputs, 3);
  if (residual && residual->type.shape != problem.outputs[0].type.shape) return "the residual is broadcast";
  return nullptr;
}

class PackedKernel final : public Kernel {
 public:
  PackedKernel(OnednnPrimitive primitive, const Block& block, size_t scratch)
      : primitive_(std::move(primitive)), block_(block), scratch_(scratch) {}

  // For the last block: rows of a, of the residual and of y.
  static size_t tail_bytes(const Block& block) { return align_up(static_cast<size_t>(block.m * (block.k + 2 * block.n)) * sizeof(float)); }

  Status run(const KernelArgs& args) noexcept override {
    const Shape& a = args.input_shapes[0];
    const int64_t rows = leading(a, a.rank - 1), blocks = (rows + block_.m - 1) / block_.m;
    FirstError error;
    args.pool->parallel_for(blocks, 1, [&](int64_t begin, int64_t end, int thread) {
      error.note(guarded_onednn("matmul", [&] {
        for (int64_t i = begin; i < end; ++i) run_block(args, i * block_.m, std::min(block_.m, rows - i * block_.m), thread);
      }));
    });
    return error.take();
  }

 private:
  void run_block(const KernelArgs& args, int64_t row, int64_t count, int thread) const {
    const auto floats = [&](size_t i) { return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr; };
    auto* workspace = static_cast<std::byte*>(args.workspace);
    OnednnPrimitive::Arguments call;
    call.source = floats(0) + row * block_.k;
    call.bias = floats(2);
    call.residual = floats(3) ? floats(3) + row * block_.n : nullptr;
    float* y = static_cast<float*>(args.outputs[0]) + row * block_.n;
    call.result = y;
    call.scratch = workspace + tail_bytes(block_) + static_cast<size_t>(thread) * scratch_;
    if (count == block_.m) return primitive_.run(call);
    float* tail = reinterpret_cast<float*>(workspace);
    const auto filled = [&](const float* from, float* to, int64_t width) {
      std::memcpy(to, from, static_cast<size_t>(count * width) * sizeof(float));
      std::memset(to + count * width, 0, static_cast<size_t>((block_.m - count) * width) * sizeof(float));
      return to;
    };
    call.source = filled(call.source, tail, block_.k);
    if (call.residual) call.residual = filled(call.residual, tail + block_.m * block_.k, block_.n);
    call.result = tail + block_.m * (block_.k + block_.n);
    primitive_.run(call);
    std::memcpy(y, call.result, static_cast<size_t>(count * block_.n) * sizeof(float));
  }

  OnednnPrimitive primitive_;
  Block block_;
  size_t scratch_;
};

class PackedTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.matmul.onednn.f32", 1, OpKind::kMatMul, kOnednn};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse(problem)) return {refusal};
    const Operand& b = problem.inputs[1];
    if (!b.is_constant) return {"b is not constant"};
    if (b.type.shape.rank != 2) return {"b is more than one matrix"};
    const Block block = packed_block(problem);
    if (block.n == 0 || block.k == 0) return {"it is empty"};
    const Desc desc = describe_packed(problem, block);
    if (!desc) return {"oneDNN has no kernel for it here"};
    // Its other kernels sum the rows of a ragged end in another order (the conformance test found that with AVX2).
    if (!std::string_view(desc.impl_info_str()).starts_with("brg")) return {"oneDNN's product depends on a row's place here"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const Block block = packed_block(problem);
    return PackedKernel::tail_bytes(block) + scratch_bytes(describe_packed(problem, block)) * static_cast<size_t>(problem.device.threads);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const auto b = problem.inputs[1].constant;
    return Blob(b.begin(), b.end());
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const Block block = packed_block(problem);
    INGOT_ASSIGN(const float* weights, floats_in_blob("matmul", blob, block.k * block.n));
    std::unique_ptr<Kernel> kernel;
    INGOT_TRY(guarded_onednn("matmul", [&] {
      const Desc desc = describe_packed(problem, block);
      const dnnl::memory::desc result = desc.dst_desc();
      const OneThread one;
      kernel = std::make_unique<PackedKernel>(
          OnednnPrimitive::make(desc, block.b(), weights, operand_at(problem.inputs, 3) ? &result : nullptr), block, scratch_bytes(desc));
    }));
    return kernel;
  }
};

class DynamicKernel final : public Kernel {
 public:
  DynamicKernel(OnednnPrimitive primitive, const Block& block, size_t scratch)
      : primitive_(std::move(primitive)), block_(block), scratch_(scratch) {}

  Status run(const KernelArgs& args) noexcept override {
    const auto floats = [&](size_t i) { return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr; };
    const Shape& y = args.output_shapes[0];
    FirstError error;
    args.pool->parallel_for(leading(y, y.rank - 2), 1, [&](int64_t begin, int64_t end, int thread) {
      OnednnPrimitive::Arguments call;
      call.bias = floats(2);
      call.scratch = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(thread) * scratch_;
      error.note(guarded_onednn("matmul", [&] {
        for (int64_t i = begin; i < end; ++i) {
          call.source = floats(0) + i * block_.m * block_.k;
          call.weights = floats(1) + i * block_.k * block_.n;
          call.residual = floats(3) ? floats(3) + i * block_.m * block_.n : nullptr;
          call.result = static_cast<float*>(args.outputs[0]) + i * block_.m * block_.n;
          primitive_.run(call);
        }
      }));
    });
    return error.take();
  }

 private:
  OnednnPrimitive primitive_;
  Block block_;
  size_t scratch_;
};

class DynamicTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.matmul.onednn_dynamic.f32", 1, OpKind::kMatMul, kOnednn};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse(problem)) return {refusal};
    const Shape &a = problem.inputs[0].type.shape, &b = problem.inputs[1].type.shape;
    if (problem.inputs[1].is_constant) return {"b is constant"};
    if (a.rank != b.rank) return {"batch dims are broadcast"};
    for (int i = 0; i + 2 < a.rank; ++i)
      if (a[i] != b[i] || a[i] < 0) return {a[i] < 0 || b[i] < 0 ? "batch dims vary" : "batch dims are broadcast"};
    const Block block = pair_block(problem);
    if (block.m < 0 || block.n < 0 || block.k < 0) return {"dims of a matrix vary"};
    if (block.m == 0 || block.n == 0 || block.k == 0) return {"it is empty"};
    const Desc desc = describe_pair(problem, block);
    if (!desc || !is_fast(desc)) return {"oneDNN has no kernel for it here"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    return scratch_bytes(describe_pair(problem, pair_block(problem))) * static_cast<size_t>(problem.device.threads);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(floats_in_blob("matmul", blob, 0).take_status());
    const Block block = pair_block(problem);
    std::unique_ptr<Kernel> kernel;
    INGOT_TRY(guarded_onednn("matmul", [&] {
      const Desc desc = describe_pair(problem, block);
      const dnnl::memory::desc result = desc.dst_desc();
      const OneThread one;
      kernel = std::make_unique<DynamicKernel>(
          OnednnPrimitive::make(desc, block.b(), nullptr, operand_at(problem.inputs, 3) ? &result : nullptr), block, scratch_bytes(desc));
    }));
    return kernel;
  }
};

}  // namespace

std::span<const Tactic* const> matmul_onednn() {
  static const PackedTactic packed;
  static const DynamicTactic dynamic;
  static const std::array<const Tactic*, 2> list = {&packed, &dynamic};
  return list;
}

}  // namespace ingot::cpu
