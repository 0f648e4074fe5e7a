// A chain as the source of a CUDA kernel of its own.
#pragma once

#include <string>

#include "runtime/chain_problem.h"

namespace ingot::cuda {

inline constexpr const char* kChainKernel = "ingot_chain";  // what the kernel is called; one launch argument: ChainParams

// Includes kernels/chain_math.cuh. Without a reduction one thread makes one element, else a block of kThreads one result.
std::string chain_source(const ChainProblem& chain);

}  // namespace ingot::cuda
