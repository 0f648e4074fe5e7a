// Ops that only move elements (runtime/move_views.h): one launch for each strided copy, or one of the tiled kernel where a matrix
// turns. And Gather along an axis.
#include <array>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/move_views.h"
#include "runtime/ops/gather.h"

namespace ingot::cuda {
namespace {

// A copy without dims of size 1, neighbours that run on merged.
StridedCopy merged(const StridedCopy& view) {
  StridedCopy m;
  for (size_t i = 0; i < static_cast<size_t>(view.rank); ++i) {
    if (view.dims[i] == 1) continue;
    const auto last = static_cast<size_t>(m.rank - 1);
    if (m.rank > 0 && m.source_strides[last] == view.source_strides[i] * view.dims[i] && m.target_strides[last] == view.target_strides[i] * view.dims[i]) {
      m.dims[last] *= view.dims[i];
      m.source_strides[last] = view.source_strides[i];
      m.target_strides[last] = view.target_strides[i];
    } else {
      m.add_dim(view.dims[i], view.source_strides[i], view.target_strides[i]);
    }
  }
  return m;
}

class MoveKernel final : public Kernel {
 public:
  MoveKernel(Device& device, const Problem& problem, CUfunction copy, CUfunction turn)
      : device_(device), move_(make_move(problem)), element_(element_bytes(problem.outputs[0].type.dtype)), copy_(copy), turn_(turn) {}

  Status run(const KernelArgs& args) noexcept override {
    Launcher launcher(*this, args);
    return move_->views(args, args.host_inputs.data(), launcher);
  }

 private:
  class Launcher final : public CopySink {
   public:
    Launcher(const MoveKernel& kernel, const KernelArgs& args) : kernel_(kernel), args_(args) {}
    Status copy(const StridedCopy& given, CopyPlace place) override {
      const StridedCopy view = merged(given);
      const auto element = static_cast<int64_t>(kernel_.element_);
      const auto* source = static_cast<const std::byte*>(args_.inputs[place.input]) + place.source * element;
      auto* target = static_cast<std::byte*>(args_.outputs[place.output]) + place.target * element;
      int64_t elements = 1;
      for (int i = 0; i < view.rank; ++i) elements *= view.dims[static_cast<size_t>(i)];
      if (elements == 0 || source == target) return {};
      const bool dense = view.rank == 0 || (view.rank == 1 && view.source_strides[0] == 1 && view.target_strides[0] == 1);
      if (dense)
        return check(kernel_.device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(target), reinterpret_cast<CUdeviceptr>(source),
                                                                static_cast<size_t>(elements * element), static_cast<CUstream>(args_.stream)), "cuMemcpyDtoDAsync");
      if (turns(view)) return turn(view, source, target);
      CopyParams params{};
      params.source = source;
      params.target = target;
      params.elements = elements;
      params.rank = view.rank;
      params.element_bytes = static_cast<int32_t>(element);
      for (int i = 0; i < view.rank; ++i) {
        const auto at = static_cast<size_t>(i);
        params.dims[i] = view.dims[at];
        params.source_strides[i] = view.source_strides[at];
        params.target_strides[i] = view.target_strides[at];
      }
      return launch(kernel_.device_, kernel_.copy_, {blocks_for(elements)}, kThreads, 0, args_.stream, params);
    }

   private:
    // Two dense matrices, one the other turned: target [a][b], source [b][a], perhaps several one behind the other.
    bool turns(const StridedCopy& v) const {
      if (!kernel_.turn_ || v.rank < 2 || v.rank > 3) return false;
      const auto a = static_cast<size_t>(v.rank - 2), b = a + 1;
      const bool last_two = v.target_strides[b] == 1 && v.target_strides[a] == v.dims[b] && v.source_strides[a] == 1 && v.source_strides[b] == v.dims[a];
      return last_two && (v.rank == 2 || (v.source_strides[0] == v.dims[a] * v.dims[b] && v.target_strides[0] == v.source_strides[0]));
    }
    Status turn(const StridedCopy& v, const void* source, void* target) const {
      const auto a = static_cast<size_t>(v.rank - 2), b = a + 1;
      ReformatParams params{};
      params.x = source;
      params.y = target;
      params.batch = v.rank == 3 ? v.dims[0] : 1;
      params.rows = v.dims[b];
      params.columns = v.dims[a];
      params.element_bytes = static_cast<int32_t>(kernel_.element_);
      void* arguments[] = {&params};
      const int64_t blocks = params.batch * blocks_for(params.rows, 32) * blocks_for(params.columns, 32);
      return check(kernel_.device_.driver().cuLaunchKernel(kernel_.turn_, static_cast<unsigned>(blocks), 1, 1, 32, 8, 1, 0,
                                                           static_cast<CUstream>(args_.stream), arguments, nullptr), "cuLaunchKernel");
    }

