// Recurrent layers: one matrix product of the whole input, then a launch or two for each step (kernels/recurrent.cu), both directions
// side by side; in a recorded run they follow each other without the host. A sequence_lens outside 0 … S is taken as the nearer end.
#include <algorithm>
#include <array>
#include <string>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/recurrent_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/ops/recurrent.h"
#include "runtime/s8_problem.h"

namespace ingot::cuda {
namespace {

enum InputIndex : size_t { kX, kW, kR, kBias, kLengths, kInitialH, kInitialC, kPeepholes };
constexpr int64_t kTile = 64, kTogether = 4, kWarps = 4;

class RecurrentKernel final : public Kernel {
 public:
  RecurrentKernel(Device& device, RecurrentParams op, CUfunction multiplies, CUfunction resets, CUfunction steps)
      : device_(device), op_(std::move(op)), multiplies_(multiplies), resets_(resets), steps_(steps) {
    params_.batch_first = op_.batch_first;
    params_.reverse = op_.direction == RecurrentDirection::kReverse;
    params_.input_forget = op_.input_forget;
    params_.clip = static_cast<float>(op_.clip);
    for (size_t i = 0; i < op_.activations.size() && i < 6; ++i) {
      params_.activations[i] = static_cast<int32_t>(op_.activations[i]);
      params_.alphas[i] = static_cast<float>(op_.alphas[i]);
      params_.betas[i] = static_cast<float>(op_.betas[i]);
    }
  }

  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[kX], &r = args.input_shapes[kR];
    const int64_t gates = recurrent_gates(op_.cell), directions = r[0], hidden = r[2], width = x[2];
    const int64_t steps = x[op_.batch_first ? 1 : 0], batch = x[op_.batch_first ? 0 : 1], rows = steps * batch;
    if (batch * hidden == 0) return {};
    if (blocks_for(batch, kTogether) > 65535 || std::max({steps, hidden * gates, width}) > (int64_t{1} << 30))
      return Status(StatusCode::kUnsupported, "cuda: recurrent layer is too large: got a batch of " + std::to_string(batch) + ", " + std::to_string(steps) +
                                                  " steps, " + std::to_string(hidden) + " units, need at most 262140 sequences and 2^30 steps and units");
    const auto input = [&](size_t i) { return i < args.inputs.size() ? args.inputs[i] : nullptr; };
    RecurrentStep p = params_;
    auto* products = static_cast<float*>(args.workspace);
    if (rows > 0) INGOT_TRY(multiply(args, products, rows, directions, gates * hidden, width));
    p.from_input = products;
    p.reset = products + rows * directions * gates * hidden;
    p.r = static_cast<const float*>(input(kR));
    p.bias = static_cast<const float*>(input(kBias));
    p.lengths = static_cast<const int32_t*>(input(kLengths));
    p.h0 = static_cast<const float*>(input(kInitialH));
    p.c0 = static_cast<const float*>(input(kInitialC));
    p.peepholes = static_cast<const float*>(input(kPeepholes));
    p.y = static_cast<float*>(args.outputs[0]);
    p.y_h = static_cast<float*>(args.outputs[1]);
    p.y_c = args.outputs.size() > 2 ? static_cast<float*>(args.outputs[2]) : nullptr;
    p.rows = rows;
    p.steps = static_cast<int32_t>(steps);
    p.batch = static_cast<int32_t>(batch);
    p.hidden = static_cast<int32_t>(hidden);
    p.directions = static_cast<int32_t>(directions);
    const Grid grid{blocks_for(hidden, kWarps), static_cast<int>(directions), static_cast<int>(blocks_for(batch, kTogether))};
    for (p.step = 0; p.step == 0 || p.step < p.steps; ++p.step) {
      if (resets_) INGOT_TRY(launch(device_, resets_, grid, 128, 0, args.stream, p));
      INGOT_TRY(launch(device_, steps_, grid, 128, 0, args.stream, p));
    }
    return {};
  }

