// Times kernels on this machine, its processor or its GPU: one short run first, more for those that are close to the best of their problem.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "builder/tune/cost_model.h"
#include "runtime/device_backend.h"
#include "runtime/thread_pool.h"

namespace ingot {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeDeleter>;

Memory allocate(size_t bytes) { return Memory(std::aligned_alloc(64, (std::max<size_t>(bytes, 1) + 127) / 64 * 64)); }

// In a network other layers push a layer's weights out of the caches before it runs again; timed with weights at hand, a tactic
// that packs them eightfold would look better than it is.
void evict(const void* data, size_t bytes) {
#if defined(__x86_64__)
  for (size_t at = 0; at < bytes; at += 64) __builtin_ia32_clflush(static_cast<const char*>(data) + at);
  __builtin_ia32_mfence();
#else
  (void)data, (void)bytes;
#endif
}

// Values that a real tensor could have; zeros for wide integers, which may be indices.
void fill(void* data, DataType dtype, size_t bytes) {
  uint32_t state = 12345;
  const auto next = [&] { return state = state * 1664525u + 1013904223u, state >> 8; };
  if (dtype == DataType::kF32) {
    auto* values = static_cast<float*>(data);
    for (size_t i = 0; i < bytes / 4; ++i) values[i] = static_cast<float>(next() & 0xffff) / 32768.0f - 1.0f;
  } else if (dtype == DataType::kU8 || dtype == DataType::kS8) {
    auto* values = static_cast<uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>(next());
  } else {
    std::memset(data, 0, bytes);
  }
}

// Whether the values at hand lead to the shapes at hand; where shapes depend on data, made-up data need not.
bool gives_these_shapes(const OwnedProblem& problem, std::span<const void* const> values) {
  std::vector<OpInput> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    const bool row_major = operand.type.layout == Layout::kLinear;
    inputs.push_back({operand.type.dtype, problem.input_shapes[i], operand.is_constant ? operand.constant.data() : row_major ? values[i] : nullptr, operand.present});
  }
  std::vector<OpOutput> outputs(problem.outputs.size());
  if (!infer_types(problem.params, inputs, outputs).ok()) return false;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (problem.outputs[i].present && outputs[i].counted == 0 && !(outputs[i].shape == problem.output_shapes[i])) return false;
  return true;
}

class MeasuredCost final : public CostModel {
 public:
  MeasuredCost(const DeviceInfo& device, TimingCache& cache, double budget_s)
      : device_(device), cache_(cache), budget_s_(budget_s), estimate_(make_estimated_cost(device)),
        pool_(std::max(1, device.threads)), start_(Clock::now()) {}

  Expected<double> microseconds(const OwnedProblem& problem, const Tactic& tactic) override {
    const std::string key = problem_key(problem);
    const std::string name = std::string(tactic.info().name) + '@' + std::to_string(tactic.info().version);
    if (const auto known = cache_.find(device_.fingerprint, key, name)) return *known;
    if (budget_s_ > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > budget_s_)
      return estimate_->microseconds(problem, tactic);
    INGOT_ASSIGN(const double measured, measure(problem, tactic, key));
    cache_.store(device_.fingerprint, key, name, measured);
    return *cache_.find(device_.fingerprint, key, name);
  }

