// Shapes that control flow makes, as far as they are known before the run: branches of an unknown condition give the larger of
// each dim, loops of an unknown number of iterations as many elements as they may make.
#include <algorithm>

#include "runtime/ops/shape_bounds.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr int64_t kUnknown = Shape::kDynamic;
constexpr int64_t kMostCounted = int64_t{1} << 36;

Status wrong_body(const std::string& what) { return Status(StatusCode::kInternal, "a body " + what); }

Status check_one_element(std::string_view op, std::string_view name, const OpInput& input, DataType dtype) {
  if (input.dtype == dtype && input.shape.elements() == 1) return {};
  return refuse(op, name, std::string(to_string(input.dtype)) + "[" + to_string(input.shape) + "]",
                "one element of " + std::string(to_string(dtype)));
}

// Whether a shape that is given, with late dims, is one that the body was made for.
bool fits(const Shape& given, uint32_t late, const BoundedInput& taken) {
  if (given.rank != taken.input.shape.rank) return false;
  for (int d = 0; d < given.rank; ++d) {
    const bool may_vary = taken.late >> d & 1;
    if (may_vary ? given[d] > taken.input.shape[d] : (late >> d & 1) != 0 || given[d] != taken.input.shape[d]) return false;
  }
  return true;
}

// What either of two shapes may be.
Status join(std::string_view op, const std::string& what, const BoundedOutput& other, BoundedOutput& joined) {
  if (other.dtype != joined.dtype) return refuse(op, "element type of " + what + " changes", to_string(other.dtype), to_string(joined.dtype));
  if (other.shape.rank != joined.shape.rank)
    return refuse(op, "number of dims of " + what + " changes", to_string(other.shape), "as many as in " + to_string(joined.shape),
                  StatusCode::kUnsupported);
  joined.late |= other.late;
  for (int d = 0; d < joined.shape.rank; ++d) {
    if (joined.shape[d] != other.shape[d]) joined.late |= 1u << d;
    joined.shape[d] = std::max(joined.shape[d], other.shape[d]);
  }
  return {};
}

Status infer_if(std::span<const BoundedInput> inputs, std::span<const BodyBounds> bodies, std::span<BoundedOutput> outputs) {
  const OpInput& condition = inputs[0].input;
  INGOT_TRY(check_one_element("If", "condition", condition, DataType::kBool));
  for (const BodyBounds& body : bodies)
    for (size_t i = 0; i < body.inputs.size(); ++i)
      if (!fits(inputs[i + 1].input.shape, inputs[i + 1].late, body.inputs[i]) || inputs[i + 1].input.dtype != body.inputs[i].input.dtype)
        return wrong_body("takes something else than it is given");
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = bodies[condition.data && read_index(condition, 0) == 0 ? 1 : 0].outputs[i];
    if (!condition.data) INGOT_TRY(join("If", "output " + std::to_string(i), bodies[1].outputs[i], outputs[i]));
    else if (bodies[0].outputs[i].dtype != bodies[1].outputs[i].dtype) return refuse("If", "element types of output " + std::to_string(i) + " differ", "two", "one");
  }
  return {};
}

// The most iterations, kUnknown without a bound; `exact`: no fewer.
struct Count {
  int64_t most = kUnknown;
  bool exact = true;
  void limit(int64_t count, bool is_exact) {
    exact = exact && is_exact;
    most = most == kUnknown ? count : std::min(most, count);
  }
};

Count loop_count(const LoopParams& params, std::span<const BoundedInput> inputs) {
  Count count;
  if (inputs.size() > LoopParams::kCount && inputs[LoopParams::kCount].input.present) {
    OpInput value = inputs[LoopParams::kCount].input;
    const bool known = value.data != nullptr;
    if (!known) value.data = inputs[LoopParams::kCount].most;
    if (value.data) count.limit(std::max<int64_t>(read_index(value, 0), 0), known);
    else count.exact = false;
  }
  for (size_t i = params.first_scanned(); i < params.first_capture(); ++i) count.limit(inputs[i].input.shape[0], (inputs[i].late & 1) == 0);
  if (inputs.size() > LoopParams::kCondition && inputs[LoopParams::kCondition].input.present) {
    const OpInput& condition = inputs[LoopParams::kCondition].input;
    if (!condition.data) count.exact = false;
    else if (read_index(condition, 0) == 0) count = {0, true};
  }
  if (params.conditional && count.most != 0) count.exact = false;
  if (count.most > kMostCounted) count.most = kUnknown;  // how exporters say "as long as the condition holds"
  return count;
}

