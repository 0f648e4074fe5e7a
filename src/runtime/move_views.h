// Ops that only move elements, in either layout, as strided copies: a channels_last tensor is a row-major one with its dims in
// another order, so each op becomes one copy per operand, whatever the layouts on both sides. Backends do the copying.
#pragma once

#include <memory>

#include "runtime/ops/strided_copy.h"
#include "runtime/tactic.h"

namespace ingot {

// One copy: from which input to which output, and the element on each side at which the view begins.
struct CopyPlace {
  size_t input = 0;
  int64_t source = 0;
  size_t output = 0;
  int64_t target = 0;
};
class CopySink {
 public:
  virtual ~CopySink() = default;
  virtual Status copy(const StridedCopy& view, CopyPlace place) = 0;
};

class Move {
 public:
  virtual ~Move() = default;
  // The copies of one run. `values`: operands' values as the host sees them, for those that say where to read (Slice).
  virtual Status views(const KernelArgs& args, const void* const* values, CopySink& sink) const = 0;
};
Support supports_move(const Problem& problem);
// Of a problem that supports_move() takes.
std::unique_ptr<Move> make_move(const Problem& problem);

// Strides, in elements, of the model's dims of a dense tensor.
Strides strides_of(const Shape& shape, Layout layout);

}  // namespace ingot
