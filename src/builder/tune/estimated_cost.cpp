// Costs without a device: operations and bytes at assumed rates, of one AVX2 core or of a GPU, whose matrix kernels bring a model of
// their own (Tactic::estimate). Rough, but the same on every machine.
#include <algorithm>

#include "builder/tune/cost_model.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

double multiply_adds(const OwnedProblem& problem) {
  double outputs = 0;
  for (const Shape& shape : problem.output_shapes) outputs += static_cast<double>(shape.elements());
  const Shape weights = problem.inputs.size() > 1 && problem.inputs[1].present ? problem.input_shapes[1] : Shape();
  switch (kind_of(problem.params)) {
    case OpKind::kConv: {
      double kernel = 1;
      for (int i = 1; i < weights.rank; ++i) kernel *= static_cast<double>(weights[i]);
      return outputs * kernel;
    }
    case OpKind::kConvTranspose: {
      double kernel = 1;
      for (int i = 1; i < weights.rank; ++i) kernel *= static_cast<double>(weights[i]);
      return static_cast<double>(problem.input_shapes[0].elements()) * kernel;
    }
    case OpKind::kMatMul: {
      const Shape& a = problem.input_shapes[0];
      const bool transposed = std::get<MatMulParams>(problem.params).transpose_a;
      return a.rank == 0 ? outputs : outputs * static_cast<double>(a[std::max(0, a.rank - (transposed && a.rank > 1 ? 2 : 1))]);
    }
    default: return outputs;
  }
}

constexpr double kGpuLaunch = 2, kGpuProducts = 5e6, kGpuBytes = 1e6;  // microseconds; in a microsecond

class EstimatedCost final : public CostModel {
 public:
  explicit EstimatedCost(const DeviceInfo& device) : device_(device), threads_(std::max(1, device.threads)) {}

  Expected<double> microseconds(const OwnedProblem& problem, const Tactic& tactic) override {
    if (device_.backend != Backend::kCpu)
      if (const double modelled = tactic.estimate(problem.view(device_), problem.input_shapes, problem.output_shapes); modelled >= 0) return modelled;
    double bytes = 0;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      if (problem.inputs[i].present)
        bytes += static_cast<double>(problem.input_shapes[i].elements() * static_cast<int64_t>(element_bytes(problem.inputs[i].type.dtype)));
    for (size_t i = 0; i < problem.outputs.size(); ++i)
      bytes += static_cast<double>(problem.output_shapes[i].elements() * static_cast<int64_t>(element_bytes(problem.outputs[i].type.dtype)));
    if (device_.backend != Backend::kCpu) return kGpuLaunch + multiply_adds(problem) / kGpuProducts + bytes / kGpuBytes;
    const bool integer = !problem.inputs.empty() && problem.inputs[0].present && !is_float(problem.inputs[0].type.dtype);
    const double rate = integer ? 80e3 : 40e3;  // multiply-adds in a microsecond
    double cost = 0.5 + (multiply_adds(problem) / rate + bytes / 10e3) / threads_;
    if (tactic.info().name.ends_with(".reference")) cost *= 50;
    // The list's order decides between tactics that would tie.
    const auto tactics = TacticRegistry::builtin().for_op(kind_of(problem.params));
    const auto place = std::find(tactics.begin(), tactics.end(), &tactic) - tactics.begin();
    return cost * (1 + 0.01 * static_cast<double>(place));
  }

 private:
  const DeviceInfo device_;
  double threads_;
};

}  // namespace

std::unique_ptr<CostModel> make_estimated_cost(const DeviceInfo& device) { return std::make_unique<EstimatedCost>(device); }

}  // namespace ingot
