// Ops that only move elements, in either layout: a channels_last tensor is a row-major one with its dims in another order, so
// each op becomes one strided copy per operand, whatever the layouts on both sides. Threads share the largest outer dim.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/ops/op.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/tactic.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrainBytes = 16384;  // below this another thread does not pay

// Strides, in elements, of the model's dims of a dense tensor.
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

// Outer dims of the target first, so that writes run on; dims of size 1 are dropped.
StridedCopy in_target_order(const StridedCopy& view) {
  std::array<size_t, StridedCopy::kMaxRank> order{};
  size_t count = 0;
  for (size_t i = 0; i < static_cast<size_t>(view.rank); ++i)
    if (view.dims[i] != 1) order[count++] = i;
  std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                   [&](size_t a, size_t b) { return view.target_strides[a] > view.target_strides[b]; });
  StridedCopy sorted;
  for (size_t i = 0; i < count; ++i) sorted.add_dim(view.dims[order[i]], view.source_strides[order[i]], view.target_strides[order[i]]);
  return sorted;
}

// A square of a tile in registers: 4 rows of 4 words, or 8 rows of 8 bytes.
typedef uint32_t Words __attribute__((vector_size(16)));
typedef uint8_t Bytes __attribute__((vector_size(16)));

template <class V, class T>
V load_rows(const T* first, const T* second) {  // 16 bytes of one row, or 8 of each of two
  V v{};
  if (second == nullptr) {
    std::memcpy(&v, first, sizeof v);
  } else {
    std::memcpy(&v, first, sizeof v / 2);
    std::memcpy(reinterpret_cast<std::byte*>(&v) + sizeof v / 2, second, sizeof v / 2);
  }
  return v;
}

