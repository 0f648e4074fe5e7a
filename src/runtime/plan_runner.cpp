// Steps in order; of control flow, bodies.
#include "runtime/plan_runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "runtime/arena.h"
#include "runtime/plan_validator.h"

namespace ingot {
namespace {

uint64_t bytes_of(const Shape& shape, DataType dtype) { return static_cast<uint64_t>(shape.elements()) * element_bytes(dtype); }

}  // namespace

std::vector<void*> PlanRunner::homes_of(const LoadedPlan& loaded, std::byte* arena) {
  const std::vector<Slot>& slots = loaded.plan->slots;
  std::vector<void*> homes(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].home == Slot::Home::kArena) homes[i] = arena + slots[i].offset;
    // Constants are only ever inputs, which kernels see as const.
    if (slots[i].home == Slot::Home::kConstant) homes[i] = const_cast<void*>(loaded.constants[i]);
  }
  return homes;
}

PlanRunner::PlanRunner(const LoadedPlan& loaded, std::vector<void*> homes, std::byte* arena, ShapePass& shapes, RunResources& resources)
    : loaded_(loaded), plan_(*loaded.plan), arena_(arena), shapes_(shapes), resources_(resources) {
  lay_out_operands(homes);
  control_.resize(plan_.steps.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (!plan_.steps[i].bodies.empty()) make_control(i, shapes);
    has_shape_steps_ = has_shape_steps_ || plan_.steps[i].shape_step;
  }
}

void PlanRunner::lay_out_operands(const std::vector<void*>& homes) {
  arguments_.resize(plan_.steps.size());
  size_t most_operands = 0;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    arguments_[i].first = operand_slots_.size();
    operand_slots_.insert(operand_slots_.end(), step.inputs.begin(), step.inputs.end());
    operand_slots_.insert(operand_slots_.end(), step.outputs.begin(), step.outputs.end());
    most_operands = std::max(most_operands, step.inputs.size() + step.outputs.size());
  }
  pointers_.resize(operand_slots_.size());
  if (resources_.host_homes) host_pointers_.resize(operand_slots_.size());
  operand_shapes_.resize(operand_slots_.size());
  observed_.resize(most_operands);
  uses_.resize(plan_.slots.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    const size_t first = arguments_[i].first, inputs = step.inputs.size(), outputs = step.outputs.size();
    for (size_t k = 0; k < inputs + outputs; ++k) {
      const uint32_t id = operand_slots_[first + k];
      const bool packed = k < inputs && k < 32 && (step.packed_inputs >> k & 1) != 0;
      if (id == kNoIndex || packed) continue;
      if (resources_.host_homes) host_pointers_[first + k] = (*resources_.host_homes)[id];
      const Slot::Home home = plan_.slots[id].home;
      if (home == Slot::Home::kInput || home == Slot::Home::kOutput) uses_[id].push_back(first + k);
      else pointers_[first + k] = homes[id];
    }
    KernelArgs& args = arguments_[i].kernel;
    args.inputs = {pointers_.data() + first, inputs};
    args.outputs = {pointers_.data() + first + inputs, outputs};
    args.input_shapes = {operand_shapes_.data() + first, inputs};
    args.output_shapes = {operand_shapes_.data() + first + inputs, outputs};
    if (loaded_.steps[i].shared_workspace) args.workspace = resources_.shared_workspace;
    else if (step.workspace_bytes != 0 || !step.bodies.empty()) args.workspace = arena_ + step.workspace_offset;
    args.pool = resources_.pool;
    args.stream = resources_.stream;
    if (resources_.host_homes) args.host_inputs = {host_pointers_.data() + first, inputs};
    if (step.late) args.produced_shapes = {operand_shapes_.data() + first + inputs, outputs};
  }
}