    const MoveKernel& kernel_;
    const KernelArgs& args_;
  };

  Device& device_;
  std::unique_ptr<Move> move_;
  size_t element_;
  CUfunction copy_, turn_;
};

class MoveTactic final : public Tactic {
 public:
  MoveTactic(OpKind op, const char* name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    const size_t element = element_bytes(problem.inputs[0].type.dtype);
    if (element != 1 && element != 2 && element != 4 && element != 8) return {"elements have neither 1, 2, 4 nor 8 bytes"};
    return supports_move(problem);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info_, blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    INGOT_ASSIGN(const CUfunction copy, device->function("copy_strided", 0));
    const size_t element = element_bytes(problem.inputs[0].type.dtype);
    CUfunction turn = nullptr;
    if (element == 1 || element == 4) {
      INGOT_ASSIGN(turn, device->function(element == 1 ? "turn_bytes" : "turn_words", 0));
    }
    return std::unique_ptr<Kernel>(std::make_unique<MoveKernel>(*device, problem, copy, turn));
  }

 private:
  TacticInfo info_;
};

class GatherTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.gather.blocks", 1, OpKind::kGather};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const Operand &x = problem.inputs[0], &indices = problem.inputs[1], &y = problem.outputs[0];
    if (x.type.layout != Layout::kLinear || indices.type.layout != Layout::kLinear || y.type.layout != Layout::kLinear) return {"tensors are not row-major"};
    if (indices.type.dtype != DataType::kS64 && indices.type.dtype != DataType::kS32) return {"indices are neither s32 nor s64"};
    const size_t element = element_bytes(x.type.dtype);
    if (element != 1 && element != 2 && element != 4 && element != 8) return {"elements have neither 1, 2, 4 nor 8 bytes"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    cuda::GatherParams params{};
    params.element_bytes = static_cast<int32_t>(element_bytes(problem.inputs[0].type.dtype));
    params.wide_indices = problem.inputs[1].type.dtype == DataType::kS64;
    const int64_t axis = std::get<ingot::GatherParams>(problem.params).axis;
    return make_simple(*device, "gather_blocks", DeviceMemory(), params, [axis](cuda::GatherParams& p, const KernelArgs& args) {
      const Shape& x = args.input_shapes[0];
      const int at = static_cast<int>(axis < 0 ? axis + x.rank : axis);
      p.x = args.inputs[0];
      p.indices = args.inputs[1];
      p.y = args.outputs[0];
      p.elements = args.output_shapes[0].elements();
      p.indices_count = args.input_shapes[1].elements();
      p.dim = x[at];
      p.inner = 1;
      for (int d = at + 1; d < x.rank; ++d) p.inner *= x[d];
    });
  }
};

}  // namespace

std::span<const Tactic* const> moves() {
  static const MoveTactic reformat(OpKind::kIdentity, "cuda.reformat"), transpose(OpKind::kTranspose, "cuda.transpose.strided"),
      concat(OpKind::kConcat, "cuda.concat.strided"), split(OpKind::kSplit, "cuda.split.strided"), slice(OpKind::kSlice, "cuda.slice.strided"),
      expand(OpKind::kExpand, "cuda.expand.strided"), depth_to_space(OpKind::kDepthToSpace, "cuda.depth_to_space.strided"),
      space_to_depth(OpKind::kSpaceToDepth, "cuda.space_to_depth.strided"), reshape(OpKind::kReshape, "cuda.reshape.relabel"),
      flatten(OpKind::kFlatten, "cuda.flatten.relabel"), squeeze(OpKind::kSqueeze, "cuda.squeeze.relabel"),
      unsqueeze(OpKind::kUnsqueeze, "cuda.unsqueeze.relabel");
  static const GatherTactic gather;
  static const std::array<const Tactic*, 13> list = {&reformat, &transpose, &concat,  &split,   &slice,   &expand, &depth_to_space,
                                                     &space_to_depth, &reshape, &flatten, &squeeze, &unsqueeze, &gather};
  return list;
}

}  // namespace ingot::cuda
