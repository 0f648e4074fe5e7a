// One kernel launch with its parameters as one struct.
#pragma once

#include <cstdint>

#include "runtime/cuda/device.h"

namespace ingot::cuda {

struct Grid {
  int64_t x = 1;
  int y = 1, z = 1;
};

template <class Params>
Status launch(const Device& device, CUfunction function, Grid grid, int threads, int shared_bytes, void* stream, const Params& params) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return {};  // an empty tensor
  void* arguments[] = {const_cast<Params*>(&params)};
  return check(device.driver().cuLaunchKernel(function, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                                              static_cast<unsigned>(grid.z), static_cast<unsigned>(threads), 1, 1,
                                              static_cast<unsigned>(shared_bytes), static_cast<CUstream>(stream), arguments, nullptr),
               "cuLaunchKernel");
}

inline constexpr int kThreads = 256;
inline int64_t blocks_for(int64_t elements, int64_t per_block = kThreads) { return (elements + per_block - 1) / per_block; }

}  // namespace ingot::cuda
