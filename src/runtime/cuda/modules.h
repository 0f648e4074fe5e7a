// The kernels built into the library: for each .cu file one compressed image that has machine code for some GPUs and PTX, which any
// newer one can take. The driver picks and unpacks; a module is loaded when a kernel of it is first asked for.
#pragma once

#include <span>
#include <string_view>

namespace ingot::cuda {

struct ModuleImage {
  std::string_view module;  // "igemm_s8"
  std::span<const unsigned char> bytes;
};
std::span<const ModuleImage> module_images();

// The module that holds a kernel; empty if there is none.
std::string_view module_of(std::string_view kernel);

}  // namespace ingot::cuda
