// Layout of Tensor Core layers along k.
#include "runtime/cuda/igemm_plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/window.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kFewChannels = 4, kMostSlices = 32, kStepsInSlice = 4;
constexpr int64_t kBusyBlocks = 216;  // two for each multiprocessor of an A100: more slices add more traffic than they save

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
int64_t tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

}  // namespace

IgemmPlan IgemmPlan::of_conv(const Problem& problem, bool halves) {
  IgemmPlan plan;
  plan.conv = std::get<ConvParams>(problem.params);
  const Shape& w = problem.inputs[1].type.shape;
  plan.spatial = w.rank - 2;
  plan.layer_groups = plan.conv.groups;
  plan.outputs = w[0];
  plan.inputs = w[1];
  plan.window = window_image(plan.spatial, w.span().subspan(2), plan.conv.strides, plan.conv.dilations);
  bool padded = false;  // one pixel without stride needs none by auto_pad either
  for (int64_t pad : plan.conv.pads) padded = padded || pad != 0;
  plan.dense = plan.taps() == 1 && plan.window.stride_h == 1 && plan.window.stride_w == 1 && !padded;
  plan.lay_out(halves);
  return plan;
}

IgemmPlan IgemmPlan::of_matmul(const Problem& problem, bool halves) {
  const auto& params = std::get<MatMulParams>(problem.params);
  const Shape& b = problem.inputs[1].type.shape;
  IgemmPlan plan;
  plan.inputs = b[params.transpose_b ? 1 : 0];
  plan.outputs = b[params.transpose_b ? 0 : 1];
  plan.window = Image{1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1};
  plan.dense = true;
  plan.lay_out(halves);
  return plan;
}

void IgemmPlan::lay_out(bool halves) {
  element = halves ? 2 : 1;
  image = window;
  groups = layer_groups;
  if (!halves && layer_groups > 1) {
    // As many groups side by side as make the least work: blocks of 64 outputs by steps of 64 bytes, dearer where pieces are small.
    const int64_t each = outputs / layer_groups;
    double least = 0;
    for (int64_t joined = 1; joined <= layer_groups && (joined == 1 || joined * each <= 128); ++joined) {
      if (layer_groups % joined != 0) continue;
      const int64_t common = std::gcd(joined * inputs, int64_t{16});
      const double loads = common == 16 ? 1 : common == 8 ? 1.25 : common == 4 ? 1.6 : 2.5;
      const double work = loads * static_cast<double>(layer_groups / joined * tiles(joined * each, 64) * tiles(taps() * joined * inputs, 64));
      if (joined == 1 || work < least) {
        least = work;
        groups = layer_groups / joined;
      }
    }
  }
  const int64_t bytes = layer_groups / groups * inputs * element;
  packs = halves || std::gcd(bytes, int64_t{16}) < 4;
  packs_rows = layer_groups == 1 && window.kernel_w > 1 && inputs <= kFewChannels;
  if (packs_rows) {
    packs = true;
    image.kernel_w = image.stride_w = image.dilation_w = 1;
  }
  channels = packs_rows ? round_up(window.kernel_w * bytes, 16) : (packs ? round_up(bytes, 16) : bytes) * groups;
}

int64_t IgemmPlan::k_pitch() const { return round_up(k(), 16); }
int64_t IgemmPlan::bias_bytes() const { return round_up(outputs * 4, 16); }
int64_t IgemmPlan::piece() const { return std::gcd(group_channels(), int64_t{16}); }

int64_t IgemmPlan::place(int64_t output, int64_t input, int64_t tap) const {
  if (packs_rows) return tap / window.kernel_w * channels + (tap % window.kernel_w * inputs + input) * element;
  const int64_t joined = layer_groups / groups, beside = output / (outputs / layer_groups) % joined;
  return tap * group_channels() + (beside * inputs + input) * element;
}

// Tables hold window offsets in 16 bits, and launches count tiles of outputs, groups and slices in 16.
const char* IgemmPlan::refuse(const Problem& problem, const IgemmVariant& variant) const {
  if (static_cast<int64_t>(window.kernel_h) * window.dilation_h >= kNoTap || static_cast<int64_t>(window.kernel_w) * window.dilation_w >= kNoTap)
    return "window is too large";
  if (groups > 65535 / kMostSlices || outputs / groups > 65535 * 32) return "too many outputs or groups";
  if (k_pitch() > (int64_t{1} << 30)) return "too many products per output";
  if (rows_of(problem.outputs[0].max_shape) > (int64_t{1} << 36)) return "too many rows";
  if (packs && spatial == 0 && rows_of(problem.outputs[0].max_shape) > (int64_t{1} << 30)) return "too many rows";
  if (piece() != 16 && !variant.tile.pieces) return "channels are not a multiple of 16";
  if (variant.split && slices(problem, variant) < 2) return "enough tiles, or too few products, to split along k";
  return nullptr;
}

int64_t IgemmPlan::rows_of(const Shape& y) const { return y.elements() / std::max<int64_t>(1, outputs); }

int64_t IgemmPlan::slices(const Problem& problem, const IgemmVariant& variant) const {
  if (!variant.split) return 1;
  const int64_t blocks = tiles(rows_of(problem.outputs[0].max_shape), variant.tile.rows) * tiles(outputs / groups, variant.tile.outputs) * groups;
  const int64_t wanted = std::min({tiles(kBusyBlocks, std::max<int64_t>(1, blocks)), steps() / kStepsInSlice, kMostSlices});
  return wanted < 2 ? 1 : tiles(steps(), tiles(steps(), wanted));  // none of them empty
}

