// Signal operators: DFT and STFT as products with a constant matrix, window functions as constants, and the causal convolution.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ingot {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kMostMatrixElements = int64_t{1} << 24, kLongestWindow = int64_t{1} << 24;

struct Transform {
  int64_t length = 0;   // of the transform
  bool inverse = false, onesided = false;
};

// Row (n, part of x), column (k, part of y) of the matrix that takes n parts of x to k parts of y.
std::vector<float> transform_matrix(const Transform& t, int64_t rows, int64_t x_parts, int64_t columns, int64_t y_parts) {
  std::vector<float> matrix;
  matrix.reserve(static_cast<size_t>(rows * x_parts * columns * y_parts));
  const double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1, sign = t.inverse ? 1 : -1;
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t part = 0; part < x_parts; ++part)
      for (int64_t k = 0; k < columns; ++k) {
        // A real result comes from half the frequencies; the others mirror them.
        const double mirrored = y_parts == 1 && n != 0 && 2 * n != t.length ? 2 : 1;
        const double angle = 2 * kPi * static_cast<double>(n * k % t.length) / static_cast<double>(t.length);
        const double cosine = scale * mirrored * std::cos(angle), sine = scale * mirrored * sign * std::sin(angle);
        // (a + ib)(cos + i sin)
        matrix.push_back(static_cast<float>(part == 0 ? cosine : -sine));
        if (y_parts == 2) matrix.push_back(static_cast<float>(part == 0 ? sine : cosine));
      }
  return matrix;
}

// x [..., N at `axis`, ..., parts]; length 0: N, or what N frequencies of a real signal come from.
ValueId add_transform(NodeImporter& node, ValueId x, int64_t axis, Transform t) {
  if (!node.ok()) return kNone;
  const int rank = node.rank(x);
  const Shape shape = node.type(x).shape;
  const int64_t n = shape[static_cast<int>(axis)], x_parts = shape[rank - 1];
  if (n < 1 || (x_parts != 1 && x_parts != 2)) {
    node.unsupported("the signal must have a fixed length and 1 or 2 parts: got " + to_string(shape));
    return kNone;
  }
  if (t.length == 0) t.length = t.inverse && t.onesided ? 2 * (n - 1) : n;
  const int64_t half = t.length / 2 + 1, y_parts = t.inverse && t.onesided ? 1 : 2;
  const int64_t rows = std::min(n, t.inverse && t.onesided ? half : t.length), columns = t.onesided && !t.inverse ? half : t.length;
  if (t.length < 1 || t.length > INT32_MAX || rows * x_parts > kMostMatrixElements / (columns * y_parts)) {
    node.unsupported("the transform is too long: got " + std::to_string(t.length) + ", need 1 to about 4000");
    return kNone;
  }
  if (rows < n) x = node.slice(x, axis, 0, rows);
  // The axis goes next to the parts, and becomes one dim with them.
  std::vector<int64_t> perm, back(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis) perm.push_back(i);
  perm.push_back(axis);
  perm.push_back(rank - 1);
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  const bool in_place = std::is_sorted(perm.begin(), perm.end());
  if (!in_place) x = node.transpose(x, perm);
  const auto with_tail = [&](std::vector<int64_t> tail) {
    const ValueId dims = node.integers_constant("tail", tail);
    return rank == 2 ? dims : node.concat({node.dims_of(x, 0, rank - 2), dims}, 0);
  };
  const ValueId flat = node.add(ReshapeParams{true}, {x, with_tail({rows * x_parts})});
  const ValueId matrix = node.reshape(node.floats_constant("matrix", transform_matrix(t, rows, x_parts, columns, y_parts)),
                                      {rows * x_parts, columns * y_parts});
  const ValueId product = node.add(MatMulParams{}, {flat, node.cast(matrix, node.dtype(x))});
  const ValueId y = node.add(ReshapeParams{true}, {product, with_tail({columns, y_parts})});
  return in_place ? y : node.transpose(y, back);
}

