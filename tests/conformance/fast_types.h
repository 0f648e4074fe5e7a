// Which element types an operator has fast code for, asked of the tactics themselves.
#pragma once

#include <string>
#include <vector>

#include "builder/graph/graph.h"

namespace ingot {

// Of f32, f16, bf16, int8 and the types of integers: those in which each step of the optimised graph has a tactic besides reference
// code on a CPU with AVX2, as "f32", in that order. Graphs of f32 are also asked about narrower floats and about 8 bits.
std::vector<std::string> fast_types(const Graph& graph);

}  // namespace ingot
