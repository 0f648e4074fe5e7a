// Reduce: y = f(the elements of x that share the kept coordinates). Floats accumulate in double, integers wrap in 64 bits.
#include "runtime/ops/reduce.h"

#include <cmath>

#include "runtime/ops/element.h"
#include "runtime/ops/quantize.h"
#include "runtime/ops/reduce_plan.h"
#include "runtime/ops/small_float.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "reduce";
constexpr std::array<std::string_view, static_cast<size_t>(ReduceFunction::kCount)> kNames = {
    "sum", "mean", "max", "min", "prod", "l1", "l2", "log_sum", "log_sum_exp", "sum_square"};

// Arithmetic of a set: double for floats, 64-bit integers that wrap for the others.
template <class T>
using Wide = std::conditional_t<!std::is_integral_v<T>, double, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

template <class A>
A add(A a, A b) {
  if constexpr (std::is_same_v<A, double>) return a + b;
  else return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class A>
A multiply(A a, A b) {
  if constexpr (std::is_same_v<A, double>) return a * b;
  else return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class A>
A magnitude(A x) {
  if constexpr (std::is_same_v<A, double>) return std::fabs(x);
  else if constexpr (std::is_same_v<A, int64_t>) return x < 0 ? static_cast<A>(0 - static_cast<uint64_t>(x)) : x;
  else return x;
}

// A real result as T: integers truncate.
template <class T>
T store_real(double x) {
  if constexpr (std::is_integral_v<T>) return saturate_cast<T>(x);
  else return store_float<T>(x);
}
template <class T>
T store_wide(Wide<T> x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(x);
  else return store_float<T>(x);
}

// Each accumulator starts as its function of the empty set.
template <class T>
struct Sum {
  Wide<T> total = 0;
  void take(Wide<T> x) { total = add(total, x); }
  T result(int64_t) const { return store_wide<T>(total); }
};
template <class T>
struct Mean {
  Wide<T> total = 0;
  void take(Wide<T> x) { total = add(total, x); }
  T result(int64_t n) const {
    if constexpr (std::is_integral_v<T>) return n == 0 ? T{0} : store_wide<T>(total / static_cast<Wide<T>>(n));
    else return store_wide<T>(total / static_cast<double>(n));
  }
};
// NaN wins, as in numpy.
template <class T, bool largest>
struct Extreme {
  static constexpr Wide<T> start() {
    if constexpr (std::is_integral_v<T>) return largest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    else return largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  Wide<T> best = start();
  void take(Wide<T> x) {
    if (x != x || (largest ? x > best : x < best)) best = x;
  }
  T result(int64_t) const { return store_wide<T>(best); }
};
template <class T> using Max = Extreme<T, true>;
template <class T> using Min = Extreme<T, false>;
template <class T>
struct Prod {
  Wide<T> total = 1;
  void take(Wide<T> x) { total = multiply(total, x); }
  T result(int64_t) const { return store_wide<T>(total); }
};
template <class T>
struct L1 {
  Wide<T> total = 0;
  void take(Wide<T> x) { total = add(total, magnitude(x)); }
  T result(int64_t) const { return store_wide<T>(total); }
};
template <class T>
struct L2 {
  double total = 0;
  void take(Wide<T> x) { total += static_cast<double>(x) * static_cast<double>(x); }
  T result(int64_t) const { return store_real<T>(std::sqrt(total)); }
};
template <class T>
struct LogSum {
  double total = 0;
  void take(Wide<T> x) { total += static_cast<double>(x); }
  T result(int64_t) const { return store_real<T>(std::log(total)); }
};
// log Σ exp(x) = m + log Σ exp(x − m), with m the largest x so far.
template <class T>
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  void take(Wide<T> wide) {
    const auto x = static_cast<double>(wide);
    if (x == largest) {
      total += total > 0 ? 1 : 0;  // equal to −∞ before any other: adds exp(−∞)
    } else if (x > largest) {
      total = total * std::exp(largest - x) + 1;
      largest = x;
    } else {
      total += std::exp(x - largest);
    }
  }
  T result(int64_t) const { return store_real<T>(largest + std::log(total)); }
};
template <class T>
struct SumSquare {
  Wide<T> total = 0;
  void take(Wide<T> x) { total = add(total, multiply(x, x)); }
  T result(int64_t) const { return store_wide<T>(total); }
};

template <class T, class Accumulator>
void reduce_sets(const ReducePlan& plan, const void* x, void* y) {
  const auto* in = static_cast<const T*>(x);
  auto* out = static_cast<T*>(y);
  Accumulator set;
  for_each_set(
      plan, [&] { set = Accumulator(); },
      [&](int64_t at) { set.take(static_cast<Wide<T>>(load_element(in[at]))); },
      [&](int64_t i) { out[i] = set.result(plan.set_size); });
}

// Calls go(Accumulator{}) with the function's accumulator.
template <class T, class Go>
void with_accumulator(ReduceFunction function, Go&& go) {
  switch (function) {
    case ReduceFunction::kSum: return go(Sum<T>{});
    case ReduceFunction::kMean: return go(Mean<T>{});
    case ReduceFunction::kMax: return go(Max<T>{});
    case ReduceFunction::kMin: return go(Min<T>{});
    case ReduceFunction::kProd: return go(Prod<T>{});
    case ReduceFunction::kL1: return go(L1<T>{});
    case ReduceFunction::kL2: return go(L2<T>{});
    case ReduceFunction::kLogSum: return go(LogSum<T>{});
    case ReduceFunction::kLogSumExp: return go(LogSumExp<T>{});
    case ReduceFunction::kSumSquare: return go(SumSquare<T>{});
    case ReduceFunction::kCount: return;
  }
}

template <class T>
void reduce_elements(ReduceFunction function, const ReducePlan& plan, const void* x, void* y) {
  with_accumulator<T>(function, [&]<class Accumulator>(Accumulator) { reduce_sets<T, Accumulator>(plan, x, y); });
}

// The extremes of bool are uint8_t limits otherwise.
void reduce_bools(bool largest, const ReducePlan& plan, const uint8_t* in, uint8_t* out) {
  bool best = false;
  for_each_set(
      plan, [&] { best = !largest; },
      [&](int64_t at) { best = largest ? (best || in[at] != 0) : (best && in[at] != 0); },
      [&](int64_t i) { out[i] = best; });
}

// y = clamp(rne(float(a) · m) + z_y), with a = Σ (x − z_x) and m = s_x / s_y (sum) or s_x / (s_y n) (mean), or a the
// extreme x − z_x and m = s_x / s_y.
template <class T>
void reduce_quantised(ReduceFunction function, const ReducePlan& plan, const ConstTensorRef& x, const TensorRef& y) {
  constexpr int32_t kLo = std::numeric_limits<T>::min(), kHi = std::numeric_limits<T>::max();
  const T* in = x.as<T>();
  T* out = y.as<T>();
  const int32_t x_zero = zero_point_of(*x.type), y_zero = zero_point_of(*y.type);
  const double divisor = function == ReduceFunction::kMean ? static_cast<double>(std::max<int64_t>(plan.set_size, 1)) : 1;
  const auto factor =
      static_cast<float>(static_cast<double>(scale_of(*x.type)) / (static_cast<double>(scale_of(*y.type)) * divisor));
  const bool sums = function == ReduceFunction::kSum || function == ReduceFunction::kMean;
  const bool largest = function == ReduceFunction::kMax;
  const int64_t start = sums ? 0 : (largest ? kLo : kHi) - x_zero;
  int64_t a = 0;
  for_each_set(
      plan, [&] { a = start; },
      [&](int64_t at) {
        const int64_t q = in[at] - x_zero;
        if (sums) a += q;
        else a = largest ? std::max(a, q) : std::min(a, q);
      },
      [&](int64_t i) {
        out[i] = static_cast<T>(round_clamp(static_cast<float>(a) * factor, y_zero, kLo, kHi));
      });
}

Status make_plan(const ReduceParams& params, std::span<const OpInput> inputs, ReducePlan& plan) {
  const Shape& from = inputs[0].shape;
  IndexList axes;
  if (has_input(inputs, 1)) INGOT_TRY(read_index_list(kOp, "axes", inputs[1], Shape::kMaxRank, axes));
  std::array<bool, Shape::kMaxRank> is_reduced{};
  if (axes.count == 0) is_reduced.fill(!params.noop_with_empty_axes);
  for (int i = 0; i < axes.count; ++i) {
    int axis = 0;
    INGOT_TRY(read_axis(kOp, axes[i], from.rank, axis));
    if (is_reduced[static_cast<size_t>(axis)]) return refuse(kOp, "axis given twice", std::to_string(axes[i]), "each axis once");
    is_reduced[static_cast<size_t>(axis)] = true;
  }
  plan = make_reduce_plan(from, is_reduced, params.keepdims);
  return {};
}

Status check_type(ReduceFunction function, DataType type) {
  const bool extreme = function == ReduceFunction::kMax || function == ReduceFunction::kMin;
  if ((type == DataType::kBool && !extreme) || is_small_float(type))
    return refuse(kOp, "element type for " + std::string(to_string(function)), to_string(type), "a number",
                  StatusCode::kUnsupported);
  return {};
}

}  // namespace

std::string_view to_string(ReduceFunction function) {
  const auto i = static_cast<size_t>(function);
  return i < kNames.size() ? kNames[i] : std::string_view("none");
}

ReducePlan make_reduce_plan(const Shape& from, const std::array<bool, Shape::kMaxRank>& is_reduced, bool keepdims) {
  ReducePlan plan;
  const Strides strides = row_major_strides(from);
  int last_kind = -1;
  for (int i = 0; i < from.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool reduced = is_reduced[at];
    if (reduced) plan.set_size *= from[i];
    if (!reduced || keepdims) plan.shape[plan.shape.rank++] = reduced ? 1 : from[i];
    if (from[i] == 1) continue;
    DimList& list = reduced ? plan.reduced : plan.kept;
    if (last_kind == static_cast<int>(reduced)) {
      list.dims[static_cast<size_t>(list.rank - 1)] *= from[i];
      list.strides[static_cast<size_t>(list.rank - 1)] = strides[at];
    } else {
      list.dims[static_cast<size_t>(list.rank)] = from[i];
      list.strides[static_cast<size_t>(list.rank++)] = strides[at];
    }
    last_kind = static_cast<int>(reduced);
  }
  return plan;
}

Status infer_types(const ReduceParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 1, 2, outputs));
  if (params.function < ReduceFunction::kSum || params.function >= ReduceFunction::kCount)
    return refuse(kOp, "function", std::to_string(static_cast<int64_t>(params.function)), "a known one");
  INGOT_TRY(check_type(params.function, inputs[0].dtype));
  ReducePlan plan;
  INGOT_TRY(make_plan(params, inputs, plan));
  return set_output(kOp, outputs[0], inputs[0].dtype, plan.shape);
}

