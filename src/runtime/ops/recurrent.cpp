// Reference code of Recurrent. One sequence at a time, one hidden unit after the other. Nothing is allocated: the last
// state is read from where y keeps it, the cell state lives in y_c, and GRU's reset state in y_h until the sequence ends.
#include "runtime/ops/recurrent.h"

#include <cmath>
#include <cstring>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "recurrent";
enum InputIndex : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes, kInputs };
enum OutputIndex : size_t { kY, kYh, kYc };

size_t output_count(RecurrentCell cell) { return cell == RecurrentCell::kLstm ? 3 : 2; }

UnaryFunction function_of(RecurrentActivation activation) {
  switch (activation) {
    case RecurrentActivation::kRelu: return UnaryFunction::kRelu;
    case RecurrentActivation::kSigmoid: return UnaryFunction::kSigmoid;
    case RecurrentActivation::kLeakyRelu: return UnaryFunction::kLeakyRelu;
    case RecurrentActivation::kThresholdedRelu: return UnaryFunction::kThresholdedRelu;
    case RecurrentActivation::kHardSigmoid: return UnaryFunction::kHardSigmoid;
    case RecurrentActivation::kElu: return UnaryFunction::kElu;
    case RecurrentActivation::kSoftsign: return UnaryFunction::kSoftsign;
    case RecurrentActivation::kSoftplus: return UnaryFunction::kSoftplus;
    default: return UnaryFunction::kTanh;
  }
}

double apply(UnaryFunction function, double alpha, double beta, double x) { return apply_activation_f64({function, alpha, beta}, x); }
float apply(UnaryFunction function, double alpha, double beta, float x) { return apply_activation({function, alpha, beta}, x); }

// One direction of one layer, as pointers.
template <class T>
struct Layer {
  using A = Arithmetic<T>;
  const RecurrentParams& params;
  int64_t inputs, hidden, gates;
  const T *w, *r, *bias, *peepholes;  // the last two may be null
  const int64_t* activations;
  const double *alphas, *betas;

  A clipped(A x) const {
    const A limit = static_cast<A>(params.clip);
    return params.clip > 0 ? x > limit ? limit : x < -limit ? -limit : x : x;
  }
  A activate(int which, A x) const { return activate_unclipped(which, clipped(x)); }
  A activate_unclipped(int which, A x) const {
    const auto activation = static_cast<RecurrentActivation>(activations[which]);
    const A alpha = static_cast<A>(alphas[which]), beta = static_cast<A>(betas[which]);
    if (activation == RecurrentActivation::kAffine) return alpha * x + beta;
    if (activation == RecurrentActivation::kScaledTanh) return alpha * apply(UnaryFunction::kTanh, 0, 0, beta * x);
    return apply(function_of(activation), alphas[which], betas[which], x);
  }
  // Σ w x + bias, and Σ r h + bias, for one unit of one gate.
  A from_input(int64_t gate, int64_t unit, const T* x) const {
    const int64_t row = gate * hidden + unit;
    double sum = bias ? static_cast<double>(load_element(bias[row])) : 0;
    for (int64_t i = 0; i < inputs; ++i) sum += static_cast<double>(load_element(w[row * inputs + i])) * static_cast<double>(load_element(x[i]));
    return static_cast<A>(sum);
  }
  A from_state(int64_t gate, int64_t unit, const T* h) const {
    const int64_t row = gate * hidden + unit;
    double sum = bias ? static_cast<double>(load_element(bias[gates * hidden + row])) : 0;
    for (int64_t i = 0; h && i < hidden; ++i) sum += static_cast<double>(load_element(r[row * hidden + i])) * static_cast<double>(load_element(h[i]));
    return static_cast<A>(sum);
  }
  A both(int64_t gate, int64_t unit, const T* x, const T* h) const { return from_input(gate, unit, x) + from_state(gate, unit, h); }
  A peephole(int64_t which, int64_t unit, A c) const {
    return peepholes ? load_element(peepholes[which * hidden + unit]) * c : A{0};
  }

