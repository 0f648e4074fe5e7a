// Plans written by hand, for tests that want no builder: every tensor has its own memory, every step its reference tactic.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/arena.h"
#include "runtime/engine.h"
#include "runtime/plan_validator.h"
#include "runtime/tactic_registry.h"

namespace ingot {

inline std::shared_ptr<std::byte> aligned_copy(const void* data, size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, align_up(bytes + 1)));
  if (bytes != 0) std::memcpy(memory, data, bytes);
  return {memory, [](std::byte* p) { std::free(p); }};
}

class HandMadePlan {
 public:
  HandMadePlan() {
    made_.plan.target = "cpu-x86-64";
    made_.plan.model_hash = "0123456789abcdef";
    made_.report_json = "{}";
  }

  uint32_t input(std::string name, TensorType type, Shape min = {}, Shape opt = {}, Shape max = {}) {
    if (type.shape.is_static()) min = opt = max = type.shape;
    const uint32_t slot = add(std::move(name), std::move(type), max, Slot::Home::kInput);
    plan().inputs.push_back(slot);
    plan().profile.push_back({slot, min, opt, max});
    return slot;
  }
  uint32_t output(std::string name, TensorType type, Shape max = {}) {
    if (type.shape.is_static()) max = type.shape;
    const uint32_t slot = add(std::move(name), std::move(type), max, Slot::Home::kOutput);
    plan().outputs.push_back(slot);
    return slot;
  }
  uint32_t tensor(std::string name, TensorType type, Shape max = {}) {
    if (type.shape.is_static()) max = type.shape;
    const uint32_t slot = add(std::move(name), std::move(type), max, Slot::Home::kArena);
    plan().slots[slot].offset = reserve(plan().slots[slot].bytes);
    return slot;
  }
  template <class T>
  uint32_t constant(std::string name, TensorType type, const std::vector<T>& values) {
    const uint32_t slot = add(std::move(name), type, type.shape, Slot::Home::kConstant);
    auto memory = aligned_copy(values.data(), values.size() * sizeof(T));
    plan().slots[slot].offset = plan().blobs.size();
    plan().blobs.push_back({memory.get(), values.size() * sizeof(T)});
    made_.owners.push_back(std::move(memory));
    return slot;
  }
  Step& step(OpParams params, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, bool shape_step = false) {
    const Tactic& tactic = *TacticRegistry::builtin().for_op(kind_of(params)).back();
    Step step;
    step.name = "step" + std::to_string(plan().steps.size());
    step.tactic = tactic.info().name;
    step.tactic_version = tactic.info().version;
    step.shape_step = shape_step;
    for (const auto& list : {inputs, outputs})
      for (uint32_t slot : list)
        if (slot != kNoIndex && plan().slots[slot].type.layout != Layout::kLinear) step.workspace_bytes += align_up(plan().slots[slot].bytes);
    if (step.workspace_bytes != 0) step.workspace_offset = reserve(step.workspace_bytes);
    step.params = std::move(params);
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    return plan().steps.emplace_back(std::move(step));
  }

  // A step of control flow with its bodies.
  Step& control(OpParams params, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs, std::vector<HandMadePlan> bodies) {
    Step& made = step(std::move(params), std::move(inputs), std::move(outputs));
    for (HandMadePlan& body : bodies) {
      made.bodies.push_back(static_cast<uint32_t>(plan().bodies.size()));
      body.plan().target = body.plan().model_hash = "";
      plan().bodies.push_back(std::move(body.made_.plan));
      made_.owners.insert(made_.owners.end(), body.made_.owners.begin(), body.made_.owners.end());
    }
    made.workspace_bytes = body_workspace_bytes(plan(), made);
    made.workspace_offset = reserve(made.workspace_bytes);
    return made;
  }

  // Gives a step another tactic, with its constants packed as the builder does it; false if the tactic refuses.
  bool use_tactic(size_t step_index, const Tactic& tactic) {
    Step& step = plan().steps[step_index];
    std::vector<Operand> inputs, outputs;
    for (uint32_t slot : step.inputs) inputs.push_back(operand(slot));
    for (uint32_t slot : step.outputs) outputs.push_back(operand(slot));
    const DeviceInfo device = cpu_device({});
    const Problem problem{step.params, inputs, outputs, device};
    if (!tactic.supports(problem)) return false;
    Expected<Blob> blob = tactic.prepare(problem);
    if (!blob.ok()) return false;
    step.tactic = tactic.info().name;
    step.tactic_version = tactic.info().version;
    step.packed_inputs = tactic.packed_inputs(problem);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (step.packed_inputs >> i & 1) plan().blobs[plan().slots[step.inputs[i]].offset] = {};
    if (!blob->empty()) {
      auto memory = aligned_copy(blob->data(), blob->size());
      step.blob = static_cast<uint32_t>(plan().blobs.size());
      plan().blobs.push_back({memory.get(), blob->size()});
      made_.owners.push_back(std::move(memory));
    }
    step.workspace_bytes = tactic.workspace_bytes(problem);
    step.workspace_offset = step.workspace_bytes == 0 ? 0 : reserve(step.workspace_bytes);
    return true;
  }