Status run_reference(const ReduceParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  std::array<OpInput, 2> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = as_input(inputs[i]);
  ReducePlan plan;
  INGOT_TRY(make_plan(params, std::span(values).first(inputs.size()), plan));
  const TensorType &from = *inputs[0].type, &to = *outputs[0].type;
  if (from.dtype != to.dtype)
    return refuse(kOp, "type of the output", to_string(to.dtype), to_string(from.dtype), StatusCode::kInvalidArgument);
  const ReduceFunction function = params.function;
  if (from.quant || to.quant) {
    const bool known = function == ReduceFunction::kSum || function == ReduceFunction::kMean ||
                       function == ReduceFunction::kMax || function == ReduceFunction::kMin;
    const auto has_one_scale = [](const TensorType& type) { return is_quantized(type) && type.quant->scales.size() == 1; };
    if (!known || !has_one_scale(from) || !has_one_scale(to))
      return refuse(kOp, std::string(to_string(function)) + " over quantised values", to_string(from),
                    "sum, mean, max or min of a u8 or s8 tensor with one scale", StatusCode::kUnsupported);
    if (from.dtype == DataType::kU8) reduce_quantised<uint8_t>(function, plan, inputs[0], outputs[0]);
    else reduce_quantised<int8_t>(function, plan, inputs[0], outputs[0]);
    return {};
  }
  if (from.dtype == DataType::kBool) {
    reduce_bools(function == ReduceFunction::kMax, plan, inputs[0].as<uint8_t>(), outputs[0].as<uint8_t>());
    return {};
  }
  const auto reduce_as = [&]<class T>(T) { reduce_elements<T>(function, plan, inputs[0].data, outputs[0].data); };
  if (with_float_type(from.dtype, reduce_as) || with_integer_type(from.dtype, reduce_as)) return {};
  return check_type(function, from.dtype);
}

Status reduce_in_pieces(ReduceFunction function, DataType type, int64_t set_size, int64_t most, SetPiece next, void* context, void* y, int64_t i) {
  const auto each = [&]<class T>(T, auto&& take) {
    for (int64_t at = 0; at < set_size; at += most) {
      const int64_t count = std::min(most, set_size - at);
      const auto* piece = static_cast<const T*>(next(context, at, count));
      for (int64_t k = 0; k < count; ++k) take(piece[k]);
    }
  };
  if (type == DataType::kBool) {
    const bool largest = function == ReduceFunction::kMax;
    bool best = !largest;
    each(uint8_t{}, [&](uint8_t x) { best = largest ? (best || x != 0) : (best && x != 0); });
    static_cast<uint8_t*>(y)[i] = best;
    return {};
  }
  const auto reduce_as = [&]<class T>(T) {
    with_accumulator<T>(function, [&](auto set) {
      each(T{}, [&](T x) { set.take(static_cast<Wide<T>>(load_element(x))); });
      static_cast<T*>(y)[i] = set.result(set_size);
    });
  };
  if (with_float_type(type, reduce_as) || with_integer_type(type, reduce_as)) return {};
  return check_type(function, type);
}

}  // namespace ingot
