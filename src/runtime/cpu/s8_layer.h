// What the 8-bit layers (conv, depthwise, matmul) share outside their inner loops: which operand types they take, and the
// epilogue made from them.
#pragma once

#include <vector>

#include "runtime/cpu/channelwise_s8.h"
#include "runtime/cpu/igemm_s8.h"
#include "runtime/tactic.h"

namespace ingot::cpu {

// Operands are x, w, bias (optional), residual (optional) → y. Null, or why the types cannot be served:
// x u8/s8 per tensor, or per channel (dim 1) if `may.input`; w constant s8, zero point 0, one scale or one per output channel (dim `weight_axis`);
// bias constant s32; residual u8/s8 per tensor or f32;
// y u8/s8 per tensor, or per channel if `may.output`, or f32.
struct ChannelScales { bool input = false, output = false; };
const char* refuse_s8_layer(const Problem& problem, int weight_axis, const Activation& activation, ChannelScales may = {});

// One scale and a zero point in the type's range.
bool is_per_tensor_byte(const TensorType& type);
// One of each for every index of dim 1.
bool is_per_channel_byte(const TensorType& type);
Stored stored_as(DataType type);  // u8, s8; f32 for all others
// The zero point of x in the unsigned form that kernels compute in: +128 for s8.
int32_t unsigned_zero(const TensorType& x, int64_t channel = 0);
const Operand* optional_operand(std::span<const Operand> operands, size_t i);  // null if absent

// Whether a pair of products (weights 2i, 2i + 1) with x up to 255 could leave 16 bits.
bool pair_may_saturate(const int8_t* weights, int64_t bytes);

const IgemmKernels& igemm_kernels(CpuLevel level);
const ChannelwiseKernels& channelwise_kernels(CpuLevel level);

// A RowEpilogue with what it points to. `row.out` and `row.residual` are set at each run.
struct LoadedEpilogue {
  RowEpilogue row;
  std::vector<float> multipliers;  // `channels`, and room to read a whole block from any channel
  // The same of a result with scales per channel; empty otherwise.
  std::vector<float> low, high, scale, residual;
  std::vector<int32_t> zero;
};
Expected<LoadedEpilogue> load_epilogue(const char* op, const Problem& problem, const Activation& activation, double alpha,
                                       int64_t channels);
// The part of an epilogue that says how a u8, s8 or f32 result is stored, with a clamp activation folded in.
RowEpilogue stored_result(const TensorType& y, const Activation& activation);
// The epilogue of one call: pointers filled in.
RowEpilogue bound_epilogue(const LoadedEpilogue& epilogue, const KernelArgs& args);

}  // namespace ingot::cpu