  Plan& plan() { return made_.plan; }
  Slot& slot(uint32_t index) { return made_.plan.slots[index]; }
  // A copy, so that a test may spoil one plan in several ways.
  OwnedPlan finish() const { return made_; }

 private:
  Operand operand(uint32_t index) {
    if (index == kNoIndex) return {};
    const Slot& slot = plan().slots[index];
    const bool constant = slot.home == Slot::Home::kConstant;
    return {true, slot.type, slot.max_shape, constant ? plan().blobs[slot.offset] : std::span<const std::byte>(), constant};
  }
  uint32_t add(std::string name, TensorType type, Shape max, Slot::Home home) {
    Slot slot;
    slot.name = std::move(name);
    slot.bytes = static_cast<uint64_t>(max.elements()) * element_bytes(type.dtype);
    slot.type = std::move(type);
    slot.max_shape = max;
    slot.home = home;
    plan().slots.push_back(std::move(slot));
    return static_cast<uint32_t>(plan().slots.size() - 1);
  }
  uint64_t reserve(uint64_t bytes) {
    const uint64_t offset = plan().arena_bytes;
    plan().arena_bytes += align_up(bytes);
    return offset;
  }

  OwnedPlan made_;
};

inline TensorType f32(Shape shape, Layout layout = Layout::kLinear) { return {DataType::kF32, shape, layout, {}}; }
inline TensorType s64(Shape shape) { return {DataType::kS64, shape, Layout::kLinear, {}}; }
inline TensorType u8(Shape shape, float scale, int32_t zero_point) {
  return {DataType::kU8, shape, Layout::kLinear, QuantParams{{scale}, {zero_point}, -1, false}};
}
inline constexpr int64_t kAny = Shape::kDynamic;

// y = relu(x + c), x and y 2x3.
inline HandMadePlan add_relu_plan() {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({2, 3})), y = made.output("y", f32({2, 3})), t = made.tensor("t", f32({2, 3}));
  const uint32_t c = made.constant<float>("c", f32({3}), {1, -2, 0.5f});
  made.step(BinaryParams{}, {x, c}, {t});
  made.step(UnaryParams{UnaryFunction::kRelu, 0, 0}, {t}, {y});
  return made;
}

// y = relu(reshape(x, [n, 2, 2])) where n is read from x's shape: Shape → Gather → Concat → Reshape; n in least…most.
inline HandMadePlan shape_chain_plan_for(int64_t least, int64_t usual, int64_t most) {
  HandMadePlan made;
  const int64_t dim = least == most ? most : kAny;
  const uint32_t x = made.input("x", f32({dim, 4}), {least, 4}, {usual, 4}, {most, 4});
  const uint32_t y = made.output("y", f32({dim, 2, 2}), {most, 2, 2});
  const uint32_t zero = made.constant<int64_t>("zero", s64({1}), {0}), twos = made.constant<int64_t>("twos", s64({2}), {2, 2});
  const uint32_t dims = made.tensor("dims", s64({2})), n = made.tensor("n", s64({1})), target = made.tensor("target", s64({3}));
  const uint32_t r = made.tensor("r", f32({dim, 2, 2}), {most, 2, 2});
  made.step(ShapeParams{}, {x}, {dims}, true);
  made.step(GatherParams{}, {dims, zero}, {n}, true);
  made.step(ConcatParams{}, {n, twos}, {target}, true);
  made.step(ReshapeParams{}, {x, target}, {r});
  made.step(UnaryParams{UnaryFunction::kRelu, 0, 0}, {r}, {y});
  return made;
}

inline HandMadePlan shape_chain_plan() { return shape_chain_plan_for(1, 3, 5); }

// One network for two profiles.
inline OwnedPlan with_profiles(const HandMadePlan& first, const HandMadePlan& second) {
  OwnedPlan made = first.finish(), more = second.finish();
  made.more.push_back(std::move(more.plan));
  made.owners.insert(made.owners.end(), more.owners.begin(), more.owners.end());
  return made;
}

// The elements of x that are not zero, doubled: NonZero → Transpose → GatherND → Add, and how many there are: Shape. All five
// steps are late. x is n x 4 with n in 1…3, y has at most 12 elements.
inline HandMadePlan late_plan() {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4});
  const uint32_t y = made.output("y", f32({kAny}), {12}), count = made.output("count", s64({1}));
  const uint32_t places = made.tensor("places", s64({2, kAny}), {2, 12}), rows = made.tensor("rows", s64({kAny, 2}), {12, 2});
  const uint32_t values = made.tensor("values", f32({kAny}), {12});
  made.step(NonZeroParams{}, {x}, {places}).late = true;
  made.step(TransposeParams{{1, 0}}, {places}, {rows}).late = true;
  made.step(GatherNDParams{}, {x, rows}, {values}).late = true;
  made.step(BinaryParams{}, {values, values}, {y}).late = true;
  made.step(ShapeParams{}, {values}, {count}).late = true;
  return made;
}

