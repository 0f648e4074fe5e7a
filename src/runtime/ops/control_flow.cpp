// The rules of control flow: how operands of an op and of its bodies belong together.
#include "runtime/ops/control_flow.h"

#include <algorithm>

#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

Status without_bodies(std::string_view op) {
  return refuse(op, "cannot be computed without its bodies", "none", "its bodies", StatusCode::kInvalidArgument);
}

Status check_counts(std::string_view op, std::string_view what, size_t got, size_t need) {
  if (got == need) return {};
  return refuse(op, what, std::to_string(got), std::to_string(need));
}

Status check_one_element(std::string_view op, std::string_view name, const OpInput& input, DataType dtype) {
  if (input.dtype == dtype && input.shape.elements() == 1) return {};
  return refuse(op, name, std::string(to_string(input.dtype)) + "[" + to_string(input.shape) + "]",
                "one element of " + std::string(to_string(dtype)));
}

Shape element_of(const Shape& stack) {
  Shape element;
  element.rank = stack.rank - 1;
  std::copy_n(stack.dims.begin() + 1, element.rank, element.dims.begin());
  return element;
}

bool sane(const LoopParams& params) {
  return params.states >= 0 && params.scanned >= 0 && params.states <= kMaxLoopOperands && params.scanned <= kMaxLoopOperands;
}

// How often the body runs, where nothing but the inputs decides it.
Status loop_count(const LoopParams& params, std::span<const OpInput> inputs, int64_t& count) {
  bool is_known = false;
  const auto limit = [&](int64_t most) {
    count = is_known ? std::min(count, most) : most;
    is_known = true;
  };
  if (has_input(inputs, LoopParams::kCount)) {
    if (!inputs[LoopParams::kCount].data) return refuse_unknown_value("Loop", "count");
    limit(std::max<int64_t>(read_index(inputs[LoopParams::kCount], 0), 0));
  }
  for (size_t i = params.first_scanned(); i < params.first_capture(); ++i) limit(inputs[i].shape[0]);
  if (has_input(inputs, LoopParams::kCondition)) {
    if (!inputs[LoopParams::kCondition].data) return refuse_unknown_value("Loop", "condition");
    if (read_index(inputs[LoopParams::kCondition], 0) == 0) limit(0);
  }
  if (is_known && (!params.conditional || count == 0)) return {};
  return refuse("Loop", "the number of stacked elements depends on a condition", "a condition that the body computes",
                "a fixed count", StatusCode::kUnsupported);
}

}  // namespace

Status infer_types(const IfParams&, std::span<const OpInput>, std::span<OpOutput>) { return without_bodies("If"); }
Status run_reference(const IfParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>) { return without_bodies("If"); }
Status infer_types(const LoopParams&, std::span<const OpInput>, std::span<OpOutput>) { return without_bodies("Loop"); }
Status run_reference(const LoopParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>) { return without_bodies("Loop"); }

Status check_body_arity(const IfParams&, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs) {
  if (inputs == 0) return refuse("If", "inputs", "none", "a condition");
  INGOT_TRY(check_counts("If", "inputs of a branch", body_inputs, inputs - 1));
  return check_counts("If", "outputs of a branch", body_outputs, outputs);
}

Status check_body_arity(const LoopParams& params, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs) {
  if (!sane(params)) return refuse("Loop", "states or scanned tensors", "a number out of range", "0…4096");
  const size_t data = static_cast<size_t>(params.states + params.scanned);
  const size_t given = std::max(inputs, LoopParams::kFirstState) - LoopParams::kFirstState;  // trailing absent ones are cut off
  if (given < data) return refuse("Loop", "inputs", std::to_string(given), "at least " + std::to_string(data));
  INGOT_TRY(check_counts("Loop", "inputs of the body", body_inputs, given + (params.counted ? 1 : 0)));
  INGOT_TRY(check_counts("Loop", "outputs of the body", body_outputs, outputs + (params.conditional ? 1 : 0)));
  const size_t states = static_cast<size_t>(params.states);
  if (outputs < states) return refuse("Loop", "outputs", std::to_string(outputs), "at least " + std::to_string(states));
  const auto flags_fit = [](const std::vector<int64_t>& flags, size_t count) {
    return flags.empty() || (flags.size() == count && std::all_of(flags.begin(), flags.end(), [](int64_t f) { return f == 0 || f == 1; }));
  };
  if (!flags_fit(params.backward_inputs, static_cast<size_t>(params.scanned)) || !flags_fit(params.backward_outputs, outputs - states))
    return refuse("Loop", "directions", "another number or other values", "a 0 or 1 for each tensor");
  return {};
}

