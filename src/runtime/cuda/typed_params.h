// Arguments of the kernels that compute element by element on integers, bools and quantised bytes; see kernel_params.h.
#pragma once

#include "runtime/cuda/indexed_params.h"

namespace ingot::cuda {

struct BinaryTyped {      // y = a ∘ b, both of one type; y of it too, or bool
  const void *a, *b;
  void* y;
  int64_t elements;
  int32_t operation, type;  // BinaryFunction, DataType
  Walk<2> walk;
};

struct UnaryTyped {
  const void* x;
  void* y;
  int64_t elements;
  int32_t function, type;   // UnaryFunction, DataType
  int32_t finds_negative, finds_positive;  // of kIsInf
};

struct BinaryS8 {         // t = fma(a − z_a, m_a, (b − z_b)·m_b), or (a − z_a)(b − z_b)·m_a; then as in docs/numerics.md
  const uint8_t *a, *b;
  void* y;
  int64_t elements;
  int32_t a_signed, b_signed, a_zero, b_zero, zero;
  int32_t product, curved, to_float, function;  // to_float, curved: f is applied; function: UnaryFunction
  float a_multiplier, b_multiplier, low, high, scale, alpha, beta;
  Walk<2> walk;
};

}  // namespace ingot::cuda
