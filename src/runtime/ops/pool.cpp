// Reference pooling: each output visits its window, clipped to the input.
#include "runtime/ops/pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(PoolFunction::kCount)> kNames = {"max", "average", "lp"};

WindowAxis axis_of(const PoolParams& p, int i, int n, int64_t in) {
  WindowAxis axis;
  axis.in = in;
  axis.kernel = attribute(p.kernel, i, 1);
  axis.stride = attribute(p.strides, i, 1);
  axis.dilation = attribute(p.dilations, i, 1);
  axis.pad = window_pads(p.auto_pad, p.pads, i, n, axis);
  return axis;
}

// Kernel positions [first, last) of output o that fall into the input, and how many fall into input or stated padding.
struct Stretch {
  int64_t first, last, start, padded;
};
Stretch stretch_of(const WindowAxis& a, int64_t o) {
  const int64_t start = o * a.stride - a.pad.begin;
  const auto position = [&](int64_t limit) {  // first k with start + k·dilation ≥ limit
    const int64_t distance = limit - start;
    return distance <= 0 ? 0 : std::min(a.kernel, (distance + a.dilation - 1) / a.dilation);
  };
  return {position(0), position(a.in), start, position(a.in + a.pad.end)};
}

// Calls each(plane, output index, visit, padded count); visit(f) calls f(d, h, w) for each input position in order.
template <class Each>
void for_each_window(const Window& window, int64_t planes, Each&& each) {
  const auto& [da, ha, wa] = window.axis;
  int64_t at = 0;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t od = 0; od < da.out; ++od)
      for (int64_t oh = 0; oh < ha.out; ++oh)
        for (int64_t ow = 0; ow < wa.out; ++ow) {
          const Stretch d = stretch_of(da, od), h = stretch_of(ha, oh), w = stretch_of(wa, ow);
          const int64_t dd = da.dilation, dh = ha.dilation, dw = wa.dilation;
          const auto visit = [&](auto&& f) {
            for (int64_t i = d.first; i < d.last; ++i)
              for (int64_t j = h.first; j < h.last; ++j)
                for (int64_t k = w.first; k < w.last; ++k) f(d.start + i * dd, h.start + j * dh, w.start + k * dw);
          };
          each(plane, at++, visit, d.padded * h.padded * w.padded);
        }
}

struct Problem {
  const PoolParams& params;
  Window window;
  int64_t planes;
  int64_t plane_size() const { return window.axis[0].in * window.axis[1].in * window.axis[2].in; }
  int64_t offset(int64_t d, int64_t h, int64_t w) const { return (d * window.axis[1].in + h) * window.axis[2].in + w; }
};

template <class T>
void run_max(const Problem& p, const T* x, T* y, int64_t* indices) {
  using A = Arithmetic<T>;
  const int64_t in_d = p.window.axis[0].in, in_h = p.window.axis[1].in;
  for_each_window(p.window, p.planes, [&](int64_t plane, int64_t at, auto&& visit, int64_t) {
    A best =
        std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
    int64_t index = -1;
    visit([&](int64_t d, int64_t h, int64_t w) {
      const A v = load_element(x[plane * p.plane_size() + p.offset(d, h, w)]);
      if (index >= 0 && !(v > best) && (v == v || best != best)) return;  // the first NaN wins
      best = v;
      index = plane * p.plane_size() + (p.params.storage_order ? (w * in_h + h) * in_d + d : p.offset(d, h, w));
    });
    if constexpr (std::is_integral_v<T>)
      y[at] = best;
    else
      y[at] = store_float<T>(best);
    if (indices) indices[at] = index;
  });
}

template <class T>
void run_average_or_lp(const Problem& p, const T* x, T* y) {
  using A = Arithmetic<T>;
  const double exponent = static_cast<double>(p.params.p);
  for_each_window(p.window, p.planes, [&](int64_t plane, int64_t at, auto&& visit, int64_t padded) {
    A sum = 0;
    double powers = 0;
    int64_t count = 0;
    visit([&](int64_t d, int64_t h, int64_t w) {
      const A v = load_element(x[plane * p.plane_size() + p.offset(d, h, w)]);
      ++count;
      if (p.params.function == PoolFunction::kAverage)
        sum += v;
      else if (p.params.p == 1)
        powers += std::fabs(static_cast<double>(v));
      else if (p.params.p == 2)
        powers += static_cast<double>(v) * static_cast<double>(v);
      else
        powers += std::pow(std::fabs(static_cast<double>(v)), exponent);
    });
    if (p.params.function == PoolFunction::kLp) {
      y[at] = store_float<T>(p.params.p == 1   ? powers
                             : p.params.p == 2 ? std::sqrt(powers)
                                               : std::pow(powers, 1 / exponent));
      return;
    }
    const int64_t n = p.params.count_include_pad && !p.params.global ? padded : count;
    y[at] = store_float<T>(n ? sum / static_cast<A>(n) : A{0});
  });
}

template <class T>
void run_quantized_average(const Problem& p, const TensorType& x_type, const T* x, const TensorRef& y) {
  const bool quantized = is_quantized(*y.type);
  const float s_x = scale_of(x_type), s_y = quantized ? scale_of(*y.type) : 1.0f;
  const int32_t z_x = zero_point_of(x_type), z_y = zero_point_of(*y.type);
  const QuantRange range = quant_range(y.type->dtype);
  for_each_window(p.window, p.planes, [&](int64_t plane, int64_t at, auto&& visit, int64_t padded) {
    int64_t sum = 0, count = 0;
    visit([&](int64_t d, int64_t h, int64_t w) {
      sum += x[plane * p.plane_size() + p.offset(d, h, w)] - z_x;
      ++count;
    });
    const int64_t n = p.params.count_include_pad && !p.params.global ? padded : count;
    const float t = n ? static_cast<float>(sum) * average_multiplier(s_x, s_y, n) : 0.0f;
    if (quantized)
      y.as<uint8_t>()[at] =
          static_cast<uint8_t>(round_clamp(t, z_y, static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)));
    else
      y.as<float>()[at] = t;
  });
}

}  // namespace

