// Convolution over 1 to 3 spatial dims, its transpose, and what may be fused behind it.
//   y[n,o,p] = act( Σ_{c,k} x[n, c, p·stride − pad + k·dilation] · w[o,c,k] + bias[o] + residual[n,o,p] )
// Inputs: x [N,C,spatial…], w [O,C/groups,kernel…], bias [O] (optional), residual (as y, optional).
#pragma once

#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"
#include "runtime/ops/pointwise.h"

namespace ingot {

enum class AutoPad : int64_t { kNotSet, kSameUpper, kSameLower, kValid };

struct ConvParams {
  std::vector<int64_t> strides, pads, dilations;  // pads: begins, then ends; empty means 1, 0, 1
  AutoPad auto_pad = AutoPad::kNotSet;
  int64_t groups = 1;
  Activation activation;
  INGOT_FIELDS(strides, pads, dilations, auto_pad, groups, activation.function, activation.alpha, activation.beta)
};

// w is [C, O/groups, kernel…], as in ONNX.
struct ConvTransposeParams {
  std::vector<int64_t> strides, pads, dilations, output_padding, output_shape;
  AutoPad auto_pad = AutoPad::kNotSet;
  int64_t groups = 1;
  Activation activation;
  INGOT_FIELDS(strides, pads, dilations, output_padding, output_shape, auto_pad, groups, activation.function,
               activation.alpha, activation.beta)
};

// Pads in effect for spatial dim i of an input of size `in`: resolves auto_pad.
struct PadPair { int64_t begin = 0, end = 0; };
PadPair conv_pads(const ConvParams& params, int i, int spatial_dims, int64_t in, int64_t kernel);

Status infer_types(const ConvParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ConvParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const ConvTransposeParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const ConvTransposeParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
