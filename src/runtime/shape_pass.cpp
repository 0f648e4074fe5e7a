// The same pass checks a plan at the corners of its profile and serves set_shape(), so the two cannot disagree.
#include "runtime/shape_pass.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/ops/shape_bounds.h"

namespace ingot {
namespace {

// Whether a step may store its result in another type than its rule says: quantised arithmetic may, moving bytes may not.
bool dtype_is_free(OpKind op) {
  switch (op) {
    case OpKind::kConv: case OpKind::kConvTranspose: case OpKind::kMatMul: case OpKind::kPool: case OpKind::kSoftmax:
    case OpKind::kUnary: case OpKind::kBinary: case OpKind::kReduce: case OpKind::kResize: case OpKind::kAttention:
    case OpKind::kBatchNorm: case OpKind::kLayerNorm: case OpKind::kInstanceNorm: case OpKind::kQuantizeLinear:
    case OpKind::kDequantizeLinear: return true;
    default: return false;
  }
}

bool fits(const Slot& slot, const Shape& shape) {
  bool fits = shape.rank == slot.max_shape.rank;
  for (int i = 0; fits && i < shape.rank; ++i)
    fits = shape[i] >= 0 && shape[i] <= slot.max_shape[i] && (slot.type.shape[i] == Shape::kDynamic || slot.type.shape[i] == shape[i]);
  return fits;
}

std::string where(const Step& step) { return "step '" + step.name + "' (" + std::string(to_string(kind_of(step.params))) + ")"; }

}  // namespace

bool is_shape_arithmetic(OpKind op) {
  switch (op) {
    case OpKind::kUnary: case OpKind::kBinary: case OpKind::kWhere: case OpKind::kCast: case OpKind::kReduce:
    case OpKind::kArgReduce: case OpKind::kIdentity: case OpKind::kReshape: case OpKind::kFlatten: case OpKind::kSqueeze:
    case OpKind::kUnsqueeze: case OpKind::kTranspose: case OpKind::kConcat: case OpKind::kSplit: case OpKind::kSlice:
    case OpKind::kPad: case OpKind::kExpand: case OpKind::kTile: case OpKind::kGather: case OpKind::kGatherElements:
    case OpKind::kShape: case OpKind::kConstantOfShape: case OpKind::kRange: case OpKind::kGatherND:
    case OpKind::kScatterElements: case OpKind::kScatterND: case OpKind::kTopK: case OpKind::kCumulate:
    case OpKind::kReverseSequence: case OpKind::kOneHot: case OpKind::kTrilu: case OpKind::kBitCast: return true;
    default: return false;
  }
}

ShapePass::ShapePass(const Plan& plan, const Memory& memory)
    : plan_(plan), values_(plan.slots.size()), memory_(plan.slots.size()), bodies_(plan.steps.size()),
      known_inputs_(plan.slots.size()) {
  for (uint32_t slot : plan.known_inputs) known_inputs_[slot] = true;
  types_.reserve(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    types_.push_back(slot.type);
    if (slot.home != Slot::Home::kConstant) continue;
    if (slot.max_shape.elements() == 0) values_[i] = this;  // known, and never read
    else if (slot.offset < plan.blobs.size() && !plan.blobs[slot.offset].empty()) values_[i] = plan.blobs[slot.offset].data();
  }
  size_t most_inputs = 0, most_outputs = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    for (uint32_t index : step.bodies) {
      const Plan& body = plan.bodies[index];
      bodies_[i].push_back({std::make_unique<ShapePass>(body, memory), std::vector<OpInput>(body.inputs.size()),
                            std::vector<OpOutput>(body.outputs.size())});
      for (size_t k = 0; k < body.outputs.size(); ++k) bodies_[i].back().outputs[k].dtype = body.slots[body.outputs[k]].type.dtype;
    }
    most_inputs = std::max(most_inputs, step.inputs.size());
    most_outputs = std::max(most_outputs, step.outputs.size());
    if (!step.shape_step) continue;
    for (uint32_t slot : step.outputs)
      if (slot != kNoIndex) values_[slot] = memory_[slot] = memory(plan, slot);
  }
  inputs_.resize(most_inputs);
  outputs_.resize(most_outputs);
  input_refs_.resize(most_inputs);
  output_refs_.resize(most_outputs);
}

Status ShapePass::run() {
  ++generation_;
  stale_ = true;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.late) {
      for (uint32_t slot : step.outputs)
        if (slot != kNoIndex) types_[slot].shape = plan_.slots[slot].max_shape;
      continue;
    }
    Status status = run_step(i);
    if (!status.ok()) return std::move(status).with_context(where(step));
  }
  stale_ = false;
  return {};
}

Status ShapePass::infer(const Step& step) {
  for (size_t i = 0; i < step.outputs.size(); ++i) outputs_[i] = OpOutput{};
  return infer_types(step.params, std::span(inputs_).first(step.inputs.size()), std::span(outputs_).first(step.outputs.size()));
}