void PlanRunner::make_control(size_t step_index, ShapePass& shapes) {
  const Step& step = plan_.steps[step_index];
  auto control = std::make_unique<Control>();
  size_t taken = 0;
  for (size_t k = 0; k < step.bodies.size(); ++k) {
    const LoadedPlan& body = loaded_.bodies[step.bodies[k]];
    std::byte* const arena = arena_ + step.workspace_offset;
    control->bodies.push_back(std::make_unique<PlanRunner>(body, homes_of(body, arena), arena, shapes.body(step_index, k), resources_));
    taken = std::max(taken, body.plan->inputs.size());
  }
  (void)body_workspace_bytes(plan_, step, &control->state_offsets);
  control->given.resize(step.inputs.size());
  control->taken.resize(taken);
  control->states.resize(control->state_offsets.size());
  control->state_shapes.resize(control->state_offsets.size());
  control->element_shapes.resize(step.outputs.size() - control->state_offsets.size());
  control_[step_index] = std::move(control);
}

void PlanRunner::bind(uint32_t slot, void* data) {
  for (size_t operand : uses_[slot]) pointers_[operand] = data;
}

void PlanRunner::take_shapes() {
  if (generation_ == shapes_.generation()) return;
  generation_ = shapes_.generation();
  for (size_t i = 0; i < operand_slots_.size(); ++i)
    if (operand_slots_[i] != kNoIndex) operand_shapes_[i] = shape(operand_slots_[i]);
}

Status PlanRunner::run(StepObserver* observer) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const LoadedStep& loaded = loaded_.steps[i];
    if (plan_.steps[i].shape_step) continue;  // done when the shapes were set
    const Clock::time_point start = observer ? Clock::now() : Clock::time_point();
    Status status = loaded.late    ? run_late(i, observer)
                    : loaded.alias ? Status()
                    : control_[i]  ? run_control(i, observer)
                                   : loaded.kernel->run(arguments_[i].kernel);
    if (!status.ok()) return std::move(status).with_context("step '" + plan_.steps[i].name + "' (" + plan_.steps[i].tactic + ")");
    if (observer) observe(i, *observer, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return {};
}

Status PlanRunner::launch() {
  for (size_t i = 0; i < plan_.steps.size(); ++i) INGOT_TRY(launch_step(i));
  return {};
}

Status PlanRunner::launch_step(size_t step_index) {
  const LoadedStep& loaded = loaded_.steps[step_index];
  if (!loaded.kernel || loaded.alias) return {};
  Status status = loaded.kernel->run(arguments_[step_index].kernel);
  if (status.ok()) return {};
  return std::move(status).with_context("step '" + plan_.steps[step_index].name + "' (" + plan_.steps[step_index].tactic + ")");
}

PlanRunner::StepOperands PlanRunner::operands(size_t step_index) const {
  const Step& step = plan_.steps[step_index];
  const size_t first = arguments_[step_index].first, count = step.inputs.size() + step.outputs.size();
  return {std::span(operand_slots_).subspan(first, count), std::span(pointers_).subspan(first, count)};
}

// Shapes first, from the values that earlier steps have left in memory; then the kernel; then the shapes that it counted.
Status PlanRunner::run_late(size_t step_index, StepObserver* observer) {
  const Step& step = plan_.steps[step_index];
  const KernelArgs& args = arguments_[step_index].kernel;
  if (control_[step_index]) {
    read_shapes(step_index);
    INGOT_TRY(run_control(step_index, observer));
    read_shapes(step_index);
    return {};
  }
  INGOT_TRY(shapes_.run_late(step, args.inputs));
  read_shapes(step_index);
  bool all_empty = true;
  for (size_t i = 0; i < step.outputs.size(); ++i)
    all_empty = all_empty && (step.outputs[i] == kNoIndex || args.output_shapes[i].elements() == 0);
  const bool counts = shapes_.counts();
  // With nothing to write, kernels are spared sizes of zero.
  if (loaded_.steps[step_index].alias || (all_empty && !counts)) return {};
  INGOT_TRY(loaded_.steps[step_index].kernel->run(args));
  return counts ? shapes_.take_produced(step, args.produced_shapes) : Status();
}

