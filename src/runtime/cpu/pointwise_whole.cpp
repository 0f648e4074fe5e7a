// Arithmetic on integers and bools, and questions with bool answers: plain typed loops over broadcast rows, in either layout. Masks,
// positions and token numbers of exported models go through these. Compiled with vectorised loops (cmake/ingot_targets.cmake).
#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // elements below which another thread does not pay

template <class F>
bool with_whole_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kS32: f(int32_t{}); return true;
    case DataType::kS64: f(int64_t{}); return true;
    case DataType::kU8: case DataType::kBool: f(uint8_t{}); return true;
    default: return false;
  }
}

// Calls go(f) with the function on two T; integers wrap.
template <class T, class Go>
bool with_function(BinaryFunction function, bool is_bool, Go&& go) {
  using U = std::make_unsigned_t<T>;
  if (is_bool) {
    switch (function) {
      case BinaryFunction::kAnd: go([](T a, T b) { return static_cast<T>((a != 0) & (b != 0)); }); return true;
      case BinaryFunction::kOr: go([](T a, T b) { return static_cast<T>((a != 0) | (b != 0)); }); return true;
      case BinaryFunction::kXor: go([](T a, T b) { return static_cast<T>((a != 0) != (b != 0)); }); return true;
      default: return false;
    }
  }
  switch (function) {
    case BinaryFunction::kAdd: go([](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }); return true;
    case BinaryFunction::kSub: go([](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }); return true;
    case BinaryFunction::kMul: go([](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }); return true;
    case BinaryFunction::kMin: go([](T a, T b) { return b < a ? b : a; }); return true;
    case BinaryFunction::kMax: go([](T a, T b) { return b > a ? b : a; }); return true;
    default: return false;
  }
}

class WholeBinaryKernel final : public Kernel {
 public:
  explicit WholeBinaryKernel(const Problem& problem)
      : function_(std::get<BinaryParams>(problem.params).function), type_(problem.outputs[0].type.dtype), layout_(problem.outputs[0].type.layout),
        rank_(problem.outputs[0].type.shape.rank) {}
  Status run(const KernelArgs& args) noexcept override {
    with_whole_type(type_, [&]<class T>(T) {
      with_function<T>(function_, type_ == DataType::kBool, [&](auto f) { run_as<T>(args, f); });
    });
    return {};
  }

 private:
  template <class T, class F>
  void run_as(const KernelArgs& args, F f) const {
    const std::array<Shape, 2> in = {memory_shape(args.input_shapes[0], rank_, layout_), memory_shape(args.input_shapes[1], rank_, layout_)};
    const auto *x = static_cast<const T*>(args.inputs[0]), *y = static_cast<const T*>(args.inputs[1]);
    auto* out = static_cast<T*>(args.outputs[0]);
    broadcast_rows<2>(memory_shape(args.output_shapes[0], rank_, layout_), in, kGrain, *args.pool,
                      [&](int64_t at, int64_t n, const auto& offsets, const auto& steps) {
      combine_row(x + offsets[0], steps[0], y + offsets[1], steps[1], out + at, n, f);
    });
  }
  BinaryFunction function_;
  DataType type_;
  Layout layout_;
  int rank_;
};

class WholeBinaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.binary.whole", 1, OpKind::kBinary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const auto& params = std::get<BinaryParams>(problem.params);
    const TensorType& y = problem.outputs[0].type;
    if (params.activation.function != UnaryFunction::kIdentity) return {"an activation on integers"};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (operand.type.dtype != y.dtype || operand.type.quant) return {"types differ or are quantised"};
    bool known = false;
    with_whole_type(y.dtype, [&]<class T>(T) { known = with_function<T>(params.function, y.dtype == DataType::kBool, [](auto) {}); });
    if (!known) return {"no kernel for this type and function"};
    for (const Operand& input : problem.inputs)
      if (!reads_in_layout(input.type, y)) return {"an operand has another layout"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "binary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<WholeBinaryKernel>(problem));
  }
};

// Not of bools, IsNaN of floats, and -x, |x| of integers.
class WholeUnaryKernel final : public Kernel {
 public:
  explicit WholeUnaryKernel(const Problem& problem) : function_(std::get<UnaryParams>(problem.params).function), type_(problem.inputs[0].type.dtype) {}
  Status run(const KernelArgs& args) noexcept override {
    const auto each = [&]<class To, class From>(To, From, auto f) {
      const auto* x = static_cast<const From*>(args.inputs[0]);
      auto* y = static_cast<To*>(args.outputs[0]);
      args.pool->parallel_for(args.output_shapes[0].elements(), kGrain, [&](int64_t begin, int64_t end, int) {
        const From* from = x + begin;  // own pointers: a store of bytes might change captured ones
        To* to = y + begin;
        for (int64_t i = 0, n = end - begin; i < n; ++i) to[i] = f(from[i]);
      });
    };
    if (function_ == UnaryFunction::kNot) each(uint8_t{}, uint8_t{}, [](uint8_t x) { return static_cast<uint8_t>(x == 0); });
    else if (function_ == UnaryFunction::kIsNan) each(uint8_t{}, float{}, [](float x) { return static_cast<uint8_t>(x != x); });
    else
      with_whole_type(type_, [&]<class T>(T) {
        using U = std::make_unsigned_t<T>;
        if (function_ == UnaryFunction::kNeg) each(T{}, T{}, [](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); });
        else each(T{}, T{}, [](T x) { return x < 0 ? static_cast<T>(U{0} - static_cast<U>(x)) : x; });
      });
    return {};
  }

 private:
  UnaryFunction function_;
  DataType type_;
};

class WholeUnaryTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.unary.whole", 1, OpKind::kUnary};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const UnaryFunction function = std::get<UnaryParams>(problem.params).function;
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.layout != y.layout) return {"layouts differ"};
    if (x.quant || y.quant) return {"types are quantised"};
    if (function == UnaryFunction::kNot) return {x.dtype == DataType::kBool && y.dtype == DataType::kBool ? nullptr : "element type is not bool"};
    if (function == UnaryFunction::kIsNan) return {x.dtype == DataType::kF32 && y.dtype == DataType::kBool ? nullptr : "element type is not f32"};
    const bool is_signed = (x.dtype == DataType::kS32 || x.dtype == DataType::kS64) && y.dtype == x.dtype;
    return {is_signed && (function == UnaryFunction::kNeg || function == UnaryFunction::kAbs) ? nullptr : "no kernel for this type and function"};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "unary: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<WholeUnaryKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> pointwise_whole() {
  static const WholeBinaryTactic binary;
  static const WholeUnaryTactic unary;
  static const std::array<const Tactic*, 2> list = {&binary, &unary};
  return list;
}

}  // namespace ingot::cpu
