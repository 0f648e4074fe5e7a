// Reference DeformConv: y[m, o] = b[m] + Σ_c Σ_k w[m, c, k] · mask[k, o] · x(c, o · stride + k · dilation − pad + offset[k, o]),
// in double.
#include "runtime/ops/deform_conv.h"

#include <cmath>

#include "runtime/ops/element.h"
#include "runtime/ops/type_rule.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "deform_conv";
enum InputIndex : size_t { kX, kW, kOffset, kBias, kMask };

Status read_window(const DeformConvParams& params, const Shape& x, const Shape& w, Window& window) {
  const int n = x.rank - 2;
  INGOT_TRY(check_window_attributes("deform_conv", n, params.strides, params.pads, params.dilations));
  for (int i = 0; i < n; ++i) {
    WindowAxis& axis = window.axis[kMaxSpatialDims - n + i];
    axis.in = x[i + 2];
    axis.kernel = w[i + 2];
    axis.stride = attribute(params.strides, i, 1);
    axis.dilation = attribute(params.dilations, i, 1);
    axis.pad = window_pads(AutoPad::kNotSet, params.pads, i, n, axis);
    INGOT_TRY(window_output("deform_conv", i, false, axis));
  }
  return {};
}

// The picture at a fractional place: the weighted pixels around it.
template <class T>
double read_at(const T* plane, const Window& window, const double (&at)[kMaxSpatialDims]) {
  int64_t low[kMaxSpatialDims];
  double part[kMaxSpatialDims];
  for (int i = 0; i < kMaxSpatialDims; ++i) {
    if (!(at[i] > -1 && at[i] < static_cast<double>(window.axis[i].in))) return 0;  // NaN too
    const double floor = std::floor(at[i]);
    low[i] = static_cast<int64_t>(floor);
    part[i] = at[i] - floor;
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    int64_t place = 0;
    bool inside = true;
    for (int i = 0; i < kMaxSpatialDims; ++i) {
      const bool high = corner >> (kMaxSpatialDims - 1 - i) & 1;
      const int64_t pixel = low[i] + high;
      weight *= high ? part[i] : 1 - part[i];
      inside = inside && pixel >= 0 && pixel < window.axis[i].in;
      place = place * window.axis[i].in + pixel;
    }
    if (inside && weight != 0) sum += weight * static_cast<double>(load_element(plane[place]));
  }
  return sum;
}

template <class T>
void convolve(const DeformConvParams& params, const Window& window, std::span<const ConstTensorRef> inputs, const TensorRef& y) {
  const Shape &x = inputs[kX].type->shape, &w = inputs[kW].type->shape, &to = y.type->shape;
  const int n = x.rank - 2, first = kMaxSpatialDims - n;
  int64_t taps = 1, places = 1, pixels = 1;
  for (const WindowAxis& axis : window.axis) taps *= axis.kernel, places *= axis.out, pixels *= axis.in;
  const int64_t group_in = w[1], group_out = to[1] / params.groups, offset_in = x[1] / params.offset_groups;
  const T *offsets = inputs[kOffset].as<T>(), *mask = has_input(inputs, kMask) ? inputs[kMask].as<T>() : nullptr;
  const auto real = [](T value) { return static_cast<double>(load_element(value)); };
  for (int64_t batch = 0; batch < to[0]; ++batch)
    for (int64_t m = 0; m < to[1]; ++m)
      for (int64_t place = 0; place < places; ++place) {
        int64_t out[kMaxSpatialDims], rest = place;
        for (int i = kMaxSpatialDims - 1; i >= 0; rest /= window.axis[i].out, --i) out[i] = rest % window.axis[i].out;
        double sum = has_input(inputs, kBias) ? real(inputs[kBias].as<T>()[m]) : 0;
        for (int64_t c = 0; c < group_in; ++c) {
          const int64_t channel = m / group_out * group_in + c, group = batch * params.offset_groups + channel / offset_in;
          for (int64_t tap = 0; tap < taps; ++tap) {
            double at[kMaxSpatialDims];
            int64_t left = tap;
            for (int i = kMaxSpatialDims - 1; i >= 0; --i) {
              const WindowAxis& axis = window.axis[i];
              at[i] = static_cast<double>(out[i] * axis.stride + left % axis.kernel * axis.dilation - axis.pad.begin);
              left /= axis.kernel;
              if (i >= first) at[i] += real(offsets[((group * taps + tap) * n + i - first) * places + place]);
            }
            const double value = read_at(inputs[kX].as<T>() + (batch * x[1] + channel) * pixels, window, at);
            sum += value * real(inputs[kW].as<T>()[(m * group_in + c) * taps + tap]) *
                   (mask ? real(mask[(group * taps + tap) * places + place]) : 1);
          }
        }
        y.as<T>()[(batch * to[1] + m) * places + place] = store_float<T>(sum);
      }
}

}  // namespace

