// THE list of passes, in order (pipeline.cpp).
#pragma once

#include <span>

#include "builder/pass_manager.h"

namespace ingot {

std::span<const Pass> canonicalise_passes();  // what the model means, spelled one way
std::span<const Pass> fuse_passes();          // float groups: what runs as one layer
std::span<const Pass> quantise_passes();      // Q/DQ from the table or the model, then integer layers

}  // namespace ingot