 private:
  Expected<double> measure(const OwnedProblem& problem, const Tactic& tactic, const std::string& key) {
    const Problem view = problem.view(device_);
    INGOT_ASSIGN(const Blob blob, tactic.prepare(view));
    Memory aligned = allocate(blob.size());
    if (!aligned) return Status(StatusCode::kOutOfMemory, "tuning: no memory for packed weights");
    if (!blob.empty()) std::memcpy(aligned.get(), blob.data(), blob.size());
    INGOT_ASSIGN(const auto kernel, tactic.load(view, {static_cast<const std::byte*>(aligned.get()), blob.size()}));
    if (device_.backend != Backend::kCpu) return measure_on_device(problem, tactic, view, *kernel);
    std::vector<Memory> memory;
    const uint32_t packed = tactic.packed_inputs(view);
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Operand& operand = problem.inputs[i];
      if (!operand.present || (packed >> i & 1)) {
        inputs.push_back(nullptr);
      } else if (operand.is_constant) {
        inputs.push_back(operand.constant.data());
      } else {
        const size_t bytes = static_cast<size_t>(problem.input_shapes[i].elements()) * element_bytes(operand.type.dtype);
        memory.push_back(allocate(bytes));
        if (!memory.back()) return Status(StatusCode::kOutOfMemory, "tuning: no memory for an input");
        fill(memory.back().get(), operand.type.dtype, bytes);
        inputs.push_back(memory.back().get());
      }
    }
    for (size_t i = 0; i < problem.outputs.size(); ++i) {
      const size_t bytes = static_cast<size_t>(problem.output_shapes[i].elements()) * element_bytes(problem.outputs[i].type.dtype);
      memory.push_back(allocate(bytes));
      if (!memory.back()) return Status(StatusCode::kOutOfMemory, "tuning: no memory for an output");
      outputs.push_back(memory.back().get());
    }
    Memory workspace = allocate(tactic.workspace_bytes(view));
    if (!workspace) return Status(StatusCode::kOutOfMemory, "tuning: no memory for a workspace");
    std::vector<Shape> produced = problem.output_shapes;
    const KernelArgs args{inputs, outputs, problem.input_shapes, produced, workspace.get(), &pool_, produced};

    double& best_of_problem = best_.try_emplace(key, 1e30).first->second;
    double best = 1e30, total = 0;
    for (int run = 0; run < 30; ++run) {
      std::copy(problem.output_shapes.begin(), problem.output_shapes.end(), produced.begin());  // kernels that count their output change it
      evict(aligned.get(), blob.size());
      const auto before = Clock::now();
      if (Status status = kernel->run(args); !status.ok()) {
        if (!gives_these_shapes(problem, inputs)) return estimate_->microseconds(problem, tactic);
        return status;
      }
      const double elapsed = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
      total += elapsed;
      if (run > 0 || elapsed > 50000) best = std::min(best, elapsed);  // the first run is cold
      if (elapsed > 50000 || (run >= 2 && (total > 20000 || best > 3 * best_of_problem))) break;
    }
    best_of_problem = std::min(best_of_problem, best);
    return best;
  }

  Expected<double> measure_on_device(const OwnedProblem& problem, const Tactic& tactic, const Problem& view, Kernel& kernel) {
    DeviceCall call;
    std::vector<std::vector<std::byte>> values(problem.inputs.size());
    const uint32_t packed = tactic.packed_inputs(view);
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      const Operand& operand = problem.inputs[i];
      call.host_inputs.push_back(operand.is_constant ? operand.constant.data() : nullptr);
      call.inputs.emplace_back();
      if (!operand.present || (packed >> i & 1)) continue;
      if (operand.is_constant) {
        values[i].assign(operand.constant.begin(), operand.constant.end());
      } else {
        values[i].resize(static_cast<size_t>(problem.input_shapes[i].elements()) * element_bytes(operand.type.dtype));
        fill(values[i].data(), operand.type.dtype, values[i].size());
      }
      if (values[i].empty()) values[i].resize(1);  // a null pointer would say that it is left out
      call.inputs.back() = values[i];
    }
    for (size_t i = 0; i < problem.outputs.size(); ++i)
      call.output_bytes.push_back(static_cast<size_t>(problem.output_shapes[i].elements()) * element_bytes(problem.outputs[i].type.dtype));
    std::vector<Shape> produced = problem.output_shapes;
    call.input_shapes = problem.input_shapes;
    call.output_shapes = produced;
    call.workspace_bytes = tactic.workspace_bytes(view);
    return time_on_device(device_.backend, kernel, call);
  }

  const DeviceInfo& device_;
  TimingCache& cache_;
  double budget_s_;
  std::unique_ptr<CostModel> estimate_;
  ThreadPool pool_;
  Clock::time_point start_;
  std::map<std::string, double> best_;
};

}  // namespace

std::unique_ptr<CostModel> make_measured_cost(const DeviceInfo& device, TimingCache& cache, double budget_s) {
  return std::make_unique<MeasuredCost>(device, cache, budget_s);
}

}  // namespace ingot