Status infer_types(const DeformConvParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 3, 5, outputs));
  const Shape &x = inputs[kX].shape, &w = inputs[kW].shape;
  const DataType type = inputs[kX].dtype;
  if (!with_float_type(type, [](auto) {})) return refuse(kOp, "element type", to_string(type), "a float", StatusCode::kUnsupported);
  for (size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].present && inputs[i].dtype != type)
      return refuse(kOp, "type of input " + std::to_string(i), to_string(inputs[i].dtype), to_string(type));
  if (x.rank < 3 || x.rank > 2 + kMaxSpatialDims)
    return refuse(kOp, "rank of input", std::to_string(x.rank), "3 to 5", x.rank < 3 ? StatusCode::kInvalidModel : StatusCode::kUnsupported);
  const int n = x.rank - 2;
  if (w.rank != x.rank) return refuse(kOp, "rank of the weights", std::to_string(w.rank), std::to_string(x.rank));
  if (params.groups < 1 || params.offset_groups < 1)
    return refuse(kOp, "groups", std::to_string(std::min(params.groups, params.offset_groups)), "1 or more");
  if (x[1] % params.groups != 0 || w[1] != x[1] / params.groups || w[0] % params.groups != 0)
    return refuse(kOp, "channels of the weights", to_string(w), std::to_string(params.groups) + " groups of " + std::to_string(x[1]) + " channels");
  if (x[1] % params.offset_groups != 0)
    return refuse(kOp, "offset_groups", std::to_string(params.offset_groups), "a divisor of the " + std::to_string(x[1]) + " channels");
  Window window;
  INGOT_TRY(read_window(params, x, w, window));
  Shape to{x[0], w[0]};
  int64_t taps = params.offset_groups;
  bool fits = true;
  for (int i = 0; i < n; ++i) {
    INGOT_TRY(append_dim(kOp, to, window.axis[kMaxSpatialDims - n + i].out));
    fits = fits && !__builtin_mul_overflow(taps, w[i + 2], &taps);
  }
  if (!fits || taps > INT64_MAX / kMaxSpatialDims) return refuse(kOp, "taps", "too many", "fewer than 2^61");
  const auto per_tap = [&](int64_t each) {
    Shape shape = to;
    shape[1] = taps * each;
    return shape;
  };
  if (!(inputs[kOffset].shape == per_tap(n))) return refuse(kOp, "shape of the offsets", to_string(inputs[kOffset].shape), to_string(per_tap(n)));
  if (has_input(inputs, kBias) && !(inputs[kBias].shape == Shape{w[0]}))
    return refuse(kOp, "shape of the bias", to_string(inputs[kBias].shape), std::to_string(w[0]));
  if (has_input(inputs, kMask) && !(inputs[kMask].shape == per_tap(1)))
    return refuse(kOp, "shape of the mask", to_string(inputs[kMask].shape), to_string(per_tap(1)));
  return set_output(kOp, outputs[0], type, to);
}

Status run_reference(const DeformConvParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  Window window;
  INGOT_TRY(read_window(params, inputs[kX].type->shape, inputs[kW].type->shape, window));
  with_float_type(inputs[kX].type->dtype, [&]<class T>(T) { convolve<T>(params, window, inputs, outputs[0]); });
  return {};
}

}  // namespace ingot
