// GridSample and RoiAlign of f32 in either layout: kernels/sampling.cu. Equal to the reference to the bit. A batch index out of range, an
// error on a CPU, gives zeros.
#include "runtime/cuda/plain_tactic.h"
#include "runtime/cuda/sampling_params.h"
#include "runtime/ops/sampling.h"

namespace ingot::cuda {
namespace {

bool is_last(const Operand& operand) { return operand.type.layout == Layout::kChannelsLast; }
template <class Params>
void set_picture(Params& p, const Shape& x, bool channels_last) {
  int64_t pixels = 1;
  for (int d = 2; d < x.rank; ++d) pixels *= x[d];
  p.channels = static_cast<int32_t>(x[1]);
  p.x_image = x[1] * pixels;
  p.x_channel = channels_last ? 1 : pixels;
  p.x_pixel = channels_last ? x[1] : 1;
}

const char* refuse_grid(const Problem& problem) {
  for (const Operand& input : problem.inputs)
    if (input.type.dtype != DataType::kF32) return "an operand is not f32";
  return is_last(problem.inputs[1]) ? "the grid is not row-major" : nullptr;
}
Expected<std::unique_ptr<Kernel>> load_grid(const Problem& problem, Device& device) {
  const auto& op = std::get<GridSampleParams>(problem.params);
  GridSampleF32 params{};
  params.padding = static_cast<int32_t>(op.padding);
  params.align_corners = op.align_corners;
  params.y_channels_last = is_last(problem.outputs[0]);
  params.dims = problem.inputs[0].type.shape.rank - 2;
  const char* const name = op.mode == GridSampleMode::kNearest ? "grid_sample_nearest" : op.mode == GridSampleMode::kCubic ? "grid_sample_cubic"
                           : params.dims == 3 ? "grid_sample_volume" : "grid_sample_linear";
  return make_simple(device, name, DeviceMemory(), params, [x_last = is_last(problem.inputs[0])](GridSampleF32& p, const KernelArgs& args) {
    const Shape &x = args.input_shapes[0], &y = args.output_shapes[0];
    set_picture(p, x, x_last);
    p.x = static_cast<const float*>(args.inputs[0]);
    p.grid = static_cast<const float*>(args.inputs[1]);
    p.y = static_cast<float*>(args.outputs[0]);
    p.elements = y.elements();
    p.places = 1;
    for (int d = 2; d < y.rank; ++d) p.places *= y[d];
    p.size[0] = 1;
    for (int d = 0; d < p.dims; ++d) p.size[3 - p.dims + d] = x[d + 2];
  });
}

const char* refuse_roi(const Problem& problem) {
  for (size_t i = 0; i < 2; ++i)
    if (problem.inputs[i].type.dtype != DataType::kF32) return "an operand is not f32";
  return is_index(problem.inputs[2]) ? nullptr : "batch indices are neither s32 nor s64";
}
Expected<std::unique_ptr<Kernel>> load_roi(const Problem& problem, Device& device) {
  const auto& op = std::get<RoiAlignParams>(problem.params);
  RoiAlignF32 params{};
  params.y_channels_last = is_last(problem.outputs[0]);
  params.cells_high = static_cast<int32_t>(op.height);
  params.cells_wide = static_cast<int32_t>(op.width);
  params.wide_indices = is_wide(problem.inputs[2]);
  params.max = op.max;
  params.half_pixel = op.half_pixel;
  params.sampling_ratio = static_cast<int32_t>(op.sampling_ratio);
  params.spatial_scale = op.spatial_scale;
  return make_simple(device, "roi_align_f32", DeviceMemory(), params, [x_last = is_last(problem.inputs[0])](RoiAlignF32& p, const KernelArgs& args) {
    const Shape& x = args.input_shapes[0];
    set_picture(p, x, x_last);
    p.x = static_cast<const float*>(args.inputs[0]);
    p.boxes = static_cast<const float*>(args.inputs[1]);
    p.batches = args.inputs[2];
    p.y = static_cast<float*>(args.outputs[0]);
    p.elements = args.output_shapes[0].elements();
    p.batch = x[0];
    p.height = x[2];
    p.width = x[3];
  });
}

}  // namespace

std::span<const Tactic* const> sampling() {
  static const PlainTactic grid(OpKind::kGridSample, "cuda.grid_sample.f32", refuse_grid, load_grid), roi(OpKind::kRoiAlign, "cuda.roi_align.f32", refuse_roi, load_roi);
  static const std::array<const Tactic*, 2> list = {&grid, &roi};
  return list;
}

}  // namespace ingot::cuda
