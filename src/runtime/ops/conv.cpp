// Reference convolution: each output row is a row of accumulators, to which every tap (channel, then kernel position,
// both ascending) adds its scaled stretch of an input row; so bounds are worked out per tap and row, not per element.
#include "runtime/ops/conv.h"

#include <algorithm>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

constexpr int64_t kRow = 512;  // accumulators kept at a time

int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

template <class P>
WindowAxis axis_of(const P& p, int i, int n, int64_t in, int64_t kernel) {
  WindowAxis axis;
  axis.in = in;
  axis.kernel = kernel;
  axis.stride = attribute(p.strides, i, 1);
  axis.dilation = attribute(p.dilations, i, 1);
  axis.pad = window_pads(p.auto_pad, p.pads, i, n, axis);
  return axis;
}

// Resolves pads and output size of one axis of a transposed convolution.
WindowAxis transposed_axis(const ConvTransposeParams& p, int i, int n, int64_t in, int64_t kernel) {
  WindowAxis axis;
  axis.in = in;
  axis.kernel = kernel;
  axis.stride = attribute(p.strides, i, 1);
  axis.dilation = attribute(p.dilations, i, 1);
  const int64_t full = (in - 1) * axis.stride + axis.extent() + attribute(p.output_padding, i, 0);
  const bool same = p.auto_pad == AutoPad::kSameUpper || p.auto_pad == AutoPad::kSameLower;
  if (!p.output_shape.empty() || same) {
    // output_shape may be given with the batch and channel dims in front.
    const int skip = static_cast<int>(p.output_shape.size()) - n;
    axis.out = p.output_shape.empty() ? in * axis.stride : attribute(p.output_shape, i + std::max(skip, 0), 0);
    const int64_t total = std::max<int64_t>(0, full - axis.out), less = total / 2, more = total - less;
    axis.pad = p.auto_pad == AutoPad::kSameUpper ? PadPair{less, more} : PadPair{more, less};
  } else {
    if (p.auto_pad == AutoPad::kNotSet) axis.pad = {attribute(p.pads, i, 0), attribute(p.pads, i + n, 0)};
    axis.out = full - axis.pad.begin - axis.pad.end;
  }
  return axis;
}

std::string count_text(const char* what, int64_t got, int64_t need) {
  return std::string(what) + ": got " + std::to_string(got) + ", need " + std::to_string(need);
}

// What Conv and ConvTranspose ask alike of their operands; `channels` and `outputs` follow from the weights.
template <class P>
Status check_operands(const char* op, const P& p, std::span<const OpInput> inputs, int64_t& channels,
                      int64_t& outputs) {
  constexpr bool kTransposed = std::is_same_v<P, ConvTransposeParams>;
  if (inputs.size() < 2 || !inputs[0].present || !inputs[1].present)
    return bad_operand(op, "inputs missing: got " + std::to_string(inputs.size()) + ", need x and weights");
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  if (x.rank < 3 || x.rank > 2 + kMaxSpatialDims)
    return bad_operand(op, "rank of input: got " + to_string(x) + ", need 3 to 5 dims");
  if (w.rank != x.rank)
    return bad_operand(
        op, "rank of weights: got " + std::to_string(w.rank) + ", need " + std::to_string(x.rank) + " as the input");
  if (is_float(inputs[0].dtype) ? inputs[1].dtype != inputs[0].dtype
                                : !is_byte(inputs[0].dtype) || !is_byte(inputs[1].dtype))
    return bad_operand(op, "types of input and weights: got " + std::string(to_string(inputs[0].dtype)) + " and " +
                               std::string(to_string(inputs[1].dtype)) + ", need one float type, or u8/s8 each");
  INGOT_TRY(check_window_attributes(op, x.rank - 2, p.strides, p.pads, p.dilations));
  if (p.groups < 1) return bad_operand(op, count_text("groups", p.groups, 1) + " or more");
  const std::string weights = " (weights " + to_string(w) + " × groups " + std::to_string(p.groups) + ")";
  if (__builtin_mul_overflow(kTransposed ? w[1] : w[0], kTransposed ? p.groups : int64_t{1}, &outputs) ||
      __builtin_mul_overflow(kTransposed ? w[0] : w[1], kTransposed ? int64_t{1} : p.groups, &channels))
    return bad_operand(op, "too many channels" + weights);
  if (x[1] != channels)
    return bad_operand(op, "input has " + std::to_string(x[1]) + " channels: got " + std::to_string(x[1]) + ", need " +
                               std::to_string(channels) + weights);
  if ((kTransposed ? channels : outputs) % p.groups != 0)
    return bad_operand(op, std::string(kTransposed ? "input" : "output") + " channels not a multiple of groups: got " +
                               std::to_string(kTransposed ? channels : outputs) + ", need a multiple of " +
                               std::to_string(p.groups));
  if (inputs.size() > 2 && inputs[2].present && !(inputs[2].shape.rank == 1 && inputs[2].shape[0] == outputs))
    return bad_operand(op, "bias: got " + to_string(inputs[2].shape) + ", need " + std::to_string(outputs));
  if (!is_activation(p.activation.function))
    return bad_operand(op,
                       "fused function: got " + std::string(to_string(p.activation.function)) + ", need an activation");
  return {};
}

