// Ops that go along an axis by whole rows of memory: triangles, reversed sequences, running sums, places of extremes, elements
// gathered by index. Results are the reference's to the bit. Compiled with vectorised loops (cmake/ingot_targets.cmake).
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "runtime/ops/index_place.h"
#include "runtime/ops/reduce.h"
#include "runtime/tactic.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 8192;   // elements below which another thread does not pay
constexpr int64_t kColumns = 256;  // that run along an axis side by side

int64_t grain_of(int64_t elements_of_one) { return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements_of_one)); }

template <class F>
bool with_number_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32: f(float{}); return true;
    case DataType::kS32: f(int32_t{}); return true;
    case DataType::kS64: f(int64_t{}); return true;
    default: return false;
  }
}
bool is_number(DataType type) { return with_number_type(type, [](auto) {}); }

int64_t index_at(DataType type, const void* indices, int64_t i) {
  return type == DataType::kS32 ? static_cast<const int32_t*>(indices)[i] : static_cast<const int64_t*>(indices)[i];
}

// outer × count × inner around an axis.
struct Split {
  int64_t outer = 1, count = 1, inner = 1;
  Split(const Shape& shape, int64_t axis) {
    for (int i = 0; i < shape.rank; ++i) (i < axis ? outer : i == axis ? count : inner) *= shape[i];
  }
  // Calls go(first element, columns) for up to kColumns neighbours at a time.
  template <class Go>
  void for_columns(ThreadPool& pool, Go&& go) const {
    const int64_t pieces = (inner + kColumns - 1) / kColumns;
    pool.parallel_for(outer * pieces, grain_of(count * std::min(inner, kColumns)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t column = i % pieces * kColumns;
        go(i / pieces, column, std::min(kColumns, inner - column));
      }
    });
  }
};

class RowsKernel : public Kernel {
 public:
  explicit RowsKernel(const Problem& problem) : type_(problem.inputs[0].type.dtype), bytes_(element_bytes(problem.inputs[0].type.dtype)) {
    if (problem.inputs.size() > 1) index_type_ = problem.inputs[1].type.dtype;
  }

 protected:
  DataType type_, index_type_ = DataType::kS64;
  size_t bytes_;
};

class TriluKernel final : public RowsKernel {
 public:
  explicit TriluKernel(const Problem& problem) : RowsKernel(problem), upper_(std::get<TriluParams>(problem.params).upper) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[0];
    const int64_t rows = shape[shape.rank - 2], columns = shape[shape.rank - 1];
    if (shape.elements() == 0) return {};
    const bool has_k = args.inputs.size() > 1 && args.inputs[1];
    const int64_t k = has_k ? std::clamp(index_at(index_type_, args.inputs[1], 0), -rows - 1, columns + 1) : 0;
    args.pool->parallel_for(shape.elements() / columns, grain_of(columns), [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const auto at = static_cast<size_t>(row * columns) * bytes_, all = static_cast<size_t>(columns) * bytes_;
        const auto edge = static_cast<size_t>(std::clamp<int64_t>(row % rows + k + (upper_ ? 0 : 1), 0, columns)) * bytes_;
        const std::byte* x = static_cast<const std::byte*>(args.inputs[0]) + at;
        std::byte* y = static_cast<std::byte*>(args.outputs[0]) + at;
        std::memset(upper_ ? y : y + edge, 0, upper_ ? edge : all - edge);
        if (upper_) std::memcpy(y + edge, x + edge, all - edge);
        else std::memcpy(y, x, edge);
      }
    });
    return {};
  }

 private:
  bool upper_;
};

class ReverseKernel final : public RowsKernel {
 public:
  explicit ReverseKernel(const Problem& problem) : RowsKernel(problem), time_axis_(std::get<ReverseSequenceParams>(problem.params).time_axis) {
    if (time_axis_ < 0) time_axis_ += problem.inputs[0].type.shape.rank;
  }
  Status run(const KernelArgs& args) noexcept override {
    const Shape& x = args.input_shapes[0];
    const int64_t times = x[static_cast<int>(time_axis_)], batch = x[static_cast<int>(1 - time_axis_)];
    for (int64_t b = 0; b < batch; ++b)
      if (const int64_t length = index_at(index_type_, args.inputs[1], b); length < 0 || length > times)
        return refuse("reverse_sequence", "length of sequence " + std::to_string(b), std::to_string(length), "0 to " + std::to_string(times),
                      StatusCode::kInvalidArgument);
    const size_t block = static_cast<size_t>(Split(x, 1).inner) * bytes_;
    const int64_t batch_step = time_axis_ == 0 ? 1 : times, time_step = time_axis_ == 0 ? batch : 1;
    args.pool->parallel_for(batch * times, grain_of(static_cast<int64_t>(block)), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / batch_step % batch, t = i / time_step % times, length = index_at(index_type_, args.inputs[1], b);
        const int64_t from = t < length ? i + (length - 1 - 2 * t) * time_step : i;
        std::memcpy(static_cast<std::byte*>(args.outputs[0]) + static_cast<size_t>(i) * block,
                    static_cast<const std::byte*>(args.inputs[0]) + static_cast<size_t>(from) * block, block);
      }
    });
    return {};
  }

 private:
  int64_t time_axis_;
};

