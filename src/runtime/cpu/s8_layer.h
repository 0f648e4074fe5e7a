// What the 8-bit layers (conv, depthwise, matmul) share outside their inner loops: which operand types they take, and the
// epilogue made from them.
#pragma once

#include <optional>
#include <vector>

#include "runtime/cpu/channelwise_s8.h"
#include "runtime/cpu/igemm_s8.h"
#include "runtime/s8_problem.h"

namespace ingot::cpu {

Stored stored_as(DataType type);  // u8, s8; f32 for all others
// Whether a pair of products (weights 2i, 2i + 1) with x up to 255 could leave 16 bits.
bool pair_may_saturate(const int8_t* weights, int64_t bytes);

const IgemmKernels& igemm_kernels(CpuLevel level);
const ChannelwiseKernels& channelwise_kernels(CpuLevel level);

// 1/scale in two parts, where for every float v rne(clamp(fma(v, high, v · low))) is rne(clamp(v / scale)), limits within 512 of 0.
struct Reciprocal { float high = 0, low = 0; };
std::optional<Reciprocal> reciprocal_of(float scale);

// A RowEpilogue with what it points to. `row.out` and `row.residual` are set at each run.
struct LoadedEpilogue {
  RowEpilogue row;
  std::vector<float> multipliers;  // `channels`, and room to read a whole block from any channel
  // The same of a result with scales per channel; empty otherwise.
  std::vector<float> low, high, scale, residual, inverse, inverse_low;
  std::vector<int32_t> zero;
};
Expected<LoadedEpilogue> load_epilogue(const char* op, const Problem& problem, const Activation& activation, double alpha,
                                       int64_t channels);
// The part of an epilogue that says how a u8, s8 or f32 result is stored, with a clamp activation folded in.
RowEpilogue stored_result(const TensorType& y, const Activation& activation);
// The epilogue of one call: pointers filled in.
RowEpilogue bound_epilogue(const LoadedEpilogue& epilogue, const KernelArgs& args);

}  // namespace ingot::cpu
