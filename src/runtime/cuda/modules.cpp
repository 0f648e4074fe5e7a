// Images of the kernels, taken into the library by the assembler. Paths come from CMake.
#include "runtime/cuda/modules.h"

#include <array>

#ifdef INGOT_CUDA_PTX_ONLY  // other compilers' kernels, in tests
#define INGOT_CUDA_SUFFIX ".0"
#else
#define INGOT_CUDA_SUFFIX ".fatbin"
#endif
// Symbols and bytes of one file; a closing zero, where it is text.
#define INGOT_CUDA_MODULE(module)                                                                    \
  asm(".section .rodata\n.balign 64\n.global ingot_cuda_" #module "\n"                               \
      "ingot_cuda_" #module ":\n.incbin \"" INGOT_CUDA_IMAGES "/" #module INGOT_CUDA_SUFFIX "\"\n"   \
      ".byte 0\n.global ingot_cuda_" #module "_end\n"                                               \
      "ingot_cuda_" #module "_end:\n.balign 64\n.previous\n");                                      \
  extern "C" const unsigned char ingot_cuda_##module[], ingot_cuda_##module##_end[];
#include "runtime/cuda/kernels/modules.inc"
#undef INGOT_CUDA_MODULE

namespace ingot::cuda {

std::span<const ModuleImage> module_images() {
#define INGOT_CUDA_MODULE(module) ModuleImage{#module, {ingot_cuda_##module, ingot_cuda_##module##_end}},
  static const auto images = std::to_array<ModuleImage>({
#include "runtime/cuda/kernels/modules.inc"
  });
#undef INGOT_CUDA_MODULE
  return images;
}

std::string_view module_of(std::string_view kernel) {
  // Kernels bear the name of their family first; what one file holds under several is listed here.
  struct Row { std::string_view prefix, module; };
  static constexpr Row kRows[] = {{"igemm_s8", "igemm_s8"},   {"depthwise_s8", "depthwise_s8"}, {"pool_s8", "pool_s8"},
                                  {"quantize", "convert_s8"}, {"dequantize", "convert_s8"},     {"table_s8", "convert_s8"},
                                  {"add_s8", "convert_s8"},   {"turn_", "convert_s8"},       {"copy_strided", "move"},
                                  {"gather_blocks", "move"},        {"unary_f32", "pointwise_f32"}, {"binary_f32", "pointwise_f32"},
                                  {"gemm_f32", "gemm_f32"},   {"igemm_f16", "igemm_f16"},      {"igemm_bf16", "igemm_f16"},
                                  {"pack_s8", "igemm_s8"},    {"pack_f16", "igemm_f16"},   {"pack_bf16", "igemm_f16"},
                                    {"depthwise_f32", "gemm_f32"},
                                  {"cast_numbers", "pointwise_f32"}, {"softmax_f32_lines", "normalize_f32"}, {"softmax_f32_warps", "normalize_f32"}, {"softmax_f32", "rows_f32"},   {"layer_norm_f32", "rows_f32"},
                                  {"reduce_f32", "rows_f32"}, {"reduce_lanes_", "reduce_typed"}, {"attention_f32", "rows_f32"}, {"pool_f32", "rows_f32"},
                                  {"attention_f16", "attention_f16"}, {"attention_halves", "attention_f16"},
                                  {"resize_", "resize"},      {"recurrent_", "recurrent"},
                                  {"where_any", "indexed"},   {"pad_any", "indexed"},        {"gather_elements", "indexed"}, {"gather_nd", "indexed"},
                                  {"scatter_", "indexed"},    {"one_hot", "indexed"},        {"trilu", "indexed"},
                                  {"reverse_sequence", "indexed"}, {"fill_any", "indexed"},
                                  {"arg_reduce_", "along_axis"}, {"top_k_", "along_axis"},   {"cumulate_any", "along_axis"},
                                  {"group_norm_f32", "normalize_f32"}, {"batch_norm_f32", "normalize_f32"},
                                  {"binary_typed", "typed_pointwise"}, {"unary_typed", "typed_pointwise"}, {"cast_truncate", "typed_pointwise"}, {"cast_halves", "typed_pointwise"},
                                  {"binary_s8", "typed_pointwise"}, {"grid_sample_", "sampling"}, {"roi_align_", "sampling"}, {"conv_transpose_", "conv_transpose"}};
  for (const Row& row : kRows)
    if (kernel.starts_with(row.prefix)) return row.module;
  return {};
}

}  // namespace ingot::cuda