void transpose_square(const uint32_t* source, int64_t source_stride, uint32_t* target, int64_t target_stride) {
  Words row[4];
  for (int i = 0; i < 4; ++i) row[i] = load_rows<Words>(source + i * source_stride, static_cast<const uint32_t*>(nullptr));
  const Words low_01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5), high_01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
  const Words low_23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5), high_23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
  const Words column[4] = {__builtin_shufflevector(low_01, low_23, 0, 1, 4, 5), __builtin_shufflevector(low_01, low_23, 2, 3, 6, 7),
                           __builtin_shufflevector(high_01, high_23, 0, 1, 4, 5), __builtin_shufflevector(high_01, high_23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(target + i * target_stride, &column[i], sizeof column[i]);
}

void transpose_square(const uint8_t* source, int64_t source_stride, uint8_t* target, int64_t target_stride) {
  // Three rounds of interleaving; each doubles how many elements of a column stand together.
  const auto interleave = [](Bytes a, Bytes b, bool high) {
    return high ? __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
                : __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  };
  Bytes x[4], t[4];
  for (int i = 0; i < 4; ++i) x[i] = load_rows<Bytes>(source + i * source_stride, source + (i + 4) * source_stride);  // rows i | i + 4
  t[0] = interleave(x[0], x[2], false), t[1] = interleave(x[0], x[2], true);  // rows 0 2; rows 4 6
  t[2] = interleave(x[1], x[3], false), t[3] = interleave(x[1], x[3], true);  // rows 1 3; rows 5 7
  const Bytes even_low = interleave(t[0], t[2], false), even_high = interleave(t[0], t[2], true);  // rows 0 1 2 3 of columns 0–3, 4–7
  const Bytes odd_low = interleave(t[1], t[3], false), odd_high = interleave(t[1], t[3], true);    // rows 4 5 6 7
  const auto low = [](Bytes a, Bytes b) { return __builtin_shufflevector((Words)a, (Words)b, 0, 4, 1, 5); };
  const auto high = [](Bytes a, Bytes b) { return __builtin_shufflevector((Words)a, (Words)b, 2, 6, 3, 7); };
  const Words columns[4] = {low(even_low, odd_low), high(even_low, odd_low), low(even_high, odd_high), high(even_high, odd_high)};
  for (int i = 0; i < 8; ++i)
    std::memcpy(target + i * target_stride, reinterpret_cast<const std::byte*>(&columns[i / 2]) + i % 2 * 8, 8);
}

// target[a][b] = source[b][a] for a tile that fits the cache: rows of `a` are dense in the source, rows of `b` in the target.
template <class T>
void transpose_tile(const T* source, int64_t source_stride, T* target, int64_t target_stride, int64_t a_count, int64_t b_count) {
  constexpr int64_t kSquare = sizeof(T) == 1 ? 8 : 4;
  const int64_t a_whole = a_count / kSquare * kSquare, b_whole = b_count / kSquare * kSquare;
  for (int64_t a = 0; a < a_whole; a += kSquare)
    for (int64_t b = 0; b < b_whole; b += kSquare)
      transpose_square(source + b * source_stride + a, source_stride, target + a * target_stride + b, target_stride);
  for (int64_t a = 0; a < a_count; ++a)
    for (int64_t b = a < a_whole ? b_whole : 0; b < b_count; ++b) target[a * target_stride + b] = source[b * source_stride + a];
}

// A few rows become a few columns, or the other way round, as the planes of a picture.
template <int kFew, class T>
void weave(const T* source, int64_t source_stride, T* target, int64_t target_stride, int64_t count) {
  for (int64_t a = 0; a < count; ++a)
    for (int b = 0; b < kFew; ++b) target[a * target_stride + b] = source[b * source_stride + a];
}
template <int kFew, class T>
void unweave(const T* source, int64_t source_stride, T* target, int64_t target_stride, int64_t count) {
  for (int64_t b = 0; b < count; ++b)
    for (int a = 0; a < kFew; ++a) target[a * target_stride + b] = source[b * source_stride + a];
}

template <class T>
void transpose_plane(const T* source, int64_t source_stride, T* target, int64_t target_stride, int64_t a_count, int64_t b_count) {
  constexpr int64_t kTile = 64 / sizeof(T) < 32 ? 16 : 32;
  if (b_count == 3) return weave<3>(source, source_stride, target, target_stride, a_count);
  if (b_count == 2) return weave<2>(source, source_stride, target, target_stride, a_count);
  if (a_count == 3) return unweave<3>(source, source_stride, target, target_stride, b_count);
  if (a_count == 2) return unweave<2>(source, source_stride, target, target_stride, b_count);
  for (int64_t a = 0; a < a_count; a += kTile)
    for (int64_t b = 0; b < b_count; b += kTile)
      transpose_tile(source + b * source_stride + a, source_stride, target + a * target_stride + b, target_stride,
                     std::min(kTile, a_count - a), std::min(kTile, b_count - b));
}

// Where the dim that is dense in the source is another than the one dense in the target, goes tile by tile; both sides then
// use whole cache lines. False if the view is not of that kind.
template <class T>
bool copy_transposed(const StridedCopy& view, const std::byte* source_bytes, std::byte* target_bytes) {
  const auto last = static_cast<size_t>(view.rank - 1);
  if (view.rank < 2 || view.target_strides[last] != 1 || view.source_strides[last] == 1) return false;
  size_t dense = last;
  for (size_t i = 0; i < last; ++i)
    if (view.source_strides[i] == 1) dense = i;
  if (dense == last || view.dims[dense] < 2) return false;
  const auto* source = reinterpret_cast<const T*>(source_bytes);
  auto* target = reinterpret_cast<T*>(target_bytes);
  // All other dims are walked around the tiles.
  std::array<int64_t, StridedCopy::kMaxRank> dims{}, from{}, to{}, index{};
  int outer = 0;
  for (size_t i = 0; i < last; ++i) {
    if (i == dense) continue;
    const auto at = static_cast<size_t>(outer++);
    dims[at] = view.dims[i];
    from[at] = view.source_strides[i];
    to[at] = view.target_strides[i];
    if (dims[at] == 0) return true;
  }
  while (true) {
    transpose_plane(source, view.source_strides[last], target, view.target_strides[dense], view.dims[dense], view.dims[last]);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto at = static_cast<size_t>(d);
      source += from[at];
      target += to[at];
      if (++index[at] < dims[at]) break;
      source -= from[at] * dims[at];
      target -= to[at] * dims[at];
      index[at] = 0;
    }
    if (d < 0) return true;
  }
}

void copy_view(const StridedCopy& view, size_t element, const void* source, void* target) {
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  if (element == 4 && copy_transposed<uint32_t>(view, from, to)) return;
  if (element == 1 && copy_transposed<uint8_t>(view, from, to)) return;
  copy_strided(view, element, source, target);
}

// Copies one view, its largest dim shared among the threads.
void copy_shared(const StridedCopy& given, size_t element, const void* source, void* target, ThreadPool& pool) {
  const StridedCopy view = in_target_order(given);
  int widest = 0;
  int64_t elements = 1;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    elements *= view.dims[at];
    if (i + 1 < view.rank && view.dims[at] > view.dims[static_cast<size_t>(widest)]) widest = i;
  }
  if (elements == 0) return;
  if (view.rank == 0 || pool.threads() == 1 || elements * static_cast<int64_t>(element) < kGrainBytes) return copy_view(view, element, source, target);
  const auto at = static_cast<size_t>(widest);
  const int64_t parts = view.dims[at];
  const int64_t grain = std::max<int64_t>(1, kGrainBytes * parts / (elements * static_cast<int64_t>(element)));
  pool.parallel_for(parts, grain, [&](int64_t begin, int64_t end, int) {
    StridedCopy part = view;
    part.dims[at] = end - begin;
    copy_view(part, element, static_cast<const std::byte*>(source) + begin * view.source_strides[at] * static_cast<int64_t>(element),
                 static_cast<std::byte*>(target) + begin * view.target_strides[at] * static_cast<int64_t>(element));
  });
}

