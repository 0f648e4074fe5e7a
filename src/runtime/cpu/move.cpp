// Ops that only move elements (runtime/move_views.h). Threads share the largest outer dim of each copy.
#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/move_views.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrainBytes = 16384;  // below this another thread does not pay

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

class MoveKernel final : public Kernel {
 public:
  explicit MoveKernel(const Problem& problem) : move_(make_move(problem)), element_(element_bytes(problem.outputs[0].type.dtype)) {}
  Status run(const KernelArgs& args) noexcept override {
    Copier copier(args, element_);
    return move_->views(args, args.inputs.data(), copier);
  }

 private:
  class Copier final : public CopySink {
   public:
    Copier(const KernelArgs& args, size_t element) : args_(args), element_(element) {}
    Status copy(const StridedCopy& view, CopyPlace place) override {
      const auto at = [&](int64_t element) { return element * static_cast<int64_t>(element_); };
      copy_shared(view, element_, static_cast<const std::byte*>(args_.inputs[place.input]) + at(place.source),
                  static_cast<std::byte*>(args_.outputs[place.output]) + at(place.target), *args_.pool);
      return {};
    }

   private:
    const KernelArgs& args_;
    size_t element_;
  };
  std::unique_ptr<Move> move_;
  size_t element_;
};

class MoveTactic final : public Tactic {
 public:
  MoveTactic(OpKind op, const char* name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override { return supports_move(problem); }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<MoveKernel>(problem));
  }

 private:
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
