// Arguments of the kernels of recurrent layers; see kernel_params.h. G gates of H units, D directions, B sequences of S steps.
#pragma once

#include <cstdint>

namespace ingot::cuda {

struct RecurrentStep {
  const float* from_input;   // [D][rows of x][G·H]: w x and the bias of w
  const float *r, *bias;     // [D][G·H][H]; [D][2·G·H] or null
  const float *h0, *c0;      // as y_h, or null for zeros
  const float* peepholes;    // [D][3·H], or null
  const int32_t* lengths;    // [B], or null
  float *y, *y_h, *y_c;      // [S][D][B][H], [D][B][H], or with batch_first [B][S][D][H], [B][D][H]
  float* reset;              // [D][B][H]: GRU's state behind the reset gate
  int64_t rows;              // of x: S·B
  int32_t steps, batch, hidden, directions;
  int32_t step;              // counted from where a sequence is begun
  int32_t batch_first, reverse, input_forget;
  float clip;                // 0: none
  int32_t activations[6];    // RecurrentActivation
  float alphas[6], betas[6];
};

}  // namespace ingot::cuda
