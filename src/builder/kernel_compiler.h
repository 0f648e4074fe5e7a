// Compiles generated CUDA kernels by NVRTC, which is looked for at run time: the file that INGOT_NVRTC names, or libnvrtc.so.13.
#pragma once

#include "ingot/status.h"
#include "runtime/tactic.h"

namespace ingot {

// One for the process; remembers what it compiled. kNotFound with the reason where there is no NVRTC that can be used.
Expected<const KernelCompiler*> kernel_compiler();

}  // namespace ingot
