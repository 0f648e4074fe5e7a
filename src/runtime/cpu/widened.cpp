// Ops on f16 and bf16 by the float32 tactics: operands are widened into the workspace, results rounded once from there, as in the
// reference code. Constants that the tactic packs are widened when the engine is built.
#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "runtime/cpu/half_rows.h"
#include "runtime/ops/half.h"
#include "runtime/tactic.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {

#define INGOT_CPU_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cpu/tactics.inc"
#undef INGOT_CPU_TACTICS

namespace {

bool is_half(DataType type) { return type == DataType::kF16 || type == DataType::kBF16; }
size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// A problem as the float tactic sees it.
struct Wide {
  std::vector<Operand> inputs, outputs;
  explicit Wide(const Problem& problem) : inputs(problem.inputs.begin(), problem.inputs.end()), outputs(problem.outputs.begin(), problem.outputs.end()) {
    for (auto* operands : {&inputs, &outputs})
      for (Operand& operand : *operands)
        if (is_half(operand.type.dtype)) operand.type.dtype = DataType::kF32, operand.constant = {};
  }
  Problem view(const Problem& problem) const { return {problem.params, inputs, outputs, problem.device}; }
};

// An operand that is widened or narrowed.
struct Buffer {
  size_t operand, offset;  // bytes in the workspace
  DataType type;
};

// Where widened operands lie behind the float tactic's own workspace. Those that it packs have no place.
struct Buffers {
  std::vector<Buffer> inputs, outputs;
  size_t bytes = 0;
  Buffers(const Problem& problem, uint32_t packed, size_t inner) : bytes(align_up(inner)) {
    const auto place = [&](std::span<const Operand> operands, std::vector<Buffer>& buffers, uint32_t left_out) {
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i].present || !is_half(operands[i].type.dtype) || (i < 32 && (left_out >> i & 1) != 0)) continue;
        buffers.push_back({i, bytes, operands[i].type.dtype});
        bytes += align_up(static_cast<size_t>(operands[i].max_shape.elements()) * sizeof(float));
      }
    };
    place(problem.inputs, inputs, packed);
    place(problem.outputs, outputs, 0);
  }
};

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const Problem& problem, std::unique_ptr<Kernel> inner, Buffers buffers)
      : inner_(std::move(inner)), buffers_(std::move(buffers)), rows_(half_rows(problem.device.cpu)), inputs_(problem.inputs.size()),
        outputs_(problem.outputs.size()) {}

  Status run(const KernelArgs& args) noexcept override {
    constexpr int64_t kGrain = 1 << 14;
    auto* workspace = static_cast<std::byte*>(args.workspace);
    std::copy_n(args.inputs.begin(), inputs_.size(), inputs_.begin());
    std::copy_n(args.outputs.begin(), outputs_.size(), outputs_.begin());
    for (const Buffer& buffer : buffers_.inputs) {
      if (!args.inputs[buffer.operand]) continue;
      const auto* from = static_cast<const uint16_t*>(args.inputs[buffer.operand]);
      auto* to = reinterpret_cast<float*>(workspace + buffer.offset);
      const auto widen = buffer.type == DataType::kF16 ? rows_.widen_f16 : rows_.widen_bf16;
      args.pool->parallel_for(args.input_shapes[buffer.operand].elements(), kGrain, [&](int64_t begin, int64_t end, int) { widen(from + begin, to + begin, end - begin); });
      inputs_[buffer.operand] = to;
    }
    for (const Buffer& buffer : buffers_.outputs)
      if (args.outputs[buffer.operand]) outputs_[buffer.operand] = workspace + buffer.offset;
    KernelArgs wide = args;
    wide.inputs = inputs_;
    wide.outputs = outputs_;
    INGOT_TRY(inner_->run(wide));
    for (const Buffer& buffer : buffers_.outputs) {
      if (!args.outputs[buffer.operand]) continue;
      const auto* from = reinterpret_cast<const float*>(workspace + buffer.offset);
      auto* to = static_cast<uint16_t*>(args.outputs[buffer.operand]);
      const auto narrow = buffer.type == DataType::kF16 ? rows_.narrow_f16 : rows_.narrow_bf16;
      args.pool->parallel_for(args.output_shapes[buffer.operand].elements(), kGrain, [&](int64_t begin, int64_t end, int) { narrow(from + begin, to + begin, end - begin); });
    }
    return {};
  }

 private:
  std::unique_ptr<Kernel> inner_;
  Buffers buffers_;
  const HalfRows& rows_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