Status finish_output(const char* op, std::span<const OpInput> inputs, const Shape& y, std::span<OpOutput> outputs) {
  INGOT_TRY(check_output_size(op, y));
  if (inputs.size() > 3 && inputs[3].present && !(inputs[3].shape == y))
    return bad_operand(op, "residual: got " + to_string(inputs[3].shape) + ", need " + to_string(y));
  outputs[0].shape = y;
  outputs[0].dtype = is_float(inputs[0].dtype) ? inputs[0].dtype : DataType::kS32;
  return {};
}

// One convolution as the loops below see it.
struct Problem3d {
  Window window;
  int64_t batch = 0, channels = 0, outputs = 0, groups = 1;  // channels and outputs in all groups together
  bool transposed = false;
  int64_t in_size() const { return window.axis[0].in * window.axis[1].in * window.axis[2].in; }
  int64_t out_size() const { return window.axis[0].out * window.axis[1].out * window.axis[2].out; }
  int64_t taps() const { return window.axis[0].kernel * window.axis[1].kernel * window.axis[2].kernel; }
};

// The input position read by output position `o` at tap k, or −1.
int64_t source(const WindowAxis& a, bool transposed, int64_t o, int64_t k) {
  if (!transposed) {
    const int64_t i = o * a.stride - a.pad.begin + k * a.dilation;
    return i < a.in ? std::max<int64_t>(i, -1) : -1;
  }
  const int64_t scaled = o + a.pad.begin - k * a.dilation;
  return scaled < 0 || scaled % a.stride != 0 || scaled / a.stride >= a.in ? -1 : scaled / a.stride;
}

// acc[j] += weight · (x[i] − zero) for all positions first + j of one row, j < count, that tap k connects to an input.
template <class Acc, class X>
void add_tap(const WindowAxis& a, bool transposed, const X* x, Acc weight, Acc zero, int64_t k, int64_t first,
             int64_t count, Acc* acc) {
  const auto value = [&](int64_t i) { return static_cast<Acc>(load_element(x[i])) - zero; };
  const int64_t shift = k * a.dilation - a.pad.begin;
  if (transposed) {  // o = i·stride + shift
    const int64_t begin = std::clamp<int64_t>(ceil_div(first - shift, a.stride), 0, a.in);
    const int64_t end = std::clamp<int64_t>(ceil_div(first + count - shift, a.stride), begin, a.in);
    for (int64_t i = begin; i < end; ++i) acc[i * a.stride + shift - first] += weight * value(i);
  } else {  // i = o·stride + shift
    const int64_t begin = std::clamp<int64_t>(ceil_div(-shift, a.stride), first, first + count);
    const int64_t end = std::clamp<int64_t>(ceil_div(a.in - shift, a.stride), begin, first + count);
    if (a.stride == 1) {
      for (int64_t o = begin; o < end; ++o) acc[o - first] += weight * value(o + shift);
    } else {
      for (int64_t o = begin; o < end; ++o) acc[o - first] += weight * value(o * a.stride + shift);
    }
  }
}

// Calls store(o, first, count, acc) for every stretch of every output row; `first` indexes y. Integer sums are modulo
// 2^32.
template <class Acc, class X, class W, class XZero, class WZero, class Store>
void convolve(const Problem3d& p, const X* x, const W* w, XZero&& x_zero, WZero&& w_zero, Store&& store) {
  const auto& [d, h, r] = p.window.axis;
  const int64_t group_channels = p.channels / p.groups, group_outputs = p.outputs / p.groups;
  Acc acc[kRow];
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t o = 0; o < p.outputs; ++o)
      for (int64_t od = 0; od < d.out; ++od)
        for (int64_t oh = 0; oh < h.out; ++oh)
          for (int64_t first = 0; first < r.out; first += kRow) {
            const int64_t count = std::min(kRow, r.out - first), group = o / group_outputs;
            std::fill_n(acc, count, Acc{});
            for (int64_t c = 0; c < group_channels; ++c) {
              const int64_t channel = group * group_channels + c;
              const X* image = x + (n * p.channels + channel) * p.in_size();
              const W* taps =
                  w + (p.transposed ? channel * group_outputs + o % group_outputs : o * group_channels + c) * p.taps();
              for (int64_t kd = 0; kd < d.kernel; ++kd) {
                const int64_t id = source(d, p.transposed, od, kd);
                if (id < 0) continue;
                for (int64_t kh = 0; kh < h.kernel; ++kh) {
                  const int64_t ih = source(h, p.transposed, oh, kh);
                  if (ih < 0) continue;
                  for (int64_t k = 0; k < r.kernel; ++k) {
                    const Acc weight = static_cast<Acc>(load_element(taps[(kd * h.kernel + kh) * r.kernel + k])) -
                                       static_cast<Acc>(w_zero(o));
                    add_tap(r, p.transposed, image + (id * h.in + ih) * r.in, weight, static_cast<Acc>(x_zero(channel)),
                            k, first, count, acc);
                  }
                }
              }
            }
            store(o, ((n * p.outputs + o) * d.out + od) * h.out * r.out + oh * r.out + first, count, acc);
          }
}

