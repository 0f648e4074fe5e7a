// MatMul of quantised activations with a constant matrix: rows of A are rows of igemm_s8.h, B is packed.
#include <array>
#include <cstring>

#include "runtime/cpu/igemm_layer.h"
#include "runtime/ops/element.h"

namespace ingot::cpu {
namespace {

const MatMulParams& params_of(const Problem& problem) { return std::get<MatMulParams>(problem.params); }

IgemmShape shape_of(const Problem& problem) {
  const Shape& b = problem.inputs[1].type.shape;
  const bool transposed = params_of(problem).transpose_b;
  IgemmShape shape;
  shape.outputs = b[transposed ? 0 : 1];
  shape.segment_bytes = b[transposed ? 1 : 0];
  return shape;
}
// Rows whose last step of 4 would read past the end are copied first.
bool copies_rows(const IgemmShape& shape) { return shape.segment_bytes % kStepBytes != 0; }

size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

class MatMulKernel final : public Kernel {
 public:
  MatMulKernel(IgemmLayer layer, LoadedEpilogue epilogue, size_t table_bytes)
      : layer_(std::move(layer)), epilogue_(std::move(epilogue)), table_bytes_(table_bytes) {}

  Status run(const KernelArgs& args) noexcept override {
    const int64_t k = layer_.shape().segment_bytes;
    const int64_t rows = args.output_shapes[0].elements() / layer_.shape().outputs;
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    int64_t stride = k;
    if (copies_rows(layer_.shape())) {
      stride = layer_.shape().steps() * kStepBytes;
      uint8_t* copy = static_cast<uint8_t*>(args.workspace) + table_bytes_;
      args.pool->parallel_for(rows, 64, [&](int64_t begin, int64_t end, int) {
        for (int64_t r = begin; r < end; ++r) {
          std::memcpy(copy + r * stride, x + r * k, static_cast<size_t>(k));
          std::memset(copy + r * stride + k, 0, static_cast<size_t>(stride - k));
        }
      });
      x = copy;
    }
    layer_.run(*args.pool, rows, k, bound_epilogue(epilogue_, args), args.workspace,
               [=](int64_t, int64_t row, int64_t count, const uint8_t** table) {
                 for (int64_t i = 0; i < count; ++i) table[i] = x + (row + i) * stride;
               });
    return Status();
  }

 private:
  IgemmLayer layer_;
  LoadedEpilogue epilogue_;
  size_t table_bytes_;
};

class MatMulTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.matmul.igemm.s8", 1, OpKind::kMatMul};
    return kInfo;
  }

  Support supports(const Problem& problem) const override {
    const MatMulParams& params = params_of(problem);
    const int axis = params.transpose_b ? 0 : 1;
    if (const char* refusal = refuse_s8_layer(problem, axis, params.activation)) return {refusal};
    const TensorType& x = problem.inputs[0].type;
    const TensorType& w = problem.inputs[1].type;
    if (params.transpose_a) return {"first operand is transposed"};
    if (w.shape.rank != 2) return {"second operand is not a matrix"};
    if (x.shape.rank < 1 || x.layout != Layout::kLinear || problem.outputs[0].type.layout != Layout::kLinear)
      return {"operands are not row-major"};
    if (w.shape.elements() == 0) return {"second operand is empty"};
    if (x.shape[x.shape.rank - 1] != w.shape[1 - axis]) return {"inner dims differ"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    const IgemmShape shape = shape_of(problem);
    size_t bytes = align_up(IgemmLayer::table_bytes(shape, problem.device.threads));
    if (copies_rows(shape))
      bytes += static_cast<size_t>(problem.inputs[0].max_shape.elements() / shape.segment_bytes * shape.steps() * kStepBytes);
    return bytes;
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const IgemmShape shape = shape_of(problem);
    const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
    const int64_t k_stride = params_of(problem).transpose_b ? 1 : shape.outputs;
    const int64_t n_stride = params_of(problem).transpose_b ? shape.segment_bytes : 1;
    const Operand* bias = optional_operand(problem.inputs, 2);
    return pack_igemm(shape, unsigned_zero(problem.inputs[0].type),
                      bias ? reinterpret_cast<const int32_t*>(bias->constant.data()) : nullptr,
                      [=](int64_t, int64_t n, int64_t, int64_t k) { return w[n * n_stride + k * k_stride]; });
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const IgemmShape shape = shape_of(problem);
    const MatMulParams& params = params_of(problem);
    INGOT_ASSIGN(IgemmLayer layer, IgemmLayer::load("matmul", shape, problem.inputs[0].type.dtype == DataType::kS8,
                                                    problem.device.cpu.level, blob));
    INGOT_ASSIGN(LoadedEpilogue epilogue, load_epilogue("matmul", problem, params.activation, params.alpha, shape.outputs));
    const size_t table_bytes = align_up(IgemmLayer::table_bytes(shape, problem.device.threads));
    return std::unique_ptr<Kernel>(std::make_unique<MatMulKernel>(std::move(layer), std::move(epilogue), table_bytes));
  }
};

}  // namespace

std::span<const Tactic* const> matmul_s8() {
  static const MatMulTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
