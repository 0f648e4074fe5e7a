// Walks tiles of gemm_f32.h over all rows and channels of a layer and shares them among threads. Rows come in chunks whose
// pointers a source fills in once for all channels; weights stream past a chunk in pieces of k that stay in cache.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/cpu/gemm_f32.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {

inline constexpr int64_t kMaxRowChunk = 96;         // a multiple of every tile's rows
inline constexpr int64_t kPieceOfK = 1024;          // with 64 channels 256 KiB of weights
inline constexpr int64_t kProductsPerThread = 1 << 17;  // below that, waking a thread costs more than it saves

// All rows of all groups of one layer.
struct FloatGemm {
  int64_t rows = 0, groups = 1;
  int64_t blocks = 0, group_channels = 0;  // of one group's outputs
  int64_t runs = 1, run_length = 0;
  int64_t group_offset = 0;   // floats from a group's inputs to the next's
  int64_t patch_floats = 0;   // scratch a source wants per row
  const float* zeros = nullptr;    // as in FloatTile; only with finite weights, lest 0 · ∞ depend on the tile
  const float* weights = nullptr;  // [group][block][k][16]
  FloatEpilogue epilogue;

  int64_t depth() const { return runs * run_length; }
};

// What a source fills in for the rows of a chunk.
struct RowTable {
  const float** pointers;  // [run][row], `stride` apart
  int64_t stride;
  int64_t* out_offsets;    // [row]
  float* patches;          // [row][patch_floats]
};

inline int64_t blocks_of(int64_t channels) { return (channels + kFloatBlock - 1) / kFloatBlock; }

inline int64_t row_chunk(int64_t runs, int64_t patch_floats) {
  int64_t chunk = kMaxRowChunk;
  while (chunk > 12 && (chunk * runs > 64 * kMaxRowChunk || chunk * patch_floats > 1 << 18)) chunk /= 2;
  return chunk;  // 96, 48, 24 or 12
}

// Enough for any smaller patch_floats too.
inline size_t gemm_scratch_bytes(int64_t runs, int64_t patch_floats) {
  const int64_t patches = std::min(kMaxRowChunk * patch_floats, std::max<int64_t>(12 * patch_floats, 1 << 18));
  const int64_t bytes = row_chunk(runs, 0) * (runs * 8 + 8 + kMaxFloatBlocks * kFloatBlock * 4) + patches * 4;
  return static_cast<size_t>((bytes + 127) / 64 * 64);
}

