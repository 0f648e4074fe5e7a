// Where, Cast and comparisons: plain typed loops over broadcast rows, in either layout.
#include <array>
#include <cstring>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/ops/element.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements below which another thread does not pay

// Calls f(T{}) for the types that have a fast path; bool as uint8_t, which it is stored in.
template <class F>
bool with_common_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32: f(float{}); return true;
    case DataType::kS32: f(int32_t{}); return true;
    case DataType::kS64: f(int64_t{}); return true;
    case DataType::kU8: case DataType::kBool: f(uint8_t{}); return true;
    default: return false;
  }
}
bool is_common(DataType type) { return with_common_type(type, [](auto) {}); }

class WhereKernel final : public Kernel {
 public:
  WhereKernel(const Problem& problem)
      : element_(element_bytes(problem.outputs[0].type.dtype)), layout_(problem.outputs[0].type.layout), rank_(problem.outputs[0].type.shape.rank) {}
  Status run(const KernelArgs& args) noexcept override {
    switch (element_) {
      case 1: select<uint8_t>(args); break;
      case 2: select<uint16_t>(args); break;
      case 4: select<uint32_t>(args); break;
      default: select<uint64_t>(args); break;
    }
    return {};
  }

 private:
  template <class T>
  void select(const KernelArgs& args) const {
    std::array<Shape, 3> in;
    for (size_t i = 0; i < 3; ++i) in[i] = memory_shape(args.input_shapes[i], rank_, layout_);
    const auto* condition = static_cast<const uint8_t*>(args.inputs[0]);
    const auto *x = static_cast<const T*>(args.inputs[1]), *y = static_cast<const T*>(args.inputs[2]);
    auto* out = static_cast<T*>(args.outputs[0]);
    broadcast_rows<3>(memory_shape(args.output_shapes[0], rank_, layout_), in, kGrain, *args.pool,
                      [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
      const uint8_t* c = condition + offsets[0];
      const T *a = x + offsets[1], *b = y + offsets[2];
      // Reads both sides, so that there is no jump.
      for (int64_t i = 0; i < n; ++i) {
        const T yes = a[i * steps[1]], no = b[i * steps[2]];
        out[at + i] = c[i * steps[0]] ? yes : no;
      }
    });
  }
  size_t element_;
  Layout layout_;
  int rank_;
};

class CompareKernel final : public Kernel {
 public:
  CompareKernel(const Problem& problem)
      : function_(std::get<BinaryParams>(problem.params).function), dtype_(problem.inputs[0].type.dtype),
        layout_(problem.outputs[0].type.layout), rank_(problem.outputs[0].type.shape.rank) {}
  Status run(const KernelArgs& args) noexcept override {
    with_common_type(dtype_, [&]<class T>(T) {
      switch (function_) {
        case BinaryFunction::kEqual: return compare<T>(args, [](T a, T b) { return a == b; });
        case BinaryFunction::kLess: return compare<T>(args, [](T a, T b) { return a < b; });
        case BinaryFunction::kLessOrEqual: return compare<T>(args, [](T a, T b) { return a <= b; });
        case BinaryFunction::kGreater: return compare<T>(args, [](T a, T b) { return a > b; });
        default: return compare<T>(args, [](T a, T b) { return a >= b; });
      }
    });
    return {};
  }

 private:
  template <class T, class Is>
  void compare(const KernelArgs& args, Is is) const {
    const std::array<Shape, 2> in = {memory_shape(args.input_shapes[0], rank_, layout_), memory_shape(args.input_shapes[1], rank_, layout_)};
    const auto *x = static_cast<const T*>(args.inputs[0]), *y = static_cast<const T*>(args.inputs[1]);
    auto* out = static_cast<uint8_t*>(args.outputs[0]);
    broadcast_rows<2>(memory_shape(args.output_shapes[0], rank_, layout_), in, kGrain, *args.pool,
                      [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
      combine_row(x + offsets[0], steps[0], y + offsets[1], steps[1], out + at, n, is);
    });
  }
  BinaryFunction function_;
  DataType dtype_;
  Layout layout_;
  int rank_;
};

// Integers narrow by dropping bits; floats truncate and saturate, NaN gives 0; to bool, all but 0 is true.
template <class To, class From>
To cast(From x) {
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) return saturate_cast<To>(static_cast<double>(x));
  else return static_cast<To>(x);
}

class CastKernel final : public Kernel {
 public:
  CastKernel(const Problem& problem) : from_(problem.inputs[0].type.dtype), to_(problem.outputs[0].type.dtype) {}
  Status run(const KernelArgs& args) noexcept override {
    const int64_t count = args.output_shapes[0].elements();
    if (from_ == to_) {
      if (count > 0 && args.outputs[0] != args.inputs[0]) std::memcpy(args.outputs[0], args.inputs[0], static_cast<size_t>(count) * element_bytes(to_));
      return {};
    }
    args.pool->parallel_for(count, kGrain, [&](int64_t begin, int64_t end, int) {
      with_common_type(from_, [&]<class From>(From) {
        with_common_type(to_, [&]<class To>(To) {
          const From* const x = static_cast<const From*>(args.inputs[0]);
          To* const y = static_cast<To*>(args.outputs[0]);
          if (to_ == DataType::kBool)
            for (int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i] != 0);
          else if (from_ == DataType::kBool)
            for (int64_t i = begin; i < end; ++i) y[i] = static_cast<To>(x[i] != 0);
          else
            for (int64_t i = begin; i < end; ++i) y[i] = cast<To>(x[i]);
        });
      });
    });
    return {};
  }

 private:
  DataType from_, to_;
};

class PlainTactic final : public Tactic {
 public:
  PlainTactic(OpKind op, std::string_view name) : info_{name, 1, op} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    const TensorType &first = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (info_.op == OpKind::kCast) {
      if (!is_common(first.dtype) || !is_common(y.dtype)) return {"no fast path between these types"};
      return first.layout == y.layout ? Support{} : Support{"layouts differ"};
    }
    for (const Operand& input : problem.inputs)
      if (!reads_in_layout(input.type, y)) return {"an operand has another layout"};
    if (info_.op == OpKind::kWhere) {
      const DataType type = problem.inputs[1].type.dtype;
      return type == y.dtype && problem.inputs[2].type.dtype == type && first.dtype == DataType::kBool ? Support{} : Support{"element types differ"};
    }
    if (!is_comparison(std::get<BinaryParams>(problem.params).function)) return {"no comparison"};
    if (first.dtype != problem.inputs[1].type.dtype || first.quant || problem.inputs[1].type.quant) return {"types differ or are quantised"};
    if (first.dtype == DataType::kBool || !is_common(first.dtype)) return {"no fast path for this type"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, std::string(info_.name) + ": packed constants: got some, need none");
    switch (info_.op) {
      case OpKind::kWhere: return std::unique_ptr<Kernel>(std::make_unique<WhereKernel>(problem));
      case OpKind::kCast: return std::unique_ptr<Kernel>(std::make_unique<CastKernel>(problem));
      default: return std::unique_ptr<Kernel>(std::make_unique<CompareKernel>(problem));
    }
  }

 private:
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> select_cast() {
  static const PlainTactic where(OpKind::kWhere, "cpu.where"), cast(OpKind::kCast, "cpu.cast"), compare(OpKind::kBinary, "cpu.compare");
  static const std::array<const Tactic*, 3> list = {&where, &cast, &compare};
  return list;
}

}  // namespace ingot::cpu
