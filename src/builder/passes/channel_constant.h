// Constants as passes want to see them: one number for each channel, or one number everywhere.
#pragma once

#include <optional>
#include <vector>

#include "builder/graph/graph.h"
#include "builder/graph/graph_editor.h"

namespace ingot {

// The f32 values of a constant that broadcasts against a value of `rank` dims along dim `axis` (of `channels`) only.
std::optional<std::vector<float>> channel_values(const Graph& graph, ValueId constant, int rank, int axis, int64_t channels);
// Whether all elements of a constant of any numeric type equal `number`.
bool is_filled_with(const Graph& graph, ValueId constant, double number);
// Whether the value is a plain f32 constant.
bool is_f32_constant(const Graph& graph, ValueId value);
bool is_f32(const Graph& graph, ValueId value);  // unquantised

// Makes dim `axis` of an f32 weight `w'[…,c,…] = w[…,c,…] · factors[c]`, as a new constant. For a transposed convolution
// pass its groups: dim 1 then counts the channels of one group, and dim 0 runs through the groups.
ValueId scale_channels(GraphEditor& editor, ValueId weight, int axis, std::span<const float> factors, int64_t groups = 1);
ValueId add_vector(GraphEditor& editor, const std::string& name, std::span<const float> values);

}  // namespace ingot