Status ShapePass::set_body_input(size_t index, const Shape& shape, const void* value) {
  const uint32_t id = plan_.inputs[index];
  const Slot& slot = plan_.slots[id];
  stale_ = stale_ || known_inputs_[id] || !(types_[id].shape == shape);
  if (!fits(slot, shape))
    return Status(StatusCode::kInvalidArgument, "input '" + slot.name + "' of a body: shape: got " + to_string(shape) + ", need " +
                                                    to_string(slot.type.shape) + " within " + to_string(slot.max_shape));
  types_[id].shape = shape;
  values_[id] = known_inputs_[id] ? value : nullptr;
  return {};
}

Status ShapePass::run_step(size_t index) {
  const Step& step = plan_.steps[index];
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const uint32_t slot = step.inputs[i];
    inputs_[i] = slot == kNoIndex ? OpInput{} : OpInput{types_[slot].dtype, types_[slot].shape, values_[slot], true};
  }
  INGOT_TRY(step.bodies.empty() ? infer(step) : infer_control_flow(index));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (outputs_[i].counted != 0) return Status(StatusCode::kInvalidEngine, "shape depends on data, but the step is not a late one");
    INGOT_TRY(check_output(step, i));
  }
  return step.shape_step ? compute(step) : Status();
}

// Shapes of the bodies that may run, then those of the step.
Status ShapePass::infer_control_flow(size_t index) {
  const Step& step = plan_.steps[index];
  const std::span<const OpInput> inputs = std::span(inputs_).first(step.inputs.size());
  const bool is_if = kind_of(step.params) == OpKind::kIf;
  std::array<std::span<const OpOutput>, 2> made;
  for (size_t k = 0; k < bodies_[index].size(); ++k) {
    Body& body = bodies_[index][k];
    made[k] = body.outputs;
    // A branch that is known not to be taken may make no sense.
    const bool taken = !is_if || !inputs[0].data || (read_index(inputs[0], 0) != 0) == (k == 0);
    if (!taken) continue;
    INGOT_TRY(infer_body_inputs(step.params, inputs, body.inputs));
    for (size_t i = 0; i < body.inputs.size(); ++i)
      INGOT_TRY(body.pass->set_body_input(i, body.inputs[i].shape, body.inputs[i].data));
    INGOT_TRY(body.pass->run());
    const Plan& plan = plan_.bodies[step.bodies[k]];
    for (size_t i = 0; i < body.outputs.size(); ++i)
      body.outputs[i] = {plan.slots[plan.outputs[i]].type.dtype, body.pass->shape(plan.outputs[i])};
  }
  return infer_types(step.params, inputs, std::span(made).first(bodies_[index].size()), std::span(outputs_).first(step.outputs.size()));
}

Status ShapePass::run_late(const Step& step, std::span<const void* const> values) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const uint32_t slot = step.inputs[i];
    // A rule reads values in row-major order only.
    const void* value = slot != kNoIndex && types_[slot].layout == Layout::kLinear ? values[i] : nullptr;
    inputs_[i] = slot == kNoIndex ? OpInput{} : OpInput{types_[slot].dtype, types_[slot].shape, value, true};
  }
  INGOT_TRY(infer(step));
  counts_ = false;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    OpOutput& output = outputs_[i];
    if (step.outputs[i] == kNoIndex) continue;
    // A limit may be tighter than what the rule can prove; a kernel for which it is too tight reports what it needs.
    const Shape& most = plan_.slots[step.outputs[i]].max_shape;
    for (int d = 0; output.counted != 0 && d < output.shape.rank && d < most.rank; ++d)
      if (output.counted >> d & 1) output.shape[d] = std::min(output.shape[d], most[d]);
    counts_ = counts_ || output.counted != 0;
    INGOT_TRY(check_output(step, i));
  }
  return {};
}

Status ShapePass::take_produced(const Step& step, std::span<const Shape> produced) {
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    OpOutput& output = outputs_[i];
    if (step.outputs[i] == kNoIndex || output.counted == 0) continue;
    bool fits = produced[i].rank == output.shape.rank;
    for (int d = 0; fits && d < output.shape.rank; ++d)
      fits = output.counted >> d & 1 ? produced[i][d] >= 0 && produced[i][d] <= output.shape[d] : produced[i][d] == output.shape[d];
    if (!fits)
      return Status(StatusCode::kInvalidArgument, "output '" + plan_.slots[step.outputs[i]].name + "': shape that depends on data: got " +
                                                      to_string(produced[i]) + ", need at most " + to_string(output.shape));
    output.shape = produced[i];
    INGOT_TRY(check_output(step, i));
  }
  return {};
}

