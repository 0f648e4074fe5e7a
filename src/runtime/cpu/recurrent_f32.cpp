// Float RNN, GRU and LSTM on gemm_f32.h. What a step takes from the input is one matrix product over many steps at once; what it
// takes from the state is a product of as many rows as there are sequences still running. Gates are then finished row by row.
// Sequences run backward or end early by pointers to their rows alone.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/cpu/f32_layer.h"
#include "runtime/cpu/gemm_f32_driver.h"
#include "runtime/cpu/rows_f32.h"
#include "runtime/ops/type_rule.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 192;  // of the input, multiplied together: their gates stay in the cache until they are used
enum InputIndex : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes, kInputs };
enum OutputIndex : size_t { kY, kYh, kYc };

const RecurrentParams& params_of(const Problem& problem) { return std::get<RecurrentParams>(problem.params); }

UnaryFunction function_of(int64_t activation) {
  switch (static_cast<RecurrentActivation>(activation)) {
    case RecurrentActivation::kRelu: return UnaryFunction::kRelu;
    case RecurrentActivation::kTanh: return UnaryFunction::kTanh;
    case RecurrentActivation::kSigmoid: return UnaryFunction::kSigmoid;
    case RecurrentActivation::kLeakyRelu: return UnaryFunction::kLeakyRelu;
    case RecurrentActivation::kThresholdedRelu: return UnaryFunction::kThresholdedRelu;
    case RecurrentActivation::kHardSigmoid: return UnaryFunction::kHardSigmoid;
    case RecurrentActivation::kElu: return UnaryFunction::kElu;
    case RecurrentActivation::kSoftsign: return UnaryFunction::kSoftsign;
    case RecurrentActivation::kSoftplus: return UnaryFunction::kSoftplus;
    default: return UnaryFunction::kCount;
  }
}

struct Sizes {
  int64_t steps, batch, inputs, hidden, directions, gates;
  // The weights say how many inputs there are: of x that may be known at run time only.
  static Sizes of(const RecurrentParams& params, const Shape& x, const Shape& w, const Shape& r) {
    const int time = params.batch_first ? 1 : 0;
    return {x[time], x[1 - time], w[2], r[2], r[0], recurrent_gates(params.cell)};
  }
  int64_t width() const { return gates * hidden; }
  int64_t steps_at_once() const { return std::clamp<int64_t>(kRowsAtOnce / std::max<int64_t>(batch, 1), 1, std::max<int64_t>(steps, 1)); }
};

// The products with the state: GRU's candidate waits for the reset gate unless that scales its result.
bool in_two(const RecurrentParams& params) { return params.cell == RecurrentCell::kGru && !params.linear_before_reset; }
int64_t first_width(const RecurrentParams& params, const Sizes& z) { return in_two(params) ? 2 * z.hidden : z.width(); }

// One direction's constants, in floats.
struct Packed {
  int64_t input, state, rest;
  static Packed of(const RecurrentParams& params, const Sizes& z) {
    return {blocks_of(z.width()) * kFloatBlock * z.inputs, blocks_of(first_width(params, z)) * kFloatBlock * z.hidden,
            in_two(params) ? blocks_of(z.hidden) * kFloatBlock * z.hidden : 0};
  }
  int64_t all() const { return input + state + rest; }
};

