// Sizes of float convolutions, and what all of them refuse.
#include "runtime/cpu/conv_geometry.h"

#include "runtime/cpu/f32_layer.h"

namespace ingot::cpu {

ConvLayer conv_layer_of(const ConvParams& params, const Shape& x, const Shape& w) {
  ConvLayer layer;
  layer.params = params;
  layer.spatial = x.rank - 2;
  layer.groups = params.groups;
  layer.channels = w[1] * params.groups;
  layer.outputs = w[0];
  for (int i = 0; i < layer.spatial; ++i) {
    const int axis = kMaxSpatialDims - layer.spatial + i;
    layer.kernel[axis] = w[i + 2];
    layer.stride[axis] = attribute(params.strides, i, 1);
    layer.dilation[axis] = attribute(params.dilations, i, 1);
  }
  return layer;
}

ConvRun conv_run_of(const ConvLayer& layer, const Shape& x, const Shape& y) {
  ConvRun run;
  run.batch = x[0];
  for (int i = 0; i < layer.spatial; ++i) {
    const int axis = kMaxSpatialDims - layer.spatial + i;
    run.in[axis] = x[i + 2];
    run.out[axis] = y[i + 2];
    run.pad[axis] = conv_pads(layer.params, i, layer.spatial, x[i + 2], layer.kernel[axis]).begin;
  }
  return run;
}

const char* refuse_f32_conv(const Problem& problem, Layout input) {
  const auto& params = std::get<ConvParams>(problem.params);
  if (const char* refusal = refuse_f32_layer(problem, params.activation)) return refusal;
  const TensorType &x = problem.inputs[0].type, &w = problem.inputs[1].type, &y = problem.outputs[0].type;
  if (x.shape.rank < 3 || x.shape.rank > 2 + kMaxSpatialDims) return "not one to three spatial dims";
  if (w.shape.rank != x.shape.rank || y.shape.rank != x.shape.rank) return "weights, input and result differ in rank";
  if (!problem.inputs[1].is_constant || !w.shape.is_static()) return "weights are not constant";
  if (w.shape.elements() == 0) return "weights are empty";
  if (x.layout != input) return input == Layout::kLinear ? "input is not row-major" : "input is not channels_last";
  if (y.layout != Layout::kChannelsLast) return "result is not channels_last";
  if (params.groups < 1 || w.shape[0] % params.groups != 0) return "output channels are not a multiple of groups";
  if (x.shape[1] != w.shape[1] * params.groups) return "input channels differ from the weights'";
  return nullptr;
}

bool is_depthwise(const Shape& w, const ConvParams& params) { return params.groups > 1 && w[1] == 1 && w[0] == params.groups; }

}  // namespace ingot::cpu
