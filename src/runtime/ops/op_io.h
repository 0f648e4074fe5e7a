// What type rules and reference code see of an op's inputs and outputs.
//
// Type rule:       Status infer_types(const XParams&, std::span<const OpInput>, std::span<OpOutput>);
// Reference code:  Status run_reference(const XParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
// Both are declared in the op's header, allocate nothing when they succeed, and see concrete shapes only.
#pragma once

#include <span>

#include "ingot/status.h"
#include "ingot/types.h"

namespace ingot {

// One input as a type rule sees it. `data` is the value (row-major) when it is known before the run, as for constants and
// shape arithmetic; a rule that needs an unknown value fails with kUnsupported.
struct OpInput {
  DataType dtype = DataType::kF32;
  Shape shape;
  const void* data = nullptr;
  bool present = false;  // false: an optional input left out
};

// What a type rule answers. For quantised ops the dtype is the builder's choice and only the shape counts.
struct OpOutput {
  DataType dtype = DataType::kF32;
  Shape shape;
  // Bit i: dim i is known only once the values have been looked at. `shape` has a proven upper bound there, and reference
  // code and kernels report the real shape.
  uint32_t counted = 0;
};

// Operands of reference code: concrete shape, linear layout. `type` is null for an optional input left out.
struct ConstTensorRef {
  const TensorType* type = nullptr;
  const void* data = nullptr;
  template <class T> const T* as() const { return static_cast<const T*>(data); }
  explicit operator bool() const { return type != nullptr; }
};
struct TensorRef {
  const TensorType* type = nullptr;
  void* data = nullptr;
  // Where an op with counted dims writes the shape that it produced, row-major in `data`; it must not exceed type->shape.
  Shape* produced = nullptr;
  template <class T> T* as() const { return static_cast<T*>(data); }
};

// Reads element i of an integer tensor (s32, s64, u8, bool …) that a type rule knows the value of.
int64_t read_index(const OpInput& input, int64_t i);

}  // namespace ingot
