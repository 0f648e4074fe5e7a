// Arguments of the kernel of transposed convolutions; see kernel_params.h.
#pragma once

#include "runtime/cuda/kernel_params.h"

namespace ingot::cuda {

struct ConvTransposeF32 {  // one thread for each result
  const float *x, *weights;
  int64_t elements;
  Image image;             // of the convolution that it turns around: in is x, out is y
  int32_t channels, outputs, group_channels, group_outputs;
  int32_t x_channels_last, y_channels_last;
  int64_t w_group, w_tap, w_channel, w_output;  // strides
  EpilogueF32 epilogue;
};

}  // namespace ingot::cuda
