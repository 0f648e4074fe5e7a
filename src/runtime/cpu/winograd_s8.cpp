// Convolutions 3×3 with stride 1 of quantised channels-last tensors on winograd_s8.h. Each thread takes a range of tiles, in
// chunks whose transformed inputs stay in its cache while all output channels pass.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "runtime/cpu/s8_layer.h"
#include "runtime/cpu/tap_window.h"
#include "runtime/cpu/winograd_s8.h"
#include "runtime/ops/element.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kChunkBytes = 384 * 1024;

const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }
int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

const WinogradKernels& winograd_kernels(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx2: return kWinogradAvx2;
    case CpuLevel::kAvxVnni: return kWinogradAvxVnni;
    case CpuLevel::kAvx512Vnni: return kWinogradAvx512Vnni;
    default: return kWinogradScalar;
  }
}

// The blob: bias s32 [block][16] with the zero point folded in, then U s16 [block][product][pair of input channels][16][2].
struct WinogradPlan {
  ConvParams params;
  int64_t channels = 0, outputs = 0;

  int64_t blocks() const { return (outputs + kBlockChannels - 1) / kBlockChannels; }
  int64_t pairs() const { return (channels + 1) / 2; }
  int64_t block_elements() const { return kWinogradProducts * pairs() * 2 * kBlockChannels; }
  int64_t bias_bytes() const { return blocks() * kBlockChannels * 4; }
  int64_t blob_bytes() const { return bias_bytes() + blocks() * block_elements() * 2; }

  // V of one tile and product, in elements.
  int64_t tile_stride() const { return round_up(channels, kWinogradChannelStep); }
  int64_t chunk_tiles() const {
    return std::clamp<int64_t>(kChunkBytes / (kWinogradProducts * tile_stride() * 2) / kMaxWinogradTiles, 1, 12) * kMaxWinogradTiles;
  }
  // Of one thread: V, M, places.
  int64_t v_bytes() const { return kWinogradProducts * chunk_tiles() * tile_stride() * 2; }
  int64_t m_bytes() const { return kWinogradProducts * kMaxWinogradTiles * kMaxWinogradBlocks * kBlockChannels * 4; }
  int64_t scratch_bytes() const { return v_bytes() + m_bytes() + round_up(chunk_tiles() * static_cast<int64_t>(sizeof(WinogradPlace)), 64); }
};

WinogradPlan plan_of(const Problem& problem) {
  const Shape& w = problem.inputs[1].type.shape;
  WinogradPlan p;
  p.params = params_of(problem);
  p.outputs = w[0];
  p.channels = w[1];
  return p;
}