// Workspace, in bytes: scratch of each thread, then the gates from the input, from the state, reset states, zeros for a state
// that is not given, and of each sequence where its last state lies and its place in the batch.
struct Space {
  size_t scratch, from_input, from_state, reset, zeros, pointers, places;
  static size_t align(int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64 * 64); }
  static Space of(const Sizes& z) {
    const int64_t rows = std::max(kRowsAtOnce, z.batch);
    return {gemm_scratch_bytes(1, 0), align(rows * z.width() * 4), align(z.batch * z.width() * 4), align(z.batch * z.hidden * 4),
            align(z.hidden * 4), align(z.batch * 8), align(z.batch * 8)};
  }
  size_t bytes(int threads) const { return scratch * static_cast<size_t>(threads) + from_input + from_state + reset + zeros + pointers + places; }
};

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(const Problem& problem, const float* weights)
      : params_(params_of(problem)), w_shape_(problem.inputs[kW].type.shape), r_shape_(problem.inputs[kR].type.shape), weights_(weights),
        kernels_(float_kernels(problem.device.cpu)), rows_(row_kernels(problem.device.cpu)) {}

  Status run(const KernelArgs& args) noexcept override {
    const Sizes z = Sizes::of(params_, args.input_shapes[kX], w_shape_, r_shape_);
    const Space space = Space::of(z);
    auto* at = static_cast<std::byte*>(args.workspace);
    const auto take = [&]<class T>(T*& part, size_t bytes) { part = reinterpret_cast<T*>(at), at += bytes; };
    Run run{args, z};
    take(run.scratch, space.scratch * static_cast<size_t>(args.pool->threads()));
    take(run.from_input, space.from_input);
    take(run.from_state, space.from_state);
    take(run.reset, space.reset);
    float* zeros = nullptr;
    take(zeros, space.zeros);
    std::fill_n(zeros, z.hidden, 0.0f);
    run.zeros = zeros;
    take(run.states, space.pointers);
    take(run.places, space.places);
    run.lengths = given<int32_t>(args, kLengths);
    for (int64_t b = 0; run.lengths && b < z.batch; ++b)
      if (run.lengths[b] < 0 || run.lengths[b] > z.steps)
        return refuse("recurrent", "sequence length " + std::to_string(b), std::to_string(run.lengths[b]), "0 to " + std::to_string(z.steps),
                      StatusCode::kInvalidArgument);
    for (int64_t d = 0; d < z.directions; ++d) run_direction(run, d);
    return {};
  }

 private:
  template <class T>
  static const T* given(const KernelArgs& args, size_t i) {
    return i < args.inputs.size() ? static_cast<const T*>(args.inputs[i]) : nullptr;
  }

  // One call.
  struct Run {
    const KernelArgs& args;
    const Sizes z;
    std::byte* scratch = nullptr;
    float *from_input = nullptr, *from_state = nullptr, *reset = nullptr;
    const float* zeros = nullptr;
    const float** states = nullptr;  // of each running sequence, where its last state lies
    int64_t* places = nullptr;       // and its place in the batch
    const int32_t* lengths = nullptr;
    int64_t length(int64_t b) const { return lengths ? lengths[b] : z.steps; }
  };

  // y[r, 0 … channels) = row(r) · weights + bias, with rows `stride` floats apart in y.
  template <class Row>
  void multiply(const Run& run, int64_t rows, int64_t depth, const float* weights, int64_t channels, const float* bias, float* y, int64_t stride,
                Row&& row_at) const {
    FloatGemm g;
    g.rows = rows;
    g.blocks = blocks_of(channels);
    g.group_channels = channels;
    g.run_length = depth;
    g.weights = weights;
    g.epilogue.out = y;
    g.epilogue.bias = bias;
    run_gemm(g, kernels_, *run.args.pool, run.scratch, gemm_scratch_bytes(1, 0), [&](int64_t row, int64_t count, const RowTable& table) {
      for (int64_t i = 0; i < count; ++i) {
        table.pointers[i] = row_at(row + i);
        table.out_offsets[i] = (row + i) * stride;
      }
    });
  }

  float* state_at(const Run& run, size_t output, int64_t d, int64_t b) const {
    const Sizes& z = run.z;
    return static_cast<float*>(run.args.outputs[output]) + (params_.batch_first ? b * z.directions + d : d * z.batch + b) * z.hidden;
  }
  float* y_at(const Run& run, int64_t d, int64_t b, int64_t t) const {
    const Sizes& z = run.z;
    const int64_t place = params_.batch_first ? (b * z.steps + t) * z.directions + d : (t * z.directions + d) * z.batch + b;
    return static_cast<float*>(run.args.outputs[kY]) + place * z.hidden;
  }
  const float* x_at(const Run& run, int64_t b, int64_t t) const {
    const Sizes& z = run.z;
    return static_cast<const float*>(run.args.inputs[kX]) + (params_.batch_first ? b * z.steps + t : t * z.batch + b) * z.inputs;
  }
  bool is_backward(int64_t d) const { return params_.direction == RecurrentDirection::kReverse || d == 1; }
  // Where step s of a sequence lies; beyond its end anywhere.
  int64_t time_of(const Run& run, int64_t d, int64_t b, int64_t s) const {
    return is_backward(d) ? std::max<int64_t>(run.length(b) - 1 - s, 0) : s;
  }

  void run_direction(Run& run, int64_t d) const {
    const Sizes& z = run.z;
    const size_t state_bytes = static_cast<size_t>(z.hidden) * sizeof(float);
    const Packed packed = Packed::of(params_, z);
    const float* w = weights_ + d * packed.all();
    const float *r = w + packed.input, *rest = r + packed.state;
    const float* bias = given<float>(run.args, kBias);
    if (bias) bias += d * 2 * z.width();
    const float* state_bias = bias ? bias + z.width() : nullptr;
    const auto initial = [&](size_t input, int64_t b) {
      const float* states = given<float>(run.args, input);
      return states ? states + (params_.batch_first ? b * z.directions + d : d * z.batch + b) * z.hidden : run.zeros;
    };
    for (int64_t b = 0; b < z.batch; ++b) {
      if (params_.cell == RecurrentCell::kLstm && z.hidden > 0) std::memcpy(state_at(run, kYc, d, b), initial(kInitialC, b), state_bytes);
      run.states[b] = initial(kInitialH, b);
      run.places[b] = b;
    }
    const int64_t at_once = z.steps_at_once();
    int64_t running = z.batch;  // the first ones of places and states; those that end drop out
    const auto drop_ended = [&](int64_t s) {
      int64_t left = 0;
      for (int64_t i = 0; i < running; ++i) {
        const int64_t b = run.places[i];
        if (run.length(b) > s) {
          run.states[left] = run.states[i];
          run.places[left++] = b;
        } else if (z.hidden > 0) {
          std::memcpy(state_at(run, kYh, d, b), run.states[i], state_bytes);
          for (int64_t t = s; t < z.steps; ++t) std::memset(y_at(run, d, b, t), 0, state_bytes);
        }
      }
      running = left;
    };
    for (int64_t s = 0; s < z.steps && running > 0; ++s) {
      drop_ended(s);
      if (running == 0) break;
      const int64_t in_chunk = s % at_once;
      if (in_chunk == 0) {
        const int64_t steps = std::min(at_once, z.steps - s);
        multiply(run, steps * z.batch, z.inputs, w, z.width(), bias, run.from_input, z.width(),
                 [&](int64_t row) { return x_at(run, row % z.batch, time_of(run, d, row % z.batch, s + row / z.batch)); });
      }
      multiply(run, running, z.hidden, r, first_width(params_, z), state_bias, run.from_state, z.width(), [&](int64_t row) { return run.states[row]; });
      if (in_two(params_)) {
        for_rows(run, running, [&](int64_t i) { reset_state(run, in_chunk, i, d); });
        multiply(run, running, z.hidden, rest, z.hidden, state_bias ? state_bias + 2 * z.hidden : nullptr, run.from_state + 2 * z.hidden, z.width(),
                 [&](int64_t row) { return run.reset + row * z.hidden; });
      }
      for_rows(run, running, [&](int64_t i) { finish(run, d, s, in_chunk, i); });
      for (int64_t i = 0; i < running; ++i) run.states[i] = y_at(run, d, run.places[i], time_of(run, d, run.places[i], s));
    }
    drop_ended(z.steps);
  }

  template <class Row>
  static void for_rows(const Run& run, int64_t rows, Row&& row) {
    constexpr int64_t kUnitsPerThread = 1 << 12;
    run.args.pool->parallel_for(rows, std::max<int64_t>(1, kUnitsPerThread / std::max<int64_t>(run.z.width(), 1)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) row(i);
    });
  }

  float* input_gates(const Run& run, int64_t in_chunk, int64_t i) const {
    return run.from_input + (in_chunk * run.z.batch + run.places[i]) * run.z.width();
  }
  void activate(int64_t d, int which, float* x, int64_t n, bool clips = true) const {
    const float limit = static_cast<float>(params_.clip);
    for (int64_t j = 0; clips && limit > 0 && j < n; ++j) x[j] = x[j] > limit ? limit : x[j] < -limit ? -limit : x[j];
    const size_t at = static_cast<size_t>(d * recurrent_activations(params_.cell) + which);
    rows_.unary({function_of(params_.activations[at]), static_cast<float>(params_.alphas[at]), static_cast<float>(params_.betas[at])}, x, x, n);
  }
  void add(float* x, const float* y, int64_t n) const { rows_.add_to(x, y, n); }
  void multiply_rows(const float* a, const float* b, float* y, int64_t n) const { rows_.binary(BinaryFunction::kMul, {}, a, 1, b, 1, y, n); }

  // GRU: the state as the reset gate leaves it. The gates from the input become the gates.
  void reset_state(const Run& run, int64_t in_chunk, int64_t i, int64_t d) const {
    const int64_t h = run.z.hidden;
    float *gates = input_gates(run, in_chunk, i), *by_state = run.from_state + i * run.z.width();
    add(gates, by_state, 2 * h);
    activate(d, 0, gates, 2 * h);
    multiply_rows(gates + h, run.states[i], run.reset + i * h, h);
  }

  void finish(const Run& run, int64_t d, int64_t s, int64_t in_chunk, int64_t i) const {
    const int64_t h = run.z.hidden, b = run.places[i];
    float *gates = input_gates(run, in_chunk, i), *by_state = run.from_state + i * run.z.width();
    float* y = y_at(run, d, b, time_of(run, d, b, s));
    const float* before = run.states[i];
    if (params_.cell == RecurrentCell::kRnn) {
      rows_.binary(BinaryFunction::kAdd, {}, gates, 1, by_state, 1, y, h);
      return activate(d, 0, y, h);
    }
    if (params_.cell == RecurrentCell::kLstm) return finish_lstm(run, d, b, gates, by_state, y);
    float* candidate = gates + 2 * h;
    if (params_.linear_before_reset) {
      add(gates, by_state, 2 * h);
      activate(d, 0, gates, 2 * h);
      multiply_rows(gates + h, by_state + 2 * h, by_state + 2 * h, h);
    }
    add(candidate, by_state + 2 * h, h);
    activate(d, 1, candidate, h);
    for (int64_t j = 0; j < h; ++j) y[j] = (1 - gates[j]) * candidate[j] + gates[j] * before[j];
  }

  // Gates lie as i o f c.
  void finish_lstm(const Run& run, int64_t d, int64_t b, float* gates, const float* by_state, float* y) const {
    const int64_t h = run.z.hidden;
    float* c = state_at(run, kYc, d, b);
    const float* peepholes = given<float>(run.args, kPeepholes);
    if (peepholes) peepholes += d * 3 * h;
    float *input = gates, *output = gates + h, *forget = gates + 2 * h, *proposed = gates + 3 * h;
    add(gates, by_state, 4 * h);
    const auto add_peephole = [&](float* gate, int64_t which) {
      for (int64_t j = 0; peepholes && j < h; ++j) gate[j] += peepholes[which * h + j] * c[j];
    };
    add_peephole(input, 0);
    add_peephole(forget, 2);
    activate(d, 0, input, h);
    if (params_.input_forget)
      for (int64_t j = 0; j < h; ++j) forget[j] = 1 - input[j];
    else activate(d, 0, forget, h);
    activate(d, 1, proposed, h);
    for (int64_t j = 0; j < h; ++j) c[j] = forget[j] * c[j] + input[j] * proposed[j];
    add_peephole(output, 1);
    activate(d, 0, output, h);
    std::copy_n(c, h, y);
    activate(d, 2, y, h, false);
    multiply_rows(y, output, y, h);
  }

  RecurrentParams params_;
  Shape w_shape_, r_shape_;
  const float* weights_;
  const FloatKernels& kernels_;
  const RowKernels& rows_;
};

class RecurrentTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.recurrent.packed.f32", 1, OpKind::kRecurrent};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const RecurrentParams& params = params_of(problem);
    if (problem.inputs.size() < 3 || problem.inputs.size() > kInputs) return {"unknown operands"};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (size_t i = 0; i < operands.size(); ++i) {
        const Operand& operand = operands[i];
        if (!operand.present && (operands.data() == problem.outputs.data() || i < kBias)) return {"an operand is left out"};
        if (!operand.present) continue;
        const bool is_lengths = operands.data() == problem.inputs.data() && i == kLengths;
        if (operand.type.dtype != (is_lengths ? DataType::kS32 : DataType::kF32)) return {"an operand is not f32"};
        if (operand.type.layout != Layout::kLinear) return {"tensors are not row-major"};
      }
    if (!problem.inputs[kW].is_constant || !problem.inputs[kR].is_constant) return {"weights are not constant"};
    for (int64_t activation : params.activations)
      if (const UnaryFunction f = function_of(activation); f == UnaryFunction::kCount || !rows_know(f)) return {"no kernel for an activation"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override { return Space::of(sizes(problem)).bytes(problem.device.threads); }
  uint32_t packed_inputs(const Problem&) const override { return 1u << kW | 1u << kR; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const RecurrentParams& params = params_of(problem);
    const Sizes z = sizes(problem);
    Blob blob(static_cast<size_t>(floats(problem)) * sizeof(float));
    float* to = reinterpret_cast<float*>(blob.data());
    const float* w = reinterpret_cast<const float*>(problem.inputs[kW].constant.data());
    const float* r = reinterpret_cast<const float*>(problem.inputs[kR].constant.data());
    const auto pack = [&](const float* from, int64_t depth, int64_t channels) {
      pack_blocks(from, depth, channels, 1, depth, 0, blocks_of(channels), to);
      to += blocks_of(channels) * kFloatBlock * depth;
    };
    for (int64_t d = 0; d < z.directions; ++d, w += z.width() * z.inputs, r += z.width() * z.hidden) {
      pack(w, z.inputs, z.width());
      pack(r, z.hidden, first_width(params, z));
      if (in_two(params)) pack(r + 2 * z.hidden * z.hidden, z.hidden, z.hidden);
    }
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_ASSIGN(const float* weights, floats_in_blob("recurrent", blob, floats(problem)));
    return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(problem, weights));
  }

 private:
  static Sizes sizes(const Problem& problem) { return Sizes::of(params_of(problem), problem.inputs[kX].max_shape, problem.inputs[kW].type.shape, problem.inputs[kR].type.shape); }
  static int64_t floats(const Problem& problem) {
    const Sizes z = sizes(problem);
    return z.directions * Packed::of(params_of(problem), z).all();
  }
};

}  // namespace

std::span<const Tactic* const> recurrent_f32() {
  static const RecurrentTactic tactic;
  static const Tactic* const list[] = {&tactic};
  return list;
}

}  // namespace ingot::cpu
