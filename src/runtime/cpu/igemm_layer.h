// A layer on the kernels of igemm_s8.h: packing of its weights, loading for the best instruction set allowed, and the walk
// over its output rows (pixels) and channel blocks with threads.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "runtime/cpu/igemm_s8.h"
#include "runtime/cpu/s8_layer.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {

// Sizes of a layer's weights: `groups` times `outputs` channels, each a sum over `segments` pieces of `segment_bytes`.
struct IgemmShape {
  int64_t groups = 1, outputs = 0, segments = 1, segment_bytes = 0;

  int64_t blocks() const { return (outputs + kBlockChannels - 1) / kBlockChannels; }
  int64_t steps() const { return (segment_bytes + kStepBytes - 1) / kStepBytes; }
  int64_t block_bytes() const { return segments * steps() * kPackedStep; }
  // bias s32 [group][block][16] (a multiple of 64 bytes), then weights [group][block][segment][step][16][4]
  int64_t bias_bytes() const { return groups * blocks() * kBlockChannels * static_cast<int64_t>(sizeof(int32_t)); }
  int64_t blob_bytes() const { return bias_bytes() + groups * blocks() * block_bytes(); }
};

// Packs w(group, output, segment, byte) and the bias (may be null) with the zero point of x folded in.
Blob pack_igemm(const IgemmShape& shape, int32_t unsigned_zero, const int32_t* bias,
                const std::function<int8_t(int64_t group, int64_t output, int64_t segment, int64_t byte)>& w);

class IgemmLayer {
 public:
  static Expected<IgemmLayer> load(const char* op, const IgemmShape& shape, bool signed_x, CpuLevel level,
                                   std::span<const std::byte> blob);

  const IgemmShape& shape() const { return shape_; }
  // Scratch for the pointer tables of all threads.
  static size_t table_bytes(const IgemmShape& shape, int threads) {
    return static_cast<size_t>(threads) * static_cast<size_t>(shape.segments) * kMaxTileRows * sizeof(const uint8_t*);
  }

  // Computes output rows 0…rows. fill(group, row, count, table) writes table[segment · count + i], the address of each
  // segment of row + i. row_bytes: fresh bytes of x per row, to size what stays in cache.
  template <class Fill>
  void run(ThreadPool& pool, int64_t rows, int64_t row_bytes, const RowEpilogue& epilogue, void* tables, Fill&& fill) const {
    const auto part = [&](int64_t row_begin, int64_t row_end, int64_t chunk_begin, int64_t chunk_end, int thread) {
      const uint8_t** table = static_cast<const uint8_t**>(tables) + thread * shape_.segments * kMaxTileRows;
      const int64_t panel = std::max<int64_t>(kPanelBytes / std::max<int64_t>(row_bytes, 1), 4 * kMaxTileRows);
      for (int64_t begin = row_begin; begin < row_end; begin += panel) {
        const int64_t end = std::min(begin + panel, row_end);
        for (int64_t c = chunk_begin; c < chunk_end; ++c) {
          const Chunk& chunk = chunks_[static_cast<size_t>(c)];
          IgemmTile tile = tile_of(chunk, epilogue);
          tile.pointers = table;
          const int64_t tiles = (end - begin + chunk.max_rows - 1) / chunk.max_rows;
          // Weights come from memory while those before them are in use. The next chunk's lie behind this one's.
          const int8_t* next_weights = tile.weights + chunk.blocks * shape_.block_bytes();
          const int64_t next_bytes = c + 1 < chunk_end ? chunks_[static_cast<size_t>(c + 1)].blocks * shape_.block_bytes() : 0;
          int64_t row = begin;
          // Even tiles: a short last one would waste its weights loads.
          const int64_t each = (end - begin) / tiles, longer = (end - begin) % tiles, lines = (next_bytes / 64 + tiles - 1) / tiles;
          for (int64_t i = 0; i < tiles; ++i) {
            const int64_t next = row + each + (i < longer ? 1 : 0);
            for (int64_t at = i * lines; at < (i + 1) * lines && next_bytes > 0; ++at) __builtin_prefetch(next_weights + at * 64, 0, 2);
            fill(chunk.group, row, next - row, table);
            tile.row = row;
            chunk.functions[next - row - 1](tile);
            row = next;
          }
        }
      }
    };
    const int64_t chunks = static_cast<int64_t>(chunks_.size());
    const bool by_channels = pool.threads() > 1 && chunks >= pool.threads() &&
                             (rows < 4 * kMaxTileRows * pool.threads() || shape_.blob_bytes() > 2 * rows * row_bytes);
    if (by_channels) pool.parallel_for(chunks, 1, [&](int64_t b, int64_t e, int t) { part(0, rows, b, e, t); });
    else pool.parallel_for(rows, kMaxTileRows, [&](int64_t b, int64_t e, int t) { part(b, e, 0, chunks, t); });
  }

 private:
  static constexpr int64_t kPanelBytes = 256 * 1024;
  // Neighbouring blocks of a group computed together.
  struct Chunk {
    int64_t group, block, blocks, max_rows;
    const IgemmFunction* functions;  // by rows − 1
  };
  IgemmTile tile_of(const Chunk& chunk, const RowEpilogue& epilogue) const;

  IgemmShape shape_;
  const int32_t* bias_ = nullptr;
  const int8_t* weights_ = nullptr;
  std::vector<Chunk> chunks_;
};

}  // namespace ingot::cpu