Status infer_body_inputs(const IfParams&, std::span<const OpInput> inputs, std::span<OpInput> body_inputs) {
  if (inputs.empty() || !inputs[0].present) return refuse("If", "condition", "none", "one");
  for (size_t i = 0; i < body_inputs.size(); ++i) body_inputs[i] = inputs[i + 1];
  return {};
}

Status infer_body_inputs(const LoopParams& params, std::span<const OpInput> inputs, std::span<OpInput> body_inputs) {
  if (params.counted) body_inputs[0] = {DataType::kS64, Shape(), nullptr, true};
  for (size_t i = LoopParams::kFirstState; i < inputs.size(); ++i) {
    if (!inputs[i].present) return refuse("Loop", "input " + std::to_string(i), "none", "a tensor");
    OpInput& body = body_inputs[i - LoopParams::kFirstState + params.body_first_state()];
    body = inputs[i];
    if (i >= params.first_capture()) continue;
    body.data = nullptr;
    if (i < params.first_scanned()) continue;
    if (inputs[i].shape.rank == 0) return refuse("Loop", "a scanned tensor", "a scalar", "rank 1 or more");
    body.shape = element_of(inputs[i].shape);
  }
  return {};
}

Status infer_types(const IfParams&, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs) {
  INGOT_TRY(check_one_element("If", "condition", inputs[0], DataType::kBool));
  const bool is_known = inputs[0].data != nullptr;
  const size_t chosen = is_known && read_index(inputs[0], 0) == 0 ? 1 : 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OpOutput &on_true = bodies[0][i], &on_false = bodies[1][i];
    if (on_true.dtype != on_false.dtype)
      return refuse("If", "element types of output " + std::to_string(i) + " differ between the branches", to_string(on_true.dtype),
                    to_string(on_false.dtype));
    outputs[i] = bodies[chosen][i];
    if (!is_known && !(on_true.shape == on_false.shape))
      return refuse("If", "shapes of output " + std::to_string(i) + " differ between the branches",
                    to_string(on_true.shape) + " and " + to_string(on_false.shape), "equal shapes, or a condition that is known before the run",
                    StatusCode::kUnsupported);
  }
  return {};
}

Status infer_types(const LoopParams& params, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs) {
  if (has_input(inputs, LoopParams::kCount)) INGOT_TRY(check_one_element("Loop", "count", inputs[LoopParams::kCount], DataType::kS64));
  if (has_input(inputs, LoopParams::kCondition))
    INGOT_TRY(check_one_element("Loop", "condition", inputs[LoopParams::kCondition], DataType::kBool));
  if (!has_input(inputs, LoopParams::kCount) && params.scanned == 0 && !params.conditional)
    return refuse("Loop", "never ends", "neither a count nor a condition", "one of them");
  const std::span<const OpOutput> body = bodies[0];
  if (params.conditional) {
    const OpOutput& next = body[0];
    INGOT_TRY(check_one_element("Loop", "condition made by the body", {next.dtype, next.shape, nullptr, true}, DataType::kBool));
  }
  for (size_t i = params.first_scanned() + 1; i < params.first_capture(); ++i)
    if (inputs[i].shape[0] != inputs[i - 1].shape[0])
      return refuse("Loop", "lengths of scanned tensors differ", std::to_string(inputs[i].shape[0]), std::to_string(inputs[i - 1].shape[0]));
  const size_t states = static_cast<size_t>(params.states);
  for (size_t i = 0; i < states; ++i) {
    const OpInput& before = inputs[LoopParams::kFirstState + i];
    const OpOutput& after = body[params.body_result_state() + i];
    if (before.dtype != after.dtype)
      return refuse("Loop", "element type of state " + std::to_string(i) + " changes", to_string(after.dtype), to_string(before.dtype));
    if (!(before.shape == after.shape))
      return refuse("Loop", "shape of state " + std::to_string(i) + " changes from one iteration to the next", to_string(after.shape),
                    to_string(before.shape), StatusCode::kUnsupported);
    outputs[i] = after;
  }
  if (outputs.size() == states) return {};
  int64_t count = 0;
  INGOT_TRY(loop_count(params, inputs, count));
  for (size_t i = states; i < outputs.size(); ++i) {
    const OpOutput& element = body[params.body_result_state() + i];
    Shape shape;
    INGOT_TRY(append_dim("Loop", shape, count));
    for (int64_t dim : element.shape.span()) INGOT_TRY(append_dim("Loop", shape, dim));
    INGOT_TRY(set_output("Loop", outputs[i], element.dtype, shape));
  }
  return {};
}

}  // namespace ingot
