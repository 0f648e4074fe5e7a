// Recurrent layers: RNN, GRU, LSTM as ONNX defines them. Inputs: x [S,B,I], w [D,G·H,I], r [D,G·H,H], and optional bias
// [D,2G·H] (of w, then of r), sequence_lens s32 [B], initial_h [D,B,H]; LSTM alone: initial_c, peepholes [D,3H] (i, o, f).
// Gates are in ONNX's order: GRU z r h, LSTM i o f c. Outputs, all of them: y [S,D,B,H], y_h [D,B,H], LSTM: y_c [D,B,H].
#pragma once

#include <string_view>
#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class RecurrentCell : int64_t { kRnn, kGru, kLstm, kCount };
std::string_view to_string(RecurrentCell cell);
enum class RecurrentDirection : int64_t { kForward, kReverse, kBidirectional, kCount };
std::string_view to_string(RecurrentDirection direction);

// The numbers are stored in files; new ones go to the end.
enum class RecurrentActivation : int64_t {
  kRelu, kTanh, kSigmoid, kAffine /* αx+β */, kLeakyRelu /* α */, kThresholdedRelu /* α */, kScaledTanh /* α·tanh(βx) */,
  kHardSigmoid /* α, β */, kElu /* α */, kSoftsign, kSoftplus, kCount
};

struct RecurrentParams {
  RecurrentCell cell = RecurrentCell::kRnn;
  RecurrentDirection direction = RecurrentDirection::kForward;
  bool batch_first = false;          // x [B,S,I], y [B,S,D,H], states [B,D,H]
  bool input_forget = false;         // LSTM: forget = 1 − input gate
  bool linear_before_reset = false;  // GRU: the reset gate scales r·h + its bias, not h
  double clip = 0;                   // of what gates read, as onnxruntime has it: not of the cell state; 0: none
  std::vector<int64_t> activations;  // RecurrentActivation, for each direction: RNN f, GRU f g, LSTM f g h
  std::vector<double> alphas, betas; // one for each activation
  INGOT_FIELDS(cell, direction, batch_first, input_forget, linear_before_reset, clip, activations, alphas, betas)
};

int recurrent_gates(RecurrentCell cell);                 // G: 1, 3, 4
int recurrent_activations(RecurrentCell cell);           // of one direction: 1, 2, 3
int recurrent_directions(RecurrentDirection direction);  // D: 1, 2

Status infer_types(const RecurrentParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const RecurrentParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
