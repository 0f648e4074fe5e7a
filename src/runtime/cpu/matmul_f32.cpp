// Float matrix products on gemm_f32.h. `packed`: b is a constant matrix, packed when the engine is built; all rows of a
// form one tall matrix. `dynamic`: b is packed into the workspace, once for all threads when there are few matrices and by
// each thread for its own when there are many.
#include <array>
#include <cstring>

#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"

namespace ingot::cpu {
namespace {

const MatMulParams& params_of(const Problem& problem) { return std::get<MatMulParams>(problem.params); }
size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Sizes of one product; a rank-1 operand is a row (a) or a column (b).
struct Sizes {
  int64_t m = 1, n = 1, k = 0;
};
Sizes sizes_of(const MatMulParams& p, const Shape& a, const Shape& b) {
  Sizes s;
  if (a.rank == 1) s.k = a[0];
  else s.m = a[a.rank - (p.transpose_a ? 1 : 2)], s.k = a[a.rank - (p.transpose_a ? 2 : 1)];
  if (b.rank > 1) s.n = b[b.rank - (p.transpose_b ? 2 : 1)];
  return s;
}
int64_t batch_of(const Shape& shape) {
  int64_t count = 1;
  for (int i = 0; i + 2 < shape.rank; ++i) count *= shape[i];
  return count;
}
// Steps in b from k to k and from column to column.
struct Steps {
  int64_t k, n;
};
Steps b_steps(const MatMulParams& p, const Shape& b, const Sizes& s) {
  if (b.rank == 1) return {1, 1};
  return p.transpose_b ? Steps{1, s.k} : Steps{s.n, 1};
}

const char* refuse(const Problem& problem) {
  if (const char* refusal = refuse_f32_layer(problem, params_of(problem).activation)) return refusal;
  for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
    for (const Operand& operand : operands)
      if (operand.present && operand.type.layout != Layout::kLinear) return "tensors are not row-major";
  if (problem.inputs[0].type.shape.rank < 1 || problem.inputs[1].type.shape.rank < 1) return "an operand is a scalar";
  return nullptr;
}

// Fills in rows of one matrix a [m,k] (or its transpose, copied) that go to rows of y from `out` on.
struct RowsOfA {
  const float* a;
  int64_t k, n, out, row_stride;
  int64_t transposed_m = 0;  // a is [k,m] if > 0

  void operator()(int64_t row, int64_t count, const RowTable& table) const {
    for (int64_t i = 0; i < count; ++i) {
      table.out_offsets[i] = out + (row + i) * n;
      if (!transposed_m) {
        table.pointers[i] = a + (row + i) * row_stride;
      } else {
        float* copy = table.patches + i * k;
        table.pointers[i] = copy;
      }
    }
    if (!transposed_m) return;
    for (int64_t j = 0; j < k; ++j)
      for (int64_t i = 0; i < count; ++i) table.patches[i * k + j] = a[j * transposed_m + row + i];
  }
};

FloatGemm gemm_of(const Sizes& s, const float* weights, const FloatEpilogue& epilogue, bool transpose_a) {
  FloatGemm g;
  g.rows = s.m;
  g.blocks = blocks_of(s.n);
  g.group_channels = s.n;
  g.run_length = s.k;
  g.patch_floats = transpose_a ? s.k : 0;
  g.weights = weights;
  g.epilogue = epilogue;
  return g;
}

bool transposes_a(const MatMulParams& p, const Shape& a) { return p.transpose_a && a.rank > 1; }

class PackedKernel final : public Kernel {
 public:
  PackedKernel(const Problem& problem, const float* weights)
      : params_(params_of(problem)), b_shape_(problem.inputs[1].type.shape), weights_(weights),
        kernels_(float_kernels(problem.device.cpu)), epilogue_(make_float_epilogue(params_.activation, params_.alpha)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape& a = args.input_shapes[0];
    Sizes s = sizes_of(params_, a, b_shape_);
    const FloatEpilogue epilogue = bound_epilogue(epilogue_, args);
    const float* data = static_cast<const float*>(args.inputs[0]);
    const bool transposed = transposes_a(params_, a);
    const int64_t batch = batch_of(a), m = s.m;
    if (!transposed) s.m *= batch;
    auto* scratch = static_cast<std::byte*>(args.workspace);
    for (int64_t i = 0; i < (transposed ? batch : 1); ++i) {
      const FloatGemm g = gemm_of(s, weights_, epilogue, transposed);
      run_gemm(g, kernels_, *args.pool, scratch, gemm_scratch_bytes(1, g.patch_floats),
               RowsOfA{data + i * m * s.k, s.k, s.n, i * m * s.n, s.k, transposed ? m : 0});
    }
    return {};
  }

