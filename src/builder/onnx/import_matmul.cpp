// Matrix products: MatMul, Gemm and their quantised forms.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ingot {
namespace {

// The same over integers, whose product takes neither factor nor bias.
ValueId add_whole_gemm(NodeImporter& node, ValueId a, ValueId b, ValueId c, MatMulParams params, double beta) {
  const auto scaled = [&](ValueId x, double factor, const char* name) {
    if (factor == 1 || !node.ok()) return x;
    if (factor != std::trunc(factor) || std::fabs(factor) > 0x1p31) node.unsupported(std::string("attribute '") + name + "' of an integer product: need a whole number");
    return node.binary(BinaryFunction::kMul, x, node.scalar_constant(name, node.dtype(x), factor));
  };
  const double alpha = std::exchange(params.alpha, 1);
  const ValueId product = scaled(node.add(params, {a, b}), alpha, "alpha");
  return c == kNone || beta == 0 ? product : node.binary(BinaryFunction::kAdd, product, scaled(c, beta, "beta"));
}

// alpha · A' · B' + beta · C. A bias of one value for each column goes into the product; any other C is added behind it.
ValueId add_gemm(NodeImporter& node, ValueId a, ValueId b, ValueId c, const MatMulParams& params, double beta) {
  if (!node.ok()) return kNone;
  if (node.rank(a) != 2 || node.rank(b) != 2) {
    node.invalid("wrong number of dims: got " + std::to_string(node.rank(a)) + " and " + std::to_string(node.rank(b)) +
                 ", need 2 and 2");
    return kNone;
  }
  if (!is_float(node.dtype(a))) return add_whole_gemm(node, a, b, c, params, beta);
  if (c == kNone || beta == 0) return node.add(params, {a, b});
  if (beta != 1) c = node.binary(BinaryFunction::kMul, c, node.scalar_constant("beta", node.dtype(c), beta));
  if (!node.ok()) return kNone;
  const int64_t columns = node.type(b).shape[params.transpose_b ? 0 : 1];
  const Shape& shape = node.type(c).shape;
  if (columns > 0 && shape == Shape{1, columns})
    c = node.add(ReshapeParams{}, {c, node.integers_constant("bias_shape", {columns})});
  if (node.ok() && columns > 0 && node.type(c).shape == Shape{columns}) return node.add(params, {a, b, c});
  return node.binary(BinaryFunction::kAdd, node.add(params, {a, b}), c);
}

MatMulParams read_gemm(NodeImporter& node) {
  MatMulParams params;
  params.transpose_a = node.flag("transA", false);
  params.transpose_b = node.flag("transB", false);
  params.alpha = node.number("alpha", 1);
  return params;
}

}  // namespace

void import_matmul(NodeImporter& node) { node.result(MatMulParams{}, {node.required(0), node.required(1)}); }

void import_gemm(NodeImporter& node) {
  const ValueId a = node.required(0), b = node.required(1);
  const MatMulParams params = read_gemm(node);
  const double beta = node.number("beta", 1);
  if (node.version() < 7) node.ignore({"broadcast"});
  node.alias(add_gemm(node, a, b, node.input(2), params, beta));
}

// com.microsoft: alpha · A' · B' of any rank, the last two dims transposed on demand; with transBatch the first dim stands
// before the last but one, behind all other batch dims.
void import_fused_matmul(NodeImporter& node) {
  MatMulParams params;
  params.transpose_a = node.flag("transA", false);
  params.transpose_b = node.flag("transB", false);
  params.alpha = node.number("alpha", 1);
  const auto operand = [&](size_t i, const char* attribute) {
    const ValueId x = node.required(i);
    const bool moved = node.flag(attribute, false);
    if (!node.ok() || !moved) return x;
    const int rank = node.rank(x);
    if (rank < 3) return x;
    std::vector<int64_t> perm;
    for (int64_t d = 1; d < rank - 1; ++d) perm.push_back(d);
    perm.push_back(0);
    perm.push_back(rank - 1);
    return node.transpose(x, perm);
  };
  const ValueId a = operand(0, "transBatchA"), b = operand(1, "transBatchB");
  node.result(params, {a, b});
}

// com.microsoft: a Gemm with an activation behind it.
void import_fused_gemm(NodeImporter& node) {
  const ValueId a = node.required(0), b = node.required(1);
  const MatMulParams params = read_gemm(node);
  const double beta = node.number("beta", 1);
  const std::string activation = node.text("activation", "");
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (node.has_attribute(name)) parameters.push_back(node.number(name, 0));
  const ValueId y = add_gemm(node, a, b, node.input(2), params, beta);
  node.alias(activation.empty() ? y : add_activation(node, y, activation, parameters));
}

void import_qlinear_matmul(NodeImporter& node) {
  for (size_t i = 0; i < 8; ++i) node.required(i);
  // A scale for each row of a, or each column of b.
  const ValueId a = add_dequantize(node, node.input(0), node.input(1), node.input(2), -2 + (node.rank(node.input(0)) == 1));
  const ValueId b = add_dequantize(node, node.input(3), node.input(4), node.input(5), -1);
  quantize_result(node, node.add(MatMulParams{}, {a, b}), node.input(6), node.input(7));
}

// (A − a_zero) · (B − b_zero) in s32.
void import_matmul_integer(NodeImporter& node) {
  const auto centred = [&](size_t operand, size_t zero_point) {
    const CastParams to_s32{static_cast<int64_t>(DataType::kS32), true};
    const ValueId x = node.add(to_s32, {node.required(operand)});
    ValueId zero = node.input(zero_point);
    if (zero == kNone || !node.ok()) return x;
    // One zero point for each row of A is a column.
    if (operand == 0 && node.rank(zero) == 1 && node.type(zero).shape.elements() != 1)
      zero = node.add(UnsqueezeParams{}, {zero, node.integers_constant("axes", {1})});
    return node.binary(BinaryFunction::kSub, x, node.add(to_s32, {zero}));
  };
  const ValueId a = centred(0, 2), b = centred(1, 3);
  node.result(MatMulParams{}, {a, b});
}

// com.microsoft: inputs A, its scale and zero point, B, its scale and zero point, C (s32), y's scale and zero point.
void import_qgemm(NodeImporter& node) {
  for (size_t i : {0, 1, 3, 4}) node.required(i);
  const MatMulParams params = read_gemm(node);
  if (!node.ok()) return;
  const ValueId a = add_dequantize(node, node.input(0), node.input(1), node.input(2), -1);
  const ValueId b = add_dequantize(node, node.input(3), node.input(4), node.input(5), params.transpose_b ? 0 : 1);
  ValueId c = node.input(6);
  if (c != kNone && node.rank(c) == 2 && node.type(c).shape[0] == 1) c = node.reshape(c, {-1});
  if (c != kNone && params.alpha == 1 && node.rank(c) == 1) {
    c = add_dequantize_bias(node, c, node.input(1), node.input(4));
  } else if (c != kNone) {  // of other scales and shapes: as a float
    const ValueId scale = node.binary(BinaryFunction::kMul, node.binary(BinaryFunction::kMul, node.input(1), node.input(4)),
                                      node.scalar_constant("alpha", DataType::kF32, params.alpha));
    c = node.binary(BinaryFunction::kMul, node.cast(c, DataType::kF32), scale);
  }
  const ValueId y = add_gemm(node, a, b, c, params, 1);
  if (node.input(7) == kNone) return node.alias(y);
  quantize_result(node, y, node.input(7), node.input(8));
}

void import_determinant(NodeImporter& node) { node.result(DeterminantParams{}, {node.required(0)}); }

}  // namespace ingot
