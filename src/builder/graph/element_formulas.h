// Formulas of the values of shape arithmetic: the dims that Shape reads, and what Gather, Concat, Add, Div, Floor … make of them.
#pragma once

#include <span>
#include <vector>

#include "builder/graph/graph.h"
#include "builder/graph/infer_dims.h"

namespace ingot {

// Of one operand, row-major: its formulas, or the numbers of a small constant. Empty: not known.
std::vector<DimId> element_formulas(const Graph& graph, SymbolicDims& symbols, ValueId id);
// The same as bytes at one point; empty where they are no numbers of that type there.
Blob elements_at(const SymbolicDims& symbols, std::span<const DimId> elements, DataType dtype, size_t point);

// Of a node's outputs whose own shape does not vary. Checked against the values at the probes, and those of floats by
// reference code at all points. Empty lists where nothing is known.
std::vector<std::vector<DimId>> infer_elements(const Graph& graph, SymbolicDims& symbols, const OpParams& params,
                                               std::span<const ValueId> inputs, std::span<const OutputFacts> outputs);

}  // namespace ingot
