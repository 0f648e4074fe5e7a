// Operand checks and epilogues of float layers.
#include "runtime/cuda/f32_layer.h"

#include "runtime/ops/conv.h"

namespace ingot::cuda {

const char* refuse_f32_layer(const Problem& problem, const Activation& activation) {
  if (problem.inputs.size() < 2 || problem.inputs.size() > 4 || problem.outputs.size() != 1) return "unknown operands";
  if (!problem.inputs[0].present || !problem.inputs[1].present) return "an operand is missing";
  for (const Operand& operand : problem.inputs)
    if (operand.present && operand.type.dtype != DataType::kF32) return "an operand is not f32";
  if (problem.outputs[0].type.dtype != DataType::kF32) return "the result is not f32";
  if (const Operand* residual = optional_operand(problem.inputs, 3))
    if (residual->type.layout != problem.outputs[0].type.layout) return "residual and result differ in layout";
  if (!is_activation(activation.function)) return "fused function is no activation";
  return nullptr;
}

const char* refuse_f32_conv(const Problem& problem) {
  const auto& params = std::get<ConvParams>(problem.params);
  if (const char* refusal = refuse_f32_layer(problem, params.activation)) return refusal;
  const Shape &x = problem.inputs[0].type.shape, &w = problem.inputs[1].type.shape;
  if (x.rank != 3 && x.rank != 4) return "not one or two spatial dims";
  if (w.rank != x.rank || !w.is_static() || w.elements() == 0) return "weights are empty, of another rank or of a shape that varies";
  if (params.groups < 1 || w[0] % params.groups != 0) return "output channels are not a multiple of groups";
  if (x[1] != w[1] * params.groups) return "input channels differ from the weights'";
  for (int64_t pad : params.pads)
    if (pad < 0) return "negative padding";
  return nullptr;
}

bool is_depthwise(const Problem& problem) {
  const Shape& w = problem.inputs[1].type.shape;
  return w[1] == 1 && w[0] > 1 && w[0] == std::get<ConvParams>(problem.params).groups;
}

EpilogueF32 make_epilogue_f32(const Activation& activation, double alpha, int64_t channels) {
  EpilogueF32 e{};
  e.multiplier = static_cast<float>(alpha);
  e.alpha = static_cast<float>(activation.alpha);
  e.beta = static_cast<float>(activation.beta);
  e.function = static_cast<int32_t>(activation.function);
  e.channels = static_cast<int32_t>(channels);
  return e;
}

void bind_epilogue(EpilogueF32& e, const KernelArgs& args) {
  e.out = static_cast<float*>(args.outputs[0]);
  if (args.inputs.size() > 2) e.bias = static_cast<const float*>(args.inputs[2]);
  if (args.inputs.size() > 3) e.residual = static_cast<const float*>(args.inputs[3]);
}

}  // namespace ingot::cuda
