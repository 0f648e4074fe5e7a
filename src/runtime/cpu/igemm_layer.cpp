// Packing and loading of IgemmLayer.
#include "runtime/cpu/igemm_layer.h"

#include <cstring>
#include <string>

namespace ingot::cpu {

Blob pack_igemm(const IgemmShape& shape, int32_t unsigned_zero, const int32_t* bias,
                const std::function<int8_t(int64_t, int64_t, int64_t, int64_t)>& w) {
  Blob blob(static_cast<size_t>(shape.blob_bytes()));
  std::byte* bias_out = blob.data();
  std::byte* block_out = blob.data() + shape.bias_bytes();
  for (int64_t g = 0; g < shape.groups; ++g) {
    for (int64_t block = 0; block < shape.blocks(); ++block, block_out += shape.block_bytes()) {
      for (int64_t c = 0; c < kBlockChannels; ++c, bias_out += sizeof(int32_t)) {
        const int64_t output = block * kBlockChannels + c;
        if (output >= shape.outputs) continue;
        int64_t sum = 0;
        for (int64_t s = 0; s < shape.segments; ++s) {
          for (int64_t k = 0; k < shape.segment_bytes; ++k) {
            const int8_t value = w(g, output, s, k);
            sum += value;
            block_out[((s * shape.steps() + k / kStepBytes) * kBlockChannels + c) * kStepBytes + k % kStepBytes] =
                static_cast<std::byte>(value);
          }
        }
        // The folded bias may pass 32 bits; the sum it belongs to does not, so it may wrap.
        const int64_t start = (bias ? bias[g * shape.outputs + output] : 0) - unsigned_zero * sum;
        const auto wrapped = static_cast<uint32_t>(static_cast<uint64_t>(start));
        std::memcpy(bias_out, &wrapped, sizeof wrapped);
      }
    }
  }
  return blob;
}

Expected<IgemmLayer> IgemmLayer::load(const char* op, const IgemmShape& shape, bool signed_x, CpuLevel level,
                                      std::span<const std::byte> blob) {
  if (static_cast<int64_t>(blob.size()) != shape.blob_bytes())
    return Status(StatusCode::kInvalidEngine, std::string(op) + ": packed weights have the wrong size: got " +
                                                  std::to_string(blob.size()) + " bytes, need " +
                                                  std::to_string(shape.blob_bytes()) + "; rebuild the engine");
  IgemmLayer layer;
  layer.shape_ = shape;
  layer.bias_ = reinterpret_cast<const int32_t*>(blob.data());
  layer.weights_ = reinterpret_cast<const int8_t*>(blob.data() + shape.bias_bytes());
  const IgemmKernels& kernels = igemm_kernels(level);
  const int64_t blocks = shape.blocks(), parts = (blocks + kernels.max_blocks - 1) / kernels.max_blocks;
  for (int64_t g = 0; g < shape.groups; ++g) {
    for (int64_t i = 0; i < parts; ++i) {
      Chunk chunk{};
      chunk.group = g;
      chunk.block = blocks * i / parts;
      chunk.blocks = blocks * (i + 1) / parts - chunk.block;
      const int8_t* first = layer.weights_ + (g * blocks + chunk.block) * shape.block_bytes();
      const bool exact = pair_may_saturate(first, chunk.blocks * shape.block_bytes());
      chunk.max_rows = (exact ? kernels.max_rows_exact : kernels.max_rows)[chunk.blocks - 1];
      chunk.functions = (exact ? kernels.exact : kernels.fast)[signed_x][chunk.blocks - 1];
      layer.chunks_.push_back(chunk);
    }
  }
  return layer;
}

IgemmTile IgemmLayer::tile_of(const Chunk& chunk, const RowEpilogue& epilogue) const {
  const int64_t block = chunk.group * shape_.blocks() + chunk.block;
  IgemmTile tile{};
  tile.segments = shape_.segments;
  tile.steps = shape_.steps();
  tile.weights = weights_ + block * shape_.block_bytes();
  tile.block_bytes = shape_.block_bytes();
  tile.bias = bias_ + block * kBlockChannels;
  tile.channel = chunk.group * shape_.outputs + chunk.block * kBlockChannels;
  tile.channels = std::min(chunk.blocks * kBlockChannels, shape_.outputs - chunk.block * kBlockChannels);
  tile.epilogue = &epilogue;
  return tile;
}

}  // namespace ingot::cpu
