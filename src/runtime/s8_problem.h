// What every backend asks of an 8-bit layer (conv, depthwise, matmul): which operand types it takes, and the numbers of its
// epilogue, worked out once in the way that docs/numerics.md says.
#pragma once

#include <vector>

#include "runtime/ops/pointwise.h"
#include "runtime/tactic.h"

namespace ingot {

// Operands are x, w, bias (optional), residual (optional) → y. Null, or why the types cannot be served:
// x u8/s8 per tensor, or per channel (dim 1) if `may.input`; w constant s8, zero point 0, one scale or one per output channel (dim `weight_axis`);
// bias constant s32; residual u8/s8 per tensor or f32;
// y u8/s8 per tensor, or per channel if `may.output`, or f32.
struct ChannelScales { bool input = false, output = false; };
const char* refuse_s8_layer(const Problem& problem, int weight_axis, const Activation& activation, ChannelScales may = {});

// The same and geometry, for channels-last tensors of one or two spatial dims: convolution but depthwise; depthwise; max and
// average pooling. And functions of one byte as a table.
const char* refuse_s8_conv(const Problem& problem);
const char* refuse_s8_depthwise(const Problem& problem);
const char* refuse_s8_pool(const Problem& problem);
const char* refuse_s8_table(const Problem& problem);

// One scale and a zero point in the type's range.
bool is_per_tensor_byte(const TensorType& type);
// One of each for every index of dim 1.
bool is_per_channel_byte(const TensorType& type);
// The zero point of x in the unsigned form that kernels compute in: +128 for s8.
int32_t unsigned_zero(const TensorType& x, int64_t channel = 0);
const Operand* optional_operand(std::span<const Operand> operands, size_t i);  // null if absent

// How a result is stored and limited, with a clamp activation folded in. Limits are those before the zero point is added; of
// the real value where the result is f32.
struct ResultLimits {
  float low = 0, high = 0, scale = 1;
  int32_t zero = 0;
};
ResultLimits result_limits(const TensorType& y, const Activation& activation);

// The numbers of one layer's epilogue. Vectors have one element per output channel; those after `multipliers` are empty where
// the result has one scale for all.
struct LayerEpilogue {
  ResultLimits result;
  bool curved = false;  // f is no clamp, or a float residual comes before rounding
  int32_t residual_zero = 0;
  float residual_multiplier = 0;  // s_r / s_y, or s_r if curved or f32
  std::vector<float> multipliers; // s_x s_w / s_y, or s_x s_w if curved or f32
  std::vector<float> low, high, scale, residual;
  std::vector<int32_t> zero;
};
Expected<LayerEpilogue> make_layer_epilogue(const char* op, const Problem& problem, const Activation& activation, double alpha,
                                            int64_t channels);

}  // namespace ingot
