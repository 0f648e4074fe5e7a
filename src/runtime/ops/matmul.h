// Matrix product over the last two dims with batch broadcasting (numpy's matmul); Gemm is this with transposes and bias.
//   y[…,m,n] = act( alpha · Σ_k a[…,m,k] · b[…,k,n] + bias[n] + residual[…,m,n] )
// Inputs: a, b, bias [N] (optional), residual (as y, optional). Rank-1 operands as in numpy.
// Quantised: a is u8/s8 per tensor, b is s8/u8 (per column when constant, axis = the n dim), bias s32 of scale s_a·s_b.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"
#include "runtime/ops/pointwise.h"

namespace ingot {

struct MatMulParams {
  bool transpose_a = false, transpose_b = false;
  double alpha = 1;
  Activation activation;
  INGOT_FIELDS(transpose_a, transpose_b, alpha, activation.function, activation.alpha, activation.beta)
};

Status infer_types(const MatMulParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const MatMulParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
