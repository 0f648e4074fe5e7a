// Each op's copies.
#include "runtime/move_views.h"

#include <algorithm>
#include <array>

#include "runtime/ops/op.h"

namespace ingot {

Strides strides_of(const Shape& shape, Layout layout) {
  if (layout == Layout::kLinear || shape.rank < 3) return row_major_strides(shape);
  Strides strides{};
  strides[1] = 1;
  int64_t stride = shape[1];
  for (int d = shape.rank - 1; d >= 2; --d) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shape[d];
  }
  strides[0] = stride;
  return strides;
}

namespace {

// What all of them know: the layout of each operand.
class LaidOut : public Move {
 public:
  explicit LaidOut(const Problem& problem) {
    for (const Operand& operand : problem.inputs) input_layouts_.push_back(operand.type.layout);
    for (const Operand& operand : problem.outputs) output_layouts_.push_back(operand.type.layout);
  }

 protected:
  Strides input_strides(const KernelArgs& args, size_t i) const { return strides_of(args.input_shapes[i], input_layouts_[i]); }
  Strides output_strides(const KernelArgs& args, size_t i) const { return strides_of(args.output_shapes[i], output_layouts_[i]); }
  std::vector<Layout> input_layouts_, output_layouts_;
};

// Changes layout, or copies.
class ReformatMove final : public LaidOut {
 public:
  using LaidOut::LaidOut;
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape& shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) view.add_dim(shape[i], source[static_cast<size_t>(i)], target[static_cast<size_t>(i)]);
    return sink.copy(view, {0, 0, 0, 0});
  }
};

class TransposeMove final : public LaidOut {
 public:
  TransposeMove(const Problem& problem, const TransposeParams& params) : LaidOut(problem) {
    const int rank = problem.outputs[0].type.shape.rank;
    for (int i = 0; i < rank; ++i) {
      int64_t axis = params.perm.empty() ? rank - 1 - i : params.perm[static_cast<size_t>(i)];
      perm_[static_cast<size_t>(i)] = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    }
  }
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape& shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      view.add_dim(shape[i], source[perm_[at]], target[at]);
    }
    return sink.copy(view, {0, 0, 0, 0});
  }

 private:
  std::array<size_t, Shape::kMaxRank> perm_{};
};

// Concat and Split: each part is a window of the whole along one dim.
class PartsMove final : public LaidOut {
 public:
  PartsMove(const Problem& problem, int64_t axis, bool joins) : LaidOut(problem), joins_(joins) {
    const int rank = problem.outputs[0].type.shape.rank;
    axis_ = static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    const Strides whole = joins_ ? output_strides(args, 0) : input_strides(args, 0);
    int64_t start = 0;
    const size_t parts = joins_ ? args.inputs.size() : args.outputs.size();
    for (size_t i = 0; i < parts; ++i) {
      const Shape& shape = joins_ ? args.input_shapes[i] : args.output_shapes[i];
      const Strides own = joins_ ? input_strides(args, i) : output_strides(args, i);
      StridedCopy view;
      for (int d = 0; d < shape.rank; ++d) {
        const auto at = static_cast<size_t>(d);
        view.add_dim(shape[d], joins_ ? own[at] : whole[at], joins_ ? whole[at] : own[at]);
      }
      const int64_t offset = start * whole[static_cast<size_t>(axis_)];
      INGOT_TRY(sink.copy(view, {joins_ ? i : 0, joins_ ? 0 : offset, joins_ ? 0 : i, joins_ ? offset : 0}));
      start += shape[axis_];
    }
    return {};
  }

 private:
  bool joins_;
  int axis_ = 0;
};

// Starts and steps come from the operands at each run; the result's shape is known already.
class SliceMove final : public LaidOut {
 public:
  explicit SliceMove(const Problem& problem) : LaidOut(problem) {
    for (size_t i = 1; i < problem.inputs.size(); ++i) {
      dtypes_[i] = problem.inputs[i].type.dtype;
      present_[i] = problem.inputs[i].present;
    }
  }
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape &from = args.input_shapes[0], &shape = args.output_shapes[0];
    std::array<int64_t, Shape::kMaxRank> starts{}, steps{};
    steps.fill(1);
    const auto value = [&](size_t operand, int64_t i) {
      return read_index({dtypes_[operand], args.input_shapes[operand], values[operand], true}, i);
    };
    for (int64_t i = 0; i < args.input_shapes[1].elements(); ++i) {
      int64_t axis = present_[3] && args.inputs.size() > 3 ? value(3, i) : i;
      if (axis < 0) axis += from.rank;
      if (axis < 0 || axis >= from.rank) return Status(StatusCode::kInvalidArgument, "slice: axis is out of range");
      const auto at = static_cast<size_t>(axis);
      const int64_t dim = from[static_cast<int>(axis)], step = present_[4] && args.inputs.size() > 4 ? value(4, i) : 1;
      int64_t start = value(1, i);
      if (start < 0) start += dim;
      starts[at] = step > 0 ? std::clamp<int64_t>(start, 0, dim) : std::clamp<int64_t>(start, 0, std::max<int64_t>(dim - 1, 0));
      steps[at] = shape[static_cast<int>(axis)] > 1 ? step : 1;
    }
    int64_t offset = 0;
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      offset += starts[at] * source[at];
      view.add_dim(shape[i], steps[at] * source[at], target[at]);
    }
    if (shape.elements() == 0) return {};
    return sink.copy(view, {0, offset, 0, 0});
  }

 private:
  std::array<DataType, 5> dtypes_{};
  std::array<bool, 5> present_{};
};

