// ONNX models of any number of nodes, for what should grow no faster than they do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/builder.h"

namespace ingot::scaling {

struct Family {
  std::string_view name, what;
};
// conv_chain, wide_residual, transformer, shape_arithmetic, shared_values.
const std::vector<Family>& families();

// The bytes of a model of about `nodes` nodes, with tensors so small that only nodes count. Empty for an unknown family.
std::string make_model(std::string_view family, int64_t nodes);
// What its dynamic inputs need.
std::vector<ShapeProfile> profiles_of(std::string_view family);

}  // namespace ingot::scaling