  // h: the state before, null for zeros.
  void rnn(const T* x, const T* h, T* y) const {
    for (int64_t j = 0; j < hidden; ++j) y[j] = store_float<T>(activate(0, both(0, j, x, h)));
  }
  void lstm(const T* x, const T* h, T* c, T* y) const {
    for (int64_t j = 0; j < hidden; ++j) {
      const A before = load_element(c[j]);
      const A input = activate(0, both(0, j, x, h) + peephole(0, j, before));
      const A forget = params.input_forget ? A{1} - input : activate(0, both(2, j, x, h) + peephole(2, j, before));
      const A cell = forget * before + input * activate(1, both(3, j, x, h));
      const A output = activate(0, both(1, j, x, h) + peephole(1, j, cell));
      c[j] = store_float<T>(cell);
      y[j] = store_float<T>(output * activate_unclipped(2, cell));
    }
  }
  void gru(const T* x, const T* h, T* reset_state, T* y) const {
    const auto before = [&](int64_t j) { return h ? load_element(h[j]) : A{0}; };
    const auto reset = [&](int64_t j) { return activate(0, both(1, j, x, h)); };
    if (!params.linear_before_reset)
      for (int64_t j = 0; j < hidden; ++j) reset_state[j] = store_float<T>(reset(j) * before(j));
    for (int64_t j = 0; j < hidden; ++j) {
      const A update = activate(0, both(0, j, x, h));
      const A state = params.linear_before_reset ? reset(j) * from_state(2, j, h) : from_state(2, j, reset_state);
      const A proposed = activate(1, from_input(2, j, x) + state);
      y[j] = store_float<T>((A{1} - update) * proposed + update * before(j));
    }
  }
};

template <class T>
void copy_or_zero(T* to, const T* from, int64_t count) {
  if (count <= 0) return;
  if (from) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  else std::memset(static_cast<void*>(to), 0, static_cast<size_t>(count) * sizeof(T));
}

template <class T>
void run_layer(const RecurrentParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const auto optional = [&](size_t i) { return has_input(inputs, i) ? inputs[i].as<T>() : nullptr; };
  const Shape &x = inputs[kX].type->shape, &r = inputs[kR].type->shape;
  const int64_t steps = x[params.batch_first ? 1 : 0], batch = x[params.batch_first ? 0 : 1], width = x[2];
  const int64_t directions = r[0], hidden = r[2], gates = recurrent_gates(params.cell);
  const int per_direction = recurrent_activations(params.cell);
  const T *bias = optional(kBias), *h0 = optional(kInitialH), *c0 = optional(kInitialC), *peepholes = optional(kPeepholes);
  const int32_t* lengths = has_input(inputs, kLengths) ? inputs[kLengths].as<int32_t>() : nullptr;
  for (int64_t d = 0; d < directions; ++d) {
    const bool backward = params.direction == RecurrentDirection::kReverse || d == 1;
    const Layer<T> layer{params, width, hidden, gates, inputs[kW].as<T>() + d * gates * hidden * width,
                         inputs[kR].as<T>() + d * gates * hidden * hidden, bias ? bias + d * 2 * gates * hidden : nullptr,
                         peepholes ? peepholes + d * 3 * hidden : nullptr, params.activations.data() + d * per_direction,
                         params.alphas.data() + d * per_direction, params.betas.data() + d * per_direction};
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t state = (params.batch_first ? b * directions + d : d * batch + b) * hidden;
      const auto y_at = [&](int64_t t) {
        return outputs[kY].as<T>() + (params.batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden;
      };
      T* h_end = outputs[kYh].as<T>() + state;
      T* c = params.cell == RecurrentCell::kLstm ? outputs[kYc].as<T>() + state : nullptr;
      if (c) copy_or_zero(c, c0 ? c0 + state : nullptr, hidden);
      const T* h = h0 ? h0 + state : nullptr;
      const int64_t length = lengths ? lengths[b] : steps;
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = backward ? length - 1 - s : s;
        const T* at = inputs[kX].as<T>() + (params.batch_first ? b * steps + t : t * batch + b) * width;
        T* y = y_at(t);
        if (params.cell == RecurrentCell::kLstm) layer.lstm(at, h, c, y);
        else if (params.cell == RecurrentCell::kGru) layer.gru(at, h, h_end, y);
        else layer.rnn(at, h, y);
        h = y;
      }
      copy_or_zero(h_end, h, hidden);
      for (int64_t t = length; t < steps; ++t) copy_or_zero(y_at(t), static_cast<const T*>(nullptr), hidden);
    }
  }
}

Status check_shape(const char* name, const OpInput& input, DataType type, const Shape& need) {
  if (input.dtype != type) return refuse(kOp, std::string("type of ") + name, to_string(input.dtype), std::string(to_string(type)));
  if (!(input.shape == need)) return refuse(kOp, std::string("shape of ") + name, to_string(input.shape), to_string(need));
  return {};
}