// A whole number that must be known; an error where it is not.
int64_t constant_integer(NodeImporter& node, ValueId id, const char* what, int64_t most) {
  if (!node.ok()) return 1;
  const auto value = node.constant_scalar(id);
  if (!value) node.unsupported("the shape of the result depends on data: need a " + std::string(what) + " that is constant");
  else if (!(*value >= 1) || *value > static_cast<double>(most))
    node.invalid(std::string(what) + " is out of range: need 1 to " + std::to_string(most));
  return node.ok() ? static_cast<int64_t>(*value) : 1;
}

}  // namespace

// The axis is an attribute before opset 20.
void import_dft(NodeImporter& node) {
  Transform transform;
  const ValueId x = node.required(0);
  transform.inverse = node.flag("inverse", false);
  transform.onesided = node.flag("onesided", false);
  int64_t axis = node.version() < 20 ? node.integer("axis", 1) : -2;
  if (node.version() >= 20 && node.input(2) != kNone) {
    const auto given = node.constant_scalar(node.input(2));
    if (!given) return node.unsupported("the axis depends on data: need one that is constant");
    axis = static_cast<int64_t>(std::clamp(*given, -100.0, 100.0));
  }
  if (!node.ok()) return;
  if (node.rank(x) < 2) return node.invalid("wrong number of dims: got " + std::to_string(node.rank(x)) + ", need 2 or more");
  axis = node.axis(axis, node.rank(x));
  if (axis == node.rank(x) - 1) return node.invalid("the axis is that of the parts");
  if (node.input(1) != kNone) transform.length = constant_integer(node, node.input(1), "length", INT32_MAX);
  node.alias(add_transform(node, x, axis, transform));
}

// Frames of the signal, each times the window, transformed.
void import_stft(NodeImporter& node) {
  const ValueId x = node.required(0), window = node.input(2);
  Transform transform;
  transform.onesided = node.flag("onesided", true);
  const int64_t step = constant_integer(node, node.required(1), "frame step", INT32_MAX);
  if (!node.ok()) return;
  if (node.rank(x) != 3) return node.invalid("wrong number of dims: got " + std::to_string(node.rank(x)) + ", need 3");
  const int64_t samples = node.type(x).shape[1];
  const int64_t length = node.input(3) != kNone ? constant_integer(node, node.input(3), "frame length", INT32_MAX)
                         : window != kNone      ? node.type(window).shape.elements()
                                                : samples;
  if (!node.ok()) return;
  if (samples < length || length < 1) return node.unsupported("the signal must be fixed and as long as a frame: got " + std::to_string(samples));
  if (window != kNone && !(node.type(window).shape == Shape{length}))
    return node.invalid("window has a wrong shape: got " + to_string(node.type(window).shape) + ", need " + std::to_string(length));
  const int64_t frames = (samples - length) / step + 1;
  if (frames > kMostMatrixElements / length) return node.unsupported("too many frames: got " + std::to_string(frames));
  std::vector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i) places.push_back(frame * step + i);
  const ValueId indices = node.reshape(node.integers_constant("places", places), {frames, length});
  ValueId framed = node.add(GatherParams{1}, {x, indices});
  if (window != kNone) framed = node.binary(BinaryFunction::kMul, framed, node.unsqueeze(node.cast(window, node.dtype(x)), {1}));
  node.alias(add_transform(node, framed, 2, transform));
}

void import_window(NodeImporter& node) {
  const int64_t size = constant_integer(node, node.required(0), "size", kLongestWindow);
  const bool periodic = node.flag("periodic", true);
  auto dtype = data_type_from_onnx(node.integer("output_datatype", 1));
  if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
  if (!node.ok()) return;
  const double period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  const double first = node.op_type() == "HannWindow" ? 0.5 : node.op_type() == "HammingWindow" ? 25.0 / 46 : 0.42;
  const double second = node.op_type() == "HammingWindow" ? 21.0 / 46 : 0.5, third = node.op_type() == "BlackmanWindow" ? 0.08 : 0;
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * kPi * static_cast<double>(i) / period;
    values.push_back(static_cast<float>(first - second * std::cos(angle) + third * std::cos(2 * angle)));
  }
  node.alias(node.cast(node.floats_constant("window", values), *dtype));
}