void PlanRunner::read_shapes(size_t step_index) {
  const Step& step = plan_.steps[step_index];
  const size_t first = arguments_[step_index].first, end = first + step.inputs.size() + step.outputs.size();
  for (size_t i = first; i < end; ++i)
    if (operand_slots_[i] != kNoIndex) operand_shapes_[i] = shape(operand_slots_[i]);
}

Status PlanRunner::run_control(size_t step_index, StepObserver* observer) {
  const KernelArgs& args = arguments_[step_index].kernel;
  Control& control = *control_[step_index];
  for (size_t i = 0; i < control.given.size(); ++i) {
    const uint32_t slot = operand_slots_[arguments_[step_index].first + i];
    control.given[i] = slot == kNoIndex ? OpInput{} : OpInput{plan_.slots[slot].type.dtype, args.input_shapes[i], args.inputs[i], true};
  }
  return kind_of(plan_.steps[step_index].params) == OpKind::kIf ? run_if(step_index, observer) : run_loop(step_index, observer);
}

// Shapes of a body whose turn it is.
Status PlanRunner::enter(Control& control, PlanRunner& body, const Step& step) {
  const size_t count = body.plan_.inputs.size();
  const std::span<OpInput> taken = std::span(control.taken).first(count);
  INGOT_TRY(infer_body_inputs(step.params, control.given, taken));
  for (size_t i = 0; i < count; ++i) INGOT_TRY(body.shapes_.set_body_input(i, taken[i].shape, taken[i].data));
  // Results of shape arithmetic lie in the workspace, which other steps have used since.
  if (body.shapes_.is_stale() || body.has_shape_steps_) INGOT_TRY(body.shapes_.run());
  body.take_shapes();
  return {};
}

Status PlanRunner::take_shape(size_t step_index, size_t output, const Shape& shape) {
  const Step& step = plan_.steps[step_index];
  if (step.late) return shapes_.take_made(step, output, shape);
  const Shape& need = arguments_[step_index].kernel.output_shapes[output];
  if (shape == need) return {};
  return Status(StatusCode::kInvalidArgument, "output '" + plan_.slots[step.outputs[output]].name + "': shape that a body makes: got " +
                                                  to_string(shape) + ", need " + to_string(need));
}

Status PlanRunner::run_if(size_t step_index, StepObserver* observer) {
  const Step& step = plan_.steps[step_index];
  const KernelArgs& args = arguments_[step_index].kernel;
  Control& control = *control_[step_index];
  const size_t chosen = *static_cast<const uint8_t*>(args.inputs[0]) != 0 ? 0 : 1;
  PlanRunner& body = *control.bodies[chosen];
  INGOT_TRY(enter(control, body, step));
  for (size_t i = 0; i < body.plan_.inputs.size(); ++i) body.bind(body.plan_.inputs[i], const_cast<void*>(args.inputs[i + 1]));
  for (size_t i = 0; i < body.plan_.outputs.size(); ++i) body.bind(body.plan_.outputs[i], args.outputs[i]);
  const auto take_shapes = [&]() -> Status {
    for (size_t i = 0; i < body.plan_.outputs.size(); ++i) INGOT_TRY(take_shape(step_index, i, body.shape(body.plan_.outputs[i])));
    return {};
  };
  if (!step.late) INGOT_TRY(take_shapes());  // before memory is written that was bound for the shapes foreseen
  INGOT_TRY(body.run(observer ? observer->inside(step_index, step, chosen) : nullptr));
  return step.late ? take_shapes() : Status();
}

