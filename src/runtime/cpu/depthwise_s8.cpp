// Depthwise convolution of quantised channels-last tensors, any window, on channelwise_s8.h.
#include <array>
#include <cstring>
#include <string>

#include "runtime/cpu/s8_layer.h"
#include "runtime/cpu/tap_window.h"
#include "runtime/ops/element.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRunColumns = 72;   // read for neighbouring pixels that are computed together, about; over all row groups
constexpr int64_t kWidestGroup = 64;  // channels

size_t align_up(size_t bytes) { return (bytes + 63) / 64 * 64; }
const ConvParams& params_of(const Problem& problem) { return std::get<ConvParams>(problem.params); }

// The blob: bias s32 [channels padded to 16] with the zero point folded in, then weights s8
// [kernel column][group of 4 kernel rows][channel][4 rows].
struct DepthwisePlan {
  ConvParams params;
  int spatial = 2;
  int64_t channels = 0;
  TapWindow window;

  int64_t padded() const { return (channels + 15) / 16 * 16; }
  int64_t row_groups() const { return (window.kernel_h + 3) / 4; }
  int64_t weight_groups() const { return window.kernel_w * row_groups(); }
  int64_t bias_bytes() const { return padded() * 4; }
  int64_t blob_bytes() const { return bias_bytes() + weight_groups() * padded() * 4; }

  // Input rows are taken 4 · row_groups at a time, which may hold the windows of several output rows: so many, that many input
  // rows apart.
  int64_t row_shift() const { return window.stride_h % window.dilation_h == 0 ? window.stride_h / window.dilation_h : 0; }
  int64_t band() const { return row_shift() == 0 ? 1 : (4 * row_groups() - window.kernel_h) / row_shift() + 1; }
  // Columns that a run of `pixels` touches.
  int64_t columns(int64_t pixels) const { return (pixels - 1) * window.stride_w + (window.kernel_w - 1) * window.dilation_w + 1; }
  int64_t run_pixels() const {
    const int64_t fitting = (kRunColumns / row_groups() - (window.kernel_w - 1) * window.dilation_w) / window.stride_w;
    return std::clamp<int64_t>(fitting / 8 * 8, 8, 64);
  }
  // Room for columns whose number is the same modulo the stride; a register may read up to 3 pixels more than are there.
  int64_t plane() const { return ((columns(run_pixels()) - 1) / window.stride_w + 1 + 3) / 4 * 4 + 4; }
  // Of one thread: rows, then interleaved columns.
  size_t table_bytes() const { return align_up(static_cast<size_t>(row_groups() * 4) * sizeof(DepthwiseRow)); }
  size_t scratch_bytes() const {
    return table_bytes() + align_up(static_cast<size_t>(plane() * window.stride_w * row_groups() * 4 * kWidestGroup));
  }
};

DepthwisePlan plan_of(const Problem& problem) {
  const Shape& w = problem.inputs[1].type.shape;
  DepthwisePlan p;
  p.params = params_of(problem);
  p.spatial = w.rank - 2;
  p.channels = w[0];
  p.window = tap_window_of(p.spatial, w.span().subspan(2), p.params.strides, p.params.dilations);
  return p;
}

// Channels computed together, with their constants in the order of the kernel.
struct Group {
  int64_t channel = 0, channels = 0;
  void (*kernel)(const DepthwiseRun&) = nullptr;
  std::vector<int8_t> weights;
  std::vector<int32_t> bias;
  std::vector<float> multipliers;
  std::vector<int16_t> zeros;
  std::vector<uint8_t> low, high;
};

// Position in the registers' order → channel of the group: 16 · lane + 4 · register + i, which repeats for each pixel.
int64_t channel_of(const DepthwiseKernel& kernel, int64_t position) {
  const int64_t ints = kernel.width / 4, reg = position / ints, lane = position % ints / 4;
  return (16 * lane + 4 * reg + position % 4) % kernel.lane_bytes;
}

