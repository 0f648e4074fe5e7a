// Widened operands behind the float tactic's own workspace.
#include "runtime/widened.h"

#include <algorithm>
#include <deque>

#include "runtime/ops/half.h"

namespace ingot {
namespace {

size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// A problem as the float tactic sees it.
struct Wide {
  std::vector<Operand> inputs, outputs;
  DeviceInfo device;
  explicit Wide(const Problem& problem) : inputs(problem.inputs.begin(), problem.inputs.end()), outputs(problem.outputs.begin(), problem.outputs.end()), device(problem.device) {
    device.allow_f16 = device.allow_bf16 = true;  // operands are halves already
    for (auto* operands : {&inputs, &outputs})
      for (Operand& operand : *operands)
        if (is_half(operand.type.dtype)) operand.type.dtype = DataType::kF32, operand.constant = {};
  }
  Problem view(const Problem& problem) const { return {problem.params, inputs, outputs, device}; }
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
  WidenedKernel(const Problem& problem, std::unique_ptr<Kernel> inner, Buffers buffers, std::unique_ptr<HalfConversion> conversion)
      : inner_(std::move(inner)), buffers_(std::move(buffers)), conversion_(std::move(conversion)), inputs_(problem.inputs.size()),
        outputs_(problem.outputs.size()) {}

  Status run(const KernelArgs& args) noexcept override {
    auto* workspace = static_cast<std::byte*>(args.workspace);
    std::copy_n(args.inputs.begin(), inputs_.size(), inputs_.begin());
    std::copy_n(args.outputs.begin(), outputs_.size(), outputs_.begin());
    for (const Buffer& buffer : buffers_.inputs) {
      if (!args.inputs[buffer.operand]) continue;
      void* const to = workspace + buffer.offset;
      INGOT_TRY(conversion_->widen(buffer.type, args.inputs[buffer.operand], to, args.input_shapes[buffer.operand].elements(), args));
      inputs_[buffer.operand] = to;
    }
    for (const Buffer& buffer : buffers_.outputs)
      if (args.outputs[buffer.operand]) outputs_[buffer.operand] = workspace + buffer.offset;
    KernelArgs wide = args;
    wide.inputs = inputs_;
    wide.outputs = outputs_;
    INGOT_TRY(inner_->run(wide));
    for (const Buffer& buffer : buffers_.outputs)
      if (void* const to = args.outputs[buffer.operand])
        INGOT_TRY(conversion_->narrow(buffer.type, workspace + buffer.offset, to, args.output_shapes[buffer.operand].elements(), args));
    return {};
  }

 private:
  std::unique_ptr<Kernel> inner_;
  Buffers buffers_;
  std::unique_ptr<HalfConversion> conversion_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

Buffers buffers_of(const Tactic& inner, const Problem& problem) {
  const Wide wide(problem);
  const Problem view = wide.view(problem);
  return Buffers(problem, inner.packed_inputs(view), inner.workspace_bytes(view));
}

}  // namespace

WidenedTactic::WidenedTactic(const Tactic& inner, MakeHalfConversion make_conversion) : inner_(inner), make_conversion_(make_conversion), name_(inner.info().name) {
  const size_t at = name_.find("f32");
  name_ = at == std::string::npos ? name_ + ".half" : name_.substr(0, at) + "half" + name_.substr(at + 3);
  info_ = {name_, inner.info().version, inner.info().op, inner.info().library, inner.info().arithmetic};
}

Support WidenedTactic::supports(const Problem& problem) const {
  if (problem.inputs.empty() || problem.outputs.empty() || !is_half(problem.outputs[0].type.dtype)) return {"output is not f16 or bf16"};
  const DataType half = problem.outputs[0].type.dtype;
  if (problem.inputs[0].type.dtype != half) return {"input and output differ in type"};
  for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
    for (const Operand& operand : operands)
      if (operand.present && is_half(operand.type.dtype) && operand.type.dtype != half) return {"both f16 and bf16"};
  if (half == DataType::kBF16 && info_.arithmetic == DataType::kF16) return {"bf16 does not fit halves"};
  if (half == DataType::kF16 && info_.arithmetic == DataType::kBF16) return {"f16 has more bits than bf16"};
  return inner_.supports(Wide(problem).view(problem));
}

double WidenedTactic::estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const {
  return inner_.estimate(Wide(problem).view(problem), inputs, outputs);
}

size_t WidenedTactic::workspace_bytes(const Problem& problem) const { return buffers_of(inner_, problem).bytes; }
uint32_t WidenedTactic::packed_inputs(const Problem& problem) const { return inner_.packed_inputs(Wide(problem).view(problem)); }

Expected<Blob> WidenedTactic::prepare(const Problem& problem) const {
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

Expected<std::unique_ptr<Kernel>> WidenedTactic::load(const Problem& problem, std::span<const std::byte> blob) const {
  const Wide wide(problem);
  INGOT_ASSIGN(std::unique_ptr<Kernel> inner, inner_.load(wide.view(problem), blob));
  INGOT_ASSIGN(std::unique_ptr<HalfConversion> conversion, make_conversion_(problem));
  return std::unique_ptr<Kernel>(std::make_unique<WidenedKernel>(problem, std::move(inner), buffers_of(inner_, problem), std::move(conversion)));
}

}  // namespace ingot