Status ShapePass::take_made(const Step& step, size_t output, const Shape& shape) {
  const uint32_t id = step.outputs[output];
  const Slot& slot = plan_.slots[id];
  if (!fits(slot, shape))
    return Status(StatusCode::kInvalidArgument, "output '" + slot.name + "': shape: got " + to_string(shape) + ", need " +
                                                    to_string(slot.type.shape) + " within " + to_string(slot.max_shape) +
                                                    "; the engine was built with that limit");
  types_[id].shape = shape;
  return {};
}

Status ShapePass::check_late_steps() {
  std::vector<bool> is_late(plan_.slots.size(), false);
  for (const Step& step : plan_.steps) {
    if (!step.late) continue;
    for (uint32_t slot : step.outputs)
      if (slot != kNoIndex && !step.bodies.empty()) is_late[slot] = true;
    if (!step.bodies.empty()) continue;
    std::vector<BoundedInput> inputs;
    for (uint32_t slot : step.inputs) {
      BoundedInput& input = inputs.emplace_back();
      if (slot == kNoIndex) continue;
      input.input = {types_[slot].dtype, types_[slot].shape, values_[slot], true};
      for (int d = 0; is_late[slot] && d < types_[slot].shape.rank; ++d)
        if (plan_.slots[slot].type.shape[d] == Shape::kDynamic) input.late |= 1u << d;
    }
    std::vector<BoundedOutput> bounds(step.outputs.size());
    Status status = infer_bounds(step.params, inputs, bounds);
    for (size_t i = 0; status.ok() && i < step.outputs.size(); ++i) {
      if (step.outputs[i] == kNoIndex) continue;
      const Slot& slot = plan_.slots[step.outputs[i]];
      is_late[step.outputs[i]] = true;
      const Shape& got = bounds[i].shape;
      bool fits = got.rank == slot.max_shape.rank;
      for (int d = 0; fits && d < got.rank; ++d) {
        const bool follows = (bounds[i].late >> d & 1) != 0, varies = slot.type.shape[d] == Shape::kDynamic;
        fits = follows ? got[d] == Shape::kDynamic || slot.max_shape[d] <= got[d] : varies || slot.type.shape[d] == got[d];
      }
      outputs_[i].dtype = bounds[i].dtype;
      if (!fits)
        status = Status(StatusCode::kInvalidEngine, "output '" + slot.name + "': shape: got " + to_string(got) + ", need " +
                                                        to_string(slot.type.shape) + " within " + to_string(slot.max_shape));
      if (status.ok()) status = check_dtype(step, i);
    }
    if (!status.ok()) return std::move(status).with_context(where(step));
  }
  return {};
}

Status ShapePass::check_output(const Step& step, size_t index) {
  const uint32_t id = step.outputs[index];
  if (id == kNoIndex) return {};
  const Slot& slot = plan_.slots[id];
  const OpOutput& got = outputs_[index];
  if (!fits(slot, got.shape))
    return Status(StatusCode::kInvalidArgument, "output '" + slot.name + "': shape: got " + to_string(got.shape) + ", need " +
                                                    to_string(slot.type.shape) + " within " + to_string(slot.max_shape) +
                                                    (step.late ? "; the engine was built with that limit" : ""));
  INGOT_TRY(check_dtype(step, index));
  types_[id].shape = got.shape;
  return {};
}

Status ShapePass::check_dtype(const Step& step, size_t index) const {
  const Slot& slot = plan_.slots[step.outputs[index]];
  const DataType got = outputs_[index].dtype;
  if (got == slot.type.dtype) return {};
  bool quantised = slot.type.quant.has_value();
  for (uint32_t input : step.inputs) quantised = quantised || (input != kNoIndex && types_[input].quant);
  if (quantised && dtype_is_free(kind_of(step.params))) return {};
  return Status(StatusCode::kInvalidEngine, "output '" + slot.name + "': element type: got " +
                                                std::string(to_string(slot.type.dtype)) + ", need " + std::string(to_string(got)));
}

Status ShapePass::compute(const Step& step) {
  const bool reads_shape_only = kind_of(step.params) == OpKind::kShape;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const uint32_t slot = step.inputs[i];
    if (slot == kNoIndex) {
      input_refs_[i] = {};
      continue;
    }
    if (!values_[slot] && !reads_shape_only && types_[slot].shape.elements() != 0)
      return Status(StatusCode::kUnsupported, "shape arithmetic reads '" + plan_.slots[slot].name +
                                                  "', which is known only at run time; shapes that depend on data are not supported");
    input_refs_[i] = {&types_[slot], values_[slot]};
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const uint32_t slot = step.outputs[i];
    output_refs_[i] = slot == kNoIndex ? TensorRef{} : TensorRef{&types_[slot], memory_[slot]};
  }
  return run_reference(step.params, std::span(input_refs_).first(step.inputs.size()),
                       std::span(output_refs_).first(step.outputs.size()));
}

}  // namespace ingot