class CumulateKernel final : public RowsKernel {
 public:
  explicit CumulateKernel(const Problem& problem) : RowsKernel(problem), params_(std::get<CumulateParams>(problem.params)) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[0];
    int axis = 0;
    INGOT_TRY(read_axis("cumulate", index_at(index_type_, args.inputs[1], 0), shape.rank, axis));
    with_number_type(type_, [&]<class T>(T) {
      if (params_.product) run_as<T, true>(args, Split(shape, axis));
      else run_as<T, false>(args, Split(shape, axis));
    });
    return {};
  }

 private:
  template <class T, bool product>
  void run_as(const KernelArgs& args, const Split& split) const {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    split.for_columns(*args.pool, [&](int64_t outer, int64_t column, int64_t n) {
      Sum sums[kColumns];
      std::fill_n(sums, n, product ? Sum{1} : Sum{0});
      for (int64_t step = 0; step < split.count; ++step) {
        const int64_t at = (outer * split.count + (params_.reverse ? split.count - 1 - step : step)) * split.inner + column;
        const T* x = static_cast<const T*>(args.inputs[0]) + at;
        T* y = static_cast<T*>(args.outputs[0]) + at;
        const auto add = [&](int64_t i) { sums[i] = product ? sums[i] * static_cast<Sum>(x[i]) : sums[i] + static_cast<Sum>(x[i]); };
        if (params_.exclusive)
          for (int64_t i = 0; i < n; ++i) {
            const Sum before = sums[i];
            add(i);
            y[i] = static_cast<T>(before);
          }
        else
          for (int64_t i = 0; i < n; ++i) {
            add(i);
            y[i] = static_cast<T>(sums[i]);
          }
      }
    });
  }
  CumulateParams params_;
};

class ArgReduceKernel final : public RowsKernel {
 public:
  explicit ArgReduceKernel(const Problem& problem) : RowsKernel(problem), params_(std::get<ArgReduceParams>(problem.params)) {}
  Status run(const KernelArgs& args) noexcept override {
    int axis = 0;
    INGOT_TRY(read_axis("arg_reduce", params_.axis, args.input_shapes[0].rank, axis));
    const Split split(args.input_shapes[0], axis);
    with_number_type(type_, [&]<class T>(T) {
      if (params_.largest && params_.select_last_index) run_as<T, true, true>(args, split);
      else if (params_.largest) run_as<T, true, false>(args, split);
      else if (params_.select_last_index) run_as<T, false, true>(args, split);
      else run_as<T, false, false>(args, split);
    });
    return {};
  }

 private:
  // NaN beats every number.
  template <class T, bool largest, bool last>
  static bool beats(T x, T best) {
    const bool is_better = largest ? (last ? x >= best : x > best) : (last ? x <= best : x < best);
    if constexpr (std::is_integral_v<T>) return is_better;
    else return (is_better & (best == best)) | ((x != x) & (last | (best == best)));
  }
  template <class T, bool largest, bool last>
  void run_as(const KernelArgs& args, const Split& split) const {
    split.for_columns(*args.pool, [&](int64_t outer, int64_t column, int64_t n) {
      T best[kColumns];
      int32_t places[kColumns];
      const T* x = static_cast<const T*>(args.inputs[0]) + outer * split.count * split.inner + column;
      if (n == 1) {
        int64_t place = 0;
        for (int64_t step = 1; step < split.count; ++step)
          if (beats<T, largest, last>(x[step * split.inner], x[place * split.inner])) place = step;
        static_cast<int64_t*>(args.outputs[0])[outer * split.inner + column] = place;
        return;
      }
      std::copy_n(x, n, best);
      std::fill_n(places, n, 0);
      for (int64_t step = 1; step < split.count; ++step) {
        const T* row = x + step * split.inner;
        const auto place = static_cast<int32_t>(step);
        for (int64_t i = 0; i < n; ++i) {
          const bool wins = beats<T, largest, last>(row[i], best[i]);
          best[i] = wins ? row[i] : best[i];
          places[i] = wins ? place : places[i];
        }
      }
      std::copy_n(places, n, static_cast<int64_t*>(args.outputs[0]) + outer * split.inner + column);
    });
  }
  ArgReduceParams params_;
};

