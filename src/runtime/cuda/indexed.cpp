// Where, Pad and Tile, and reading and writing by index: kernels/indexed.cu. Elements of any type move by their size. An index out of
// range, an error on a CPU, reads zeros here and writes nothing.
#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/cuda/plain_tactic.h"
#include "runtime/ops/element.h"
#include "runtime/ops/index_place.h"
#include "runtime/ops/op.h"

namespace ingot::cuda {
namespace {

int32_t bytes_of(const Operand& operand) { return static_cast<int32_t>(element_bytes(operand.type.dtype)); }
int axis_of(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

const char* refuse_where(const Problem& problem) { return refuse_bytes(problem.outputs[0]); }
Expected<std::unique_ptr<Kernel>> load_where(const Problem& problem, Device& device) {
  cuda::WhereParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  std::array<Layout, 3> layouts;
  for (size_t i = 0; i < 3; ++i) layouts[i] = problem.inputs[i].type.layout;
  return make_simple(device, "where_any", DeviceMemory(), params, [layouts, layout = problem.outputs[0].type.layout](cuda::WhereParams& p, const KernelArgs& args) {
    const Shape& y = args.output_shapes[0];
    std::array<Strides, 3> strides;
    for (size_t i = 0; i < 3; ++i) strides[i] = broadcast_strides(args.input_shapes[i], layouts[i], y.rank);
    p.condition = static_cast<const uint8_t*>(args.inputs[0]);
    p.x = args.inputs[1];
    p.y = args.inputs[2];
    p.out = args.outputs[0];
    p.elements = y.elements();
    p.walk = make_walk(y, layout, strides);
  });
}

// Pad, and Tile as a ring around each dim.
class PadKernel final : public Kernel {
 public:
  PadKernel(Device& device, CUfunction function, const Problem& problem)
      : device_(device), function_(function), x_layout_(problem.inputs[0].type.layout), y_layout_(problem.outputs[0].type.layout) {
    params_.element_bytes = bytes_of(problem.outputs[0]);
    params_.beyond = Beyond::kWrap;
    if (const auto* pad = std::get_if<ingot::PadParams>(&problem.params)) {
      is_pad_ = true;
      params_.beyond = static_cast<Beyond>(pad->mode);
    }
    const TensorType& x = problem.inputs[0].type;
    if (is_quantized(x)) params_.fill = static_cast<uint8_t>(zero_point_of(x));
    for (const Operand& input : problem.inputs) inputs_.push_back({input.type.dtype, {}, nullptr, input.present});
  }

  Status run(const KernelArgs& args) noexcept override {
    cuda::PadParams p = params_;
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    std::array<int64_t, Shape::kMaxRank> before{}, after{};
    if (is_pad_) INGOT_TRY(read_pads(args, x.rank, before, after));
    const Strides x_strides = strides_of(x, x_layout_), y_strides = strides_of(y, y_layout_);
    const std::array<int, Shape::kMaxRank> order = memory_order(y.rank, y_strides);
    p.rank = y.rank;
    for (int i = 0; i < y.rank; ++i) {
      const int d = order[static_cast<size_t>(i)];
      const auto at = static_cast<size_t>(d);
      p.dims[i] = y[d];
      p.before[i] = std::max<int64_t>(before[at], 0);
      p.crop[i] = std::max<int64_t>(-before[at], 0);
      p.kept[i] = x[d] - p.crop[i] - std::max<int64_t>(-after[at], 0);
      p.x_strides[i] = x_strides[at];
      if (is_pad_ && x[d] + before[at] + after[at] != y[d])
        return refuse("pad", "output shape differs from what the inputs give", std::to_string(y[d]), std::to_string(x[d] + before[at] + after[at]),
                      StatusCode::kInvalidArgument);
    }
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.value = is_pad_ && inputs_.size() > 2 && inputs_[2].present ? args.inputs[2] : nullptr;
    p.elements = y.elements();
    return launch(device_, function_, {blocks_for(p.elements)}, kThreads, 0, args.stream, p);
  }

 private:
  Status read_pads(const KernelArgs& args, int rank, std::array<int64_t, Shape::kMaxRank>& before, std::array<int64_t, Shape::kMaxRank>& after) const {
    const auto list_of = [&](const char* name, size_t i, IndexList& list) {
      OpInput input = inputs_[i];
      input.shape = args.input_shapes[i];
      input.data = args.host_inputs[i];
      return read_index_list("pad", name, input, 2 * Shape::kMaxRank, list);
    };
    const bool has_axes = inputs_.size() > 3 && inputs_[3].present;
    IndexList pads, axes;
    INGOT_TRY(list_of("pads", 1, pads));
    if (has_axes) INGOT_TRY(list_of("axes", 3, axes));
    const int count = has_axes ? axes.count : rank;
    if (pads.count != 2 * count)
      return refuse("pad", "number of pads", std::to_string(pads.count), std::to_string(2 * count) + ", two per axis", StatusCode::kInvalidArgument);
    for (int i = 0; i < count; ++i) {
      int axis = i;
      if (has_axes) INGOT_TRY(read_axis("pad", axes[i], rank, axis));
      before[static_cast<size_t>(axis)] = pads[i];
      after[static_cast<size_t>(axis)] = pads[count + i];
    }
    return {};
  }

  Device& device_;
  CUfunction function_;
  Layout x_layout_, y_layout_;
  bool is_pad_ = false;
  cuda::PadParams params_{};
  std::vector<OpInput> inputs_;
};
const char* refuse_pad(const Problem& problem) {
  if (problem.inputs[0].type.dtype != problem.outputs[0].type.dtype) return "types of input and output differ";
  const bool pads = kind_of(problem.params) == OpKind::kPad;
  if (pads && problem.inputs.size() > 2 && problem.inputs[2].present && problem.inputs[2].type.dtype != problem.inputs[0].type.dtype) return "the value is of another type";
  return refuse_bytes(problem.outputs[0]);
}
Expected<std::unique_ptr<Kernel>> load_pad(const Problem& problem, Device& device) {
  INGOT_ASSIGN(const CUfunction function, device.function("pad_any", 0));
  return std::unique_ptr<Kernel>(std::make_unique<PadKernel>(device, function, problem));
}

const char* refuse_reads(const Problem& problem) {
  if (const char* refusal = refuse_layouts(problem)) return refusal;
  if (!is_index(problem.inputs[1])) return "indices are neither s32 nor s64";
  return refuse_bytes(problem.outputs[0]);
}
Expected<std::unique_ptr<Kernel>> load_gather_elements(const Problem& problem, Device& device) {
  cuda::GatherElementsParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  params.wide = is_wide(problem.inputs[1]);
  const int64_t axis = std::get<ingot::GatherElementsParams>(problem.params).axis;
  return make_simple(device, "gather_elements", DeviceMemory(), params, [axis](cuda::GatherElementsParams& p, const KernelArgs& args) {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    const auto at = static_cast<size_t>(axis_of(axis, x.rank));
    std::array<Strides, 1> strides = {row_major_strides(x)};
    p.axis_dim = x[static_cast<int>(at)];
    p.axis_stride = std::exchange(strides[0][at], 0);
    p.x = args.inputs[0];
    p.indices = args.inputs[1];
    p.y = args.outputs[0];
    p.elements = y.elements();
    p.walk = make_walk(y, Layout::kLinear, strides);
  });
}
Expected<std::unique_ptr<Kernel>> load_gather_nd(const Problem& problem, Device& device) {
  cuda::GatherNdParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  params.wide = is_wide(problem.inputs[1]);
  const auto batch = static_cast<int>(std::get<ingot::GatherNDParams>(problem.params).batch_dims);
  return make_simple(device, "gather_nd", DeviceMemory(), params, [batch](cuda::GatherNdParams& p, const KernelArgs& args) {
    const Shape &x = args.input_shapes[0], &indices = args.input_shapes[1];
    p.named = static_cast<int32_t>(indices[indices.rank - 1]);
    p.rows = p.slice = p.batch_size = 1;
    for (int i = batch; i + 1 < indices.rank; ++i) p.rows *= indices[i];
    for (int i = batch; i < x.rank; ++i) p.batch_size *= x[i];
    for (int i = batch + p.named; i < x.rank; ++i) p.slice *= x[i];
    for (int k = 0; k < p.named; ++k) p.dims[k] = x[batch + k];
    p.x = args.inputs[0];
    p.indices = args.inputs[1];
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
  });
}

class ScatterKernel final : public Kernel {
 public:
  ScatterKernel(Device& device, const Problem& problem, CUfunction claim, CUfunction write, CUfunction reduce)
      : device_(device), claim_(claim), write_(write), reduce_(reduce) {
    params_.element_bytes = bytes_of(problem.outputs[0]);
    params_.wide = is_wide(problem.inputs[1]);
    params_.dtype = static_cast<int32_t>(problem.inputs[0].type.dtype);
    if (const auto* elements = std::get_if<ScatterElementsParams>(&problem.params)) {
      axis_ = elements->axis;
      params_.reduction = static_cast<int32_t>(elements->reduction);
    } else {
      params_.by_rows = 1;
      params_.reduction = static_cast<int32_t>(std::get<ScatterNDParams>(problem.params).reduction);
    }
  }

  Status run(const KernelArgs& args) noexcept override {
    cuda::ScatterParams p = params_;
    const Shape &x = args.input_shapes[0], &indices = args.input_shapes[1];
    const int64_t elements = x.elements();
    if (elements == 0) return {};
    p.indices = args.inputs[1];
    p.updates = args.inputs[2];
    p.y = args.outputs[0];
    p.units = p.slice = p.sequence = p.inner = 1;
    if (p.by_rows) {
      p.named = static_cast<int32_t>(indices[indices.rank - 1]);
      for (int i = 0; i + 1 < indices.rank; ++i) p.units *= indices[i];
      for (int i = p.named; i < x.rank; ++i) p.slice *= x[i];
      for (int k = 0; k < p.named; ++k) p.dims[k] = x[k];
      p.sequence = p.units;
    } else {
      const int axis = axis_of(axis_, x.rank);
      std::array<Strides, 1> strides = {row_major_strides(x)};
      p.units = indices.elements();
      p.axis_dim = x[axis];
      p.axis_stride = std::exchange(strides[0][static_cast<size_t>(axis)], 0);
      p.walk = make_walk(indices, Layout::kLinear, strides);
      p.sequence = indices[axis];
      for (int i = axis + 1; i < x.rank; ++i) p.inner *= indices[i];
    }
    const CUdeviceptr y = reinterpret_cast<CUdeviceptr>(p.y);
    const auto stream = static_cast<CUstream>(args.stream);
    if (p.y != args.inputs[0])
      INGOT_CUDA_TRY(device_.driver().cuMemcpyDtoDAsync(y, reinterpret_cast<CUdeviceptr>(args.inputs[0]), static_cast<size_t>(elements * p.element_bytes), stream));
    if (p.units == 0) return {};
    if (reduce_) {
      p.elements = p.by_rows ? p.slice : p.units / p.sequence;
      return launch(device_, reduce_, {blocks_for(p.elements)}, kThreads, 0, args.stream, p);
    }
    if (p.units > INT32_MAX)
      return Status(StatusCode::kUnsupported, "cuda: scatter is too large: got " + std::to_string(p.units) + " indices, need fewer than 2^31");
    p.owners = static_cast<int32_t*>(args.workspace);
    INGOT_CUDA_TRY(device_.driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(p.owners), 0xFF, static_cast<size_t>(elements / p.slice) * sizeof(int32_t), stream));
    INGOT_TRY(launch(device_, claim_, {blocks_for(p.units)}, kThreads, 0, args.stream, p));
    p.elements = p.units * p.slice;
    return launch(device_, write_, {blocks_for(p.elements)}, kThreads, 0, args.stream, p);
  }

 private:
  Device& device_;
  CUfunction claim_, write_, reduce_;
  cuda::ScatterParams params_{};
  int64_t axis_ = 0;
};

class ScatterTactic final : public Tactic {
 public:
  ScatterTactic(OpKind op, const char* name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_reads(problem)) return {refusal};
    const DataType type = problem.inputs[0].type.dtype;
    if (reduces(problem) && type != DataType::kF32 && type != DataType::kS32 && type != DataType::kS64) return {"a reduction of neither f32, s32 nor s64"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    if (reduces(problem)) return 0;
    return static_cast<size_t>(problem.inputs[0].max_shape.elements()) * sizeof(int32_t);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info_, blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    CUfunction claim = nullptr, write = nullptr, reduce = nullptr;
    if (reduces(problem)) {
      INGOT_ASSIGN(reduce, device->function("scatter_reduce", 0));
    } else {
      INGOT_ASSIGN(claim, device->function("scatter_claim", 0));
      INGOT_ASSIGN(write, device->function("scatter_write", 0));
    }
    return std::unique_ptr<Kernel>(std::make_unique<ScatterKernel>(*device, problem, claim, write, reduce));
  }