int64_t IgemmPlan::packed_bytes(const Shape& x, const Shape& y) const {
  if (!packs) return 0;
  if (spatial == 0) return rows_of(y) * channels;
  const int64_t pixels = x[0] * (x.rank == 4 ? x[2] : 1) * (packs_rows ? y[y.rank - 1] : x[x.rank - 1]);
  return pixels * channels;
}

size_t IgemmPlan::workspace_bytes(const Problem& problem, const IgemmVariant& variant) const {
  const Shape& y = problem.outputs[0].max_shape;
  int64_t bytes = packed_bytes(problem.inputs[0].max_shape, y);
  if (variant.split) bytes = round_up(bytes, 256) + slices(problem, variant) * rows_of(y) * round_up(outputs, 4) * 4;
  return static_cast<size_t>(bytes);
}

std::vector<Tap> IgemmPlan::tap_table() const {
  std::vector<Tap> table;
  if (direct()) return table;
  for (int64_t at = 0; at < k_pitch(); at += piece()) {
    Tap tap{kNoTap, 0, 0};
    if (at < k()) {
      const int64_t position = at / group_channels();
      tap.dy = static_cast<int16_t>(position / image.kernel_w * image.dilation_h);
      tap.dx = static_cast<int16_t>(position % image.kernel_w * image.dilation_w);
      tap.channel = static_cast<int32_t>(at % group_channels());
    }
    table.push_back(tap);
  }
  return table;
}

void IgemmPlan::set_sizes(Image& sized, int64_t& rows, const Shape& x, const Shape& y) const {
  if (spatial == 0) {
    rows = rows_of(y);
    // Matrix rows as the pixels of one tall image, for the loaders that go by taps.
    sized.in_h = sized.out_h = static_cast<int32_t>(rows);
    return;
  }
  const PadPair pad_h = spatial == 2 ? conv_pads(conv, 0, 2, x[2], window.kernel_h) : PadPair{};
  const PadPair pad_w = conv_pads(conv, spatial - 1, spatial, x[x.rank - 1], window.kernel_w);
  set_image_sizes(sized, x, y, pad_h, pad_w);
  rows = static_cast<int64_t>(sized.batch) * sized.out_h * sized.out_w;
}

PackParams IgemmPlan::pack_params(const Image& own, int64_t rows, bool x_last, int32_t fill) const {
  PackParams p{};
  const int64_t all = inputs * layer_groups;
  const bool matrix = spatial == 0;  // its rows are the pixels of one wide image row
  p.x_columns = matrix ? static_cast<int32_t>(rows) : own.in_w;
  p.rows = matrix ? 1 : own.in_h;
  p.columns = packs_rows ? own.out_w : p.x_columns;
  const int64_t plane = static_cast<int64_t>(p.rows) * p.x_columns;
  p.image_stride = plane * all;
  p.column_stride = x_last ? all : 1;
  p.row_stride = p.x_columns * p.column_stride;
  p.channel_stride = x_last ? 1 : plane;
  p.taps = packs_rows ? window.kernel_w : 1;
  p.stride = packs_rows ? window.stride_w : 1;
  p.dilation = packs_rows ? window.dilation_w : 1;
  p.pad = packs_rows ? own.pad_w : 0;
  p.groups = static_cast<int32_t>(groups);
  p.group_channels = static_cast<int32_t>(layer_groups / groups * inputs);
  p.padded = static_cast<int32_t>(group_channels() / element);
  p.fill = fill;
  p.elements = (matrix ? 1 : own.batch) * static_cast<int64_t>(p.rows) * p.columns * (channels / 16);
  return p;
}

double IgemmPlan::estimate(const Problem& problem, const IgemmVariant& variant, std::span<const Shape> in, std::span<const Shape> out) const {
  const GpuModel model = gpu_model(problem.device);
  const IgemmTile& tile = variant.tile;
  const auto bytes_of = [](const Operand& operand, const Shape& shape) {
    return operand.present ? static_cast<double>(shape.elements()) * static_cast<double>(element_bytes(operand.type.dtype)) : 0;
  };
  TiledWork work;
  work.rows = rows_of(out[0]);
  work.columns = outputs / groups;
  work.matrices = groups;
  work.steps = steps();
  work.slices = slices(problem, variant);
  work.tile_rows = tile.rows;
  work.tile_columns = tile.outputs;
  work.warps = tile.warps;
  work.warp_rows = tile.warp_rows;
  work.warp_columns = tile.warp_outputs;
  work.step_bytes = 64;
  work.step_products = 64 / static_cast<int>(element);
  work.stages = tile.stages;
  work.blocks_by_registers = tile.blocks;
  work.shared_bytes = tile.shared_bytes();
  work.rate = element == 1 ? model.products_s8 : model.products_f16;
  if (piece() != 16) work.load_factor = piece() == 8 ? 1.5 : 2.5;
  work.result_bytes = static_cast<double>(element_bytes(problem.outputs[0].type.dtype));
  const double x = bytes_of(problem.inputs[0], in[0]), packed = static_cast<double>(packed_bytes(in[0], out[0]));
  work.total_bytes = (packs ? packed : x) + static_cast<double>(weight_bytes()) + bytes_of(problem.outputs[0], out[0]);
  if (problem.inputs.size() > 3) work.total_bytes += bytes_of(problem.inputs[3], in[3]);
  return tiled_microseconds(model, work) + (packs ? streamed_microseconds(model, x + packed) : 0);
}

}  // namespace ingot::cuda
