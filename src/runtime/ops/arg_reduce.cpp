// ArgReduce: the place of the largest or smallest element along an axis, the first or the last of equals. NaN beats every
// number, as in numpy.
#include "runtime/ops/element.h"
#include "runtime/ops/reduce.h"
#include "runtime/ops/reduce_plan.h"
#include "runtime/ops/small_float.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "arg_reduce";

Status refuse_type(DataType type) {
  return refuse(kOp, "element type", to_string(type), "a number", StatusCode::kUnsupported);
}

template <class T>
bool beats(T x, T best, bool largest, bool last) {
  if (best != best) return last && x != x;
  if (x != x) return true;
  if (x == best) return last;
  return largest ? x > best : x < best;
}

Status make_plan(const ArgReduceParams& params, const Shape& from, ReducePlan& plan) {
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, from.rank, axis));
  std::array<bool, Shape::kMaxRank> is_reduced{};
  is_reduced[static_cast<size_t>(axis)] = true;
  plan = make_reduce_plan(from, is_reduced, params.keepdims);
  return {};
}

}  // namespace

Status infer_types(const ArgReduceParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  const DataType type = inputs[0].dtype;
  if (is_small_float(type) || type == DataType::kBool) return refuse_type(type);
  ReducePlan plan;
  INGOT_TRY(make_plan(params, inputs[0].shape, plan));
  if (plan.set_size == 0 && plan.shape.elements() != 0)
    return refuse(kOp, "dim to search", "no elements", "1 or more");
  return set_output(kOp, outputs[0], DataType::kS64, plan.shape);
}

Status run_reference(const ArgReduceParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  ReducePlan plan;
  INGOT_TRY(make_plan(params, inputs[0].type->shape, plan));
  const DataType type = inputs[0].type->dtype;
  const auto search = [&]<class T>(T) {
    const T* in = inputs[0].as<T>();
    auto* out = outputs[0].as<int64_t>();
    Arithmetic<T> best{};
    int64_t place = 0, winner = 0;
    for_each_set(
        plan, [&] { place = winner = 0; },
        [&](int64_t at) {
          const Arithmetic<T> x = load_element(in[at]);
          if (place == 0 || beats(x, best, params.largest, params.select_last_index)) best = x, winner = place;
          ++place;
        },
        [&](int64_t i) { out[i] = winner; });
  };
  if (with_float_type(type, search) || with_integer_type(type, search)) return {};
  return refuse_type(type);
}

}  // namespace ingot
