// Reference LinearAttention. A column of the state (one element of v) depends on no other, so it runs through all steps
// alone, in double on the stack.
#include "runtime/ops/linear_attention.h"

#include <cmath>

#include "runtime/ops/element.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "linear_attention";
constexpr int64_t kMaxKeySize = 1024;
enum InputIndex : size_t { kQ, kK, kV, kPast, kDecay, kRate, kInputs };

template <class T>
double real(T value) { return static_cast<double>(load_element(value)); }

struct Sizes {
  int64_t batch, steps, key, value, decays, rates;  // decays, rates: last dims, 0 where there are none
};
Sizes sizes_of(const LinearAttentionParams& params, const Shape& q, const Shape& v, const Shape& decay, const Shape& rate) {
  return {q[0], q[1], q[2] / params.q_heads, v[2] / params.heads, params.gated ? decay[2] : 0, params.delta ? rate[2] : 0};
}

// One column of one head's state, through all steps.
template <class T, class S>
void run_column(const LinearAttentionParams& params, const Sizes& n, std::span<const ConstTensorRef> inputs,
                std::span<const TensorRef> outputs, int64_t b, int64_t head, int64_t column) {
  double state[kMaxKeySize];
  const int64_t place = (b * params.heads + head) * n.key * n.value + column, sharing = params.q_heads / params.heads;
  const bool has_past = has_input(inputs, kPast);
  for (int64_t d = 0; d < n.key; ++d) state[d] = has_past ? real(inputs[kPast].as<S>()[place + d * n.value]) : 0;
  for (int64_t t = 0; t < n.steps; ++t) {
    const int64_t step = b * n.steps + t;
    const T* k = inputs[kK].as<T>() + (step * params.heads + head) * n.key;
    double u = real(inputs[kV].as<T>()[(step * params.heads + head) * n.value + column]);
    if (params.gated) {
      const T* decay = inputs[kDecay].as<T>() + step * n.decays;
      const bool per_head = n.decays == params.heads;
      for (int64_t d = 0; d < n.key; ++d) state[d] *= std::exp(real(decay[per_head ? head : head * n.key + d]));
    }
    if (params.delta) {
      double known = 0;
      for (int64_t d = 0; d < n.key; ++d) known += state[d] * real(k[d]);
      u = (u - known) * real(inputs[kRate].as<T>()[step * n.rates + (n.rates == 1 ? 0 : head)]);
    }
    for (int64_t d = 0; d < n.key; ++d) state[d] += real(k[d]) * u;
    for (int64_t reader = head * sharing; reader < (head + 1) * sharing; ++reader) {
      const T* q = inputs[kQ].as<T>() + (step * params.q_heads + reader) * n.key;
      double sum = 0;
      for (int64_t d = 0; d < n.key; ++d) sum += state[d] * real(q[d]);
      outputs[0].as<T>()[(step * params.q_heads + reader) * n.value + column] = store_float<T>(params.scale * sum);
    }
  }
  for (int64_t d = 0; d < n.key; ++d) outputs[1].as<S>()[place + d * n.value] = store_float<S>(state[d]);
}

Status check_rows(std::string_view name, const OpInput& input, const Shape& q, std::initializer_list<int64_t> allowed) {
  const Shape& shape = input.shape;
  if (shape.rank == 3 && shape[0] == q[0] && shape[1] == q[1])
    for (int64_t last : allowed)
      if (shape[2] == last) return {};
  return refuse(kOp, std::string("shape of ") + std::string(name), to_string(shape),
                std::to_string(q[0]) + "x" + std::to_string(q[1]) + "x" + std::to_string(*allowed.begin()));
}

}  // namespace

Status infer_types(const LinearAttentionParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 3, kInputs, outputs, 2));
  const DataType type = inputs[kQ].dtype;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present) continue;
    if (!with_float_type(inputs[i].dtype, [](auto) {}))
      return refuse(kOp, "element type", to_string(inputs[i].dtype), "a float", StatusCode::kUnsupported);
    if (i != kPast && inputs[i].dtype != type)
      return refuse(kOp, "type of input " + std::to_string(i), to_string(inputs[i].dtype), to_string(type));
  }
  if (params.heads < 1 || params.q_heads < params.heads || params.q_heads % params.heads != 0)
    return refuse(kOp, "heads", std::to_string(params.q_heads) + " of queries, " + std::to_string(params.heads) + " of keys",
                  "a multiple of the keys' heads, 1 or more");
  const Shape &q = inputs[kQ].shape, &v = inputs[kV].shape;
  if (q.rank != 3 || q[2] % params.q_heads != 0)
    return refuse(kOp, "shape of the queries", to_string(q), "BxTx" + std::to_string(params.q_heads) + "K");
  const int64_t key = q[2] / params.q_heads;
  if (key < 1 || key > kMaxKeySize)
    return refuse(kOp, "size of a head", std::to_string(key), "1 to " + std::to_string(kMaxKeySize),
                  key < 1 ? StatusCode::kInvalidModel : StatusCode::kUnsupported);
  INGOT_TRY(check_rows("the keys", inputs[kK], q, {key * params.heads}));
  if (v.rank != 3 || v[0] != q[0] || v[1] != q[1] || v[2] % params.heads != 0)
    return refuse(kOp, "shape of the values", to_string(v), "BxTx" + std::to_string(params.heads) + "V");
  if (has_input(inputs, kDecay) != params.gated) return refuse(kOp, "decay", params.gated ? "none" : "one", params.gated ? "one" : "none");
  if (has_input(inputs, kRate) != params.delta) return refuse(kOp, "rate", params.delta ? "none" : "one", params.delta ? "one" : "none");
  if (params.gated) INGOT_TRY(check_rows("the decay", inputs[kDecay], q, {params.heads * key, params.heads}));
  if (params.delta) INGOT_TRY(check_rows("the rate", inputs[kRate], q, {params.heads, 1}));
  const int64_t value = v[2] / params.heads;
  const Shape state{q[0], params.heads, key, value};
  if (has_input(inputs, kPast) && !(inputs[kPast].shape == state))
    return refuse(kOp, "shape of the past state", to_string(inputs[kPast].shape), to_string(state));
  int64_t width;
  if (__builtin_mul_overflow(params.q_heads, value, &width)) return refuse(kOp, "width of the result", "too large", "one that can be addressed");
  INGOT_TRY(set_output(kOp, outputs[0], type, Shape{q[0], q[1], width}));
  return set_output(kOp, outputs[1], has_input(inputs, kPast) ? inputs[kPast].dtype : type, state);
}

Status run_reference(const LinearAttentionParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const auto shape_of = [&](size_t i) { return has_input(inputs, i) ? inputs[i].type->shape : Shape{0, 0, 0}; };
  const Sizes n = sizes_of(params, shape_of(kQ), shape_of(kV), shape_of(kDecay), shape_of(kRate));
  const auto run = [&]<class T, class S>(T, S) {
    for (int64_t b = 0; b < n.batch; ++b)
      for (int64_t head = 0; head < params.heads; ++head)
        for (int64_t column = 0; column < n.value; ++column) run_column<T, S>(params, n, inputs, outputs, b, head, column);
  };
  with_float_type(inputs[kQ].type->dtype, [&]<class T>(T t) {
    with_float_type(outputs[1].type->dtype, [&](auto s) { run(t, s); });
  });
  return {};
}

}  // namespace ingot