class GatherElementsKernel final : public RowsKernel {
 public:
  explicit GatherElementsKernel(const Problem& problem) : RowsKernel(problem), axis_(std::get<GatherElementsParams>(problem.params).axis) {}
  Status run(const KernelArgs& args) noexcept override {
    const Shape &x = args.input_shapes[0], &indices = args.input_shapes[1];
    int axis = 0;
    INGOT_TRY(read_axis("gather_elements", axis_, x.rank, axis));
    if (indices.elements() == 0) return {};
    std::atomic<int64_t> bad{-1};
    const auto as_index = [&]<class I>(I) {
      switch (bytes_) {
        case 1: gather<uint8_t, I>(args, axis, bad); break;
        case 2: gather<uint16_t, I>(args, axis, bad); break;
        case 4: gather<uint32_t, I>(args, axis, bad); break;
        default: gather<uint64_t, I>(args, axis, bad); break;
      }
    };
    if (index_type_ == DataType::kS32) as_index(int32_t{});
    else as_index(int64_t{});
    if (bad < 0) return {};
    int64_t place = 0;
    const TensorType type{index_type_, indices, Layout::kLinear, {}};
    return read_place("gather_elements", {&type, args.inputs[1]}, bad, x[axis], place);
  }

 private:
  template <class T, class I>
  void gather(const KernelArgs& args, int axis, std::atomic<int64_t>& bad) const {
    const Shape &x = args.input_shapes[0], &shape = args.input_shapes[1];
    const int64_t columns = shape[shape.rank - 1], dim = x[axis], stride = Split(x, axis).inner, step = axis == x.rank - 1 ? 0 : 1;
    args.pool->parallel_for(shape.elements() / columns, grain_of(columns), [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t offset = 0, rest = row, x_stride = x[x.rank - 1];
        for (int d = shape.rank - 2; d >= 0; --d) {
          if (d != axis) offset += rest % shape[d] * x_stride;
          rest /= shape[d];
          x_stride *= x[d];
        }
        const I* index = static_cast<const I*>(args.inputs[1]) + row * columns;
        const T* from = static_cast<const T*>(args.inputs[0]) + offset;
        T* to = static_cast<T*>(args.outputs[0]) + row * columns;
        for (int64_t i = 0; i < columns; ++i) {
          int64_t place = index[i];
          place += place < 0 ? dim : 0;
          if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(dim)) {
            bad = row * columns + i;
            return;
          }
          to[i] = from[place * stride + i * step];
        }
      }
    });
  }
  int64_t axis_;
};

template <class K>
class RowsTactic final : public Tactic {
 public:
  RowsTactic(OpKind op, std::string_view name, bool (*types)(const Problem&)) : info_{name, 1, op}, types_(types) {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (operand.present && operand.type.layout != Layout::kLinear) return {"tensors are not row-major"};
    return types_(problem) ? Support{} : Support{"no kernel for these types or axes"};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<K>(problem));
  }

 private:
  TacticInfo info_;
  bool (*types_)(const Problem&);
};

bool is_index(const Problem& problem, size_t i) {
  return i >= problem.inputs.size() || !problem.inputs[i].present || problem.inputs[i].type.dtype == DataType::kS32 || problem.inputs[i].type.dtype == DataType::kS64;
}
bool first_two_axes(const Problem& problem) {
  const auto& params = std::get<ReverseSequenceParams>(problem.params);
  const int64_t rank = problem.inputs[0].type.shape.rank, time = params.time_axis + (params.time_axis < 0 ? rank : 0);
  return rank >= 2 && time <= 1 && params.batch_axis + (params.batch_axis < 0 ? rank : 0) == 1 - time;
}

}  // namespace

std::span<const Tactic* const> along_rows() {
  static const RowsTactic<TriluKernel> trilu(OpKind::kTrilu, "cpu.trilu.rows", [](const Problem& p) { return is_index(p, 1); });
  static const RowsTactic<ReverseKernel> reverse(OpKind::kReverseSequence, "cpu.reversesequence.rows", [](const Problem& p) { return is_index(p, 1) && first_two_axes(p); });
  static const RowsTactic<CumulateKernel> cumulate(OpKind::kCumulate, "cpu.cumulate.rows", [](const Problem& p) { return is_index(p, 1) && is_number(p.inputs[0].type.dtype); });
  static const RowsTactic<ArgReduceKernel> places(OpKind::kArgReduce, "cpu.argreduce.rows", [](const Problem& p) {
    int axis = 0;
    const Shape& x = p.inputs[0].max_shape;
    const Status status = read_axis("arg_reduce", std::get<ArgReduceParams>(p.params).axis, x.rank, axis);
    return status.ok() && is_number(p.inputs[0].type.dtype) && x[axis] <= INT32_MAX;
  });
  static const RowsTactic<GatherElementsKernel> gather(OpKind::kGatherElements, "cpu.gatherelements.rows",
                                                       [](const Problem& p) { return is_index(p, 1) && p.inputs[0].type.shape.rank > 0; });
  static const std::array<const Tactic*, 5> list = {&trilu, &reverse, &cumulate, &places, &gather};
  return list;
}

}  // namespace ingot::cpu