// Broadcasting is reading with stride 0.
class ExpandMove final : public LaidOut {
 public:
  using LaidOut::LaidOut;
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape &from = args.input_shapes[0], &shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) {
      const int own = i - (shape.rank - from.rank);
      view.add_dim(shape[i], own < 0 || from[own] == 1 ? 0 : source[static_cast<size_t>(own)], target[static_cast<size_t>(i)]);
    }
    return sink.copy(view, {0, 0, 0, 0});
  }
};

// Depth ↔ space: the channel dim is a product of three.
class DepthSpaceMove final : public LaidOut {
 public:
  DepthSpaceMove(const Problem& problem, int64_t block, bool crd, bool to_space)
      : LaidOut(problem), block_(block), crd_(crd), to_space_(to_space) {}
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape& deep = to_space_ ? args.input_shapes[0] : args.output_shapes[0];
    const Strides &deep_strides = to_space_ ? source : target, &wide_strides = to_space_ ? target : source;
    const int64_t channels = deep[1] / (block_ * block_), b = block_;
    // The depth index is (by, bx, c), or (c, by, bx) in column-row-depth order.
    const int64_t c_step = crd_ ? b * b : 1, by_step = crd_ ? b : b * channels, bx_step = crd_ ? 1 : channels;
    StridedCopy view;
    const auto add = [&](int64_t dim, int64_t deep_stride, int64_t wide_stride) {
      view.add_dim(dim, to_space_ ? deep_stride : wide_stride, to_space_ ? wide_stride : deep_stride);
    };
    add(deep[0], deep_strides[0], wide_strides[0]);
    add(channels, c_step * deep_strides[1], wide_strides[1]);
    add(deep[2], deep_strides[2], wide_strides[2] * b);
    add(b, by_step * deep_strides[1], wide_strides[2]);
    add(deep[3], deep_strides[3], wide_strides[3] * b);
    add(b, bx_step * deep_strides[1], wide_strides[3]);
    return sink.copy(view, {0, 0, 0, 0});
  }

 private:
  int64_t block_;
  bool crd_, to_space_;
};

// Relabels: bytes stay in order. Also channels_last where only one of channels and pixels is more than 1, so that both
// layouts are the same bytes.
class RelabelMove final : public LaidOut {
 public:
  using LaidOut::LaidOut;
  Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const override {
    (void)values;
    if (args.inputs[0] == args.outputs[0]) return {};
    StridedCopy view;
    view.add_dim(args.output_shapes[0].elements(), 1, 1);
    return sink.copy(view, {0, 0, 0, 0});
  }
};

bool same_bytes_in_both_layouts(const Operand& operand) {
  const Shape& shape = operand.type.shape;
  if (operand.type.layout == Layout::kLinear || shape.rank < 3 || shape[1] == 1) return true;
  for (int d = 2; d < shape.rank; ++d)
    if (shape[d] != 1) return false;
  return true;
}

template <class M, class... Args>
std::unique_ptr<Move> make(const Problem& problem, Args... args) {
  return std::make_unique<M>(problem, args...);
}

}  // namespace

Support supports_move(const Problem& problem) {
  const Operand& x = problem.inputs[0];
  for (const Operand& output : problem.outputs)
    if (!output.present || output.type.dtype != x.type.dtype) return {"an output is left out or has another element type"};
  switch (kind_of(problem.params)) {
    case OpKind::kIdentity: return {};
    case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze: case OpKind::kUnsqueeze:
      return same_bytes_in_both_layouts(x) && same_bytes_in_both_layouts(problem.outputs[0]) ? Support{} : Support{"channels_last data would have to be reordered"};
    case OpKind::kConcat:
      for (const Operand& input : problem.inputs)
        if (input.type.dtype != x.type.dtype) return {"element types differ"};
      return {};
    case OpKind::kDepthToSpace: case OpKind::kSpaceToDepth:
      return x.type.shape.rank == 4 ? Support{} : Support{"rank is not 4"};
    default: return {};
  }
}

std::unique_ptr<Move> make_move(const Problem& problem) {
  switch (kind_of(problem.params)) {
    case OpKind::kIdentity: return make<ReformatMove>(problem);
    case OpKind::kTranspose: return make<TransposeMove>(problem, std::get<TransposeParams>(problem.params));
    case OpKind::kConcat: return make<PartsMove>(problem, std::get<ConcatParams>(problem.params).axis, true);
    case OpKind::kSplit: return make<PartsMove>(problem, std::get<SplitParams>(problem.params).axis, false);
    case OpKind::kSlice: return make<SliceMove>(problem);
    case OpKind::kExpand: return make<ExpandMove>(problem);
    case OpKind::kDepthToSpace: {
      const auto& params = std::get<DepthToSpaceParams>(problem.params);
      return make<DepthSpaceMove>(problem, params.block, params.crd, true);
    }
    case OpKind::kSpaceToDepth: return make<DepthSpaceMove>(problem, std::get<SpaceToDepthParams>(problem.params).block, false, false);
    default: return make<RelabelMove>(problem);
  }
}

}  // namespace ingot
