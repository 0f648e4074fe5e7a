// rows_f32.h in plain C++, for CPUs without AVX2, and which functions it has.
#include "runtime/cpu/lanes_scalar.h"

#include "runtime/cpu/rows_f32_kernel.h"

namespace ingot::cpu {

constinit const RowKernels kRowsScalar = make_rows<LanesScalar>();

bool rows_know(UnaryFunction function) {
  return Rows<LanesScalar>::with_function(function, []<UnaryFunction f>() {});
}

bool rows_know(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::kAdd: case BinaryFunction::kSub: case BinaryFunction::kMul: case BinaryFunction::kDiv:
    case BinaryFunction::kMin: case BinaryFunction::kMax: case BinaryFunction::kPow: case BinaryFunction::kPRelu: return true;
    default: return false;
  }
}

}  // namespace ingot::cpu
