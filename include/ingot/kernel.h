// What tactics and plugins share: a refusal with a reason, and the arguments of one kernel call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ingot/types.h"

namespace ingot {

class ThreadPool;

// Yes, or a reason for no (a string literal) that a user can act on.
struct Support {
  const char* refusal = nullptr;
  explicit operator bool() const { return refusal == nullptr; }
};

using Blob = std::vector<std::byte>;  // packed weights, tables, cubin

// Pointers are 64-byte aligned where the arena hands them out, but bound inputs and outputs need not be.
// An absent optional input is a null pointer with a rank-0 shape.
struct KernelArgs {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  std::span<const Shape> input_shapes;   // concrete shapes of this run, in the order of inputs
  std::span<const Shape> output_shapes;
  void* workspace = nullptr;             // workspace_bytes() at the profile's maximum
  ThreadPool* pool = nullptr;            // never null
  // Late steps only, else empty; one for each output, the same memory as output_shapes. Where the type rule gave an upper
  // bound (OpOutput::counted), the kernel replaces it by the shape that it produced, which must not exceed the bound.
  std::span<Shape> produced_shapes = {};
  void* stream = nullptr;                // on a GPU: where the kernel is launched; pointers above are device addresses then,
  std::span<const void* const> host_inputs = {};  // and these the values that the host knows: constants, shape arithmetic; else null
};

}  // namespace ingot
