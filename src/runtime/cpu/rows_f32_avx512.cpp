// rows_f32.h on AVX-512.
#include "runtime/cpu/lanes_avx512.h"

#include "runtime/cpu/rows_f32_kernel.h"

namespace ingot::cpu {

constinit const RowKernels kRowsAvx512 = make_rows<LanesAvx512>();

}  // namespace ingot::cpu