 private:
  MatMulParams params_;
  Shape b_shape_;
  const float* weights_;
  const FloatKernels& kernels_;
  FloatEpilogue epilogue_;
};

class PackedTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.matmul.packed.f32", 1, OpKind::kMatMul};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse(problem)) return {refusal};
    const Operand& b = problem.inputs[1];
    if (!b.is_constant) return {"b is not constant"};
    if (batch_of(b.type.shape) != 1) return {"b is more than one matrix"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const Sizes s = sizes(problem);
    return gemm_scratch_bytes(1, transposes_a(params_of(problem), problem.inputs[0].type.shape) ? s.k : 0) *
           static_cast<size_t>(problem.device.threads);
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const Sizes s = sizes(problem);
    const Steps steps = b_steps(params_of(problem), problem.inputs[1].type.shape, s);
    Blob blob(static_cast<size_t>(floats(s)) * sizeof(float));
    pack_blocks(reinterpret_cast<const float*>(problem.inputs[1].constant.data()), s.k, s.n, steps.k, steps.n, 0, blocks_of(s.n),
                reinterpret_cast<float*>(blob.data()));
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_ASSIGN(const float* weights, floats_in_blob("matmul", blob, floats(sizes(problem))));
    return std::unique_ptr<Kernel>(std::make_unique<PackedKernel>(problem, weights));
  }

 private:
  // k and n are those of b, whose shape is always known.
  static Sizes sizes(const Problem& problem) {
    const Shape& b = problem.inputs[1].type.shape;
    Sizes s = sizes_of(params_of(problem), problem.inputs[0].max_shape, b);
    s.k = b.rank == 1 ? b[0] : b[b.rank - (params_of(problem).transpose_b ? 1 : 2)];
    return s;
  }
  static int64_t floats(const Sizes& s) { return blocks_of(s.n) * kFloatBlock * s.k; }
};

// Index of matrix `i` of the broadcast batch [batch…] in an operand's own batch.
int64_t batch_index(const Shape& own, const Shape& y, int y_batch_dims, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int d = y_batch_dims - 1, j = own.rank - 3; j >= 0; --d, --j) {
    if (own[j] != 1) index += i % y[d] * stride;
    stride *= own[j];
    i /= y[d];
  }
  return index;
}

// The workspace of `dynamic`: for each thread its scratch, then a packed matrix for each thread.
struct Workspace {
  size_t scratch, packed;
  static Workspace of(const Sizes& s, bool transpose_a) {
    return {gemm_scratch_bytes(1, transpose_a ? s.k : 0), align_up(static_cast<size_t>(blocks_of(s.n) * kFloatBlock * s.k) * sizeof(float))};
  }
};

