// Shape arithmetic on dims that depend on data: instead of its value, bounds of it. Functions that grow or fall with an operand
// are computed at its ends, by their own reference code.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/kernel.h"
#include "runtime/ops/shape_bounds.h"

namespace ingot {

// The least and most that each element of each output can be, row-major. False where nothing is known: for other functions, for
// operands without bounds, and where the output itself has late dims.
bool bound_values(const OpParams& params, std::span<const BoundedInput> inputs, std::span<const BoundedOutput> outputs,
                  std::vector<Blob>& least, std::vector<Blob>& most);

// Whether the op is n modulo d: its values at some n say nothing of those between.
bool is_remainder(const OpParams& params);
// The operands n and d where the op spells n mod d out: n less the whole part of n / d, times d.
std::optional<std::vector<ValueId>> spelled_remainder(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs);

}  // namespace ingot