 private:
  static bool reduces(const Problem& problem) {
    const auto* elements = std::get_if<ScatterElementsParams>(&problem.params);
    return (elements ? elements->reduction : std::get<ScatterNDParams>(problem.params).reduction) != ScatterReduction::kReplace;
  }
  TacticInfo info_;
};

const char* refuse_one_hot(const Problem& problem) {
  if (const char* refusal = refuse_layouts(problem)) return refusal;
  const DataType index = problem.inputs[0].type.dtype;
  if (index != DataType::kF32 && index != DataType::kS32 && index != DataType::kS64 && index != DataType::kU8) return "indices are neither f32, s32, s64 nor u8";
  return refuse_bytes(problem.outputs[0]);
}
Expected<std::unique_ptr<Kernel>> load_one_hot(const Problem& problem, Device& device) {
  cuda::OneHotParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  params.index_type = static_cast<int32_t>(problem.inputs[0].type.dtype);
  const int64_t axis = std::get<ingot::OneHotParams>(problem.params).axis;
  return make_simple(device, "one_hot", DeviceMemory(), params, [axis](cuda::OneHotParams& p, const KernelArgs& args) {
    const Shape& y = args.output_shapes[0];
    const int at = axis_of(axis, y.rank);
    p.indices = args.inputs[0];
    p.values = args.inputs[2];
    p.y = args.outputs[0];
    p.elements = y.elements();
    p.depth = y[at];
    p.inner = 1;
    for (int d = at + 1; d < y.rank; ++d) p.inner *= y[d];
  });
}

const char* refuse_trilu(const Problem& problem) {
  if (const char* refusal = refuse_layouts(problem)) return refusal;
  if (problem.inputs.size() > 1 && problem.inputs[1].present && !is_index(problem.inputs[1])) return "k is neither s32 nor s64";
  return refuse_bytes(problem.outputs[0]);
}
Expected<std::unique_ptr<Kernel>> load_trilu(const Problem& problem, Device& device) {
  cuda::TriluParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  params.upper = std::get<ingot::TriluParams>(problem.params).upper;
  params.wide = problem.inputs.size() > 1 && is_wide(problem.inputs[1]);
  return make_simple(device, "trilu", DeviceMemory(), params, [](cuda::TriluParams& p, const KernelArgs& args) {
    const Shape& y = args.output_shapes[0];
    p.x = args.inputs[0];
    p.k = args.inputs.size() > 1 ? args.inputs[1] : nullptr;
    p.y = args.outputs[0];
    p.elements = y.elements();
    p.rows = y[y.rank - 2];
    p.columns = y[y.rank - 1];
  });
}

Expected<std::unique_ptr<Kernel>> load_reverse_sequence(const Problem& problem, Device& device) {
  cuda::ReverseSequenceParams params{};
  params.element_bytes = bytes_of(problem.outputs[0]);
  params.wide = is_wide(problem.inputs[1]);
  const auto& op = std::get<ingot::ReverseSequenceParams>(problem.params);
  return make_simple(device, "reverse_sequence", DeviceMemory(), params, [batch = op.batch_axis, time = op.time_axis](cuda::ReverseSequenceParams& p, const KernelArgs& args) {
    const Shape& x = args.input_shapes[0];
    const Strides strides = row_major_strides(x);
    const int b = axis_of(batch, x.rank), t = axis_of(time, x.rank);
    p.x = args.inputs[0];
    p.lengths = args.inputs[1];
    p.y = args.outputs[0];
    p.elements = x.elements();
    p.batch = x[b];
    p.batch_stride = strides[static_cast<size_t>(b)];
    p.time = x[t];
    p.time_stride = strides[static_cast<size_t>(t)];
  });
}

const char* refuse_constant(const Problem& problem) { return refuse_bytes(problem.outputs[0]); }
Expected<std::unique_ptr<Kernel>> load_constant(const Problem& problem, Device& device) {
  // The reference makes one element of the value.
  const auto& op = std::get<ConstantOfShapeParams>(problem.params);
  TensorType type = problem.outputs[0].type;
  type.shape = Shape{1};
  FillParams params{};
  const TensorRef one{&type, &params.first};
  INGOT_TRY(run_reference(op, {}, std::span(&one, 1)));
  params.element_bytes = bytes_of(problem.outputs[0]);
  return make_simple(device, "fill_any", DeviceMemory(), params, [](FillParams& p, const KernelArgs& args) {
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
  });
}

const char* refuse_range(const Problem& problem) {
  const DataType type = problem.outputs[0].type.dtype;
  return type == DataType::kF32 || type == DataType::kS32 || type == DataType::kS64 ? nullptr : "elements are neither f32, s32 nor s64";
}
// Where start and step come from the host: constants and shape arithmetic.
class RangeKernel final : public Kernel {
 public:
  RangeKernel(Device& device, CUfunction function, DataType type) : device_(device), function_(function), type_(type) {}
  Status run(const KernelArgs& args) noexcept override {
    FillParams p{};
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
    p.element_bytes = static_cast<int32_t>(element_bytes(type_));
    p.is_float = type_ == DataType::kF32;
    const void *start = args.host_inputs[0], *step = args.host_inputs[2];
    if (!start || !step) return refuse_unknown_value("range", "start");
    if (p.is_float) {
      std::memcpy(&p.float_first, start, sizeof(float));
      std::memcpy(&p.float_step, step, sizeof(float));
    } else {
      p.first = read_index({type_, Shape(), start, true}, 0);
      p.step = read_index({type_, Shape(), step, true}, 0);
    }
    return launch(device_, function_, {blocks_for(p.elements)}, kThreads, 0, args.stream, p);
  }

