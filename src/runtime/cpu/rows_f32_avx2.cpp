// rows_f32.h on AVX2.
#include "runtime/cpu/lanes_avx2.h"

#include "runtime/cpu/rows_f32_kernel.h"

namespace ingot::cpu {

constinit const RowKernels kRowsAvx2 = make_rows<LanesAvx2>();

}  // namespace ingot::cpu
