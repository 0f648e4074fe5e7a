// What the float layers (conv, conv transpose, depthwise, matmul) share outside their inner loops: which operands they
// take, their epilogue, and the packing of weights into blocks of 16 output channels.
#pragma once

#include "runtime/cpu/gemm_f32.h"
#include "runtime/tactic.h"

namespace ingot::cpu {

const Operand* operand_at(std::span<const Operand> operands, size_t i);  // null if absent

// Operands are x, w, bias (optional), residual (optional) → y, all f32. Null, or why they cannot be served.
const char* refuse_f32_layer(const Problem& problem, const Activation& activation);

FloatEpilogue make_float_epilogue(const Activation& activation, double alpha);
// The epilogue of one call: pointers filled in.
FloatEpilogue bound_epilogue(const FloatEpilogue& epilogue, const KernelArgs& args);

// out[block][k][16] = at k · k_stride + channel · channel_stride of `from`; channels beyond the last are zeros.
void pack_blocks(const float* from, int64_t depth, int64_t channels, int64_t k_stride, int64_t channel_stride,
                 int64_t block_begin, int64_t block_end, float* out);

// Checks a blob of `count` floats.
Expected<const float*> floats_in_blob(const char* op, std::span<const std::byte> blob, int64_t count);

}  // namespace ingot::cpu
