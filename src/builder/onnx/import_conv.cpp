// Convolutions: Conv, ConvTranspose, their quantised form, and com.microsoft's fused one.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>

namespace ingot {
namespace {

// kernel_shape says again what the weights' dims say.
void check_kernel(NodeImporter& node, ValueId weights) {
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  if (kernel.empty() || weights == kNone) return;
  const Shape& shape = node.type(weights).shape;
  bool same = shape.rank == static_cast<int>(kernel.size()) + 2;
  for (int i = 2; same && i < shape.rank; ++i) same = shape[i] == Shape::kDynamic || shape[i] == kernel[static_cast<size_t>(i - 2)];
  if (!same)
    node.invalid("kernel_shape differs from the weights: got " + to_string(Shape::of(std::span(kernel).first(
                     std::min<size_t>(kernel.size(), Shape::kMaxRank)))) + ", need the last dims of " + to_string(shape));
}

template <class Params>
Params read_window(NodeImporter& node) {
  Params params;
  params.strides = node.integers("strides");
  params.pads = node.integers("pads");
  params.dilations = node.integers("dilations");
  params.groups = node.integer("group", 1);
  params.auto_pad = read_auto_pad(node);
  if (params.auto_pad != AutoPad::kNotSet) params.pads.clear();
  return params;
}

}  // namespace

AutoPad read_auto_pad(NodeImporter& node) {
  // Some writers spell "not set" as an empty text.
  if (node.has_attribute("auto_pad") && node.text("auto_pad", "").empty()) return AutoPad::kNotSet;
  return static_cast<AutoPad>(node.choice("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}));
}

void import_conv(NodeImporter& node) {
  const ValueId x = node.required(0), w = node.required(1);
  check_kernel(node, w);
  node.result(read_window<ConvParams>(node), {x, w, node.input(2)});
}

void import_conv_transpose(NodeImporter& node) {
  const ValueId x = node.required(0), w = node.required(1);
  check_kernel(node, w);
  auto params = read_window<ConvTransposeParams>(node);
  params.output_padding = node.integers("output_padding");
  params.output_shape = node.integers("output_shape");
  if (!params.output_shape.empty()) params.pads.clear();
  // Early writers gave the whole shape, batch and channels too.
  if (node.ok() && static_cast<int>(params.output_shape.size()) == node.rank(x) && node.rank(x) > 2)
    params.output_shape.erase(params.output_shape.begin(), params.output_shape.begin() + 2);
  node.result(params, {x, w, node.input(2)});
}

// Inputs x, w, bias, z: activation(conv(x, w) + bias + z).
void import_fused_conv(NodeImporter& node) {
  const ValueId x = node.required(0), w = node.required(1);
  check_kernel(node, w);
  ValueId y = node.add(read_window<ConvParams>(node), {x, w, node.input(2)});
  if (node.input(3) != kNone) y = node.binary(BinaryFunction::kAdd, y, node.input(3));
  const std::string activation = node.text("activation", "");
  const std::vector<double> parameters = node.numbers("activation_params");
  if (!activation.empty()) y = add_activation(node, y, activation, parameters);
  node.alias(y);
}

void import_qlinear_conv(NodeImporter& node) {
  for (size_t i = 0; i < 8; ++i) node.required(i);
  if (!node.ok()) return;
  check_kernel(node, node.input(3));
  const ValueId x = add_dequantize(node, node.input(0), node.input(1), node.input(2), 1);
  const ValueId w = add_dequantize(node, node.input(3), node.input(4), node.input(5), 0);
  ValueId bias = node.input(8);
  if (bias != kNone) bias = add_dequantize_bias(node, bias, node.input(1), node.input(4));
  const ValueId y = node.add(read_window<ConvParams>(node), {x, w, bias});
  quantize_result(node, y, node.input(6), node.input(7));
}

// (x − x_zero) ∗ (w − w_zero) in s32. Doubles hold every partial sum exactly.
void import_conv_integer(NodeImporter& node) {
  const ValueId x = node.required(0), w = node.required(1);
  check_kernel(node, w);
  const auto centred = [&](ValueId operand, ValueId zero) {
    ValueId value = node.cast(operand, DataType::kS32);
    if (zero != kNone && node.ok()) {
      zero = node.cast(zero, DataType::kS32);
      // One zero point for each filter stands along dim 0.
      if (node.ok() && node.rank(zero) == 1 && node.type(zero).shape.elements() != 1) {
        std::vector<int64_t> axes;
        for (int i = 1; i < node.rank(operand); ++i) axes.push_back(i);
        zero = node.unsqueeze(zero, axes);
      }
      value = node.binary(BinaryFunction::kSub, value, zero);
    }
    return node.cast(value, DataType::kF64);
  };
  const ValueId a = centred(x, node.input(2)), b = centred(w, node.input(3));
  const ValueId y = node.add(read_window<ConvParams>(node), {a, b});
  node.alias(node.cast(y, DataType::kS32));
}

void import_deform_conv(NodeImporter& node) {
  DeformConvParams params;
  params.strides = node.integers("strides");
  params.pads = node.integers("pads");
  params.dilations = node.integers("dilations");
  params.groups = node.integer("group", 1);
  params.offset_groups = node.integer("offset_group", 1);
  const std::vector<int64_t> kernel = node.integers("kernel_shape");
  const ValueId x = node.required(0), w = node.required(1), offset = node.required(2);
  if (!node.ok()) return;
  const Shape& shape = node.type(w).shape;
  if (!kernel.empty() && (shape.rank < 2 || !(Shape::of(shape.span().subspan(2)) == Shape::of(kernel))))
    return node.invalid("attribute 'kernel_shape' differs from the weights: got weights of " + to_string(shape));
  node.result(params, {x, w, offset, node.input(3), node.input(4)});
}

}  // namespace ingot