class DynamicKernel final : public Kernel {
 public:
  explicit DynamicKernel(const Problem& problem)
      : params_(params_of(problem)), kernels_(float_kernels(problem.device.cpu)),
        epilogue_(make_float_epilogue(params_.activation, params_.alpha)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &a = args.input_shapes[0], &b = args.input_shapes[1], &y = args.output_shapes[0];
    const Sizes s = sizes_of(params_, a, b);
    const Steps steps = b_steps(params_, b, s);
    const int batch_dims = y.rank - (a.rank > 1) - (b.rank > 1);
    int64_t batch = 1;
    for (int i = 0; i < batch_dims; ++i) batch *= y[i];
    const bool transposed = transposes_a(params_, a);
    const Workspace space = Workspace::of(s, transposed);
    ThreadPool& pool = *args.pool;
    const auto threads = static_cast<size_t>(pool.threads());
    auto* scratch = static_cast<std::byte*>(args.workspace);
    auto* packed = scratch + threads * space.scratch;
    const FloatEpilogue epilogue = bound_epilogue(epilogue_, args);
    const float *a_data = static_cast<const float*>(args.inputs[0]), *b_data = static_cast<const float*>(args.inputs[1]);
    const auto rows_of = [&](int64_t i) {
      return RowsOfA{a_data + batch_index(a, y, batch_dims, i) * s.m * s.k, s.k, s.n, i * s.m * s.n, s.k, transposed ? s.m : 0};
    };
    const int64_t blocks = blocks_of(s.n);
    const int64_t products = std::max<int64_t>(1, s.m * s.n * s.k);
    if (s.m == 0 || s.n == 0) return {};
    if (batch >= 2 * pool.threads()) {
      pool.parallel_for(batch, std::max<int64_t>(1, kProductsPerThread / products), [&](int64_t begin, int64_t end, int thread) {
        float* own = reinterpret_cast<float*>(packed + static_cast<size_t>(thread) * space.packed);
        const FloatGemm g = gemm_of(s, own, epilogue, transposed);
        const int64_t most = kernels_.blocks_for(s.m), panels = (blocks + most - 1) / most;
        int64_t in_own = -1;
        for (int64_t i = begin; i < end; ++i) {
          const int64_t matrix = batch_index(b, y, batch_dims, i);
          if (matrix != in_own) pack_blocks(b_data + matrix * s.k * s.n, s.k, s.n, steps.k, steps.n, 0, blocks, own);
          in_own = matrix;
          run_gemm_part(g, kernels_, panels, 0, s.m, 0, panels, scratch + static_cast<size_t>(thread) * space.scratch, rows_of(i));
        }
      });
      return {};
    }
    float* shared = reinterpret_cast<float*>(packed);
    for (int64_t i = 0; i < batch; ++i) {
      const float* matrix = b_data + batch_index(b, y, batch_dims, i) * s.k * s.n;
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, s.k * kFloatBlock));
      pool.parallel_for(blocks, grain, [&](int64_t begin, int64_t end, int) {
        pack_blocks(matrix, s.k, s.n, steps.k, steps.n, begin, end, shared);
      });
      run_gemm(gemm_of(s, shared, epilogue, transposed), kernels_, pool, scratch, space.scratch, rows_of(i));
    }
    return {};
  }

 private:
  MatMulParams params_;
  const FloatKernels& kernels_;
  FloatEpilogue epilogue_;
};

class DynamicTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.matmul.dynamic.f32", 1, OpKind::kMatMul};
    return kInfo;
  }
  Support supports(const Problem& problem) const override { return {refuse(problem)}; }
  size_t workspace_bytes(const Problem& problem) const override {
    const Shape& a = problem.inputs[0].max_shape;
    const Workspace space = Workspace::of(sizes_of(params_of(problem), a, problem.inputs[1].max_shape), transposes_a(params_of(problem), a));
    return (space.scratch + space.packed) * static_cast<size_t>(problem.device.threads);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(floats_in_blob("matmul", blob, 0).take_status());
    return std::unique_ptr<Kernel>(std::make_unique<DynamicKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> matmul_f32() {
  static const PackedTactic packed;
  static const DynamicTactic dynamic;
  static const std::array<const Tactic*, 2> list = {&packed, &dynamic};
  return list;
}

}  // namespace ingot::cpu
