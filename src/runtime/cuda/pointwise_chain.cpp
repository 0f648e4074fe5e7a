// Chains, and single element-wise ops that have no kernel of their own, by kernels that are generated while the plan is made and kept
// in it (chain_source.h, runtime/kernel_image.h).
#include <algorithm>
#include <array>

#include "runtime/chain_problem.h"
#include "runtime/cuda/chain_params.h"
#include "runtime/cuda/chain_source.h"
#include "runtime/cuda/launch.h"
#include "runtime/kernel_image.h"
#include "runtime/move_views.h"

namespace ingot::cuda {
namespace {

// Dims of the result in the order of its memory, joined where every operand allows it, with each operand's strides.
void set_walk(ChainParams& p, const Shape& y, Layout layout, std::span<const Shape> shapes, std::span<const Layout> layouts) {
  const Strides out = strides_of(y, layout);
  std::array<Strides, kMaxChainInputs> strides{};
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Strides own = strides_of(shapes[i], layouts[i]);
    for (int d = 0; d < y.rank; ++d) {
      const int from = d - (y.rank - shapes[i].rank);
      strides[i][static_cast<size_t>(d)] = from < 0 || shapes[i][from] == 1 ? 0 : own[static_cast<size_t>(from)];
    }
  }
  std::array<int, Shape::kMaxRank> order{};
  for (int d = 0; d < y.rank; ++d) order[static_cast<size_t>(d)] = d;
  std::stable_sort(order.begin(), order.begin() + y.rank, [&](int a, int b) { return out[static_cast<size_t>(a)] > out[static_cast<size_t>(b)]; });
  p.rank = 0;
  for (int i = 0; i < y.rank; ++i) {
    const auto d = static_cast<size_t>(order[static_cast<size_t>(i)]);
    const int64_t dim = y[static_cast<int>(d)];
    if (dim == 1) continue;
    bool joins = p.rank > 0;
    for (size_t k = 0; k < shapes.size() && joins; ++k) joins = p.strides[k][p.rank - 1] == strides[k][d] * dim;
    const int at = joins ? p.rank - 1 : p.rank++;
    p.dims[at] = joins ? p.dims[at] * dim : dim;
    for (size_t k = 0; k < shapes.size(); ++k) p.strides[k][at] = strides[k][d];
  }
  if (p.rank > 0) return;
  p.rank = 1;
  p.dims[0] = 1;
  for (size_t k = 0; k < shapes.size(); ++k) p.strides[k][0] = 0;
}

class ChainKernel final : public Kernel {
 public:
  ChainKernel(Device& device, LoadedModule module, CUfunction function, const Problem& problem, int64_t reduced_dims)
      : device_(device), module_(std::move(module)), function_(function), reduced_dims_(reduced_dims), layout_(problem.outputs[0].type.layout) {
    for (size_t i = 0; i < problem.inputs.size(); ++i) layouts_[i] = problem.inputs[i].type.layout;
  }
  Status run(const KernelArgs& args) noexcept override {
    ChainParams p{};
    Shape full;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      p.inputs[i] = args.inputs[i];
      broadcast_shapes(full, args.input_shapes[i], full);
    }
    p.output = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
    if (p.elements == 0) return {};
    p.set_size = 1;
    for (int d = full.rank - static_cast<int>(reduced_dims_); d < full.rank; ++d) p.set_size *= full[d];
    set_walk(p, full, reduced_dims_ > 0 ? Layout::kLinear : layout_, args.input_shapes, std::span<const Layout>(layouts_).first(args.inputs.size()));
    return launch(device_, function_, {reduced_dims_ > 0 ? p.elements : blocks_for(p.elements)}, kThreads, 0, args.stream, p);
  }

 private:
  Device& device_;
  LoadedModule module_;
  CUfunction function_;
  int64_t reduced_dims_;
  Layout layout_;
  std::array<Layout, kMaxChainInputs> layouts_{};
};

class GeneratedTactic final : public Tactic {
 public:
  GeneratedTactic(std::string_view name, OpKind op) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    ChainProblem chain;
    if (const char* refusal = read_chain(problem, chain)) return {refusal};
    if (!problem.device.generated) return {"kernels are generated only where the engine is built with libnvrtc"};
    if (problem.outputs[0].type.shape.rank > Shape::kMaxRank) return {"too many dims"};
    if (chain.reduction.reduced_dims == 0) return {};
    if (chain.output != DataType::kF32 || chain.reduction.reduce == ReduceFunction::kLogSumExp) return {"no kernel for this reduction"};
    return problem.outputs[0].type.layout == Layout::kLinear ? Support{} : Support{"a reduction writes a row-major result"};
  }
  Expected<Blob> prepare(const Problem& problem) const override {
    ChainProblem chain;
    if (const char* refusal = read_chain(problem, chain)) return Status(StatusCode::kUnsupported, std::string(info_.name) + ": " + refusal);
    if (!problem.device.compiler) return Status(StatusCode::kUnsupported, std::string(info_.name) + ": no compiler of kernels is at hand");
    return problem.device.compiler->compile(chain_source(chain), problem.device.cuda_capability);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    ChainProblem chain;
    if (const char* refusal = read_chain(problem, chain)) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": " + refusal);
    INGOT_ASSIGN(const KernelImage image, read_kernel_image(blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    INGOT_ASSIGN(LoadedModule module, LoadedModule::load(*device, image));
    INGOT_ASSIGN(const CUfunction function, module.function(kChainKernel));
    return std::unique_ptr<Kernel>(std::make_unique<ChainKernel>(*device, std::move(module), function, problem, chain.reduction.reduced_dims));
  }

 private:
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> pointwise_chain() {
  static const GeneratedTactic chain("cuda.pointwise_chain.generated", OpKind::kPointwiseChain), unary("cuda.unary.generated", OpKind::kUnary),
      binary("cuda.binary.generated", OpKind::kBinary), where("cuda.where.generated", OpKind::kWhere), cast("cuda.cast.generated", OpKind::kCast);
  static const std::array<const Tactic*, 5> list = {&chain, &unary, &binary, &where, &cast};
  return list;
}

}  // namespace ingot::cuda