Status check_params(const RecurrentParams& params) {
  const size_t activations = static_cast<size_t>(recurrent_directions(params.direction) * recurrent_activations(params.cell));
  for (const size_t count : {params.activations.size(), params.alphas.size(), params.betas.size()})
    if (count != activations) return refuse(kOp, "number of activations", std::to_string(count), std::to_string(activations));
  for (int64_t activation : params.activations)
    if (activation < 0 || activation >= static_cast<int64_t>(RecurrentActivation::kCount))
      return refuse(kOp, "activation", std::to_string(activation), "0 to " + std::to_string(static_cast<int64_t>(RecurrentActivation::kCount) - 1));
  return {};
}

}  // namespace

std::string_view to_string(RecurrentCell cell) {
  return cell == RecurrentCell::kRnn ? "rnn" : cell == RecurrentCell::kGru ? "gru" : "lstm";
}
std::string_view to_string(RecurrentDirection direction) {
  return direction == RecurrentDirection::kForward ? "forward" : direction == RecurrentDirection::kReverse ? "reverse" : "bidirectional";
}
int recurrent_gates(RecurrentCell cell) { return cell == RecurrentCell::kRnn ? 1 : cell == RecurrentCell::kGru ? 3 : 4; }
int recurrent_activations(RecurrentCell cell) { return cell == RecurrentCell::kRnn ? 1 : cell == RecurrentCell::kGru ? 2 : 3; }
int recurrent_directions(RecurrentDirection direction) { return direction == RecurrentDirection::kBidirectional ? 2 : 1; }

Status infer_types(const RecurrentParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const bool lstm = params.cell == RecurrentCell::kLstm;
  INGOT_TRY(check_arity(kOp, inputs, 3, lstm ? kInputs : kInitialC, outputs, output_count(params.cell)));
  INGOT_TRY(check_params(params));
  const DataType type = inputs[kX].dtype;
  if (!with_float_type(type, [](auto) {})) return refuse(kOp, "element type", to_string(type), "f32, f64, f16 or bf16");
  const Shape &x = inputs[kX].shape, &r = inputs[kR].shape;
  if (x.rank != 3) return refuse(kOp, "rank of x", std::to_string(x.rank), "3");
  if (r.rank != 3) return refuse(kOp, "rank of r", std::to_string(r.rank), "3");
  const int64_t directions = recurrent_directions(params.direction), hidden = r[2], rows = recurrent_gates(params.cell) * hidden;
  const int64_t steps = x[params.batch_first ? 1 : 0], batch = x[params.batch_first ? 0 : 1];
  const Shape state = params.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  INGOT_TRY(check_shape("w", inputs[kW], type, {directions, rows, x[2]}));
  INGOT_TRY(check_shape("r", inputs[kR], type, {directions, rows, hidden}));
  if (has_input(inputs, kBias)) INGOT_TRY(check_shape("the bias", inputs[kBias], type, {directions, 2 * rows}));
  if (has_input(inputs, kLengths)) INGOT_TRY(check_shape("sequence_lens", inputs[kLengths], DataType::kS32, {batch}));
  if (has_input(inputs, kInitialH)) INGOT_TRY(check_shape("initial_h", inputs[kInitialH], type, state));
  if (has_input(inputs, kInitialC)) INGOT_TRY(check_shape("initial_c", inputs[kInitialC], type, state));
  if (has_input(inputs, kPeepholes)) INGOT_TRY(check_shape("the peepholes", inputs[kPeepholes], type, {directions, 3 * hidden}));
  const Shape y = params.batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  INGOT_TRY(set_output(kOp, outputs[kY], type, y));
  INGOT_TRY(set_output(kOp, outputs[kYh], type, state));
  return lstm ? set_output(kOp, outputs[kYc], type, state) : Status();
}

Status run_reference(const RecurrentParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  for (const TensorRef& output : outputs)
    if (!output.type) return Status(StatusCode::kInternal, "recurrent: an output is missing: all are needed, as state");
  const Shape& x = inputs[kX].type->shape;
  const int64_t steps = x[params.batch_first ? 1 : 0], batch = x[params.batch_first ? 0 : 1];
  if (has_input(inputs, kLengths))
    for (int64_t b = 0; b < batch; ++b)
      if (const int32_t length = inputs[kLengths].as<int32_t>()[b]; length < 0 || length > steps)
        return refuse(kOp, "sequence length " + std::to_string(b) + " out of range", std::to_string(length),
                      "0 to " + std::to_string(steps), StatusCode::kInvalidArgument);
  const DataType type = inputs[kX].type->dtype;
  if (with_float_type(type, [&](auto t) { run_layer<decltype(t)>(params, inputs, outputs); })) return {};
  return Status(StatusCode::kUnsupported, "recurrent: element type: got " + std::string(to_string(type)) + ", need a float type");
}

}  // namespace ingot
