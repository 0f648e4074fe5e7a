// One step of a recurrent layer, of both directions: a warp computes one hidden unit's gates for four sequences, so that each row of r is
// read once for them. What comes of the input was multiplied before, for all steps together. Sums of a warp's lanes are f32.
#include "runtime/cuda/kernels/device.cuh"
#include "runtime/cuda/recurrent_params.h"
#include "runtime/ops/recurrent.h"

namespace ingot::cuda {
namespace {

constexpr int kTogether = 4, kWarps = 4;

INGOT_DEVICE float activate(const RecurrentStep& p, int which, float x, bool clips = true) {
  if (clips && p.clip > 0) x = x > p.clip ? p.clip : x < -p.clip ? -p.clip : x;
  const float alpha = p.alphas[which], beta = p.betas[which];
  const auto activation = static_cast<RecurrentActivation>(p.activations[which]);
  UnaryFunction f = UnaryFunction::kTanh;
  switch (activation) {
    case RecurrentActivation::kAffine: return __fadd_rn(__fmul_rn(alpha, x), beta);
    case RecurrentActivation::kRelu: f = UnaryFunction::kRelu; break;
    case RecurrentActivation::kSigmoid: f = UnaryFunction::kSigmoid; break;
    case RecurrentActivation::kLeakyRelu: f = UnaryFunction::kLeakyRelu; break;
    case RecurrentActivation::kThresholdedRelu: f = UnaryFunction::kThresholdedRelu; break;
    case RecurrentActivation::kHardSigmoid: f = UnaryFunction::kHardSigmoid; break;
    case RecurrentActivation::kElu: f = UnaryFunction::kElu; break;
    case RecurrentActivation::kSoftsign: f = UnaryFunction::kSoftsign; break;
    case RecurrentActivation::kSoftplus: f = UnaryFunction::kSoftplus; break;
    default: break;
  }
  const bool scaled = activation == RecurrentActivation::kScaledTanh;
  const float t = scaled ? __fmul_rn(beta, x) : x;
  const float y = exact::activation<DeviceLane>(f, t, alpha, beta);
  return t != t ? t : scaled ? __fmul_rn(alpha, y) : y;
}

// What a warp works on, and one lane's sequence in it.
struct Place {
  int32_t unit, direction, first;  // first of the sequences
  int32_t lane;
};
INGOT_DEVICE Place place_here() {
  const int32_t warp = static_cast<int32_t>(threadIdx.x) >> 5;
  return {static_cast<int32_t>(blockIdx.x) * kWarps + warp, static_cast<int32_t>(blockIdx.y), static_cast<int32_t>(blockIdx.z) * kTogether,
          static_cast<int32_t>(threadIdx.x) & 31};
}
INGOT_DEVICE int32_t length_of(const RecurrentStep& p, int32_t b) {
  if (!p.lengths) return p.steps;
  const int32_t length = p.lengths[b];
  return length < 0 ? 0 : length < p.steps ? length : p.steps;
}
INGOT_DEVICE bool backward(const RecurrentStep& p, int32_t direction) { return p.reverse || direction == 1; }
INGOT_DEVICE int32_t time_of(const RecurrentStep& p, int32_t direction, int32_t length) {
  return p.step < length && backward(p, direction) ? length - 1 - p.step : p.step;
}
INGOT_DEVICE int64_t state_at(const RecurrentStep& p, int32_t direction, int32_t b) {
  return static_cast<int64_t>(p.batch_first ? b * p.directions + direction : direction * p.batch + b) * p.hidden;
}
INGOT_DEVICE int64_t y_at(const RecurrentStep& p, int32_t direction, int32_t b, int32_t t) {
  const int64_t row = p.batch_first ? (static_cast<int64_t>(b) * p.steps + t) * p.directions + direction
                                    : (static_cast<int64_t>(t) * p.directions + direction) * p.batch + b;
  return row * p.hidden;
}
// The state before this step; null for zeros.
INGOT_DEVICE const float* state_before(const RecurrentStep& p, int32_t direction, int32_t b) {
  if (b >= p.batch) return nullptr;
  const int32_t length = length_of(p, b), t = time_of(p, direction, length);
  if (p.step >= length) return nullptr;
  if (p.step == 0) return p.h0 ? p.h0 + state_at(p, direction, b) : nullptr;
  return p.y + y_at(p, direction, b, backward(p, direction) ? t + 1 : t - 1);
}

// Σ r h for `kGates` gates from `gate` on, for the sequences of the warp; given to all lanes.
template <int kGates>
INGOT_DEVICE void multiply(const RecurrentStep& p, const Place& place, int gates, int gate, const float* const (&h)[kTogether],
                           float (&sums)[kGates][kTogether]) {
  const float* r = p.r + ((static_cast<int64_t>(place.direction) * gates + gate) * p.hidden + place.unit) * p.hidden;
  const int64_t next_gate = static_cast<int64_t>(p.hidden) * p.hidden;
#pragma unroll
  for (int g = 0; g < kGates; ++g)
#pragma unroll
    for (int b = 0; b < kTogether; ++b) sums[g][b] = 0;
#pragma unroll 1
  for (int32_t k = place.lane; k < p.hidden; k += 32) {
    float x[kTogether];
#pragma unroll
    for (int b = 0; b < kTogether; ++b) x[b] = h[b] ? h[b][k] : 0.0f;
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      const float w = r[g * next_gate + k];
#pragma unroll
      for (int b = 0; b < kTogether; ++b) sums[g][b] = __fmaf_rn(w, x[b], sums[g][b]);
    }
  }
#pragma unroll
  for (int g = 0; g < kGates; ++g)
#pragma unroll
    for (int b = 0; b < kTogether; ++b)
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sums[g][b] = __fadd_rn(sums[g][b], __shfl_xor_sync(0xffffffffu, sums[g][b], other));
}
INGOT_DEVICE float one_of(const float (&sums)[kTogether], int b) { return b == 0 ? sums[0] : b == 1 ? sums[1] : b == 2 ? sums[2] : sums[3]; }

// What the sequence of this lane, one of the first four, adds to a gate's sum.
struct Sequence {
  const RecurrentStep& p;
  Place place;
  int gates;
  int32_t b, length, t;
  INGOT_DEVICE Sequence(const RecurrentStep& params, const Place& at, int count)
      : p(params), place(at), gates(count), b(at.first + at.lane), length(length_of(params, at.first + at.lane)), t(time_of(params, at.direction, length)) {}
  INGOT_DEVICE float from_input(int gate) const {
    const int64_t row = p.batch_first ? static_cast<int64_t>(b) * p.steps + t : static_cast<int64_t>(t) * p.batch + b;
    return p.from_input[((place.direction * p.rows + row) * gates + gate) * p.hidden + place.unit];
  }
  INGOT_DEVICE float from_state(int gate, float sum) const {
    return p.bias ? __fadd_rn(sum, p.bias[((static_cast<int64_t>(place.direction) * 2 + 1) * gates + gate) * p.hidden + place.unit]) : sum;
  }
  INGOT_DEVICE float both(int gate, float sum) const { return __fadd_rn(from_input(gate), from_state(gate, sum)); }
  INGOT_DEVICE int64_t state() const { return state_at(p, place.direction, b) + place.unit; }
  // Behind a sequence's end; gives false where the step has nothing to compute.
  INGOT_DEVICE bool goes_on() const {
    if (p.step < length) return true;
    if (p.step < p.steps) p.y[y_at(p, place.direction, b, t) + place.unit] = 0;
    if (p.step == 0) {
      p.y_h[state()] = p.h0 ? p.h0[state()] : 0.0f;
      if (p.y_c) p.y_c[state()] = p.c0 ? p.c0[state()] : 0.0f;
    }
    return false;
  }
  INGOT_DEVICE void store(float h) const {
    p.y[y_at(p, place.direction, b, t) + place.unit] = h;
    if (p.step + 1 == length) p.y_h[state()] = h;
  }
};

INGOT_DEVICE void states_before(const RecurrentStep& p, const Place& place, const float* (&h)[kTogether]) {
#pragma unroll
  for (int b = 0; b < kTogether; ++b) h[b] = state_before(p, place.direction, place.first + b);
}

}  // namespace
}  // namespace ingot::cuda