// What all of them know: layouts and element size of each operand.
class MoveKernel : public Kernel {
 public:
  explicit MoveKernel(const Problem& problem) : element_(element_bytes(problem.outputs[0].type.dtype)) {
    for (const Operand& operand : problem.inputs) input_layouts_.push_back(operand.type.layout);
    for (const Operand& operand : problem.outputs) output_layouts_.push_back(operand.type.layout);
  }

 protected:
  Strides input_strides(const KernelArgs& args, size_t i) const { return strides_of(args.input_shapes[i], input_layouts_[i]); }
  Strides output_strides(const KernelArgs& args, size_t i) const { return strides_of(args.output_shapes[i], output_layouts_[i]); }
  const std::byte* input_at(const KernelArgs& args, size_t i, int64_t element) const {
    return static_cast<const std::byte*>(args.inputs[i]) + element * static_cast<int64_t>(element_);
  }
  std::byte* output_at(const KernelArgs& args, size_t i, int64_t element) const {
    return static_cast<std::byte*>(args.outputs[i]) + element * static_cast<int64_t>(element_);
  }
  void copy(const StridedCopy& view, const std::byte* source, std::byte* target, const KernelArgs& args) const {
    copy_shared(view, element_, source, target, *args.pool);
  }

  size_t element_;
  std::vector<Layout> input_layouts_, output_layouts_;
};

// Changes layout, or copies.
class ReformatKernel final : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status run(const KernelArgs& args) noexcept override {
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape& shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) view.add_dim(shape[i], source[static_cast<size_t>(i)], target[static_cast<size_t>(i)]);
    copy(view, input_at(args, 0, 0), output_at(args, 0, 0), args);
    return {};
  }
};

class TransposeKernel final : public MoveKernel {
 public:
  TransposeKernel(const Problem& problem, const TransposeParams& params) : MoveKernel(problem) {
    const int rank = problem.outputs[0].type.shape.rank;
    for (int i = 0; i < rank; ++i) {
      int64_t axis = params.perm.empty() ? rank - 1 - i : params.perm[static_cast<size_t>(i)];
      perm_[static_cast<size_t>(i)] = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    }
  }
  Status run(const KernelArgs& args) noexcept override {
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape& shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) {
      const auto at = static_cast<size_t>(i);
      view.add_dim(shape[i], source[perm_[at]], target[at]);
    }
    copy(view, input_at(args, 0, 0), output_at(args, 0, 0), args);
    return {};
  }

 private:
  std::array<size_t, Shape::kMaxRank> perm_{};
};

// Concat and Split: each part is a window of the whole along one dim.
class PartsKernel final : public MoveKernel {
 public:
  PartsKernel(const Problem& problem, int64_t axis, bool joins) : MoveKernel(problem), joins_(joins) {
    const int rank = problem.outputs[0].type.shape.rank;
    axis_ = static_cast<int>(axis < 0 ? axis + rank : axis);
  }
  Status run(const KernelArgs& args) noexcept override {
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
      copy(view, input_at(args, joins_ ? i : 0, joins_ ? 0 : offset), output_at(args, joins_ ? 0 : i, joins_ ? offset : 0), args);
      start += shape[axis_];
    }
    return {};
  }

 private:
  bool joins_;
  int axis_ = 0;
};

// Starts and steps come from the operands at each run; the result's shape is known already.
class SliceKernel final : public MoveKernel {
 public:
  explicit SliceKernel(const Problem& problem) : MoveKernel(problem) {
    for (size_t i = 1; i < problem.inputs.size(); ++i) {
      dtypes_[i] = problem.inputs[i].type.dtype;
      present_[i] = problem.inputs[i].present;
    }
  }
  Status run(const KernelArgs& args) noexcept override {
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape &from = args.input_shapes[0], &shape = args.output_shapes[0];
    std::array<int64_t, Shape::kMaxRank> starts{}, steps{};
    steps.fill(1);
    const auto value = [&](size_t operand, int64_t i) {
      return read_index({dtypes_[operand], args.input_shapes[operand], args.inputs[operand], true}, i);
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
    copy(view, input_at(args, 0, offset), output_at(args, 0, 0), args);
    return {};
  }

 private:
  std::array<DataType, 5> dtypes_{};
  std::array<bool, 5> present_{};
};

// Broadcasting is reading with stride 0.
class ExpandKernel final : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status run(const KernelArgs& args) noexcept override {
    const Strides source = input_strides(args, 0), target = output_strides(args, 0);
    const Shape &from = args.input_shapes[0], &shape = args.output_shapes[0];
    StridedCopy view;
    for (int i = 0; i < shape.rank; ++i) {
      const int own = i - (shape.rank - from.rank);
      view.add_dim(shape[i], own < 0 || from[own] == 1 ? 0 : source[static_cast<size_t>(own)], target[static_cast<size_t>(i)]);
    }
    copy(view, input_at(args, 0, 0), output_at(args, 0, 0), args);
    return {};
  }
};

