// QuantizeLinear, DequantizeLinear, and the quantised operators of com.microsoft, taken apart into DQ → op → Q.
#include "builder/onnx/shared_attributes.h"

#include <array>
#include <cmath>

namespace ingot {
namespace {

bool is_scalar(NodeImporter& node, ValueId scale) { return node.type(scale).shape.elements() == 1; }

// A scale that divides by nothing, or turns values around, is a fault of the tool that wrote it.
void check_scales(NodeImporter& node, ValueId scale) {
  if (!node.ok() || scale == kNone || packed_bits(node.dtype(scale)) < 16) return;
  const auto scales = node.constant_numbers(scale, int64_t{1} << 20);
  for (size_t i = 0; scales && i < scales->size(); ++i)
    if (!((*scales)[i] > 0) || !std::isfinite((*scales)[i]))
      return node.invalid("scale " + std::to_string(i) + " is wrong: got " + std::to_string((*scales)[i]) +
                          ", need a finite number > 0; quantise the model again");
}

}  // namespace

void import_quantize_linear(NodeImporter& node) {
  const ValueId x = node.required(0), scale = node.required(1);
  ValueId zero_point = node.input(2);
  QuantizeLinearParams params;
  params.axis = node.integer("axis", 1);
  params.saturate = node.flag("saturate", true);
  params.block_size = node.integer("block_size", 0);
  check_scales(node, scale);
  const int64_t output_dtype = node.integer("output_dtype", 0);
  // We divide in f32, whatever the type of the scale; so only a wider division would be another one.
  if (const int64_t precision = node.integer("precision", 0); precision == onnx::TensorProto::DOUBLE)
    node.unsupported("attribute 'precision' is not supported: got " + std::to_string(precision) + " (double)");
  if (!node.ok()) return;
  if (output_dtype != 0) {
    auto dtype = data_type_from_onnx(output_dtype);
    if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
    if (zero_point != kNone && node.dtype(zero_point) != *dtype)
      return node.invalid("output_dtype differs from the zero point's type: got " + std::string(to_string(*dtype)) + " and " +
                          std::string(to_string(node.dtype(zero_point))));
    // The op takes its output type from the zero point.
    const Shape& shape = node.type(scale).shape;
    if (zero_point == kNone) {
      if (!shape.is_static()) return node.unsupported("scale has dims that vary");
      if (shape.elements() > (1 << 24)) return node.unsupported("scale has too many elements");
      zero_point = node.filled_constant("zero_point", *dtype, shape, 0);
    }
  }
  node.result(params, {x, scale, zero_point});
}

void import_dequantize_linear(NodeImporter& node) {
  const ValueId x = node.required(0), scale = node.required(1);
  DequantizeLinearParams params;
  params.axis = node.integer("axis", 1);
  params.block_size = node.integer("block_size", 0);
  check_scales(node, scale);
  const int64_t output_dtype = node.integer("output_dtype", 0);
  if (!node.ok()) return;
  if (node.input(2) != kNone && node.dtype(node.input(2)) != node.dtype(x))
    return node.invalid("zero point has a wrong type: got " + std::string(to_string(node.dtype(node.input(2)))) + ", need " +
                        std::string(to_string(node.dtype(x))) + " as the input");
  if (output_dtype == 0 || output_dtype == data_type_to_onnx(node.dtype(scale)))
    return node.result(params, {x, scale, node.input(2)});
  auto dtype = data_type_from_onnx(output_dtype);
  if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
  node.result(CastParams{static_cast<int64_t>(*dtype), true}, {node.add(params, {x, scale, node.input(2)})});
}

ValueId add_dequantize(NodeImporter& node, ValueId x, ValueId scale, ValueId zero_point, int64_t channel_axis) {
  check_scales(node, scale);
  if (!node.ok()) return kNone;
  DequantizeLinearParams params;
  params.axis = node.axis(channel_axis, std::max(node.rank(x), 1));
  return node.add(params, {x, scale, zero_point});
}

ValueId add_dequantize_bias(NodeImporter& node, ValueId bias, ValueId x_scale, ValueId w_scale) {
  if (!node.ok()) return kNone;
  DequantizeLinearParams params;
  params.axis = 0;
  if (!is_scalar(node, x_scale)) {
    node.unsupported("a bias needs a scale of the input per tensor: got " + to_string(node.type(x_scale).shape) + " scales");
    return kNone;
  }
  return node.add(params, {bias, node.binary(BinaryFunction::kMul, w_scale, x_scale)});
}

void quantize_result(NodeImporter& node, ValueId x, ValueId scale, ValueId zero_point) {
  QuantizeLinearParams params;
  check_scales(node, scale);
  if (node.ok() && !is_scalar(node, scale))
    return node.unsupported("the result's scale must be per tensor: got " + to_string(node.type(scale).shape));
  node.result(params, {x, scale, zero_point});
}

// y = Q(DQ(a) ∘ DQ(b)); inputs a, its scale and zero point, b, its scale and zero point, y's scale and zero point.
void import_qlinear_binary(NodeImporter& node) {
  for (size_t i : {0, 1, 3, 4, 6}) node.required(i);
  const auto function = node.op_type() == "QLinearMul" ? BinaryFunction::kMul : BinaryFunction::kAdd;
  const ValueId a = add_dequantize(node, node.input(0), node.input(1), node.input(2), -1);
  const ValueId b = add_dequantize(node, node.input(3), node.input(4), node.input(5), -1);
  quantize_result(node, node.binary(function, a, b), node.input(6), node.input(7));
}

// y = Q(f(DQ(x))); inputs x, its scale and zero point, y's scale and zero point.
void import_qlinear_unary(NodeImporter& node) {
  for (size_t i : {0, 1, 3}) node.required(i);
  const bool leaky = node.op_type() == "QLinearLeakyRelu";
  const double alpha = leaky ? node.number("alpha", 0.01) : 0;
  const ValueId x = add_dequantize(node, node.input(0), node.input(1), node.input(2), -1);
  quantize_result(node, node.unary(leaky ? UnaryFunction::kLeakyRelu : UnaryFunction::kSigmoid, x, alpha), node.input(3),
                  node.input(4));
}

void import_qlinear_pool(NodeImporter& node) {
  for (size_t i : {0, 1, 3}) node.required(i);
  const bool channels_last = node.flag("channels_last", false);
  PoolParams params;
  params.function = PoolFunction::kAverage;
  params.global = node.op_type() == "QLinearGlobalAveragePool";
  if (!params.global) {
    params.kernel = node.integers("kernel_shape");
    params.strides = node.integers("strides");
    params.pads = node.integers("pads");
    params.auto_pad = read_auto_pad(node);
    if (params.auto_pad != AutoPad::kNotSet) params.pads.clear();
    params.ceil_mode = node.flag("ceil_mode", false);
    params.count_include_pad = node.flag("count_include_pad", false);
  }
  ValueId x = node.input(0);
  if (!node.ok()) return;
  std::vector<int64_t> to_first = {0, node.rank(x) - 1}, to_last = {0};
  for (int64_t i = 1; i < node.rank(x) - 1; ++i) to_first.push_back(i), to_last.push_back(i + 1);
  to_last.push_back(1);
  if (channels_last) x = node.transpose(x, to_first);
  const ValueId y = node.add(params, {add_dequantize(node, x, node.input(1), node.input(2), -1)});
  quantize_result(node, channels_last ? node.transpose(y, to_last) : y, node.input(3), node.input(4));
}

void import_qlinear_reduce_mean(NodeImporter& node) {
  for (size_t i : {0, 1, 3}) node.required(i);
  const ReduceParams mean{ReduceFunction::kMean, node.flag("keepdims", true), false};
  const std::vector<int64_t> axes = node.integers("axes");
  const ValueId x = add_dequantize(node, node.input(0), node.input(1), node.input(2), -1);
  quantize_result(node, node.add(mean, {x, axes.empty() ? kNone : node.integers_constant("axes", axes)}), node.input(3), node.input(4));
}

// Inputs: y's scale and zero point, then three for each part.
void import_qlinear_concat(NodeImporter& node) {
  node.required(0);
  if (node.input_count() < 5 || (node.input_count() - 2) % 3 != 0)
    node.invalid("wrong number of inputs: got " + std::to_string(node.input_count()) + ", need 2 and 3 for each part");
  std::vector<ValueId> parts;
  for (size_t i = 2; node.ok() && i < node.input_count(); i += 3)
    parts.push_back(add_dequantize(node, node.required(i), node.required(i + 1), node.input(i + 2), -1));
  if (!node.ok()) return;
  const int64_t axis = node.integer("axis", 0);
  quantize_result(node, node.add(ConcatParams{axis}, parts), node.input(0), node.input(1));
}

void import_qlinear_softmax(NodeImporter& node) {
  for (size_t i : {0, 1, 3}) node.required(i);
  const bool flatten = node.integer("opset", 13) < 13;
  int64_t axis = node.integer("axis", -1);
  const ValueId x = add_dequantize(node, node.input(0), node.input(1), node.input(2), -1);
  if (!node.ok()) return;
  SoftmaxParams params;
  params.axis = node.axis(axis, node.rank(x));
  params.flatten = flatten && params.axis != node.rank(x) - 1;
  quantize_result(node, node.add(params, {x}), node.input(3), node.input(4));
}

namespace {

struct DynamicallyQuantized {
  ValueId y, scale, zero_point;
};
// The scale that maps the range of x, widened to hold 0, onto 0 … 255.
DynamicallyQuantized add_dynamic_quantize(NodeImporter& node, ValueId x) {
  const ValueId zero = node.scalar_constant("zero", DataType::kF32, 0);
  const ValueId full = node.scalar_constant("full", DataType::kF32, 255);
  const auto extreme = [&](ReduceFunction reduce, BinaryFunction widen) {
    return node.binary(widen, node.add(ReduceParams{reduce, false, false}, {x}), zero);
  };
  const ValueId high = extreme(ReduceFunction::kMax, BinaryFunction::kMax);
  const ValueId low = extreme(ReduceFunction::kMin, BinaryFunction::kMin);
  const ValueId scale = node.binary(BinaryFunction::kDiv, node.binary(BinaryFunction::kSub, high, low), full);
  const ValueId shifted = node.binary(BinaryFunction::kDiv, node.binary(BinaryFunction::kSub, zero, low), scale);
  const ValueId rounded = node.unary(UnaryFunction::kRound, node.unary(UnaryFunction::kClip, shifted, 0, 255));
  const ValueId zero_point = node.add(CastParams{static_cast<int64_t>(DataType::kU8), true}, {rounded});
  return {node.add(QuantizeLinearParams{}, {x, scale, zero_point}), scale, zero_point};
}

ValueId add_bias(NodeImporter& node, ValueId y, ValueId bias) {
  return bias == kNone ? y : node.binary(BinaryFunction::kAdd, y, bias);
}

}  // namespace

void import_dynamic_quantize_linear(NodeImporter& node) {
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  const DynamicallyQuantized made = add_dynamic_quantize(node, x);
  node.alias(made.y, 0);
  node.alias(made.scale, 1);
  node.alias(made.zero_point, 2);
}

// com.microsoft: inputs a (float, quantised on the way), b, its scale and zero point, bias.
void import_dynamic_quantize_matmul(NodeImporter& node) {
  const ValueId a = node.required(0), b = node.required(1), scale = node.required(2);
  if (!node.ok()) return;
  const DynamicallyQuantized made = add_dynamic_quantize(node, a);
  const ValueId left = add_dequantize(node, made.y, made.scale, made.zero_point, -1);
  const ValueId right = add_dequantize(node, b, scale, node.input(3), -1);
  node.alias(add_bias(node, node.add(MatMulParams{}, {left, right}), node.input(4)));
}

// com.microsoft: inputs a, b, their scales, their zero points, bias.
void import_matmul_integer_to_float(NodeImporter& node) {
  for (size_t i : {0, 1, 2, 3}) node.required(i);
  const ValueId a = add_dequantize(node, node.input(0), node.input(2), node.input(4), -1);
  const ValueId b = add_dequantize(node, node.input(1), node.input(3), node.input(5), -1);
  node.alias(add_bias(node, node.add(MatMulParams{}, {a, b}), node.input(6)));
}

// com.microsoft: inputs condition, then x and y, each with scale and zero point, then the result's.
void import_qlinear_where(NodeImporter& node) {
  for (size_t i : {0, 1, 2, 4, 5, 7}) node.required(i);
  const ValueId x = add_dequantize(node, node.input(1), node.input(2), node.input(3), -1);
  const ValueId y = add_dequantize(node, node.input(4), node.input(5), node.input(6), -1);
  quantize_result(node, node.add(WhereParams{}, {node.input(0), x, y}), node.input(7), node.input(8));
}

}  // namespace ingot
