// A kernel that was compiled while its plan was made, as its step's blob: machine code of one generation of GPUs, and PTX for newer ones.
//
//   u32 magic, u32 capability (80 …), u64 bytes of machine code, u64 bytes of PTX with its closing zero; then the one and the other
//
// Both are programs: whoever can write an engine file can run code on the GPU of whoever loads it. What is checked here keeps a damaged
// file from leading the driver, which is told no sizes, out of the file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ingot/kernel.h"
#include "ingot/status.h"

namespace ingot {

struct KernelImage {
  int capability = 0;
  std::span<const std::byte> machine_code;  // an ELF file, 16-byte aligned in a blob; may be empty
  std::string_view ptx;                     // without its closing zero, which is there
};

Blob pack_kernel_image(const KernelImage& image);
// kInvalidEngine if the blob is no whole image.
Expected<KernelImage> read_kernel_image(std::span<const std::byte> blob);

}  // namespace ingot
