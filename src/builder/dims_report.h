// Dims in reports: types of values with the formulas of those that vary, and what the formulas are made of.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "builder/graph/graph.h"

namespace ingot {

// For each value its name, type, and formula where it varies; those left out are skipped.
nlohmann::ordered_json value_list(const Graph& graph, std::span<const ValueId> values);
// Inputs and outputs; the symbols, and the dims without a formula, that occur in the graph or its bodies, with their ranges.
nlohmann::ordered_json dims_report(const Graph& graph);

}  // namespace ingot
