// Shapes before the run where they depend on data: upper bounds of an op's output dims, from upper bounds of its inputs' dims
// and bounds of their values. Type rules know concrete shapes only; this asks them at the largest shapes, and reasons about the
// few ops whose dims do not grow with their inputs.
//
// A bound is a promise that the run checks: a rule that gives more then is an error, so no mistake here can corrupt memory.
#pragma once

#include <span>

#include "ingot/status.h"
#include "runtime/ops/op.h"

namespace ingot {

struct BoundedInput {
  OpInput input;       // its shape is the largest
  uint32_t late = 0;   // bit i: dim i depends on data: 0 … shape[i] when the run comes
  const void* least = nullptr;  // where input.data is not known: bounds of its elements, or both null
  const void* most = nullptr;
};
struct BoundedOutput {
  DataType dtype = DataType::kF32;
  Shape shape;         // kDynamic in a late dim: no bound is known
  uint32_t late = 0;   // as above
};

Status infer_bounds(const OpParams& params, std::span<const BoundedInput> inputs, std::span<BoundedOutput> outputs);

// Of control flow: what a body takes and makes. The body stands for each of its runs: of the states it takes, the shape is the
// largest of them all.
struct BodyBounds {
  std::span<const BoundedInput> inputs;
  std::span<const BoundedOutput> outputs;
};
// kInternal where a body does not take what it is given.
Status infer_bounds(const OpParams& params, std::span<const BoundedInput> inputs, std::span<const BodyBounds> bodies,
                    std::span<BoundedOutput> outputs);

}  // namespace ingot
