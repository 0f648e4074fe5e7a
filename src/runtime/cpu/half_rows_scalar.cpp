// half_rows.h in plain C++.
#include "runtime/cpu/half_rows.h"
#include "runtime/ops/half.h"

namespace ingot::cpu {
namespace {

template <auto convert, class From, class To>
void each(const From* x, To* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = convert(x[i]);
}

}  // namespace

const HalfRows kHalfRowsScalar = {each<f16_to_f32, uint16_t, float>, each<f32_to_f16, float, uint16_t>, each<bf16_to_f32, uint16_t, float>,
                                  each<f32_to_bf16, float, uint16_t>};

}  // namespace ingot::cpu
