// Control flow: ops that own bodies, networks of their own whose inputs are all named — what ONNX lets a body capture from
// outside is an input here, of the op and of the body alike. The op's type rule needs its bodies' results, so it has another
// form than that of plain ops; its run is the executor's (runtime/execution_context.cpp), not reference code.
#pragma once

#include <array>
#include <vector>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// condition (bool, one element), captures… Two bodies, then and else; each takes the captures and makes the op's outputs.
struct IfParams {
  INGOT_FIELDS()
};

// ONNX's Loop and Scan. Inputs: count (s64, one element, may be left out), condition (bool, one element, may be left out),
// states…, scanned…, captures… Outputs: states…, stacked…
// The body runs while i < count, i < dim 0 of what is scanned, and the condition holds (each as far as there). It takes
// [i, if `counted`], states, element i of each scanned tensor, captures, and makes [the next condition, if `conditional`],
// the next states, and the elements i of the stacked outputs.
struct LoopParams {
  int64_t states = 0, scanned = 0;
  bool counted = false, conditional = false;
  std::vector<int64_t> backward_inputs;   // for each scanned tensor: 1 if it is read from its end; empty: none is
  std::vector<int64_t> backward_outputs;  // for each stacked output: 1 if it is filled from its end; empty: none is
  INGOT_FIELDS(states, scanned, counted, conditional, backward_inputs, backward_outputs)

  // First index of a group of operands.
  static constexpr size_t kCount = 0, kCondition = 1, kFirstState = 2;
  size_t first_scanned() const { return kFirstState + static_cast<size_t>(states); }
  size_t first_capture() const { return first_scanned() + static_cast<size_t>(scanned); }
  size_t body_first_state() const { return counted ? 1 : 0; }
  size_t body_first_scanned() const { return body_first_state() + static_cast<size_t>(states); }
  size_t body_first_capture() const { return body_first_scanned() + static_cast<size_t>(scanned); }
  size_t body_result_state() const { return conditional ? 1 : 0; }
  size_t body_result_stacked() const { return body_result_state() + static_cast<size_t>(states); }
};

inline constexpr int64_t kMaxLoopOperands = 1 << 12;
inline constexpr int kMaxBodyDepth = 8;  // bodies within bodies

// What plain rules do is impossible without bodies: both refuse.
Status infer_types(const IfParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const IfParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const LoopParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const LoopParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

// The number of operands that the op and its bodies have, before anything else is asked.
Status check_body_arity(const IfParams&, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs);
Status check_body_arity(const LoopParams&, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs);
// What a body's inputs are, given the op's. A capture keeps its known value; states, elements and i have none.
Status infer_body_inputs(const IfParams&, std::span<const OpInput> inputs, std::span<OpInput> body_inputs);
Status infer_body_inputs(const LoopParams&, std::span<const OpInput> inputs, std::span<OpInput> body_inputs);
// The op's outputs, given its inputs and what each body makes of them. kUnsupported where shapes depend on the run: branches
// that differ under an unknown condition, states that change their shape, an unknown number of stacked elements.
Status infer_types(const IfParams&, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs);
Status infer_types(const LoopParams&, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs);

}  // namespace ingot
