// Each step is judged on its own inputs, so an error is found where it is made and nothing accumulates.
#include "builder/verify_engine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "builder/float_tolerance.h"
#include "runtime/step_observer.h"
#include "runtime/ops/half.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

// Elements of a float type of up to 32 bits; empty for other types, which are compared by byte.
std::vector<float> as_floats(DataType type, const std::vector<std::byte>& bytes) {
  std::vector<float> values;
  if (type == DataType::kF32) {
    values.resize(bytes.size() / sizeof(float));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else if (type == DataType::kF16 || type == DataType::kBF16) {
    const auto* halves = reinterpret_cast<const uint16_t*>(bytes.data());
    for (size_t i = 0; i < bytes.size() / sizeof(uint16_t); ++i) values.push_back(type == DataType::kF16 ? f16_to_f32(halves[i]) : bf16_to_f32(halves[i]));
  }
  return values;
}

// One operand in linear layout, whatever the slot's.
class LinearCopy {
 public:
  LinearCopy(const TensorType& type, const void* data) : type_(type) {
    type_.layout = Layout::kLinear;
    bytes_.resize(static_cast<size_t>(std::max<int64_t>(type.bytes(), 0)));
    if (type.layout == Layout::kLinear || type.shape.rank < 3) {
      if (!bytes_.empty()) std::memcpy(bytes_.data(), data, bytes_.size());
      return;
    }
    int64_t inner = 1;
    for (int i = 2; i < type.shape.rank; ++i) inner *= type.shape[i];
    const int64_t channels = type.shape[1];
    const size_t size = element_bytes(type.dtype);
    const auto* source = static_cast<const std::byte*>(data);
    for (int64_t n = 0; n < type.shape[0]; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t p = 0; p < inner; ++p)
          std::memcpy(bytes_.data() + static_cast<size_t>((n * channels + c) * inner + p) * size,
                      source + static_cast<size_t>((n * inner + p) * channels + c) * size, size);
  }
  ConstTensorRef ref() const { return {&type_, bytes_.data()}; }
  const TensorType& type() const { return type_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  TensorType type_;
  std::vector<std::byte> bytes_;
};

class Verifier final : public StepObserver {
 public:
  struct Findings {
    VerifyResult result;
    Status status;
  };

  Verifier(const Graph& graph, const EmittedPlan& emitted, const std::atomic<bool>* stop, Findings& findings)
      : result(findings.result), status(findings.status), graph_(graph), emitted_(emitted), step_nodes_(emitted.step_nodes), stop_(stop),
        findings_(findings) {}

  void after_step(size_t index, const Step& step, std::span<const ConstTensorRef> inputs, std::span<const ConstTensorRef> outputs,
                  double) override {
    if (status.ok() && stop_ && *stop_) status = Status(StatusCode::kInterrupted, "build: interrupted while verifying");
    if (status.ok() && !step.shape_step && step.bodies.empty()) status = check(index, step, inputs, outputs);
  }

  StepObserver* inside(size_t index, const Step& step, size_t body) override {
    std::unique_ptr<Verifier>& inner = inside_[{index, body}];
    if (!inner) {
      const Graph& graph = graph_.node(step_nodes_[index]).bodies[body];
      inner = std::make_unique<Verifier>(graph, emitted_.bodies[step.bodies[body]], stop_, findings_);
    }
    return inner.get();
  }

 private:
  Status check(size_t index, const Step& step, std::span<const ConstTensorRef> inputs, std::span<const ConstTensorRef> outputs) {
    const Node* node = step_nodes_[index] == kNone ? nullptr : &graph_.node(step_nodes_[index]);
    std::vector<LinearCopy> copies;
    copies.reserve(inputs.size() + outputs.size());
    std::vector<ConstTensorRef> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId value = node && i < node->inputs.size() ? node->inputs[i] : kNone;
      if (value != kNone && graph_.is_constant(value)) {
        operands.push_back({&graph_.value(value).type, graph_.value(value).constant->data()});
      } else if (!inputs[i] || !inputs[i].data) {
        operands.push_back({});
      } else {
        copies.emplace_back(*inputs[i].type, inputs[i].data);
        operands.push_back(copies.back().ref());
      }
    }
    std::vector<LinearCopy> actual;
    std::vector<TensorType> types;
    std::vector<std::vector<std::byte>> expected;
    for (const ConstTensorRef& output : outputs) {
      if (!output) {
        // An output nobody asked for; reference code still writes it if it has to.
        types.emplace_back();
        expected.emplace_back();
        continue;
      }
      actual.emplace_back(*output.type, output.data);
      types.push_back(actual.back().type());
      expected.emplace_back(actual.back().bytes().size());
    }
    std::vector<TensorRef> results;
    std::vector<Shape> produced;
    for (const TensorType& type : types) produced.push_back(type.shape);
    for (size_t i = 0; i < types.size(); ++i)
      results.push_back(outputs[i] ? TensorRef{&types[i], expected[i].data(), &produced[i]} : TensorRef{});
    INGOT_TRY(run_reference(step.params, operands, results));
    for (size_t i = 0; i < types.size(); ++i)
      if (outputs[i] && !(produced[i] == types[i].shape))
        return Status(StatusCode::kCheckFailed, "verification: step '" + step.name + "' by " + step.tactic + " gives shape " +
                                                    to_string(types[i].shape) + ", reference code " + to_string(produced[i]));
    size_t next = 0;
    const double scale = cancelled_scale(step.params, operands);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) INGOT_TRY(compare(step, types[i], expected[i], actual[next++].bytes(), scale));
    ++result.steps;
    return {};
  }

  // A norm of equal elements is the quotient of a difference that cancels, by √ε: what rounding leaves of it is no error. The
  // magnitude whose step_tolerance() is some ulps of the input so amplified; 0 for other ops.
  static double cancelled_scale(const OpParams& params, std::span<const ConstTensorRef> operands) {
    const auto* layer = std::get_if<LayerNormParams>(&params);
    const auto* instance = std::get_if<InstanceNormParams>(&params);
    if (!layer && !instance) return 0;
    const auto largest = [](const ConstTensorRef& tensor) {
      double most = 0;
      if (!tensor || !tensor.data) return most;
      const auto* data = static_cast<const std::byte*>(tensor.data);
      for (float x : as_floats(tensor.type->dtype, {data, data + tensor.type->bytes()})) most = std::max(most, std::abs(static_cast<double>(x)));
      return most;
    };
    const double epsilon = layer ? layer->epsilon : instance->epsilon;
    const double weight = operands.size() > 1 && operands[1] ? largest(operands[1]) : 1;
    const double scale = 1e-3 * largest(operands[0]) * weight / std::sqrt(std::max(epsilon, 1e-12));
    return std::isfinite(scale) ? scale : 0;
  }

  Status compare(const Step& step, const TensorType& type, const std::vector<std::byte>& expected, const std::vector<std::byte>& actual,
                 double cancelled) {
    const auto fail = [&](const std::string& what) {
      return Status(StatusCode::kCheckFailed, "verification: step '" + step.name + "' by " + step.tactic +
                                                  " differs from reference code: " + what + "; please report this, and build with --reference meanwhile");
    };
    const bool is_half = type.dtype == DataType::kF16 || type.dtype == DataType::kBF16;
    if (type.dtype != DataType::kF32 && (!is_half || expected == actual)) {
      for (size_t i = 0; i < expected.size(); ++i)
        if (expected[i] != actual[i])
          return fail("byte " + std::to_string(i) + " is " + std::to_string(static_cast<int>(actual[i])) + ", need " +
                      std::to_string(static_cast<int>(expected[i])));
      ++result.exact_steps;
      return {};
    }
    const std::vector<float> want = as_floats(type.dtype, expected), got = as_floats(type.dtype, actual);
    const size_t count = want.size();
    double largest = 0, error = 0;
    for (size_t i = 0; i < count; ++i) {
      if (std::isnan(want[i]) != std::isnan(got[i])) return fail("element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", need " + std::to_string(want[i]));
      if (!std::isfinite(want[i]) || !std::isfinite(got[i])) {
        if (!std::isnan(want[i]) && want[i] != got[i]) return fail("element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", need " + std::to_string(want[i]));
        continue;
      }
      largest = std::max(largest, std::abs(static_cast<double>(want[i])));
      error = std::max(error, std::abs(static_cast<double>(want[i]) - static_cast<double>(got[i])));
    }
    const Tactic* tactic = TacticRegistry::builtin().find(step.tactic);
    const double tolerance = std::max(step_tolerance(type.dtype), step_tolerance(tactic ? tactic->info().arithmetic : DataType::kF32));
    if (error > tolerance * std::max({largest, 1e-3, cancelled}))
      return fail("error " + std::to_string(error) + " where values reach " + std::to_string(largest));
    if (largest > 0) result.largest_error = std::max(result.largest_error, error / std::max(largest, 1e-3));
    return {};
  }

  VerifyResult& result;
  Status& status;
  const Graph& graph_;
  const EmittedPlan& emitted_;
  std::span<const NodeId> step_nodes_;
  const std::atomic<bool>* stop_;
  Findings& findings_;
  std::map<std::pair<size_t, size_t>, std::unique_ptr<Verifier>> inside_;  // by step and body
};

std::vector<NamedTensor> random_sample(const Engine& engine) {
  std::vector<NamedTensor> sample;
  uint32_t state = 1;
  for (const TensorInfo& input : engine.inputs()) {
    NamedTensor tensor{input.name, input.dtype, input.opt, {}};
    const auto count = static_cast<size_t>(input.opt.elements());
    tensor.data.resize(count * element_bytes(input.dtype));
    for (size_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      if (input.dtype == DataType::kF32) {
        const float value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1.0f;
        std::memcpy(tensor.data.data() + i * 4, &value, 4);
      } else if (input.dtype == DataType::kS64) {
        const int64_t one = 1;  // valid as a token, an index or a mask
        std::memcpy(tensor.data.data() + i * 8, &one, 8);
      } else if (input.dtype == DataType::kS32) {
        const int32_t one = 1;
        std::memcpy(tensor.data.data() + i * 4, &one, 4);
      } else if (element_bytes(input.dtype) == 1) {
        tensor.data[i] = static_cast<std::byte>(input.dtype == DataType::kBool ? 1 : state >> 24);
      }
    }
    sample.push_back(std::move(tensor));
  }
  return sample;
}

}  // namespace

Expected<VerifyResult> verify_engine(const Graph& graph, const EmittedPlan& emitted, const Engine& engine,
                                     std::span<const NamedTensor> sample, const std::atomic<bool>* stop) {
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  for (const TensorInfo& output : engine.outputs()) (void)context.output_buffer(output.name);
  if (sample.empty()) INGOT_TRY(feed_sample(context, engine, random_sample(engine)));
  else INGOT_TRY(feed_sample(context, engine, sample));
  Verifier::Findings findings;
  Verifier verifier(graph, emitted, stop, findings);
  context.set_observer(&verifier);
  Status run = context.run();
  if (!findings.status.ok()) return std::move(findings.status);
  // Random data may lead to sizes that no real data leads to: what ran before is verified, what follows is not.
  const bool may_fail = sample.empty() && std::any_of(engine.plan().steps.begin(), engine.plan().steps.end(), [](const Step& step) { return step.late; });
  // The caller limits the iterations of loops (kVerifiedIterations), however long the model would go on.
  const bool cut_short = run.message().find("loops ran too long") != std::string_view::npos;
  if (!run.ok() && !cut_short && !(may_fail && run.code() == StatusCode::kInvalidArgument)) return run;
  return findings.result;
}

}  // namespace ingot
