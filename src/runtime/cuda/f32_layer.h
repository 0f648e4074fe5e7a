// What layers with float operands share on a GPU: which operands they take, and their epilogue.
#pragma once

#include "runtime/cuda/kernel_params.h"
#include "runtime/s8_problem.h"

namespace ingot::cuda {

// Operands are x, w, bias (optional), residual (optional, in the layout of y) → y, all f32. Null, or why they cannot be served.
const char* refuse_f32_layer(const Problem& problem, const Activation& activation);
// Also: one or two spatial dims, weights of a known shape, no negative padding.
const char* refuse_f32_conv(const Problem& problem);
// One input and one output channel in each of several groups.
bool is_depthwise(const Problem& problem);

// Without addresses, which come with each run.
EpilogueF32 make_epilogue_f32(const Activation& activation, double alpha, int64_t channels);
void bind_epilogue(EpilogueF32& epilogue, const KernelArgs& args);

}  // namespace ingot::cuda
