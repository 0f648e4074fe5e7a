// Formulas of the dims that a node makes, from those that it is given. No op has rules for formulas: its type rule is asked at
// many points of the profile, a formula over the dims of the node's own inputs is fitted to the answers, and kept only where
// it gives all of them. What no formula fits is an unknown dim with a name of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "builder/graph/graph.h"

namespace ingot {

// What is known of an output from the probes.
struct OutputFacts {
  std::string name;
  DataType dtype = DataType::kF32;
  std::span<const Shape> shapes;
  uint32_t late = 0;
  std::span<const std::shared_ptr<const Blob>> values;  // of shape arithmetic; else empty
};
struct OutputFormulas {
  std::vector<DimId> dims;      // one for each dim; empty: all are constant
  std::vector<DimId> elements;  // of the value, row-major; empty: not known
};

// Near the cost of the type rule where the node's inputs do not vary, or where one like it was seen before.
std::vector<OutputFormulas> infer_formulas(const Graph& graph, SymbolicDims& symbols, const OpParams& params,
                                           std::span<const ValueId> inputs, std::span<const Graph> bodies,
                                           std::span<const OutputFacts> outputs);

}  // namespace ingot