Status infer_loop(const LoopParams& params, std::span<const BoundedInput> inputs, const BodyBounds& body, std::span<BoundedOutput> outputs) {
  const auto given = [&](size_t i) { return i < inputs.size() && inputs[i].input.present; };
  if (given(LoopParams::kCount)) INGOT_TRY(check_one_element("Loop", "count", inputs[LoopParams::kCount].input, DataType::kS64));
  if (given(LoopParams::kCondition)) INGOT_TRY(check_one_element("Loop", "condition", inputs[LoopParams::kCondition].input, DataType::kBool));
  if (!given(LoopParams::kCount) && params.scanned == 0 && !params.conditional)
    return refuse("Loop", "never ends", "neither a count nor a condition", "one of them");
  for (size_t i = LoopParams::kFirstState; i < inputs.size(); ++i) {
    const BoundedInput& taken = body.inputs[i - LoopParams::kFirstState + params.body_first_state()];
    Shape shape = inputs[i].input.shape;
    uint32_t late = inputs[i].late;
    if (i >= params.first_scanned() && i < params.first_capture()) {
      if (shape.rank == 0) return refuse("Loop", "a scanned tensor", "a scalar", "rank 1 or more");
      std::copy(shape.dims.begin() + 1, shape.dims.end(), shape.dims.begin());
      --shape.rank;
      late >>= 1;
      const bool is_first = i == params.first_scanned();
      if (!is_first && ((inputs[i].late | inputs[i - 1].late) & 1) == 0 && inputs[i].input.shape[0] != inputs[i - 1].input.shape[0])
        return refuse("Loop", "lengths of scanned tensors differ", std::to_string(inputs[i].input.shape[0]), std::to_string(inputs[i - 1].input.shape[0]));
    }
    if (!inputs[i].input.present || inputs[i].input.dtype != taken.input.dtype || !fits(shape, late, taken))
      return wrong_body("takes something else than it is given");
  }
  const std::span<const BoundedOutput> made = body.outputs;
  if (params.conditional)
    INGOT_TRY(check_one_element("Loop", "condition made by the body", {made[0].dtype, made[0].shape, nullptr, true}, DataType::kBool));
  const Count count = loop_count(params, inputs);
  const size_t states = static_cast<size_t>(params.states);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const BoundedOutput& element = made[params.body_result_state() + i];
    if (i < states) {
      const BoundedInput& before = inputs[LoopParams::kFirstState + i];
      outputs[i] = {before.input.dtype, before.input.shape, before.late};
      const std::string what = "state " + std::to_string(i);
      // The body was made for all shapes that the state has at the start of a round.
      const BoundedInput& taken = body.inputs[params.body_first_state() + i];
      INGOT_TRY(join("Loop", what, element, outputs[i]));
      outputs[i].late |= taken.late;
      const uint32_t changes = outputs[i].late & ~taken.late;
      if (changes != 0)
        return refuse("Loop", "shape of " + what + " changes from one iteration to the next", to_string(element.shape),
                      to_string(taken.input.shape), StatusCode::kUnsupported);
      continue;
    }
    Shape shape;
    INGOT_TRY(append_dim("Loop", shape, count.most));
    for (int64_t dim : element.shape.span()) INGOT_TRY(append_dim("Loop", shape, dim));
    outputs[i] = {element.dtype, shape, element.late << 1 | (count.exact ? 0u : 1u)};
  }
  return {};
}

}  // namespace

Status infer_bounds(const OpParams& params, std::span<const BoundedInput> inputs, std::span<const BodyBounds> bodies,
                    std::span<BoundedOutput> outputs) {
  if (const auto* loop = std::get_if<LoopParams>(&params)) return infer_loop(*loop, inputs, bodies[0], outputs);
  return infer_if(inputs, bodies, outputs);
}

}  // namespace ingot
