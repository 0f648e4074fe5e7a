// For tests of the builder: are two graphs the same up to value names, and do they compute the same?
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "builder/graph/graph_text.h"

namespace ingot {

// Empty when `got` equals `want`: same live nodes, wiring, parameters, types and constants (those that `want` gives no data
// for agree in type only), and the same names of the graph outputs; else what differs.
std::string graph_difference(const Graph& got, const ParsedGraph& want);

using Values = std::vector<std::vector<double>>;  // by graph output
// Runs the graph at a probe by reference code, node by node, over inputs made from the seed.
Expected<Values> interpret(const Graph& graph, size_t probe, uint64_t seed);
// The largest difference, relative to what is compared or to 1, whichever is more; with `of_largest` relative to the largest
// magnitude of its output instead.
double largest_error(const Values& got, const Values& want, bool of_largest = false);

}  // namespace ingot