// Whether results are bytes whose order in registers does not matter until they are packed.
bool has_curved_bytes(const LoadedEpilogue& e) {
  return e.row.curved && e.row.reciprocal && e.row.stored != Stored::kF32 && e.row.residual_stored == Stored::kNone && e.zero.empty();
}
bool is_bytes(const LoadedEpilogue& e) { return e.row.integers || has_curved_bytes(e); }

Group make_group(const DepthwisePlan& plan, const DepthwiseKernel& kernel, bool signed_x, int64_t channel,
                 const std::byte* blob, const LoadedEpilogue& epilogue) {
  Group group;
  const int64_t width = kernel.width;
  group.channel = channel;
  group.channels = std::min(kernel.lane_bytes, plan.channels - channel);
  const auto* weights = reinterpret_cast<const int8_t*>(blob + plan.bias_bytes());
  // Further output rows of a band have the same weights further down.
  for (int64_t out_row = 0; out_row < plan.band(); ++out_row) {
    for (int64_t tap = 0; tap < plan.window.kernel_w; ++tap) {
      for (int64_t g = 0; g < plan.row_groups(); ++g) {
        for (int64_t at = 0; at < width; ++at) {
          const int64_t c = channel + channel_of(kernel, at);
          for (int64_t i = 0; i < 4; ++i) {
            const int64_t row = g * 4 + i - out_row * plan.row_shift();
            const bool real = c < plan.channels && row >= 0 && row < plan.window.kernel_h;
            group.weights.push_back(real ? weights[((tap * plan.row_groups() + row / 4) * plan.padded() + c) * 4 + row % 4] : int8_t{0});
          }
        }
      }
    }
  }
  for (int64_t at = 0; at < width; ++at) {
    const int64_t c = channel + channel_of(kernel, at);
    int32_t bias = 0;
    if (c < plan.channels) std::memcpy(&bias, blob + c * 4, sizeof bias);
    group.bias.push_back(bias);
    group.multipliers.push_back(c < plan.channels ? epilogue.multipliers[static_cast<size_t>(c)] : 0.0f);
  }
  if (is_bytes(epilogue)) {
    const bool shared = epilogue.zero.empty();
    const auto index = [&](int64_t c) { return static_cast<size_t>(std::min(channel + c % kernel.lane_bytes, plan.channels - 1)); };
    const auto zero = [&](int64_t c) { return shared ? epilogue.row.zero : epilogue.zero[index(c)]; };
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t at = 0; at < width / 2; ++at) group.zeros.push_back(static_cast<int16_t>(zero(at / 8 * 16 + half * 8 + at % 8)));
    for (int64_t c = 0; c < width; ++c) {
      const float low = shared ? epilogue.row.low : epilogue.low[index(c)], high = shared ? epilogue.row.high : epilogue.high[index(c)];
      group.low.push_back(static_cast<uint8_t>(static_cast<int>(low) + zero(c)));
      group.high.push_back(static_cast<uint8_t>(static_cast<int>(high) + zero(c)));
    }
  }
  const bool exact = pair_may_saturate(group.weights.data(), static_cast<int64_t>(group.weights.size()));
  group.kernel = (exact ? kernel.exact : kernel.fast)[signed_x];
  if (exact && kernel.words_if_exact) {
    // In each register's bytes (w0 w1 w2 w3 …): words w0 w2 …, then words w1 w3 ….
    std::vector<int8_t> words;
    for (size_t start = 0; start < group.weights.size(); start += static_cast<size_t>(width)) {
      for (size_t odd = 0; odd < 2; ++odd) {
        for (size_t i = odd; i < static_cast<size_t>(width); i += 2) {
          const int8_t value = group.weights[start + i];
          words.push_back(value);
          words.push_back(static_cast<int8_t>(value < 0 ? -1 : 0));
        }
      }
    }
    group.weights = std::move(words);
  }
  return group;
}

class DepthwiseConvKernel final : public Kernel {
 public:
  DepthwiseConvKernel(DepthwisePlan plan, std::vector<Group> groups, LoadedEpilogue epilogue, FinishFunction finish, const TensorType& x)
      : plan_(std::move(plan)), groups_(std::move(groups)), epilogue_(std::move(epilogue)), finish_(finish),
        zeros_(static_cast<size_t>(plan_.padded() + kWidestGroup)) {
    const auto channels = static_cast<size_t>(plan_.channels);
    for (size_t c = 0; c < zeros_.size(); ++c) zeros_[c] = static_cast<uint8_t>(zero_point_of(x, static_cast<int64_t>(c % channels)));
  }