std::string_view to_string(PoolFunction function) {
  return function < PoolFunction::kCount ? kNames[static_cast<size_t>(function)] : std::string_view("none");
}

PadPair pool_pads(const PoolParams& params, int i, int spatial_dims, int64_t in) {
  return params.global ? PadPair{} : axis_of(params, i, spatial_dims, in).pad;
}

Status infer_types(const PoolParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  if (params.function >= PoolFunction::kCount)
    return bad_operand("pool", "function: got an unknown one, need max, average or lp");
  const std::string op = std::string(to_string(params.function)) + "_pool";
  if (inputs.empty() || !inputs[0].present) return bad_operand(op.c_str(), "input: got none, need x");
  const Shape& x = inputs[0].shape;
  const DataType type = inputs[0].dtype;
  const bool number = params.function == PoolFunction::kMax
                          ? type != DataType::kBool && !is_small_float(type)
                          : is_float(type) || (params.function == PoolFunction::kAverage && is_byte(type));
  if (!number)
    return bad_operand(op.c_str(), "element type: got " + std::string(to_string(type)) +
                                       ", need a float, or u8/s8 for max and average");
  const int n = x.rank - 2, most = params.global ? Shape::kMaxRank - 2 : kMaxSpatialDims;
  if (n < 1 || n > most)
    return bad_operand(op.c_str(),
                       "rank of input: got " + to_string(x) + ", need 3 to " + std::to_string(most + 2) + " dims");
  if (params.function == PoolFunction::kLp && params.p < 1)
    return bad_operand(op.c_str(), "p: got " + std::to_string(params.p) + ", need 1 or more");
  Shape y = x;
  if (params.global) {
    for (int i = 0; i < n; ++i) y[i + 2] = 1;
  } else {
    if (params.kernel.size() != static_cast<size_t>(n))
      return bad_operand(
          op.c_str(), "length of kernel: got " + std::to_string(params.kernel.size()) + ", need " + std::to_string(n));
    INGOT_TRY(check_window_attributes(op.c_str(), n, params.strides, params.pads, params.dilations));
    for (int i = 0; i < n; ++i) {
      if (params.kernel[static_cast<size_t>(i)] > INT32_MAX)
        return bad_operand(op.c_str(), "kernel: got " + std::to_string(params.kernel[static_cast<size_t>(i)]) +
                                           ", need at most 2147483647");
      WindowAxis axis = axis_of(params, i, n, x[i + 2]);
      INGOT_TRY(window_output(op.c_str(), i, params.ceil_mode && (params.auto_pad == AutoPad::kNotSet || params.auto_pad == AutoPad::kValid), axis));
      y[i + 2] = axis.out;
    }
  }
  INGOT_TRY(check_output_size(op.c_str(), y));
  outputs[0] = {type, y};
  if (outputs.size() > 1) {
    if (params.function != PoolFunction::kMax)
      return bad_operand(op.c_str(), "outputs: got " + std::to_string(outputs.size()) + ", need 1");
    outputs[1] = {DataType::kS64, y};
  }
  return {};
}

Status run_reference(const PoolParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const TensorType& type = *inputs[0].type;
  const TensorRef& y = outputs[0];
  const Shape& x = type.shape;
  Problem p{params, {}, x[0] * x[1]};
  const int n = x.rank - 2;
  if (params.global) {
    WindowAxis& axis = p.window.axis[2];
    axis.in = 1;
    for (int i = 0; i < n; ++i) axis.in *= x[i + 2];
    axis.kernel = axis.in;
  } else {
    for (int i = 0; i < n; ++i) {
      WindowAxis& axis = p.window.axis[kMaxSpatialDims - n + i];
      axis = axis_of(params, i, n, x[i + 2]);
      axis.out = y.type->shape[i + 2];
    }
  }
  if (params.function == PoolFunction::kMax) {
    int64_t* indices = outputs.size() > 1 && outputs[1].type ? outputs[1].as<int64_t>() : nullptr;
    const auto run = [&](auto t) { run_max(p, inputs[0].as<decltype(t)>(), y.as<decltype(t)>(), indices); };
    if (with_float_type(type.dtype, run) || with_integer_type(type.dtype, run)) return {};
  } else if (with_float_type(type.dtype,
                             [&](auto t) { run_average_or_lp(p, inputs[0].as<decltype(t)>(), y.as<decltype(t)>()); })) {
    return {};
  } else if (params.function == PoolFunction::kAverage && is_quantized(type) &&
             (is_quantized(*y.type) || y.type->dtype == DataType::kF32)) {
    type.dtype == DataType::kU8 ? run_quantized_average(p, type, inputs[0].as<uint8_t>(), y)
                                : run_quantized_average(p, type, inputs[0].as<int8_t>(), y);
    return {};
  }
  return Status(StatusCode::kUnsupported, std::string(to_string(params.function)) + "_pool: types: got " +
                                              to_string(type) + " to " + to_string(*y.type) +
                                              ", need a float, or quantised u8/s8 for max and average");
}

}  // namespace ingot