 private:
  Device& device_;
  CUfunction function_;
  DataType type_;
};
Expected<std::unique_ptr<Kernel>> load_range(const Problem& problem, Device& device) {
  INGOT_ASSIGN(const CUfunction function, device.function("fill_any", 0));
  return std::unique_ptr<Kernel>(std::make_unique<RangeKernel>(device, function, problem.outputs[0].type.dtype));
}

// The same bytes.
class CopyKernel final : public Kernel {
 public:
  CopyKernel(Device& device, int64_t element) : device_(device), element_(element) {}
  Status run(const KernelArgs& args) noexcept override {
    const int64_t bytes = args.output_shapes[0].elements() * element_;
    if (bytes == 0 || args.inputs[0] == args.outputs[0]) return {};
    return check(device_.driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(args.outputs[0]), reinterpret_cast<CUdeviceptr>(args.inputs[0]),
                                                    static_cast<size_t>(bytes), static_cast<CUstream>(args.stream)), "cuMemcpyDtoDAsync");
  }

 private:
  Device& device_;
  int64_t element_;
};
const char* refuse_bit_cast(const Problem& problem) { return problem.inputs[0].type.layout == problem.outputs[0].type.layout ? nullptr : "layouts differ"; }
Expected<std::unique_ptr<Kernel>> load_bit_cast(const Problem& problem, Device& device) {
  return std::unique_ptr<Kernel>(std::make_unique<CopyKernel>(device, bytes_of(problem.outputs[0])));
}

}  // namespace