  Status run(const KernelArgs& args) noexcept override {
    const Shape& in = args.input_shapes[0];
    const PadPair pad_w = conv_pads(plan_.params, plan_.spatial - 1, plan_.spatial, in[in.rank - 1], plan_.window.kernel_w);
    const PadPair pad_h =
        plan_.spatial == 2 ? conv_pads(plan_.params, 0, plan_.spatial, in[2], plan_.window.kernel_h) : PadPair{};
    const TapImage image = tap_image_of(in, args.output_shapes[0], pad_h, pad_w);
    const auto* x = static_cast<const uint8_t*>(args.inputs[0]);
    const RowEpilogue epilogue = bound_epilogue(epilogue_, args);
    // Whole rows if they are short; else parts of 8 pixels' multiples, which fill registers.
    const int64_t most = plan_.run_pixels(), parts = (image.out_w + most - 1) / most;
    const int64_t part_pixels = parts <= 1 ? image.out_w : (image.out_w + 8 * parts - 1) / (8 * parts) * 8;
    const int64_t band = plan_.band(), bands = (image.out_h + band - 1) / band;
    args.pool->parallel_for(image.batch * bands * parts, 1, [&](int64_t begin, int64_t end, int thread) {
      std::byte* memory = static_cast<std::byte*>(args.workspace) + static_cast<size_t>(thread) * plan_.scratch_bytes();
      const auto rows = reinterpret_cast<DepthwiseRow*>(memory);
      DepthwiseRun run{};
      run.rows = rows;
      run.padding = zeros_.data();
      run.in_columns = image.in_w;
      run.scratch = reinterpret_cast<uint8_t*>(memory + plan_.table_bytes());
      run.plane = plan_.plane();
      run.row_groups = plan_.row_groups();
      run.taps = plan_.window.kernel_w;
      run.tap_step = plan_.window.dilation_w;
      run.pixel_step = plan_.window.stride_w;
      run.out_row_pixels = image.out_w;
      run.curved_bytes = has_curved_bytes(epilogue_);
      run.all_channels = plan_.channels;
      run.epilogue = &epilogue;
      run.finish = finish_;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts, n = i / parts / bands, out_y = i / parts % bands * band;
        const int64_t first = std::min(part * part_pixels, image.out_w);
        run.pixels = std::min(part_pixels, image.out_w - first);
        if (run.pixels <= 0) continue;
        run.out_rows = std::min(band, image.out_h - out_y);
        run.pixel = (n * image.out_h + out_y) * image.out_w + first;
        run.columns = plan_.columns(run.pixels);
        run.first_column = first * plan_.window.stride_w - image.pad_w;
        find_rows(image, x, n, out_y, rows);
        for (const Group& group : groups_) {
          run.weights = group.weights.data();
          run.bias = group.bias.data();
          run.multiplier = group.multipliers.data();
          run.zeros = group.zeros.data();
          run.low = group.low.data();
          run.high = group.high.data();
          run.channel = group.channel;
          run.channels = group.channels;
          group.kernel(run);
        }
      }
    });
    return Status();
  }

 private:
  void find_rows(const TapImage& image, const uint8_t* x, int64_t n, int64_t out_y, DepthwiseRow* rows) const {
    const int64_t top = out_y * plan_.window.stride_h - image.pad_h, row_bytes = image.in_w * plan_.channels;
    for (int64_t r = 0; r < 4 * plan_.row_groups(); ++r) {
      const int64_t y = top + r * plan_.window.dilation_h;
      // Rows that no window of the band reaches have weights of 0.
      if (y >= 0 && y < image.in_h) rows[r] = {x + (n * image.in_h + y) * row_bytes, plan_.channels};
      else rows[r] = {zeros_.data(), 0};
    }
  }

  DepthwisePlan plan_;
  std::vector<Group> groups_;
  LoadedEpilogue epilogue_;
  FinishFunction finish_;
  std::vector<uint8_t> zeros_;  // pixels of padding
};

class DepthwiseTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.conv.depthwise.s8.channels_last", 1, OpKind::kConv};
    return kInfo;
  }

  Support supports(const Problem& problem) const override { return {refuse_s8_depthwise(problem)}; }

  size_t workspace_bytes(const Problem& problem) const override {
    return static_cast<size_t>(problem.device.threads) * plan_of(problem).scratch_bytes();
  }

  uint32_t packed_inputs(const Problem&) const override { return 0b110; }

  Expected<Blob> prepare(const Problem& problem) const override {
    const DepthwisePlan plan = plan_of(problem);
    const auto* w = reinterpret_cast<const int8_t*>(problem.inputs[1].constant.data());
    const Operand* bias = optional_operand(problem.inputs, 2);
    const int64_t taps = plan.window.taps();
    Blob blob(static_cast<size_t>(plan.blob_bytes()));
    std::byte* packed = blob.data() + plan.bias_bytes();
    for (int64_t c = 0; c < plan.channels; ++c) {
      int64_t sum = 0;
      for (int64_t t = 0; t < taps; ++t) {
        const int8_t value = w[c * taps + t];
        sum += value;
        const int64_t row = t / plan.window.kernel_w, group = t % plan.window.kernel_w * plan.row_groups() + row / 4;
        packed[(group * plan.padded() + c) * 4 + row % 4] = static_cast<std::byte>(value);
      }
      int32_t start = 0;
      if (bias) std::memcpy(&start, bias->constant.data() + c * 4, sizeof start);
      const auto folded = static_cast<uint32_t>(static_cast<uint64_t>(start - unsigned_zero(problem.inputs[0].type, c) * sum));
      std::memcpy(blob.data() + c * 4, &folded, sizeof folded);
    }
    return blob;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    DepthwisePlan plan = plan_of(problem);
    if (static_cast<int64_t>(blob.size()) != plan.blob_bytes())
      return Status(StatusCode::kInvalidEngine, "depthwise conv: packed weights have the wrong size: got " +
                                                    std::to_string(blob.size()) + " bytes, need " +
                                                    std::to_string(plan.blob_bytes()) + "; rebuild the engine");
    INGOT_ASSIGN(LoadedEpilogue epilogue, load_epilogue("depthwise conv", problem, plan.params.activation, 1, plan.channels));
    const TensorType& x = problem.inputs[0].type;
    const ChannelwiseKernels& kernels = channelwise_kernels(problem.device.cpu.level);
    std::vector<Group> groups;
    for (int64_t c = 0; c < plan.channels;) {
      // The narrowest that takes all that are left, unless a narrower one and another waste less; else the widest that is filled.
      const DepthwiseKernel* kernel = nullptr;
      const int64_t left = plan.channels - c;
      for (const DepthwiseKernel& other : kernels.depthwise)
        if (other.width > 0 && other.lane_bytes >= left && other.lane_bytes <= plan.channels && 4 * left > 3 * other.lane_bytes) kernel = &other;
      for (const DepthwiseKernel& other : kernels.depthwise)
        if (!kernel && other.width > 0 && other.lane_bytes <= left) kernel = &other;
      for (const DepthwiseKernel& other : kernels.depthwise)
        if (!kernel && other.width > 0 && other.lane_bytes == 16) kernel = &other;
      // The last group is filled up with channels of the one before it: twice the same bytes, but whole registers.
      const int64_t first = std::max<int64_t>(0, std::min(c, plan.channels - kernel->lane_bytes));
      groups.push_back(make_group(plan, *kernel, x.dtype == DataType::kS8, first, blob.data(), epilogue));
      c = first + groups.back().channels;
    }
    return std::unique_ptr<Kernel>(std::make_unique<DepthwiseConvKernel>(std::move(plan), std::move(groups), std::move(epilogue),
                                                                         igemm_kernels(problem.device.cpu.level).finish, x));
  }
};

}  // namespace

std::span<const Tactic* const> depthwise_s8() {
  static const DepthwiseTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
