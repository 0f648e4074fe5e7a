// The model's constants and formulas.
#include "runtime/cuda/gpu_model.h"

#include <algorithm>
#include <cmath>

namespace ingot::cuda {
namespace {

constexpr double kLaunch = 2.0;        // microseconds from one kernel of a graph to the next
constexpr double kLoadLatency = 700;   // clocks from an asynchronous copy to its data
constexpr double kEpilogue = 500;      // clocks of a block's last barriers and stores, beside their bytes
constexpr double kSharedBytes = 128;   // per clock and multiprocessor

double launch_bytes(const GpuModel& m, double bytes) {
  const double cached = m.cache_bytes * m.gigahertz * 1e3;  // per microsecond
  return bytes / (bytes < 0.5 * m.cache_size ? cached : m.memory_bytes);
}

}  // namespace

GpuModel gpu_model(const DeviceInfo& device) {
  static constexpr GpuModel kModels[] = {
      {80, 108, 1.41, 2048, 1024, 64, 164 << 10, 2048, 32, 5120, 40e6, 1.5e6},  // A100
      {86, 84, 1.70, 1024, 256, 128, 100 << 10, 1536, 16, 2048, 6e6, 0.9e6},    // GA102
      {89, 128, 2.52, 1024, 256, 128, 100 << 10, 1536, 24, 3072, 72e6, 1.0e6},  // AD102
      {90, 132, 1.75, 2048, 1024, 128, 228 << 10, 2048, 32, 5632, 50e6, 3.3e6}, // H100; wgmma would give twice the products
  };
  GpuModel model = kModels[0];
  for (const GpuModel& m : kModels)
    if (m.capability <= device.cuda_capability) model = m;
  if (device.multiprocessors > 0) {  // bandwidths of smaller members of a family are smaller too
    const double share = static_cast<double>(device.multiprocessors) / model.multiprocessors;
    model.cache_bytes *= share;
    model.memory_bytes *= std::min(1.0, share);
    model.multiprocessors = device.multiprocessors;
  }
  return model;
}

double streamed_microseconds(const GpuModel& model, double bytes) { return kLaunch + launch_bytes(model, bytes); }

double tiled_microseconds(const GpuModel& m, const TiledWork& w) {
  const auto tiles = [](int64_t size, int tile) { return std::ceil(static_cast<double>(size) / tile); };
  const double blocks = tiles(w.rows, w.tile_rows) * tiles(w.columns, w.tile_columns) * static_cast<double>(w.matrices * w.slices);
  if (blocks == 0) return 0;
  const double at_once = std::max(1, std::min({w.blocks_by_registers, m.shared_bytes / (w.shared_bytes + 1024), m.threads / (32 * w.warps), m.blocks}));
  const double steps = std::ceil(static_cast<double>(w.steps) / static_cast<double>(w.slices));
  const double cache_each = m.cache_bytes / m.multiprocessors;  // per clock

  // Clocks of one step of one block, were it alone on what bounds it.
  const double products = static_cast<double>(w.tile_rows) * w.tile_columns * w.step_products / w.rate;
  const double loaded = (w.tile_rows * w.load_factor + w.tile_columns) * w.step_bytes;
  const double shared = (loaded + static_cast<double>(w.warps) * (w.warp_rows + w.warp_columns) * w.step_bytes) / kSharedBytes;
  const double cache = loaded / cache_each;
  const double latency = kLoadLatency / std::max(1, w.stages - 1);
  // From the first copy to the last store of blocks that a multiprocessor begins together.
  const auto wave = [&](double together) {
    // One warp on each of the four partitions leaves its tensor core idle between an ldmatrix and what needs it; two hide each other.
    const double per_partition = together * w.warps / 4;
    const double busy = per_partition >= 2 ? 1.0 : 0.6 * std::min(1.0, per_partition) + 0.4 * std::max(0.0, per_partition - 1);
    const double step = std::max({together * products / busy, together * shared, together * cache, latency});
    const double store = w.tile_rows * w.tile_columns * (w.slices > 1 ? 4 : w.result_bytes) / cache_each;
    return kLoadLatency + steps * step + kEpilogue + together * store;
  };
  const double slots = at_once * m.multiprocessors, full = std::floor(blocks / slots), rest = blocks - full * slots;
  double clocks = full * wave(at_once);
  if (rest > 0) clocks += wave(std::ceil(rest / m.multiprocessors));
  const double microseconds = std::max(clocks / (m.gigahertz * 1e3), launch_bytes(m, w.total_bytes));
  if (w.slices == 1) return kLaunch + microseconds;
  const double partial = 4.0 * static_cast<double>(w.rows * w.columns * w.matrices * w.slices);  // written, and read by a second launch
  return 2 * kLaunch + microseconds + launch_bytes(m, 2 * partial);
}

}  // namespace ingot::cuda
