// Determinants of square matrices: x […,n,n] → […].
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

struct DeterminantParams {
  INGOT_FIELDS()
};

Status infer_types(const DeterminantParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const DeterminantParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
