// What launches cost on a GPU that is not there: an ordering of tactics, no prediction of times. Bounds of each step of a block (tensor cores,
// shared memory, second-level cache, latency), blocks a multiprocessor holds at once, waves of blocks with the last one partly full, the
// time to fill and drain a block's pipeline, and memory for the whole. docs/gpu.md says it in words; no figure of it is ever printed as
// a speed.
#pragma once

#include "runtime/tactic.h"

namespace ingot::cuda {

// Per clock and multiprocessor unless said otherwise. From data sheets; what mma.sync reaches, where that is less.
struct GpuModel {
  int capability, multiprocessors;
  double gigahertz;
  double products_s8, products_f16, products_f32;  // multiply-adds
  int shared_bytes, threads, blocks;               // at once
  double cache_bytes;                              // per clock, from the second-level cache, all multiprocessors
  double cache_size, memory_bytes;                 // bytes; bytes per microsecond
};
// Of the device's generation, with as many multiprocessors as it has where that is known.
GpuModel gpu_model(const DeviceInfo& device);

// Products of `matrices` pairs, rows × columns by `steps` steps of k, in tiles, each by one block or, a slice of k each, by several.
struct TiledWork {
  int64_t rows = 0, columns = 0, matrices = 1, steps = 0, slices = 1;
  int tile_rows = 64, tile_columns = 64, warps = 8, warp_rows = 32, warp_columns = 64;
  int step_bytes = 64, step_products = 64;  // of one row along k
  int stages = 2, blocks_by_registers = 2, shared_bytes = 0;
  double rate = 1;          // products per clock and multiprocessor
  double load_factor = 1;   // how much dearer than 16 bytes at a time loads of x are
  double result_bytes = 4, total_bytes = 0;
};
double tiled_microseconds(const GpuModel& model, const TiledWork& work);
// A launch that reads and writes so many bytes once.
double streamed_microseconds(const GpuModel& model, double bytes);

}  // namespace ingot::cuda
