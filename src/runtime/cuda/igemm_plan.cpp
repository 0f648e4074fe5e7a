// Layout of Tensor Core layers along k.
#include "runtime/cuda/igemm_plan.h"

#include <numeric>

#include "runtime/cuda/s8_layer.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/window.h"

namespace ingot::cuda {
namespace {

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

IgemmPlan IgemmPlan::of_conv(const Problem& problem, int64_t element, int64_t align) {
  IgemmPlan plan;
  plan.conv = std::get<ConvParams>(problem.params);
  const Shape& w = problem.inputs[1].type.shape;
  plan.spatial = w.rank - 2;
  plan.groups = plan.conv.groups;
  plan.outputs = w[0];
  plan.inputs = w[1];
  plan.channels = round_up(w[1] * element, align) * plan.groups;
  plan.image = window_image(plan.spatial, w.span().subspan(2), plan.conv.strides, plan.conv.dilations);
  plan.taps = static_cast<int64_t>(plan.image.kernel_h) * plan.image.kernel_w;
  bool padded = false;  // one pixel without stride needs none by auto_pad either
  for (int64_t pad : plan.conv.pads) padded = padded || pad != 0;
  plan.dense = plan.taps == 1 && plan.image.stride_h == 1 && plan.image.stride_w == 1 && !padded;
  return plan;
}

IgemmPlan IgemmPlan::of_matmul(const Problem& problem, int64_t element, int64_t align) {
  const auto& params = std::get<MatMulParams>(problem.params);
  const Shape& b = problem.inputs[1].type.shape;
  IgemmPlan plan;
  plan.inputs = b[params.transpose_b ? 1 : 0];
  plan.channels = round_up(plan.inputs * element, align);
  plan.outputs = b[params.transpose_b ? 0 : 1];
  plan.image = Image{1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1};
  plan.dense = true;
  return plan;
}

int64_t IgemmPlan::k_pitch() const { return round_up(k(), 16); }
int64_t IgemmPlan::bias_bytes() const { return round_up(outputs * 4, 16); }

int64_t IgemmPlan::piece() const {
  const int64_t common = std::gcd(std::gcd(group_channels(), channels), int64_t{16});
  return common >= 4 ? common : 1;
}
const char* IgemmPlan::loader() const { return direct() ? "direct" : piece() == 16 ? "taps" : piece() >= 4 ? "pieces" : "bytes"; }

// Tables hold window offsets in 16 bits, and launches count tiles of outputs and groups in 16.
const char* IgemmPlan::refuse_sizes() const {
  if (static_cast<int64_t>(image.kernel_h) * image.dilation_h >= kNoTap || static_cast<int64_t>(image.kernel_w) * image.dilation_w >= kNoTap)
    return "window is too large";
  if (groups > 65535 || outputs / groups > 65535 * 64) return "too many outputs";
  if (k_pitch() > (int64_t{1} << 30)) return "too many products per output";
  return nullptr;
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
    rows = outputs == 0 ? 0 : y.elements() / outputs;
    // Matrix rows as the pixels of one tall image, for the loaders that go by taps.
    sized.in_h = sized.out_h = static_cast<int32_t>(rows);
    return;
  }
  const PadPair pad_h = spatial == 2 ? conv_pads(conv, 0, 2, x[2], image.kernel_h) : PadPair{};
  const PadPair pad_w = conv_pads(conv, spatial - 1, spatial, x[x.rank - 1], image.kernel_w);
  set_image_sizes(sized, x, y, pad_h, pad_w);
  rows = static_cast<int64_t>(sized.batch) * sized.out_h * sized.out_w;
}

}  // namespace ingot::cuda