std::span<const Tactic* const> indexed() {
  static const PlainTactic where(OpKind::kWhere, "cuda.where", refuse_where, load_where), pad(OpKind::kPad, "cuda.pad", refuse_pad, load_pad),
      tile(OpKind::kTile, "cuda.tile", refuse_pad, load_pad),
      gather_elements(OpKind::kGatherElements, "cuda.gather_elements", refuse_reads, load_gather_elements),
      gather_nd(OpKind::kGatherND, "cuda.gather_nd", refuse_reads, load_gather_nd), one_hot(OpKind::kOneHot, "cuda.one_hot", refuse_one_hot, load_one_hot),
      trilu(OpKind::kTrilu, "cuda.trilu", refuse_trilu, load_trilu),
      reverse_sequence(OpKind::kReverseSequence, "cuda.reverse_sequence", refuse_reads, load_reverse_sequence),
      constant(OpKind::kConstantOfShape, "cuda.constant_of_shape", refuse_constant, load_constant), range(OpKind::kRange, "cuda.range", refuse_range, load_range),
      bit_cast(OpKind::kBitCast, "cuda.bit_cast", refuse_bit_cast, load_bit_cast);
  static const ScatterTactic scatter_elements(OpKind::kScatterElements, "cuda.scatter_elements"), scatter_nd(OpKind::kScatterND, "cuda.scatter_nd");
  static const std::array<const Tactic*, 13> list = {&where, &pad, &tile, &gather_elements, &gather_nd, &one_hot, &trilu, &reverse_sequence, &constant, &range,
                                                     &scatter_elements, &scatter_nd, &bit_cast};
  return list;
}

}  // namespace ingot::cuda
