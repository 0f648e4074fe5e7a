// The kernels built into the library: for each .cu file PTX, which any newer GPU can take, and machine code for some.
#pragma once

#include <span>
#include <string_view>

namespace ingot::cuda {

struct ModuleImage {
  std::string_view module;  // "igemm_s8"
  int capability;           // machine code for 80, 86, 89, 90; 0: PTX, a string with its closing zero
  std::span<const unsigned char> bytes;
};
std::span<const ModuleImage> module_images();

// The module that holds a kernel; empty if there is none.
std::string_view module_of(std::string_view kernel);

}  // namespace ingot::cuda