// A body of x alone: one op.
inline HandMadePlan unary_body(UnaryFunction function) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4}), y = made.output("y", f32({kAny, 4}), {3, 4});
  made.step(UnaryParams{function, 0, 0}, {x}, {y});
  return made;
}

// t = relu(x) if any element of x is above 0, else −x; then three times t = t + x. Outputs: y, the last t, and all three.
inline HandMadePlan control_flow_plan() {
  HandMadePlan body;
  body.input("i", s64({}));
  const uint32_t h = body.input("h", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4}), x_in = body.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4});
  const uint32_t next = body.output("h", f32({kAny, 4}), {3, 4}), element = body.output("e", f32({kAny, 4}), {3, 4});
  const uint32_t sum = body.tensor("sum", f32({kAny, 4}), {3, 4});
  body.step(BinaryParams{}, {h, x_in}, {sum});
  body.step(IdentityParams{}, {sum}, {next});
  body.step(IdentityParams{}, {sum}, {element});

  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4});
  const uint32_t y = made.output("y", f32({kAny, 4}), {3, 4}), all = made.output("all", f32({3, kAny, 4}), {3, 3, 4});
  const uint32_t most = made.tensor("most", f32({})), positive = made.tensor("positive", {DataType::kBool, Shape{}, Layout::kLinear, {}});
  const uint32_t zero = made.constant<float>("zero", f32({}), {0}), three = made.constant<int64_t>("three", s64({}), {3});
  const uint32_t t = made.tensor("t", f32({kAny, 4}), {3, 4});
  made.step(ReduceParams{ReduceFunction::kMax, false, false}, {x}, {most});
  made.step(BinaryParams{BinaryFunction::kGreater, {}}, {most, zero}, {positive});
  made.control(IfParams{}, {positive, x}, {t}, {unary_body(UnaryFunction::kRelu), unary_body(UnaryFunction::kNeg)});
  LoopParams loop;
  loop.states = 1;
  loop.counted = true;
  made.control(loop, {three, kNoIndex, t, x}, {y, all}, {std::move(body)});
  return made;
}

// x if its largest element is above 0, else x twice: the shape of y depends on the data.
inline HandMadePlan late_branch_plan() {
  HandMadePlan twice;
  const uint32_t in = twice.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4}), out = twice.output("y", f32({kAny, 4}), {6, 4});
  twice.step(ConcatParams{0}, {in, in}, {out});
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4}), y = made.output("y", f32({kAny, 4}), {6, 4});
  const uint32_t most = made.tensor("most", f32({})), positive = made.tensor("positive", {DataType::kBool, Shape{}, Layout::kLinear, {}});
  const uint32_t zero = made.constant<float>("zero", f32({}), {0});
  made.step(ReduceParams{ReduceFunction::kMax, false, false}, {x}, {most});
  made.step(BinaryParams{BinaryFunction::kGreater, {}}, {most, zero}, {positive});
  made.control(IfParams{}, {positive, x}, {y}, {unary_body(UnaryFunction::kIdentity), std::move(twice)}).late = true;
  return made;
}

// y = −x by way of channels-last tensors.
inline HandMadePlan channels_last_plan() {
  HandMadePlan made;
  const Shape shape = {kAny, 3, 2, 2}, max = {4, 3, 2, 2};
  const uint32_t x = made.input("x", f32(shape), {1, 3, 2, 2}, {2, 3, 2, 2}, max), y = made.output("y", f32(shape), max);
  const uint32_t a = made.tensor("a", f32(shape, Layout::kChannelsLast), max);
  const uint32_t b = made.tensor("b", f32(shape, Layout::kChannelsLast), max);
  made.step(IdentityParams{}, {x}, {a});
  made.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {a}, {b});
  made.step(IdentityParams{}, {b}, {y});
  return made;
}

// A quantised convolution with bias and the pool behind it.
inline HandMadePlan conv_plan() {
  HandMadePlan made;
  const uint32_t x = made.input("x", u8({1, 2, 4, 4}, 0.5f, 3)), y = made.output("y", u8({1, 2, 2, 2}, 0.25f, 7));
  const TensorType w_type{DataType::kS8, {2, 2, 3, 3}, Layout::kLinear, QuantParams{{0.5f, 0.25f}, {0, 0}, 0, false}};
  const TensorType b_type{DataType::kS32, {2}, Layout::kLinear, QuantParams{{0.25f, 0.125f}, {0, 0}, 0, false}};
  std::vector<int8_t> weights(36);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int8_t>(i * 7 % 23) - 11;
  const uint32_t w = made.constant<int8_t>("w", w_type, weights), b = made.constant<int32_t>("b", b_type, {5, -9});
  const uint32_t t = made.tensor("t", u8({1, 2, 4, 4}, 0.25f, 7));
  ConvParams conv;
  conv.pads = {1, 1, 1, 1};
  made.step(conv, {x, w, b, kNoIndex}, {t});
  PoolParams pool;
  pool.kernel = pool.strides = {2, 2};
  made.step(pool, {t}, {y});
  return made;
}

}  // namespace ingot