template <class T>
void run_float(const Problem3d& p, const Activation& activation, std::span<const ConstTensorRef> inputs,
               const TensorRef& y) {
  using A = Arithmetic<T>;
  const T* bias = inputs.size() > 2 && inputs[2] ? inputs[2].as<T>() : nullptr;
  const T* residual = inputs.size() > 3 && inputs[3] ? inputs[3].as<T>() : nullptr;
  convolve<A>(
      p, inputs[0].as<T>(), inputs[1].as<T>(), [](int64_t) { return 0; }, [](int64_t) { return 0; },
      [&](int64_t o, int64_t first, int64_t count, const A* acc) {
        for (int64_t j = 0; j < count; ++j) {
          A t = acc[j];
          if (bias) t += load_element(bias[o]);
          if (residual) t += load_element(residual[first + j]);
          if constexpr (std::is_same_v<A, double>)
            t = apply_activation_f64(activation, t);
          else
            t = apply_activation(activation, t);
          y.as<T>()[first + j] = store_float<T>(t);
        }
      });
}

template <class X, class W>
void run_integer(const Problem3d& p, const char* op, const Activation& activation, const IntEpilogue& whole,
                 std::span<const ConstTensorRef> inputs, const TensorRef& y) {
  const TensorType &x_type = *inputs[0].type, &w_type = *inputs[1].type;
  const int32_t* bias = inputs.size() > 2 && inputs[2] ? inputs[2].as<int32_t>() : nullptr;
  const ConstTensorRef residual = inputs.size() > 3 ? inputs[3] : ConstTensorRef{};
  // A transposed convolution's scales belong to dim 1 of its weights, the outputs of one group.
  const int64_t per_channel = p.transposed ? p.outputs / p.groups : p.outputs;
  convolve<uint32_t>(
      p, inputs[0].as<X>(), inputs[1].as<W>(), [&](int64_t c) { return zero_point_of(x_type, c); },
      [&](int64_t o) { return zero_point_of(w_type, o % per_channel); },
      [&](int64_t o, int64_t first, int64_t count, const uint32_t* acc) {
        // Which form it has is the same for all channels.
        const IntEpilogue e =
            is_per_channel(*y.type) ? *make_int_epilogue(op, activation, residual ? residual.type : nullptr, *y.type, o) : whole;
        // Scales of x per channel: each output then reads one channel of x.
        const float m = multiplier(scale_of(x_type, o / (p.outputs / p.groups)), scale_of(w_type, o % per_channel),
                                   e.multiplier_scale());
        for (int64_t j = 0; j < count; ++j) {
          const int64_t i = first + j;
          const int32_t sum = static_cast<int32_t>(acc[j] + (bias ? static_cast<uint32_t>(bias[o]) : 0u));
          store_epilogue(e, sum, m, residual, y, i);
        }
      });
}

Status run(const char* op, Problem3d& p, const Activation& activation, std::span<const ConstTensorRef> inputs,
           const TensorRef& y) {
  auto& [d, h, r] = p.window.axis;
  const bool pointwise = p.taps() == 1 && p.in_size() == p.out_size() && d.in == d.out && h.in == h.out &&
                         !p.transposed && d.pad.begin + h.pad.begin + r.pad.begin == 0 &&
                         d.stride * h.stride * r.stride == 1;
  if (pointwise) {  // long rows are faster
    r.in = r.out = p.in_size();
    d = h = WindowAxis{};
  }
  if (p.out_size() == 0) return {};
  const DataType x = inputs[0].type->dtype, w = inputs[1].type->dtype;
  const bool ran = with_float_type(x, [&](auto t) { run_float<decltype(t)>(p, activation, inputs, y); });
  if (ran) return {};
  if (!is_byte(x) || !is_byte(w))
    return Status(StatusCode::kUnsupported, std::string(op) + ": types: got " + to_string(*inputs[0].type) + " and " +
                                                to_string(*inputs[1].type) + ", need floats, or u8/s8 each");
  if (is_per_channel(*inputs[0].type) && (inputs[0].type->quant->axis != 1 || p.channels != p.groups))
    return Status(StatusCode::kUnsupported, std::string(op) + ": input scales: got " + to_string(*inputs[0].type) +
                                                ", need one for the tensor, or one per index of dim 1 if depthwise");
  INGOT_ASSIGN(const IntEpilogue e,
               make_int_epilogue(op, activation, inputs.size() > 3 ? inputs[3].type : nullptr, *y.type, 0));
  if (x == DataType::kU8)
    w == DataType::kU8 ? run_integer<uint8_t, uint8_t>(p, op, activation, e, inputs, y) : run_integer<uint8_t, int8_t>(p, op, activation, e, inputs, y);
  else
    w == DataType::kU8 ? run_integer<int8_t, uint8_t>(p, op, activation, e, inputs, y) : run_integer<int8_t, int8_t>(p, op, activation, e, inputs, y);
  return {};
}