 private:
  // w x + bias of w, for all steps and directions.
  Status multiply(const KernelArgs& args, float* products, int64_t rows, int64_t directions, int64_t columns, int64_t width) const {
    GemmF32 p{};
    p.a = static_cast<const float*>(args.inputs[kX]);
    p.b = static_cast<const float*>(args.inputs[kW]);
    p.rows = rows;
    p.columns = static_cast<int32_t>(columns);
    p.k = static_cast<int32_t>(width);
    p.row_tiles = static_cast<int32_t>(blocks_for(rows, kTile));
    p.batch_rank = 1;
    p.batch_dims[0] = directions;
    p.b_batch[0] = columns * width;
    p.a_row = width;
    p.a_channel = 1;
    p.b_channel = 1;
    p.b_column = width;
    p.out_batch = rows * columns;
    p.out_plane = rows;
    p.out_row = columns;
    p.out_column = 1;
    p.bias_batch = static_cast<int32_t>(2 * columns);
    p.epilogue.bias = args.inputs.size() > kBias ? static_cast<const float*>(args.inputs[kBias]) : nullptr;
    p.epilogue.out = products;
    p.epilogue.multiplier = 1;
    p.epilogue.function = static_cast<int32_t>(UnaryFunction::kIdentity);
    return launch(device_, multiplies_, {p.row_tiles * directions, static_cast<int>(blocks_for(columns, kTile))}, 256, 0, args.stream, p);
  }

  Device& device_;
  RecurrentParams op_;
  CUfunction multiplies_, resets_, steps_;
  RecurrentStep params_{};
};

class RecurrentTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.recurrent.steps.f32", 1, OpKind::kRecurrent};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const auto& op = std::get<RecurrentParams>(problem.params);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      if (!problem.inputs[i].present) continue;
      if (problem.inputs[i].type.dtype != (i == kLengths ? DataType::kS32 : DataType::kF32)) return {"an operand is not f32"};
      if (problem.inputs[i].type.layout != Layout::kLinear) return {"tensors are not row-major"};
    }
    if (problem.outputs.size() != (op.cell == RecurrentCell::kLstm ? 3u : 2u)) return {"an output is left out"};
    for (const Operand& output : problem.outputs) {
      if (!output.present || output.type.dtype != DataType::kF32) return {"an output is left out, or not f32"};
      if (output.type.layout != Layout::kLinear) return {"tensors are not row-major"};
    }
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    const auto& op = std::get<RecurrentParams>(problem.params);
    const Shape &x = problem.inputs[kX].max_shape, &r = problem.inputs[kR].max_shape;
    const int64_t batch = x[op.batch_first ? 0 : 1], states = r[0] * batch * r[2];
    return static_cast<size_t>(r[0] * x[0] * x[1] * r[1] + (resets(op) ? states : 0)) * sizeof(float);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto& op = std::get<RecurrentParams>(problem.params);
    CUfunction reset = nullptr;
    if (resets(op)) {
      INGOT_ASSIGN(reset, device->function("recurrent_gru_reset", 0));
    }
    const char* const name = op.cell == RecurrentCell::kLstm ? "recurrent_lstm" : op.cell == RecurrentCell::kRnn ? "recurrent_rnn"
                             : resets(op) ? "recurrent_gru_update" : "recurrent_gru";
    INGOT_ASSIGN(const CUfunction step, device->function(name, 0));
    INGOT_ASSIGN(const CUfunction multiplies, device->function("gemm_f32_rows", 0));
    return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(*device, op, multiplies, reset, step));
  }

 private:
  // Whether the reset gate is a launch of its own.
  static bool resets(const RecurrentParams& op) { return op.cell == RecurrentCell::kGru && !op.linear_before_reset; }
};

}  // namespace

std::span<const Tactic* const> recurrent() {
  static const RecurrentTactic recurrent;
  static const std::array<const Tactic*, 1> list = {&recurrent};
  return list;
}

}  // namespace ingot::cuda
