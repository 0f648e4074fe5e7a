// From the shapes of a plan's inputs to the shapes of all its tensors: runs each step's type rule in order, and the shape
// steps themselves on the spot, since later rules need their values.
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

  // Allocates nothing when it succeeds. Fails where a rule contradicts the plan or a tensor outgrows its max_shape.
  Status run();

 private:
  Status run_step(const Step& step);
  Status check_output(const Step& step, size_t index);
  Status compute(const Step& step);

  const Plan& plan_;
  std::vector<TensorType> types_;
  std::vector<const void*> values_;  // per slot: known before the run, or null
  std::vector<void*> memory_;        // per slot: of shape steps' outputs
  std::vector<OpInput> inputs_;      // of the step at hand, as are the next three
  std::vector<OpOutput> outputs_;
  std::vector<ConstTensorRef> input_refs_;
  std::vector<TensorRef> output_refs_;
};

// Ops that may be shape steps: their cost is linear in the size of their operands.
bool is_shape_arithmetic(OpKind op);

}  // namespace ingot