class WidenedTactic final : public Tactic {
 public:
  explicit WidenedTactic(const Tactic& inner) : inner_(inner), name_(inner.info().name) {
    name_.replace(name_.find("f32"), 3, "half");
    info_ = {name_, inner.info().version, inner.info().op};
  }
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    if (problem.inputs.empty() || problem.outputs.empty() || !is_half(problem.outputs[0].type.dtype)) return {"output is not f16 or bf16"};
    const DataType half = problem.outputs[0].type.dtype;
    if (problem.inputs[0].type.dtype != half) return {"input and output differ in type"};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (operand.present && is_half(operand.type.dtype) && operand.type.dtype != half) return {"both f16 and bf16"};
    return inner_.supports(Wide(problem).view(problem));
  }
  size_t workspace_bytes(const Problem& problem) const override { return buffers(problem).bytes; }
  uint32_t packed_inputs(const Problem& problem) const override { return inner_.packed_inputs(Wide(problem).view(problem)); }
  Expected<Blob> prepare(const Problem& problem) const override {
    Wide wide(problem);
    std::deque<std::vector<float>> held;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Operand& operand = problem.inputs[i];
      if (!is_half(operand.type.dtype) || operand.constant.empty()) continue;
      std::vector<float>& values = held.emplace_back(operand.constant.size() / sizeof(uint16_t));
      const auto* from = reinterpret_cast<const uint16_t*>(operand.constant.data());
      for (size_t k = 0; k < values.size(); ++k) values[k] = operand.type.dtype == DataType::kF16 ? f16_to_f32(from[k]) : bf16_to_f32(from[k]);
      wide.inputs[i].constant = std::as_bytes(std::span<const float>(values));
    }
    return inner_.prepare(wide.view(problem));
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const Wide wide(problem);
    INGOT_ASSIGN(std::unique_ptr<Kernel> inner, inner_.load(wide.view(problem), blob));
    return std::unique_ptr<Kernel>(std::make_unique<WidenedKernel>(problem, std::move(inner), buffers(problem)));
  }

 private:
  Buffers buffers(const Problem& problem) const {
    const Wide wide(problem);
    const Problem view = wide.view(problem);
    return Buffers(problem, inner_.packed_inputs(view), inner_.workspace_bytes(view));
  }

  const Tactic& inner_;
  std::string name_;
  TacticInfo info_;
};

// Between f32 and a 16-bit float, which is what surrounds layers that an exporter keeps in f32.
class HalfCastKernel final : public Kernel {
 public:
  explicit HalfCastKernel(const Problem& problem)
      : from_(problem.inputs[0].type.dtype), to_(problem.outputs[0].type.dtype), rows_(half_rows(problem.device.cpu)) {}
  Status run(const KernelArgs& args) noexcept override {
    constexpr int64_t kGrain = 1 << 14;
    args.pool->parallel_for(args.output_shapes[0].elements(), kGrain, [&](int64_t begin, int64_t end, int) {
      if (from_ == DataType::kF32) {
        const auto narrow = to_ == DataType::kF16 ? rows_.narrow_f16 : rows_.narrow_bf16;
        narrow(static_cast<const float*>(args.inputs[0]) + begin, static_cast<uint16_t*>(args.outputs[0]) + begin, end - begin);
      } else {
        const auto widen = from_ == DataType::kF16 ? rows_.widen_f16 : rows_.widen_bf16;
        widen(static_cast<const uint16_t*>(args.inputs[0]) + begin, static_cast<float*>(args.outputs[0]) + begin, end - begin);
      }
    });
    return {};
  }

 private:
  DataType from_, to_;
  const HalfRows& rows_;
};

class HalfCastTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.cast.half", 1, OpKind::kCast};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.layout != y.layout) return {"layouts differ"};
    const bool fits = (is_half(x.dtype) && y.dtype == DataType::kF32) || (x.dtype == DataType::kF32 && is_half(y.dtype));
    return {fits ? nullptr : "not between f32 and f16 or bf16"};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "cast: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<HalfCastKernel>(problem));
  }
};

struct Table {
  HalfCastTactic cast;
  std::deque<WidenedTactic> tactics;
  std::vector<const Tactic*> list;
  Table() {
    list.push_back(&cast);
    for (const auto& floats : {depthwise_f32(), conv_f32(), matmul_f32(), conv_transpose_f32(), pointwise_f32(), attention_f32(), recurrent_f32(),
                               normalize_f32(), reduce_f32(), pool_f32(), resize_move()})
      for (const Tactic* tactic : floats)
        if (tactic->info().name.find("f32") != std::string_view::npos) list.push_back(&tactics.emplace_back(*tactic));
  }
};

}  // namespace

std::span<const Tactic* const> widened() {
  static const Table table;
  return table.list;
}

}  // namespace ingot::cpu
