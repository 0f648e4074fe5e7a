// From the shapes of a plan's inputs to the shapes of all its tensors: runs each step's type rule in order, and the shape
// steps themselves on the spot, since later rules need their values. Late steps follow one by one during a run.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

class ShapePass {
 public:
  // `memory` gives the memory of a shape step's output slot. The plan's indices have been checked; it outlives the pass.
  ShapePass(const Plan& plan, const std::function<void*(uint32_t slot)>& memory);

  // Slot types with concrete shapes, but for the inputs' only after a successful run().
  std::span<const TensorType> types() const { return types_; }
  const Shape& shape(uint32_t slot) const { return types_[slot].shape; }
  void set_input_shape(uint32_t slot, const Shape& shape) { types_[slot].shape = shape; }

  // Allocates nothing when it succeeds, as do the others. Fails where a rule contradicts the plan or a tensor outgrows its
  // max_shape. Outputs of late steps take their max_shape.
  Status run();
  // Just before a late step's kernel: the shapes of its outputs from those of its inputs and their values, one for each
  // input, null where it has none. Counted dims get their bound for this run.
  Status run_late(const Step& step, std::span<const void* const> values);
  // Whether the step last given to run_late() has a kernel that reports shapes, which take_produced() then takes.
  bool counts() const { return counts_; }
  Status take_produced(const Step& step, std::span<const Shape> produced);
  // After run() at the largest shapes: whether late steps agree with their rules as far as can be known ahead.
  Status check_late_steps();

 private:
  Status run_step(const Step& step);
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
  bool counts_ = false;
};

// Ops that may be shape steps: their cost is linear in the size of their operands.
bool is_shape_arithmetic(OpKind op);

}  // namespace ingot
