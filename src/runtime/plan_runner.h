// Runs one plan in memory that a context owns: the argument lists of all steps are made in advance, a run only walks them.
// Each body of a control-flow step has a runner of its own, made with its parent's.
#pragma once

#include <memory>
#include <vector>

#include "runtime/loaded_engine.h"
#include "runtime/shape_pass.h"
#include "runtime/step_observer.h"
#include "runtime/thread_pool.h"

namespace ingot {

// What all runners of a context share.
struct RunResources {
  ThreadPool* pool = nullptr;
  void* stream = nullptr;                 // of a GPU
  const std::vector<void*>* host_homes = nullptr;  // of a GPU, per slot: where its value is known to the host, or null
  std::byte* shared_workspace = nullptr;  // for steps that need more than the plan reserved
  int64_t loop_limit = 0;                 // iterations in one run
  int64_t iterations = 0;                 // so far
};

class PlanRunner {
 public:
  // homes: per slot, where it lies, null for what is bound later. arena: where workspaces lie, and in them the arenas of
  // bodies. All arguments outlive the runner.
  PlanRunner(const LoadedPlan& loaded, std::vector<void*> homes, std::byte* arena, ShapePass& shapes, RunResources& resources);
  static std::vector<void*> homes_of(const LoadedPlan& loaded, std::byte* arena);

  // Where an input or output of the plan lies.
  void bind(uint32_t slot, void* data);
  // Takes the shapes of the latest run of the shape pass.
  void take_shapes();
  // Runs all steps. Allocates nothing when it succeeds.
  Status run(StepObserver* observer);

  // For plans of a GPU, which have neither late steps nor bodies: starts the kernels, of all steps or one.
  Status launch();
  Status launch_step(size_t step_index);
  struct StepOperands {
    std::span<const uint32_t> slots;  // inputs, then outputs
    std::span<void* const> pointers;
  };
  StepOperands operands(size_t step_index) const;

 private:
  // A step's arguments: parts of the lists below.
  struct Arguments {
    KernelArgs kernel;
    size_t first = 0;  // of its operands, inputs before outputs
  };
  // Control flow: its bodies and the offsets in its workspace of the second buffers of a loop's states.
  struct Control {
    std::vector<std::unique_ptr<PlanRunner>> bodies;
    std::vector<uint64_t> state_offsets;
    std::vector<OpInput> given, taken;  // what the step is given; what the body takes of it
    std::vector<const void*> states;    // where they are now,
    std::vector<Shape> state_shapes;    // and their shapes,
    std::vector<Shape> element_shapes;  // as those of the elements of stacked outputs
  };

  void lay_out_operands(const std::vector<void*>& homes);
  void make_control(size_t step_index, ShapePass& shapes);
  Status run_late(size_t step_index, StepObserver* observer);
  void read_shapes(size_t step_index);
  Status run_control(size_t step_index, StepObserver* observer);
  Status run_if(size_t step_index, StepObserver* observer);
  Status run_loop(size_t step_index, StepObserver* observer);
  Status check_foreseen(size_t step_index, int64_t count);
  Status enter(Control& control, PlanRunner& body, const Step& step);
  void observe(size_t step_index, StepObserver& observer, double elapsed_us);
  const Shape& shape(uint32_t slot) const { return shapes_.shape(slot); }
  // A shape that an output got: where the step is late, any that its slot can hold; else the one that was foreseen.
  Status take_shape(size_t step_index, size_t output, const Shape& shape);

  const LoadedPlan& loaded_;
  const Plan& plan_;
  std::byte* const arena_;
  ShapePass& shapes_;
  RunResources& resources_;
  std::vector<uint32_t> operand_slots_;
  std::vector<void*> pointers_;          // per operand
  std::vector<void*> host_pointers_;     // on a GPU, per operand
  std::vector<Shape> operand_shapes_;    // per operand
  std::vector<Arguments> arguments_;     // per step
  std::vector<std::vector<size_t>> uses_;  // per slot that is bound: its operands
  std::vector<std::unique_ptr<Control>> control_;  // per step; null for ordinary ones
  std::vector<ConstTensorRef> observed_;
  uint64_t generation_ = 0;              // of the shapes taken
  bool has_shape_steps_ = false;
  int64_t iteration_ = 0;                // a loop's body reads it here,
  uint8_t condition_ = 0;                // and leaves here whether to go on
};

}  // namespace ingot
