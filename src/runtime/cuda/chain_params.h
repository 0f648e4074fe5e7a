// Arguments of kernels made for one chain: what host and kernels see alike. Nothing else is included, since such kernels are compiled
// where there are no headers but a few.
#pragma once

#include <cstdint>

namespace ingot::cuda {

struct ChainParams {
  const void* inputs[8];
  void* output;
  int64_t elements;        // of the result, or, where it is reduced, results
  int64_t set_size;        // elements that make one result; 1 where nothing is reduced
  int32_t rank;            // dims in the order of memory, the last one fastest; at least 1
  int32_t reserved;
  int64_t dims[8];
  int64_t strides[8][8];   // of each input; 0 where it is broadcast
};

}  // namespace ingot::cuda
