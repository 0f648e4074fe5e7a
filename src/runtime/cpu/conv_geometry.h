// A convolution brought to three spatial dims, as the float convolution kernels walk it.
#pragma once

#include "runtime/ops/window.h"
#include "runtime/tactic.h"

namespace ingot::cpu {

// What does not depend on a run's shapes.
struct ConvLayer {
  ConvParams params;
  int spatial = 0;                         // as in the model: 1 to 3
  int64_t channels = 0, outputs = 0, groups = 1;  // channels and outputs of all groups together
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return outputs / groups; }
};
ConvLayer conv_layer_of(const ConvParams& params, const Shape& x, const Shape& w);

// One run: sizes and pads.
struct ConvRun {
  int64_t batch = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  int64_t pixels() const { return out[0] * out[1] * out[2]; }
};
ConvRun conv_run_of(const ConvLayer& layer, const Shape& x, const Shape& y);

// Null, or why a Conv of these operands cannot be served by kernels that write channels_last.
const char* refuse_f32_conv(const Problem& problem, Layout input);

// One input and one output channel in each of several groups.
bool is_depthwise(const Shape& w, const ConvParams& params);

// Walks output positions in row-major order.
struct Position {
  int64_t n, d, h, w;
  static Position at(const ConvRun& run, int64_t pixel) {
    Position p;
    p.w = pixel % run.out[2], pixel /= run.out[2];
    p.h = pixel % run.out[1], pixel /= run.out[1];
    p.d = pixel % run.out[0], p.n = pixel / run.out[0];
    return p;
  }
  void next(const ConvRun& run) {
    if (++w < run.out[2]) return;
    w = 0;
    if (++h < run.out[1]) return;
    h = 0;
    if (++d < run.out[0]) return;
    d = 0, ++n;
  }
};

}  // namespace ingot::cpu
