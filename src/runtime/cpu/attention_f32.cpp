// Scaled dot-product attention on gemm_f32.h. Threads share blocks of query rows; each packs the keys and values of the
// head it works on and keeps the scores of one block only: two products with a softmax in between, all in its cache.
#include <array>

#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"

namespace ingot::cpu {
namespace {

const AttentionParams& params_of(const Problem& problem) { return std::get<AttentionParams>(problem.params); }

// q [b,h,s,d], k [b,h,t,d] (or [b,h,d,t]), v [b,h,t,e].
struct Sizes {
  int64_t b, h, s, d, t, e;
  static Sizes of(const Shape& q, const Shape& v) { return {q[0], q[1], q[2], q[3], v[2], v[3]}; }
  int64_t padded_t() const { return blocks_of(t) * kFloatBlock; }
  int64_t padded_e() const { return blocks_of(e) * kFloatBlock; }
  // Query rows whose scores are kept at a time: 12 to 48.
  int64_t rows() const { return std::clamp<int64_t>((1 << 16) / std::max<int64_t>(1, padded_t()) / 12 * 12, 12, 48); }
};

// One thread's memory, in floats; each part a multiple of 16. Sizes at the maximum hold for smaller runs too.
struct Space {
  int64_t keys, values, scores;
  size_t scratch;
  static Space of(const Sizes& z) {
    return {z.padded_t() * z.d, z.padded_e() * z.t, std::max<int64_t>(12 * z.padded_t(), 1 << 16), gemm_scratch_bytes(1, 0)};
  }
  size_t bytes() const { return scratch + static_cast<size_t>(keys + values + scores) * sizeof(float); }
};

class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const Problem& problem) : params_(params_of(problem)), kernels_(float_kernels(problem.device.cpu)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Sizes z = Sizes::of(args.input_shapes[0], args.input_shapes[2]);
    if (z.b * z.h * z.s * z.e == 0) return {};
    const Space space = Space::of(z);
    const int64_t blocks = (z.s + z.rows() - 1) / z.rows();
    const int64_t products = std::max<int64_t>(1, z.rows() * z.t * (z.d + z.e));
    args.pool->parallel_for(z.b * z.h * blocks, std::max<int64_t>(1, kProductsPerThread / products),
                            [&](int64_t begin, int64_t end, int thread) {
      std::byte* own = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(thread) * space.bytes();
      float* keys = reinterpret_cast<float*>(own + space.scratch);
      float *values = keys + space.keys, *scores = values + space.values;
      int64_t packed = -1;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t head = i / blocks, row = i % blocks * z.rows();
        if (head != packed) pack(args, z, head, keys, values);
        packed = head;
        run_block(args, z, head, row, std::min(z.rows(), z.s - row), keys, values, scores, own);
      }
    });
    return {};
  }

 private:
  void pack(const KernelArgs& args, const Sizes& z, int64_t head, float* keys, float* values) const {
    const float* k = static_cast<const float*>(args.inputs[1]) + head * z.t * z.d;
    const float* v = static_cast<const float*>(args.inputs[2]) + head * z.t * z.e;
    pack_blocks(k, z.d, z.t, params_.k_transposed ? z.t : 1, params_.k_transposed ? 1 : z.d, 0, blocks_of(z.t), keys);
    pack_blocks(v, z.t, z.e, z.e, 1, 0, blocks_of(z.e), values);
  }

  // One product of all rows of a block with a packed matrix.
  void multiply(const float* x, int64_t x_stride, int64_t rows, int64_t depth, const float* weights, int64_t channels, float alpha,
                float* out, int64_t out_stride, std::byte* scratch) const {
    FloatGemm g;
    g.rows = rows;
    g.blocks = blocks_of(channels);
    g.group_channels = channels;
    g.run_length = depth;
    g.weights = weights;
    g.epilogue.alpha = alpha;
    g.epilogue.out = out;
    const int64_t most = kernels_.blocks_for(rows), panels = (g.blocks + most - 1) / most;
    run_gemm_part(g, kernels_, panels, 0, rows, 0, panels, scratch, [=](int64_t row, int64_t count, const RowTable& table) {
      for (int64_t i = 0; i < count; ++i) {
        table.pointers[i] = x + (row + i) * x_stride;
        table.out_offsets[i] = (row + i) * out_stride;
      }
    });
  }

  void run_block(const KernelArgs& args, const Sizes& z, int64_t head, int64_t row, int64_t rows, const float* keys, const float* values,
                 float* scores, std::byte* scratch) const {
    const float* q = static_cast<const float*>(args.inputs[0]) + (head * z.s + row) * z.d;
    float* y = static_cast<float*>(args.outputs[0]) + (head * z.s + row) * z.e;
    const int64_t stride = z.padded_t();
    multiply(q, z.d, rows, z.d, keys, stride, static_cast<float>(params_.scale), scores, stride, scratch);
    if (args.inputs.size() > 3 && args.inputs[3]) add_mask(args, z, head, row, rows, scores, stride);
    float totals[48];
    for (int64_t r = 0; r < rows; ++r) totals[r] = kernels_.softmax_terms(scores + r * stride, z.t);
    multiply(scores, stride, rows, z.t, values, z.e, 1, y, z.e, scratch);
    for (int64_t r = 0; r < rows; ++r) kernels_.divide_row(y + r * z.e, z.e, totals[r]);
  }

  void add_mask(const KernelArgs& args, const Sizes& z, int64_t head, int64_t row, int64_t rows, float* scores, int64_t stride) const {
    const Shape& shape = args.input_shapes[3];
    int64_t steps[4] = {0, 0, 0, 0}, step = 1;
    for (int d = 3, j = shape.rank - 1; j >= 0; --d, --j) {
      if (shape[j] != 1) steps[d] = step;
      step *= shape[j];
    }
    const float* mask = static_cast<const float*>(args.inputs[3]) + head / z.h * steps[0] + head % z.h * steps[1];
    for (int64_t r = 0; r < rows; ++r) {
      const float* m = mask + (row + r) * steps[2];
      if (steps[3] == 1) kernels_.add_row(scores + r * stride, m, z.t);
      else for (int64_t t = 0; t < z.t; ++t) scores[r * stride + t] += *m;
    }
  }

  AttentionParams params_;
  const FloatKernels& kernels_;
};

class AttentionTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.attention.rows.f32", 1, OpKind::kAttention};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (problem.inputs.size() < 3 || problem.inputs.size() > 4 || problem.outputs.size() != 1) return {"unknown operands"};
    for (size_t i = 0; i < 3; ++i)
      if (!problem.inputs[i].present || problem.inputs[i].type.shape.rank != 4) return {"q, k and v are not of four dims"};
    if (const Operand* mask = operand_at(problem.inputs, 3))
      if (mask->type.shape.rank > 4) return {"mask has more than four dims"};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands) {
        if (!operand.present) continue;
        if (operand.type.dtype != DataType::kF32) return {"an operand is not f32"};
        if (operand.type.layout != Layout::kLinear) return {"tensors are not row-major"};
      }
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    return Space::of(Sizes::of(problem.inputs[0].max_shape, problem.inputs[2].max_shape)).bytes() *
           static_cast<size_t>(problem.device.threads);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(floats_in_blob("attention", blob, 0).take_status());
    return std::unique_ptr<Kernel>(std::make_unique<AttentionKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> attention_f32() {
  static const AttentionTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
