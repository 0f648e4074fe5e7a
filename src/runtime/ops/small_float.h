// Floats of 8 bits and fewer, one to a byte: stored and cast, never computed with.
#pragma once

#include <cstdint>

#include "ingot/types.h"

namespace ingot {

constexpr bool is_small_float(DataType type) {
  return type == DataType::kF8E4M3 || type == DataType::kF8E5M2 || type == DataType::kF8E4M3Fnuz || type == DataType::kF8E5M2Fnuz ||
         type == DataType::kF8E8M0 || type == DataType::kF4E2M1;
}

// `type` must be a small float. Every value is exact in float.
double small_float_to_real(DataType type, uint8_t bits);
// Rounds half to even; f8e8m0, which holds powers of two only, rounds up. What is too large becomes the largest number with
// `saturate`, else infinity, or NaN where the type has none.
uint8_t real_to_small_float(DataType type, double x, bool saturate);

}  // namespace ingot
