// Profiles → the concrete shapes of each input at which types are inferred.
#pragma once

#include <span>
#include <vector>

#include "builder/onnx/import_model.h"

namespace ingot {

// For each input one shape if everything is static, else four in the order of Probe. Profiles may also name an input's dims
// through another input that shares the dim's name. An input whose first dim alone is open is taken as a batch of 1 to 8.
Expected<std::vector<std::vector<Shape>>> resolve_input_shapes(std::span<const ModelInput> inputs,
                                                               std::span<const ShapeProfile> profiles);

}  // namespace ingot
