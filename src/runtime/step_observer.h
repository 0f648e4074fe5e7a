// Hook after each step of a run: the profiler, calibration and tensor dumps all use it.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/ops/op_io.h"
#include "runtime/plan.h"

namespace ingot {

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Operands have the concrete shapes of this run and the layout of their slots; valid during the call only. An operand left
  // out, or packed into the step's blob, has null data.
  virtual void after_step(size_t step_index, const Step& step, std::span<const ConstTensorRef> inputs,
                          std::span<const ConstTensorRef> outputs, double elapsed_us) = 0;
  // Before a body of a control-flow step runs: who observes the steps in it, with indices of its own. Null: nobody; the step
  // as a whole is observed like any other.
  virtual StepObserver* inside(size_t step_index, const Step& step, size_t body_index) {
    (void)step_index, (void)step, (void)body_index;
    return nullptr;
  }
};

}  // namespace ingot