extern "C" __global__ void __launch_bounds__(128) recurrent_rnn(const __grid_constant__ ingot::cuda::RecurrentStep p) {
  using namespace ingot::cuda;
  const Place place = place_here();
  if (place.unit >= p.hidden) return;
  const float* h[kTogether];
  states_before(p, place, h);
  float sums[1][kTogether];
  multiply<1>(p, place, 1, 0, h, sums);
  if (place.lane >= kTogether || place.first + place.lane >= p.batch) return;
  const Sequence sequence(p, place, 1);
  if (!sequence.goes_on()) return;
  sequence.store(activate(p, place.direction, sequence.both(0, one_of(sums[0], place.lane))));
}

extern "C" __global__ void __launch_bounds__(128) recurrent_lstm(const __grid_constant__ ingot::cuda::RecurrentStep p) {
  using namespace ingot::cuda;
  const Place place = place_here();
  if (place.unit >= p.hidden) return;
  const float* h[kTogether];
  states_before(p, place, h);
  float sums[4][kTogether];
  multiply<4>(p, place, 4, 0, h, sums);
  if (place.lane >= kTogether || place.first + place.lane >= p.batch) return;
  const Sequence sequence(p, place, 4);
  if (!sequence.goes_on()) return;
  const int64_t state = sequence.state();
  float cell = p.step > 0 ? p.y_c[state] : p.c0 ? p.c0[state] : 0.0f;
  const float* peepholes = p.peepholes ? p.peepholes + static_cast<int64_t>(place.direction) * 3 * p.hidden + place.unit : nullptr;
  float input = 0, forget = 0, output = 0;
  // Gates i, f, c, o, and last the cell's way out: one copy of the activations serves all.
#pragma unroll 1
  for (int stage = 0; stage < 5; ++stage) {
    float t = cell;
    if (stage < 4) {
      const int gate = stage == 0 ? 0 : stage == 1 ? 2 : stage == 2 ? 3 : 1;
      const float one = gate == 0 ? one_of(sums[0], place.lane) : gate == 1 ? one_of(sums[1], place.lane) : gate == 2 ? one_of(sums[2], place.lane) : one_of(sums[3], place.lane);
      t = sequence.both(gate, one);
      if (peepholes && gate < 3) t = __fadd_rn(t, __fmul_rn(peepholes[static_cast<int64_t>(gate) * p.hidden], cell));
    }
    const float y = activate(p, place.direction * 3 + (stage == 2 ? 1 : stage == 4 ? 2 : 0), t, stage < 4);
    if (stage == 0) input = y;
    else if (stage == 1) forget = p.input_forget ? __fsub_rn(1.0f, input) : y;
    else if (stage == 2) cell = __fadd_rn(__fmul_rn(forget, cell), __fmul_rn(input, y));
    else if (stage == 3) output = y;
    else sequence.store(__fmul_rn(output, y));
  }
  p.y_c[state] = cell;
}