// |y| < 2^25 for inputs of 0 … 255, where the weights are at hand.
bool sums_fit(const WinogradPlan& plan, std::span<const std::byte> weights) {
  const auto* w = reinterpret_cast<const int8_t*>(weights.data());
  const int64_t summed = plan.channels * kWinogradTaps;
  for (int64_t o = 0; o < plan.outputs; ++o) {
    int64_t positive = 0, negative = 0;
    for (int64_t k = 0; k < summed; ++k) (w[o * summed + k] > 0 ? positive : negative) += w[o * summed + k];
    if (255 * std::max(positive, -negative) >= int64_t{1} << 25) return false;
  }
  return true;
}

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(WinogradPlan plan, const WinogradKernels& kernels, FinishFunction finish, std::span<const std::byte> blob, LoadedEpilogue epilogue,
                 const TensorType& x)
      : plan_(std::move(plan)), kernels_(kernels), finish_(finish), bias_(reinterpret_cast<const int32_t*>(blob.data())),
        u_(reinterpret_cast<const int16_t*>(blob.data() + plan_.bias_bytes())), epilogue_(std::move(epilogue)),
        input_(kernels.input[x.dtype == DataType::kS8]),
        zeros_(static_cast<size_t>(plan_.channels), static_cast<uint8_t>(zero_point_of(x))) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape &in = args.input_shapes[0], &out = args.output_shapes[0];
    const TapImage image = tap_image_of(in, out, conv_pads(plan_.params, 0, 2, in[2], 3), conv_pads(plan_.params, 1, 2, in[3], 3));
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    const RowEpilogue epilogue = bound_epilogue(epilogue_, args);
    const int64_t across = (image.out_w + kWinogradOut - 1) / kWinogradOut, down = (image.out_h + kWinogradOut - 1) / kWinogradOut;
    args.pool->parallel_for(image.batch * across * down, kMaxWinogradTiles, [&](int64_t begin, int64_t end, int thread) {
      std::byte* memory = static_cast<std::byte*>(args.workspace) + thread * plan_.scratch_bytes();
      WinogradTiles tiles{};
      auto* v = reinterpret_cast<int16_t*>(memory);
      auto* places = reinterpret_cast<WinogradPlace*>(memory + plan_.v_bytes() + plan_.m_bytes());
      tiles.m = reinterpret_cast<int32_t*>(memory + plan_.v_bytes());
      tiles.tile_stride = plan_.tile_stride();
      tiles.pairs = plan_.pairs();
      tiles.block_stride = plan_.block_elements();
      tiles.row_pixels = image.out_w;
      tiles.epilogue = &epilogue;
      tiles.finish = finish_;
      // Chunks of much the same size, of whole groups of tiles.
      const int64_t chunks = (end - begin + plan_.chunk_tiles() - 1) / plan_.chunk_tiles();
      const int64_t chunk = chunks == 0 ? 0 : std::min(plan_.chunk_tiles(), round_up((end - begin + chunks - 1) / chunks, kernels_.max_tiles));
      for (int64_t first = begin; first < end; first += chunk) {
        const int64_t count = std::min(chunk, end - first);
        tiles.product_stride = count * tiles.tile_stride;
        for (int64_t i = 0; i < count; ++i)
          places[i] = transform(image, x, (first + i) / (across * down), (first + i) / across % down, (first + i) % across,
                                v + i * tiles.tile_stride, tiles.product_stride);
        compute(tiles, v, places, count);
      }
    });
    return Status();
  }

 private:
  WinogradPlace transform(const TapImage& image, const uint8_t* x, int64_t n, int64_t tile_y, int64_t tile_x, int16_t* v, int64_t product_stride) const {
    WinogradInput input{};
    input.channels = plan_.channels;
    input.v = v;
    input.product_stride = product_stride;
    const int64_t top = tile_y * kWinogradOut - image.pad_h, left = tile_x * kWinogradOut - image.pad_w;
    for (int64_t r = 0; r < kWinogradIn; ++r) {
      for (int64_t c = 0; c < kWinogradIn; ++c) {
        const int64_t y = top + r, at = left + c;
        const bool real = y >= 0 && y < image.in_h && at >= 0 && at < image.in_w;
        input.pixels[r * kWinogradIn + c] = real ? x + ((n * image.in_h + y) * image.in_w + at) * plan_.channels : zeros_.data();
      }
    }
    input_(input);
    WinogradPlace place;
    place.pixel = (n * image.out_h + tile_y * kWinogradOut) * image.out_w + tile_x * kWinogradOut;
    place.rows = std::min<int64_t>(kWinogradOut, image.out_h - tile_y * kWinogradOut);
    place.columns = std::min<int64_t>(kWinogradOut, image.out_w - tile_x * kWinogradOut);
    return place;
  }

  void compute(WinogradTiles tiles, const int16_t* v, const WinogradPlace* places, int64_t count) const {
    const int64_t groups = (count + kernels_.max_tiles - 1) / kernels_.max_tiles;
    for (int64_t block = 0; block < plan_.blocks(); block += kernels_.max_blocks) {
      const int64_t blocks = std::min<int64_t>(kernels_.max_blocks, plan_.blocks() - block);
      tiles.u = u_ + block * tiles.block_stride;
      tiles.bias = bias_ + block * kBlockChannels;
      tiles.channel = block * kBlockChannels;
      tiles.channels = std::min(blocks * kBlockChannels, plan_.outputs - tiles.channel);
      // The next weights are fetched while these are in use.
      const int64_t more = std::min<int64_t>(kernels_.max_blocks, plan_.blocks() - block - blocks), lines = more * tiles.block_stride / 32;
      const int16_t* next = tiles.u + blocks * tiles.block_stride;
      for (int64_t i = 0; i < groups; ++i) {
        for (int64_t at = lines * i / groups; at < lines * (i + 1) / groups; ++at) __builtin_prefetch(next + at * 32, 0, 2);
        const int64_t first = count * i / groups, last = count * (i + 1) / groups;
        tiles.v = v + first * tiles.tile_stride;
        tiles.places = places + first;
        kernels_.tiles[blocks - 1][last - first - 1](tiles);
      }
    }
  }

  WinogradPlan plan_;
  const WinogradKernels& kernels_;
  FinishFunction finish_;
  const int32_t* bias_;
  const int16_t* u_;
  LoadedEpilogue epilogue_;
  void (*input_)(const WinogradInput&);
  std::vector<uint8_t> zeros_;  // a pixel of padding
};

class WinogradTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv.winograd.s8.channels_last", 1, OpKind::kConv};
    return kInfo;
  }

  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_s8_conv(problem)) return {refusal};
    const ConvParams& params = params_of(problem);
    const Shape& w = problem.inputs[1].type.shape;
    const auto all_ones = [](const std::vector<int64_t>& list) { return std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 1; }); };
    if (w.rank != 4 || w[2] != 3 || w[3] != 3) return {"kernel is not 3x3"};
    if (!all_ones(params.strides) || !all_ones(params.dilations)) return {"stride or dilation is not 1"};
    if (params.groups != 1) return {"channels are in groups"};
    if (w[1] < 8) return {"fewer than 8 input channels: transforms would cost more than they save"};
    if (!problem.inputs[1].constant.empty() && !sums_fit(plan_of(problem), problem.inputs[1].constant))
      return {"a sum could reach 2^25, beyond which the transform is not exact"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    return static_cast<size_t>(problem.device.threads * plan_of(problem).scratch_bytes());
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const WinogradPlan plan = plan_of(problem);
    const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
    const Operand* bias = optional_operand(problem.inputs, 2);
    const int64_t zero = unsigned_zero(problem.inputs[0].type);
    static constexpr int kG[kWinogradIn][3] = {{3, 0, 0}, {-1, -1, -1}, {-1, 1, -1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 3}};
    Blob blob(static_cast<size_t>(plan.blob_bytes()));
    std::byte* u = blob.data() + plan.bias_bytes();
    for (int64_t o = 0; o < plan.outputs; ++o) {
      int64_t sum = 0;
      for (int64_t c = 0; c < plan.channels; ++c) {
        const int8_t* g = w + (o * plan.channels + c) * kWinogradTaps;
        for (int i = 0; i < kWinogradTaps; ++i) sum += g[i];
        int half[kWinogradIn][3];
        for (int i = 0; i < kWinogradIn; ++i)
          for (int x = 0; x < 3; ++x) half[i][x] = kG[i][0] * g[x] + kG[i][1] * g[3 + x] + kG[i][2] * g[6 + x];
        for (int i = 0; i < kWinogradIn; ++i) {
          for (int j = 0; j < kWinogradIn; ++j) {
            const auto value = static_cast<int16_t>(kG[j][0] * half[i][0] + kG[j][1] * half[i][1] + kG[j][2] * half[i][2]);
            const int64_t product = i * kWinogradIn + j, lane = o % kBlockChannels;
            const int64_t at = o / kBlockChannels * plan.block_elements() + ((product * plan.pairs() + c / 2) * kBlockChannels + lane) * 2 + c % 2;
            std::memcpy(u + at * 2, &value, sizeof value);
          }
        }
      }
      int32_t start = 0;
      if (bias) std::memcpy(&start, bias->constant.data() + o * 4, sizeof start);
      // May pass 32 bits; the sum it belongs to does not.
      const auto folded = static_cast<uint32_t>(static_cast<uint64_t>(start - zero * sum));
      std::memcpy(blob.data() + o * 4, &folded, sizeof folded);
    }
    return blob;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    WinogradPlan plan = plan_of(problem);
    if (static_cast<int64_t>(blob.size()) != plan.blob_bytes())
      return Status(StatusCode::kInvalidEngine, "winograd conv: packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                    " bytes, need " + std::to_string(plan.blob_bytes()) + "; rebuild the engine");
    INGOT_ASSIGN(LoadedEpilogue epilogue, load_epilogue("winograd conv", problem, plan.params.activation, 1, plan.outputs));
    return std::unique_ptr<Kernel>(std::make_unique<WinogradKernel>(std::move(plan), winograd_kernels(problem.device.cpu.level),
                                                                    igemm_kernels(problem.device.cpu.level).finish, blob, std::move(epilogue),
                                                                    problem.inputs[0].type));
  }
};

}  // namespace

std::span<const Tactic* const> winograd_s8() {
  static const WinogradTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