// Before memory is written that was bound for the shapes foreseen.
Status PlanRunner::check_foreseen(size_t step_index, int64_t count) {
  const Control& control = *control_[step_index];
  const PlanRunner& body = *control.bodies[0];
  const auto& params = std::get<LoopParams>(plan_.steps[step_index].params);
  const size_t states = control.states.size();
  for (size_t s = 0; s < states; ++s) INGOT_TRY(take_shape(step_index, s, body.shape(body.plan_.outputs[params.body_result_state() + s])));
  for (size_t s = 0; s < control.element_shapes.size(); ++s) {
    const Shape& element = control.element_shapes[s];
    Shape whole;
    whole.rank = std::min(element.rank + 1, Shape::kMaxRank);
    whole[0] = count;
    std::copy_n(element.dims.begin(), whole.rank - 1, whole.dims.begin() + 1);
    INGOT_TRY(take_shape(step_index, states + s, whole));
  }
  return {};
}

// States alternate between the step's outputs and buffers in the workspace; elements are read and written in place.
Status PlanRunner::run_loop(size_t step_index, StepObserver* observer) {
  const Step& step = plan_.steps[step_index];
  const auto& params = std::get<LoopParams>(step.params);
  const KernelArgs& args = arguments_[step_index].kernel;
  Control& control = *control_[step_index];
  PlanRunner& body = *control.bodies[0];
  const Plan& inner = body.plan_;
  const auto given = [&](size_t i) { return i < control.given.size() && control.given[i].present; };
  int64_t count = INT64_MAX;
  if (given(LoopParams::kCount)) count = std::max<int64_t>(*static_cast<const int64_t*>(args.inputs[LoopParams::kCount]), 0);
  for (size_t i = params.first_scanned(); i < params.first_capture(); ++i) count = std::min(count, args.input_shapes[i][0]);
  bool go_on = !given(LoopParams::kCondition) || *static_cast<const uint8_t*>(args.inputs[LoopParams::kCondition]) != 0;

  const size_t states = static_cast<size_t>(params.states), scanned = static_cast<size_t>(params.scanned);
  const size_t stacked = step.outputs.size() - states;
  for (size_t s = 0; s < states; ++s) {
    control.states[s] = args.inputs[LoopParams::kFirstState + s];
    control.state_shapes[s] = args.input_shapes[LoopParams::kFirstState + s];
  }
  for (size_t i = params.first_capture(); i < step.inputs.size(); ++i)
    body.bind(inner.inputs[i - params.first_capture() + params.body_first_capture()], const_cast<void*>(args.inputs[i]));
  if (params.counted) body.bind(inner.inputs[0], &iteration_);
  if (params.conditional) body.bind(inner.outputs[0], &condition_);

  // Where element i of a tensor lies that is read or filled from one end or the other.
  const auto place = [&](const std::vector<int64_t>& backward, size_t tensor, int64_t i, int64_t length) {
    return static_cast<uint64_t>(!backward.empty() && backward[tensor] != 0 ? length - 1 - i : i);
  };
  StepObserver* const inside = observer ? observer->inside(step_index, step, 0) : nullptr;
  int64_t i = 0;
  for (; i < count && go_on; ++i) {
    if (resources_.iterations++ >= resources_.loop_limit)
      return Status(StatusCode::kInvalidArgument, "loops ran too long: got more than " + std::to_string(resources_.loop_limit) +
                                                      " iterations in one run; raise RuntimeOptions::loop_limit if that is meant");
    iteration_ = i;
    for (size_t s = 0; s < states; ++s) {
      control.given[LoopParams::kFirstState + s].shape = control.state_shapes[s];
      control.given[LoopParams::kFirstState + s].data = control.states[s];
    }
    if (i == 0 || step.late) INGOT_TRY(enter(control, body, step));
    for (size_t s = 0; i == 0 && s < stacked; ++s) control.element_shapes[s] = body.shape(inner.outputs[params.body_result_stacked() + s]);
    if (i == 0 && !step.late) INGOT_TRY(check_foreseen(step_index, count));
    for (size_t s = 0; s < states; ++s) {
      void* const target = i % 2 == 0 ? args.outputs[s] : static_cast<std::byte*>(args.workspace) + control.state_offsets[s];
      body.bind(inner.inputs[params.body_first_state() + s], const_cast<void*>(control.states[s]));
      body.bind(inner.outputs[params.body_result_state() + s], target);
      control.states[s] = target;
    }
    for (size_t s = 0; s < scanned; ++s) {
      const uint32_t slot = inner.inputs[params.body_first_scanned() + s];
      const size_t operand = params.first_scanned() + s;
      const uint64_t offset = place(params.backward_inputs, s, i, args.input_shapes[operand][0]) * bytes_of(body.shape(slot), inner.slots[slot].type.dtype);
      body.bind(slot, static_cast<std::byte*>(const_cast<void*>(args.inputs[operand])) + offset);
    }
    for (size_t s = 0; s < stacked; ++s) {
      const uint32_t slot = inner.outputs[params.body_result_stacked() + s];
      const Slot& whole = plan_.slots[step.outputs[states + s]];
      const uint64_t offset = place(params.backward_outputs, s, i, count) * bytes_of(control.element_shapes[s], inner.slots[slot].type.dtype);
      if (offset > whole.bytes || inner.slots[slot].bytes > whole.bytes - offset)
        return Status(StatusCode::kInvalidArgument, "output '" + whole.name + "': has no room for iteration " + std::to_string(i) + ": need " +
                                                        to_string(whole.max_shape) + " at most; the engine was built with that limit");
      body.bind(slot, static_cast<std::byte*>(args.outputs[states + s]) + offset);
    }
    INGOT_TRY(body.run(inside));
    if (params.conditional) go_on = condition_ != 0;
    for (size_t s = 0; s < states; ++s) control.state_shapes[s] = body.shape(inner.outputs[params.body_result_state() + s]);
    for (size_t s = 0; s < stacked; ++s) {
      const Shape& element = body.shape(inner.outputs[params.body_result_stacked() + s]);
      // Where the first element lies depends on its size only if it is the last in memory.
      const bool is_first = i == 0 && (params.backward_outputs.empty() || params.backward_outputs[s] == 0);
      if (!is_first && !(element == control.element_shapes[s]))
        return Status(StatusCode::kInvalidArgument, "output '" + plan_.slots[step.outputs[states + s]].name + "': shapes of its elements differ: got " +
                                                        to_string(element) + " in iteration " + std::to_string(i) + ", need " +
                                                        to_string(control.element_shapes[s]) + " as before");
      control.element_shapes[s] = element;
    }
  }
  for (size_t s = 0; s < stacked; ++s) {
    Shape whole = plan_.slots[step.outputs[states + s]].type.shape;
    for (int d = 1; d < whole.rank; ++d)
      if (i > 0) whole[d] = control.element_shapes[s][d - 1];
      else if (whole[d] == Shape::kDynamic) whole[d] = step.late ? 0 : args.output_shapes[states + s][d];  // of no elements
    whole[0] = i;
    INGOT_TRY(take_shape(step_index, states + s, whole));
  }
  for (size_t s = 0; s < states; ++s) {
    INGOT_TRY(take_shape(step_index, s, control.state_shapes[s]));
    if (control.states[s] != args.outputs[s])
      std::memcpy(args.outputs[s], control.states[s], bytes_of(control.state_shapes[s], plan_.slots[step.outputs[s]].type.dtype));
  }
  return {};
}

void PlanRunner::observe(size_t step_index, StepObserver& observer, double elapsed_us) {
  const Step& step = plan_.steps[step_index];
  const size_t first = arguments_[step_index].first, inputs = step.inputs.size(), operands = inputs + step.outputs.size();
  for (size_t i = 0; i < operands; ++i) {
    const uint32_t slot = operand_slots_[first + i];
    observed_[i] = slot == kNoIndex ? ConstTensorRef{} : ConstTensorRef{&shapes_.types()[slot], pointers_[first + i]};
  }
  observer.after_step(step_index, step, std::span(observed_).first(inputs), std::span(observed_).subspan(inputs, step.outputs.size()),
                      elapsed_us);
}

}  // namespace ingot