// Depth ↔ space: the channel dim is a product of three.
class DepthSpaceKernel final : public MoveKernel {
 public:
  DepthSpaceKernel(const Problem& problem, int64_t block, bool crd, bool to_space)
      : MoveKernel(problem), block_(block), crd_(crd), to_space_(to_space) {}
  Status run(const KernelArgs& args) noexcept override {
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
    copy(view, input_at(args, 0, 0), output_at(args, 0, 0), args);
    return {};
  }

 private:
  int64_t block_;
  bool crd_, to_space_;
};

// Relabels: bytes stay in order. Also channels_last where only one of channels and pixels is more than 1, so that both
// layouts are the same bytes.
class RelabelKernel final : public MoveKernel {
 public:
  using MoveKernel::MoveKernel;
  Status run(const KernelArgs& args) noexcept override {
    if (args.inputs[0] == args.outputs[0]) return {};
    StridedCopy view;
    view.add_dim(args.output_shapes[0].elements(), 1, 1);
    copy(view, input_at(args, 0, 0), output_at(args, 0, 0), args);
    return {};
  }
};

bool same_bytes_in_both_layouts(const Operand& operand) {
  const Shape& shape = operand.type.shape;
  if (operand.type.layout == Layout::kLinear || shape.rank < 3 || shape[1] == 1) return true;
  for (int d = 2; d < shape.rank; ++d)
    if (shape[d] != 1) return false;
  return true;
}

class MoveTactic final : public Tactic {
 public:
  MoveTactic(OpKind op, const char* name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    const Operand& x = problem.inputs[0];
    for (const Operand& output : problem.outputs)
      if (!output.present || output.type.dtype != x.type.dtype) return {"an output is left out or has another element type"};
    switch (info_.op) {
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

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    switch (info_.op) {
      case OpKind::kIdentity: return make<ReformatKernel>(problem);
      case OpKind::kTranspose: return make<TransposeKernel>(problem, std::get<TransposeParams>(problem.params));
      case OpKind::kConcat: return make<PartsKernel>(problem, std::get<ConcatParams>(problem.params).axis, true);
      case OpKind::kSplit: return make<PartsKernel>(problem, std::get<SplitParams>(problem.params).axis, false);
      case OpKind::kSlice: return make<SliceKernel>(problem);
      case OpKind::kExpand: return make<ExpandKernel>(problem);
      case OpKind::kDepthToSpace: {
        const auto& params = std::get<DepthToSpaceParams>(problem.params);
        return make<DepthSpaceKernel>(problem, params.block, params.crd, true);
      }
      case OpKind::kSpaceToDepth: return make<DepthSpaceKernel>(problem, std::get<SpaceToDepthParams>(problem.params).block, false, false);
      default: return make<RelabelKernel>(problem);
    }
  }

 private:
  template <class K, class... Args>
  static Expected<std::unique_ptr<Kernel>> make(const Problem& problem, Args... args) {
    return std::unique_ptr<Kernel>(std::make_unique<K>(problem, args...));
  }
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> move() {
  static const MoveTactic reformat(OpKind::kIdentity, "cpu.reformat"), transpose(OpKind::kTranspose, "cpu.transpose.strided"),
      concat(OpKind::kConcat, "cpu.concat.strided"), split(OpKind::kSplit, "cpu.split.strided"), slice(OpKind::kSlice, "cpu.slice.strided"),
      expand(OpKind::kExpand, "cpu.expand.strided"), depth_to_space(OpKind::kDepthToSpace, "cpu.depth_to_space.strided"),
      space_to_depth(OpKind::kSpaceToDepth, "cpu.space_to_depth.strided"), reshape(OpKind::kReshape, "cpu.reshape.relabel"),
      flatten(OpKind::kFlatten, "cpu.flatten.relabel"), squeeze(OpKind::kSqueeze, "cpu.squeeze.relabel"),
      unsqueeze(OpKind::kUnsqueeze, "cpu.unsqueeze.relabel");
  static const std::array<const Tactic*, 12> list = {&reformat, &transpose, &concat,  &split,   &slice,   &expand,
                                                     &depth_to_space, &space_to_depth, &reshape, &flatten, &squeeze, &unsqueeze};
  return list;
}

}  // namespace ingot::cpu