Problem3d problem_of(const Shape& x, const Shape& y, int64_t groups) {
  Problem3d p;
  p.batch = x[0];
  p.channels = x[1];
  p.outputs = y[1];
  p.groups = groups;
  return p;
}

}  // namespace

PadPair conv_pads(const ConvParams& params, int i, int spatial_dims, int64_t in, int64_t kernel) {
  return axis_of(params, i, spatial_dims, in, kernel).pad;
}

Status infer_types(const ConvParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  int64_t channels = 0, count = 0;
  INGOT_TRY(check_operands("conv", params, inputs, channels, count));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  Shape y = x;
  y[1] = count;
  for (int i = 0; i < x.rank - 2; ++i) {
    WindowAxis axis = axis_of(params, i, x.rank - 2, x[i + 2], w[i + 2]);
    INGOT_TRY(window_output("conv", i, false, axis));
    y[i + 2] = axis.out;
  }
  return finish_output("conv", inputs, y, outputs);
}

Status run_reference(const ConvParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape &x = inputs[0].type->shape, &w = inputs[1].type->shape, &y = outputs[0].type->shape;
  Problem3d p = problem_of(x, y, params.groups);
  const int n = x.rank - 2;
  for (int i = 0; i < n; ++i) {
    WindowAxis& axis = p.window.axis[kMaxSpatialDims - n + i];
    axis = axis_of(params, i, n, x[i + 2], w[i + 2]);
    axis.out = y[i + 2];
  }
  return run("conv", p, params.activation, inputs, outputs[0]);
}

Status infer_types(const ConvTransposeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const char* op = "conv_transpose";
  int64_t channels = 0, count = 0;
  INGOT_TRY(check_operands(op, params, inputs, channels, count));
  const Shape &x = inputs[0].shape, &w = inputs[1].shape;
  const int n = x.rank - 2;
  const size_t given = params.output_shape.size();
  if (given != 0 && given != static_cast<size_t>(n) && given != static_cast<size_t>(n) + 2)
    return bad_operand(op, count_text("length of output_shape", static_cast<int64_t>(given), n));
  if (!params.output_padding.empty() && params.output_padding.size() != static_cast<size_t>(n))
    return bad_operand(op,
                       count_text("length of output_padding", static_cast<int64_t>(params.output_padding.size()), n));
  Shape y = x;
  y[1] = count;
  for (int i = 0; i < n; ++i) {
    const int64_t extra = attribute(params.output_padding, i, 0);
    if (extra < 0 || extra > INT32_MAX) return bad_operand(op, count_text("output_padding", extra, 0) + " or more");
    if (w[i + 2] < 1 || w[i + 2] > INT32_MAX || x[i + 2] < 1 || x[i + 2] > INT32_MAX)
      return bad_operand(op, "size of spatial dim " + std::to_string(i) + ": got input " + std::to_string(x[i + 2]) +
                                 " and kernel " + std::to_string(w[i + 2]) + ", need 1 to 2147483647");
    const WindowAxis axis = transposed_axis(params, i, n, x[i + 2], w[i + 2]);
    y[i + 2] = axis.out;
    if (axis.out < 1)
      return bad_operand(
          op, count_text(("output size of spatial dim " + std::to_string(i)).c_str(), axis.out, 1) + " or more");
  }
  return finish_output(op, inputs, y, outputs);
}

Status run_reference(const ConvTransposeParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape &x = inputs[0].type->shape, &w = inputs[1].type->shape, &y = outputs[0].type->shape;
  Problem3d p = problem_of(x, y, params.groups);
  p.transposed = true;
  const int n = x.rank - 2;
  for (int i = 0; i < n; ++i)
    p.window.axis[kMaxSpatialDims - n + i] = transposed_axis(params, i, n, x[i + 2], w[i + 2]);
  return run("conv_transpose", p, params.activation, inputs, outputs[0]);
}

}  // namespace ingot
