// The kernels' PTX by clang in the place of what nvcc made: the library's own list of images is then left out by the linker.
#define INGOT_CUDA_PTX_ONLY
#define INGOT_CUDA_IMAGES INGOT_CLANG_IMAGES
#include "runtime/cuda/modules.cpp"