// Rows [row_begin, row_end) × panels [panel_begin, panel_end), where each group has `panels` panels of nearly equal width.
template <class Fill>
void run_gemm_part(const FloatGemm& g, const FloatKernels& kernels, int64_t panels, int64_t row_begin, int64_t row_end,
                   int64_t panel_begin, int64_t panel_end, std::byte* scratch, Fill&& fill) {
  const int64_t chunk = row_chunk(g.runs, g.patch_floats), depth = g.depth(), block_stride = depth * kFloatBlock;
  // 64-byte aligned parts first.
  float* partial = reinterpret_cast<float*>(scratch);
  float* patches = partial + chunk * kMaxFloatBlocks * kFloatBlock;
  const float** pointers = reinterpret_cast<const float**>(patches + (chunk * g.patch_floats + 1) / 2 * 2);
  int64_t* out_offsets = reinterpret_cast<int64_t*>(pointers + chunk * g.runs);
  const RowTable table{pointers, chunk, out_offsets, patches};
  const bool split_runs = g.run_length > kPieceOfK;  // a piece of k is part of one run, or some whole runs
  const int64_t pieces_per_run = split_runs ? (g.run_length + kPieceOfK - 1) / kPieceOfK : 1;
  const int64_t runs_per_piece = split_runs || g.run_length == 0 ? 1 : std::max<int64_t>(1, kPieceOfK / g.run_length);
  const int64_t pieces = std::max<int64_t>(1, split_runs ? g.runs * pieces_per_run : (g.runs + runs_per_piece - 1) / runs_per_piece);
  FloatTile tile;
  tile.row_stride = chunk;
  tile.block_stride = block_stride;
  tile.zeros = g.zeros;
  for (int64_t row = row_begin; row < row_end; row += chunk) {
    const int64_t count = std::min(chunk, row_end - row);
    fill(row, count, table);
    for (int64_t p = panel_begin; p < panel_end; ++p) {
      const int64_t group = p / panels, in_group = p % panels;
      const int64_t block = in_group * g.blocks / panels, blocks = (in_group + 1) * g.blocks / panels - block;
      // Tiles of nearly equal heights: a last one of one row would wait for its own sums.
      const int64_t most_rows = kernels.max_rows[blocks - 1], tiles = (count + most_rows - 1) / most_rows;
      const float* weights = g.weights + (group * g.blocks + block) * block_stride;
      FloatEpilogue epilogue = g.epilogue;
      const int64_t first_channel = group * g.group_channels;
      epilogue.out += first_channel;
      if (epilogue.bias) epilogue.bias += first_channel;
      if (epilogue.residual) epilogue.residual += first_channel;
      tile.epilogue = &epilogue;
      tile.channel = block * kFloatBlock;
      tile.channels = g.group_channels - tile.channel;
      for (int64_t piece = 0; piece < pieces; ++piece) {
        int64_t run, in_run = 0;
        if (split_runs) {
          run = piece / pieces_per_run;
          in_run = piece % pieces_per_run * kPieceOfK;
          tile.runs = 1;
          tile.run_length = std::min(kPieceOfK, g.run_length - in_run);
        } else {
          run = piece * runs_per_piece;
          tile.runs = std::min(runs_per_piece, g.runs - run);
          tile.run_length = g.run_length;
        }
        tile.offset = group * g.group_offset + in_run;
        tile.weights = weights + (run * g.run_length + in_run) * kFloatBlock;
        tile.first = piece == 0;
        tile.last = piece == pieces - 1;
        for (int64_t t = 0; t < tiles; ++t) {
          const int64_t r = t * count / tiles, rows = (t + 1) * count / tiles - r;
          tile.rows = pointers + run * chunk + r;
          tile.out_offsets = out_offsets + r;
          tile.partial = partial + r * blocks * kFloatBlock;
          kernels.tile[blocks - 1][rows - 1](tile);
        }
      }
    }
  }
}

// The whole layer. fill(row, count, table) may be called for the same rows by more than one thread.
template <class Fill>
void run_gemm(const FloatGemm& g, const FloatKernels& kernels, ThreadPool& pool, std::byte* scratch, size_t scratch_bytes, Fill&& fill) {
  if (g.rows == 0 || g.blocks == 0) return;
  constexpr int64_t kUnit = 12;  // rows that a thread's share is a multiple of
  const int64_t most = kernels.blocks_for(g.rows), panels = (g.blocks + most - 1) / most, all_panels = panels * g.groups;
  const int64_t units = (g.rows + kUnit - 1) / kUnit;
  const int64_t products = g.rows * g.groups * g.blocks * kFloatBlock * std::max<int64_t>(1, g.depth());
  const auto grain = [&](int64_t count) { return std::max<int64_t>(1, kProductsPerThread / std::max<int64_t>(1, products / count)); };
  if (units >= 4 * pool.threads() || units >= all_panels) {
    pool.parallel_for(units, grain(units), [&](int64_t begin, int64_t end, int thread) {
      run_gemm_part(g, kernels, panels, begin * kUnit, std::min(g.rows, end * kUnit), 0, all_panels,
                    scratch + static_cast<size_t>(thread) * scratch_bytes, fill);
    });
  } else {
    pool.parallel_for(all_panels, grain(all_panels), [&](int64_t begin, int64_t end, int thread) {
      run_gemm_part(g, kernels, panels, 0, g.rows, begin, end, scratch + static_cast<size_t>(thread) * scratch_bytes, fill);
    });
  }
}

}  // namespace ingot::cpu
