// From the shapes of a plan's inputs to the shapes of all its tensors: runs each step's type rule in order, and the shape
// steps themselves on the spot, since later rules need their values. Late steps follow one by one during a run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

class ShapePass {
 public:
  // `memory` gives the memory of a shape step's output slot, of the plan or a body of it. The plan's indices have been
  // checked; it outlives the pass.
  using Memory = std::function<void*(const Plan& plan, uint32_t slot)>;
  ShapePass(const Plan& plan, const Memory& memory);

  // Slot types with concrete shapes, but for the inputs' only after a successful run().
  std::span<const TensorType> types() const { return types_; }
  const Shape& shape(uint32_t slot) const { return types_[slot].shape; }
  void set_input_shape(uint32_t slot, const Shape& shape) {
    types_[slot].shape = shape;
    stale_ = true;
  }
  // Of a body: an input's shape, which must fit its slot, and its value, which is kept where the plan lets shape arithmetic
  // read it.
  Status set_body_input(size_t index, const Shape& shape, const void* value);
  // Whether shapes or values were set that the latest successful run did not see.
  bool is_stale() const { return stale_; }
  ShapePass& body(size_t step, size_t index) { return *bodies_[step][index].pass; }
  // Rises with each run, so that those who copy shapes can tell whether they are the latest.
  uint64_t generation() const { return generation_; }

  // Allocates nothing when it succeeds, as do the others. Fails where a rule contradicts the plan or a tensor outgrows its
  // max_shape. Outputs of late steps take their max_shape.
  Status run();
  // Just before a late step's kernel: the shapes of its outputs from those of its inputs and their values, one for each
  // input, null where it has none. Counted dims get their bound for this run.
  Status run_late(const Step& step, std::span<const void* const> values);
  // Whether the step last given to run_late() has a kernel that reports shapes, which take_produced() then takes.
  bool counts() const { return counts_; }
  Status take_produced(const Step& step, std::span<const Shape> produced);
  // The shape that a late step of control flow gave an output.
  Status take_made(const Step& step, size_t output, const Shape& shape);
  // After run() at the largest shapes: whether late steps agree with their rules as far as can be known ahead. Bodies are checked as they run.
  Status check_late_steps();

 private:
  Status run_step(size_t index);
  Status infer_control_flow(size_t index);
  Status infer(const Step& step);
  Status check_output(const Step& step, size_t index);
  Status check_dtype(const Step& step, size_t index) const;
  Status compute(const Step& step);

  const Plan& plan_;
  std::vector<TensorType> types_;
  std::vector<const void*> values_;  // per slot: known before the run, or null
  std::vector<void*> memory_;        // per slot: of shape steps' outputs
  std::vector<OpInput> inputs_;      // of the step at hand, as are the next three
  std::vector<OpOutput> outputs_;
  std::vector<ConstTensorRef> input_refs_;
  std::vector<TensorRef> output_refs_;
  struct Body {
    std::unique_ptr<ShapePass> pass;
    std::vector<OpInput> inputs;
    std::vector<OpOutput> outputs;
  };
  std::vector<std::vector<Body>> bodies_;    // per step
  std::vector<bool> known_inputs_;           // per slot
  uint64_t generation_ = 0;
  bool stale_ = true;
  bool counts_ = false;
};

// Ops that may be shape steps: their cost is linear in the size of their operands.
bool is_shape_arithmetic(OpKind op);

}  // namespace ingot
