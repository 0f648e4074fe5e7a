// Operand checks, epilogues and weight packing of the float layers.
#include "runtime/cpu/f32_layer.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/exact_math.h"

namespace ingot::cpu {
namespace {

bool is_f32(const Operand& operand) { return operand.type.dtype == DataType::kF32; }

// Four rows of four, transposed.
using Four = float __attribute__((vector_size(16)));
void transpose_4x4(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Four a, b, c, d;
  std::memcpy(&a, from, 16);
  std::memcpy(&b, from + from_stride, 16);
  std::memcpy(&c, from + 2 * from_stride, 16);
  std::memcpy(&d, from + 3 * from_stride, 16);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_stride, &rows[i], 16);
}

}  // namespace

const Operand* operand_at(std::span<const Operand> operands, size_t i) {
  return i < operands.size() && operands[i].present ? &operands[i] : nullptr;
}

const char* refuse_f32_layer(const Problem& problem, const Activation& activation) {
  if (problem.inputs.size() < 2 || problem.inputs.size() > 4 || problem.outputs.size() != 1) return "unknown operands";
  if (!problem.inputs[0].present || !problem.inputs[1].present) return "an operand is missing";
  for (const Operand& operand : problem.inputs)
    if (operand.present && !is_f32(operand)) return "an operand is not f32";
  if (!is_f32(problem.outputs[0])) return "the result is not f32";
  if (const Operand* residual = operand_at(problem.inputs, 3))
    if (residual->type.layout != problem.outputs[0].type.layout) return "residual and result differ in layout";
  if (!is_activation(activation.function)) return "fused function is no activation";
  return nullptr;
}

FloatEpilogue make_float_epilogue(const Activation& activation, double alpha) {
  FloatEpilogue e;
  e.alpha = static_cast<float>(alpha);
  e.function = static_cast<int64_t>(activation.function);
  e.function_alpha = static_cast<float>(activation.alpha);
  e.function_beta = static_cast<float>(activation.beta);
  e.curved = !is_clamp(activation.function);
  if (activation.function == UnaryFunction::kRelu) e.low = 0;
  if (activation.function == UnaryFunction::kClip) e.low = e.function_alpha, e.high = e.function_beta;
  return e;
}

FloatEpilogue bound_epilogue(const FloatEpilogue& epilogue, const KernelArgs& args) {
  FloatEpilogue e = epilogue;
  e.out = static_cast<float*>(args.outputs[0]);
  if (args.inputs.size() > 2) e.bias = static_cast<const float*>(args.inputs[2]);
  if (args.inputs.size() > 3) e.residual = static_cast<const float*>(args.inputs[3]);
  return e;
}

void pack_blocks(const float* from, int64_t depth, int64_t channels, int64_t k_stride, int64_t channel_stride,
                 int64_t block_begin, int64_t block_end, float* out) {
  out += block_begin * depth * kFloatBlock;
  for (int64_t b = block_begin; b < block_end; ++b, out += depth * kFloatBlock) {
    const int64_t width = std::min<int64_t>(kFloatBlock, channels - b * kFloatBlock);
    const float* source = from + b * kFloatBlock * channel_stride;
    int64_t k = 0;
    if (width == kFloatBlock && k_stride == 1)
      for (; k + 4 <= depth; k += 4)
        for (int64_t c = 0; c < kFloatBlock; c += 4)
          transpose_4x4(source + c * channel_stride + k, channel_stride, out + k * kFloatBlock + c, kFloatBlock);
    for (; k < depth; ++k) {
      float* to = out + k * kFloatBlock;
      if (channel_stride == 1) {
        if (width == kFloatBlock) std::memcpy(to, source + k * k_stride, kFloatBlock * sizeof(float));
        else std::memcpy(to, source + k * k_stride, static_cast<size_t>(width) * sizeof(float));
      } else {
        for (int64_t c = 0; c < width; ++c) to[c] = source[k * k_stride + c * channel_stride];
      }
      for (int64_t c = width; c < kFloatBlock; ++c) to[c] = 0;
    }
  }
}

Expected<const float*> floats_in_blob(const char* op, std::span<const std::byte> blob, int64_t count) {
  const size_t need = static_cast<size_t>(count) * sizeof(float);
  if (blob.size() != need)
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights: got " + std::to_string(blob.size()) +
                                                  " bytes, need " + std::to_string(need));
  return reinterpret_cast<const float*>(blob.data());
}

}  // namespace ingot::cpu