// GRU whose reset gate scales r·h and its bias.
extern "C" __global__ void __launch_bounds__(128) recurrent_gru(const __grid_constant__ ingot::cuda::RecurrentStep p) {
  using namespace ingot::cuda;
  const Place place = place_here();
  if (place.unit >= p.hidden) return;
  const float* h[kTogether];
  states_before(p, place, h);
  float sums[3][kTogether];
  multiply<3>(p, place, 3, 0, h, sums);
  if (place.lane >= kTogether || place.first + place.lane >= p.batch) return;
  const Sequence sequence(p, place, 3);
  if (!sequence.goes_on()) return;
  const float* own = state_before(p, place.direction, sequence.b);
  const float before = own ? own[place.unit] : 0.0f;
  float update = 0, reset = 0;
#pragma unroll 1
  for (int gate = 0; gate < 3; ++gate) {
    const float sum = gate == 0 ? one_of(sums[0], place.lane) : gate == 1 ? one_of(sums[1], place.lane) : one_of(sums[2], place.lane);
    const float state = sequence.from_state(gate, sum);
    const float y = activate(p, place.direction * 2 + (gate == 2), __fadd_rn(sequence.from_input(gate), gate == 2 ? __fmul_rn(reset, state) : state));
    if (gate == 0) update = y;
    else if (gate == 1) reset = y;
    else sequence.store(__fadd_rn(__fmul_rn(__fsub_rn(1.0f, update), y), __fmul_rn(update, before)));
  }
}

// GRU whose reset gate scales the state: first the state behind the gate, in a launch of its own since all units of it are read next.
extern "C" __global__ void __launch_bounds__(128) recurrent_gru_reset(const __grid_constant__ ingot::cuda::RecurrentStep p) {
  using namespace ingot::cuda;
  const Place place = place_here();
  if (place.unit >= p.hidden) return;
  const float* h[kTogether];
  states_before(p, place, h);
  float sums[1][kTogether];
  multiply<1>(p, place, 3, 1, h, sums);
  if (place.lane >= kTogether || place.first + place.lane >= p.batch) return;
  const Sequence sequence(p, place, 3);
  if (p.step >= sequence.length) return;
  const float* own = state_before(p, place.direction, sequence.b);
  p.reset[sequence.state()] = __fmul_rn(activate(p, place.direction * 2, sequence.both(1, one_of(sums[0], place.lane))), own ? own[place.unit] : 0.0f);
}
extern "C" __global__ void __launch_bounds__(128) recurrent_gru_update(const __grid_constant__ ingot::cuda::RecurrentStep p) {
  using namespace ingot::cuda;
  const Place place = place_here();
  if (place.unit >= p.hidden) return;
  const float *h[kTogether], *reset[kTogether];
  states_before(p, place, h);
#pragma unroll
  for (int b = 0; b < kTogether; ++b) {
    const int32_t sequence = place.first + b;
    reset[b] = sequence < p.batch && p.step < length_of(p, sequence) ? p.reset + state_at(p, place.direction, sequence) : nullptr;
  }
  float of_update[1][kTogether], of_state[1][kTogether];
  multiply<1>(p, place, 3, 0, h, of_update);
  multiply<1>(p, place, 3, 2, reset, of_state);
  if (place.lane >= kTogether || place.first + place.lane >= p.batch) return;
  const Sequence sequence(p, place, 3);
  if (!sequence.goes_on()) return;
  const float* own = state_before(p, place.direction, sequence.b);
  const float before = own ? own[place.unit] : 0.0f;
  float update = 0;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    const float y = activate(p, place.direction * 2 + i, sequence.both(i * 2, i == 0 ? one_of(of_update[0], place.lane) : one_of(of_state[0], place.lane)));
    if (i == 0) update = y;
    else sequence.store(__fadd_rn(__fmul_rn(__fsub_rn(1.0f, update), y), __fmul_rn(update, before)));
  }
}