// Each channel's own filter over the past and present samples; the last k − 1 of them are the next past.
void import_causal_conv(NodeImporter& node) {
  const ValueId x = node.required(0), weights = node.required(1), bias = node.input(2), past = node.input(3);
  const bool silu = node.choice("activation", "none", {"none", "silu", "swish"}) != 0;
  if (!node.ok()) return;
  if (node.rank(x) != 3 || node.rank(weights) != 3) return node.invalid("wrong number of dims: need 3 of the signal and of the weights");
  const int64_t channels = node.type(weights).shape[0], taps = node.type(weights).shape[2];
  if (channels < 1 || taps < 1) return node.unsupported("weights must be fixed: got " + to_string(node.type(weights).shape));
  const ValueId padded = past != kNone ? node.concat({past, x}, 2)
                                       : node.add(PadParams{}, {x, node.integers_constant("pads", {0, 0, taps - 1, 0, 0, 0})});
  ConvParams conv;
  conv.groups = channels;
  ValueId y = node.add(conv, {padded, weights, bias});
  if (silu) y = node.unary(UnaryFunction::kSilu, y);
  node.alias(y, 0);
  if (node.has_output(1)) node.alias(node.slice(padded, 2, taps == 1 ? INT64_MAX : 1 - taps, INT64_MAX), 1);
}

// Triangles over the bins of a spectrum, evenly spaced in mel: 2595 · log10(1 + f / 700). All inputs are constant.
void import_mel_weight_matrix(NodeImporter& node) {
  auto dtype = data_type_from_onnx(node.integer("output_datatype", onnx::TensorProto::FLOAT));
  double inputs[5];
  for (size_t i = 0; i < 5; ++i) {
    const ValueId id = node.required(i);
    if (!node.ok()) return;
    const auto value = node.constant_scalar(id);
    if (!value) return node.unsupported("the matrix depends on data: need inputs that are constant");
    inputs[i] = *value;
  }
  if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
  const auto [filters, length, rate, lowest, highest] = std::tuple(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]);
  if (!(filters >= 1 && length >= 1 && rate >= 1 && lowest >= 0 && highest >= lowest && highest <= rate) ||
      filters * (length / 2 + 1) > static_cast<double>(kMostMatrixElements))
    return node.invalid("inputs are out of range: got " + std::to_string(filters) + " filters, length " + std::to_string(length) + ", rate " +
                        std::to_string(rate) + ", " + std::to_string(lowest) + " to " + std::to_string(highest) + " Hz");
  const auto columns = static_cast<int64_t>(filters), rows = static_cast<int64_t>(length) / 2 + 1;
  const auto mel_of = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  const double low = mel_of(lowest), step = (mel_of(highest) - low) / (filters + 2);
  const auto bin = [&](int64_t i) {
    const double hertz = 700 * std::expm1((static_cast<double>(i) * step + low) / 2595 * std::log(10.0));
    return std::min(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)), rows - 1);
  };
  std::vector<float> matrix(static_cast<size_t>(rows * columns), 0);
  const auto at = [&](int64_t row, int64_t column) -> float& { return matrix[static_cast<size_t>(row * columns + column)]; };
  for (int64_t i = 0; i < columns; ++i) {
    const int64_t left = bin(i), centre = bin(i + 1), right = bin(i + 2);
    if (centre == left) at(centre, i) = 1;
    for (int64_t j = left; centre > left && j <= centre; ++j)
      at(j, i) = static_cast<float>(static_cast<double>(j - left) / static_cast<double>(centre - left));
    for (int64_t j = centre; j < right; ++j) at(j, i) = static_cast<float>(static_cast<double>(right - j) / static_cast<double>(right - centre));
  }
  node.alias(node.cast(node.reshape(node.floats_constant("mel", matrix), {rows, columns}), *dtype));
}

}  // namespace ingot
