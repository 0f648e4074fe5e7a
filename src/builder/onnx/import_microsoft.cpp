// Operators of com.microsoft that its optimiser writes into transformer models, taken apart again.
#include "builder/onnx/shared_attributes.h"

#include <cmath>

namespace ingot {
namespace {

ValueId add_up(NodeImporter& node, ValueId a, ValueId b) { return b == kNone ? a : node.binary(BinaryFunction::kAdd, a, b); }

// LayerNorm with outputs y, mean, 1/σ, then the sum that went in, at a place of its own.
void give_layer_norm(NodeImporter& node, const LayerNormParams& params, ValueId sum, ValueId scale, ValueId shift, size_t sum_output) {
  if (node.has_output(1) && sum_output != 1) return node.unsupported("outputs of training are not supported");
  if (node.has_output(2) && sum_output != 2) return node.unsupported("outputs of training are not supported");
  node.alias(node.add(params, {sum, scale, shift}), 0);
  node.alias(sum, sum_output);
}

// Bytes of a constant u8 tensor; empty and an error where it is none.
std::vector<uint8_t> constant_bytes(NodeImporter& node, ValueId id, std::string_view what, int64_t count) {
  if (!node.ok()) return {};
  if (!node.graph().is_constant(id) || node.dtype(id) != DataType::kU8) {
    node.unsupported(std::string(what) + " must be a u8 constant: got " + std::string(to_string(node.dtype(id))));
    return {};
  }
  const auto bytes = constant_span<uint8_t>(node.graph(), id);
  if (static_cast<int64_t>(bytes.size()) != count) {
    node.invalid(std::string(what) + " has a wrong size: got " + std::to_string(bytes.size()) + " bytes, need " + std::to_string(count));
    return {};
  }
  return {bytes.begin(), bytes.end()};
}

}  // namespace

// Inputs x, skip, scale, shift, bias; without a shift for the simplified one.
void import_skip_layer_norm(NodeImporter& node) {
  LayerNormParams params;
  params.rms = node.op_type() == "SkipSimplifiedLayerNormalization";
  params.epsilon = node.number("epsilon", 1e-12f);
  const ValueId x = node.required(0), skip = node.required(1), scale = node.required(2);
  const ValueId shift = params.rms ? kNone : node.input(3), bias = node.input(params.rms ? 3 : 4);
  const ValueId sum = add_up(node, add_up(node, x, skip), bias);
  give_layer_norm(node, params, sum, scale, shift, 3);
}

// Inputs word and segment ids, then the three tables, scale, shift, mask, positions.
void import_embed_layer_norm(NodeImporter& node) {
  LayerNormParams params;
  params.epsilon = node.number("epsilon", 1e-12f);
  node.ignore({"mask_index_type"});
  const ValueId ids = node.required(0), segments = node.input(1), words = node.required(2), places = node.required(3);
  const ValueId kinds = node.input(4), scale = node.required(5), shift = node.required(6), mask = node.input(7), positions = node.input(8);
  if (!node.ok()) return;
  const ValueId word = node.add(GatherParams{0}, {words, ids});
  const ValueId place = positions != kNone ? node.add(GatherParams{0}, {places, positions})
                                           : node.add(SliceParams{}, {places, node.integers_constant("start", {0}), node.dims_of(ids, 1, 2),
                                                                      node.integers_constant("axis", {0})});
  ValueId sum = node.binary(BinaryFunction::kAdd, word, place);
  if (segments != kNone && kinds != kNone) sum = add_up(node, sum, node.add(GatherParams{0}, {kinds, segments}));
  node.alias(node.add(params, {sum, scale, shift}), 0);
  if (node.has_output(1)) {
    if (mask != kNone) {
      node.alias(node.reduce(ReduceFunction::kSum, node.cast(mask, DataType::kS32), {1}, false), 1);
    } else {
      ConstantOfShapeParams zeros;
      zeros.dtype = static_cast<int64_t>(DataType::kS32);
      node.alias(node.add(zeros, {node.dims_of(ids, 0, 1)}), 1);
    }
  }
  node.alias(sum, 2);
}

// Inputs x [B,S,D], weights [D,3·N·H], bias, mask; the mask is one of [B] (numbers of keys), [B,T] and [B,S,T] (1: counts).
void import_microsoft_attention(NodeImporter& node) {
  const ValueId x = node.required(0), weights = node.required(1), bias = node.input(2), mask = node.input(3);
  const int64_t heads = node.integer("num_heads", 0);
  const bool causal = node.flag("unidirectional", false);
  const double filter = node.number("mask_filter_value", -10000.0);
  std::vector<int64_t> sizes = node.integers("qkv_hidden_sizes");
  double scale = node.number("scale", 0);
  node.ignore({"past_present_share_buffer"});
  if (node.flag("do_rotary", false)) return node.unsupported("attribute 'do_rotary' is not supported: need 0");
  if (node.input(4) != kNone || node.has_output(1)) return node.unsupported("past keys and values are not supported");
  if (!node.ok()) return;
  if (heads < 1) return node.invalid("attribute 'num_heads' is wrong: got " + std::to_string(heads) + ", need ≥ 1");
  if (node.rank(x) != 3 || node.rank(weights) != 2) return node.invalid("wrong number of dims: need 3 of x and 2 of the weights");
  const int64_t width = node.type(weights).shape[1];
  if (sizes.empty()) sizes.assign(3, width / 3);
  if (sizes.size() != 3 || width < 1 || sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != width || sizes[0] % heads != 0 ||
      sizes[2] % heads != 0 || sizes[0] < heads || sizes[2] < heads)
    return node.invalid("widths of queries, keys and values are wrong: got weights of " + std::to_string(width) + " columns, " +
                        std::to_string(heads) + " heads");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(sizes[0] / heads));
  const ValueId projected = node.add(MatMulParams{}, {x, weights, bias});
  const ValueId q = split_heads(node, node.slice(projected, 2, 0, sizes[0]), heads);
  const ValueId k = split_heads(node, node.slice(projected, 2, sizes[0], 2 * sizes[0]), heads);
  const ValueId v = split_heads(node, node.slice(projected, 2, 2 * sizes[0], width), heads);
  const DataType dtype = node.dtype(x);
  const ValueId keep = node.scalar_constant("keep", dtype, 0), drop = node.scalar_constant("drop", dtype, filter);
  ValueId masks = node.input(5);  // an additive one
  const auto add_mask = [&](ValueId allowed) { masks = add_up(node, node.add(WhereParams{}, {allowed, keep, drop}), masks); };
  const auto range = [&](ValueId dim) {
    const auto number = [&](double value) { return node.scalar_constant("number", DataType::kS64, value); };
    return node.add(RangeParams{}, {number(0), node.squeeze(dim, {0}), number(1)});
  };
  if (mask != kNone && node.rank(mask) == 1) {
    if (!(node.type(mask).shape == Shape{node.type(x).shape[0]})) return node.unsupported("a mask of first and last keys is not supported");
    add_mask(node.binary(BinaryFunction::kLess, range(node.dims_of(k, 2, 3)), node.reshape(node.cast(mask, DataType::kS64), {-1, 1, 1, 1})));
  } else if (mask != kNone && (node.rank(mask) == 2 || node.rank(mask) == 3)) {
    const ValueId wide = node.rank(mask) == 2 ? node.unsqueeze(mask, {1, 2}) : node.unsqueeze(mask, {1});
    add_mask(node.binary(BinaryFunction::kGreater, wide, node.scalar_constant("zero", node.dtype(mask), 0)));
  } else if (mask != kNone) {
    return node.unsupported("a mask of this form is not supported: got " + to_string(node.type(mask).shape));
  }
  if (causal)
    add_mask(node.binary(BinaryFunction::kLessOrEqual, range(node.dims_of(k, 2, 3)), node.unsqueeze(range(node.dims_of(q, 2, 3)), {1})));
  node.alias(join_heads(node, node.add(AttentionParams{scale, false}, {q, k, v, masks})));
}

// a · dequantised b. b: [N, blocks, bytes], packed low bits first; scales [N · blocks]; zero points packed likewise, one row
// of whole bytes for each of N.
void import_matmul_nbits(NodeImporter& node) {
  const ValueId a = node.required(0), b = node.required(1), scales = node.required(2), zero_points = node.input(3);
  const int64_t k = node.integer("K", 0), n = node.integer("N", 0), bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  node.ignore({"accuracy_level"});
  if (!node.ok()) return;
  if (k < 1 || n < 1 || block < 16 || block > 65536 || (block & (block - 1)) != 0 || k > INT32_MAX || n > INT32_MAX || k > (int64_t{1} << 33) / n)
    return node.invalid("attributes 'K', 'N' and 'block_size' are wrong: got " + std::to_string(k) + ", " + std::to_string(n) + ", " + std::to_string(block));
  if (bits != 4 && bits != 8) return node.unsupported("attribute 'bits' is not supported: got " + std::to_string(bits) + ", need 4 or 8");
  if (node.input(4) != kNone) return node.unsupported("input 'g_idx' is not supported");
  const int64_t blocks = (k + block - 1) / block, row_bytes = (blocks * bits + 7) / 8;
  const std::vector<uint8_t> packed = constant_bytes(node, b, "input B", n * blocks * block * bits / 8);
  const auto factors = node.constant_numbers(scales, n * blocks);
  std::vector<uint8_t> zeros;
  if (zero_points != kNone) zeros = constant_bytes(node, zero_points, "input zero_points", n * row_bytes);
  if (!node.ok()) return;
  if (!factors || static_cast<int64_t>(factors->size()) != n * blocks)
    return node.unsupported("scales must be a constant of " + std::to_string(n * blocks) + " elements");
  const auto value_at = [&](const std::vector<uint8_t>& bytes, int64_t i, int64_t first_byte) {
    if (bits == 8) return static_cast<int>(bytes[static_cast<size_t>(first_byte + i)]);
    return bytes[static_cast<size_t>(first_byte + i / 2)] >> (i % 2 ? 4 : 0) & 15;
  };
  std::vector<float> weights(static_cast<size_t>(n * k));
  for (int64_t row = 0; row < n; ++row)
    for (int64_t i = 0; i < k; ++i) {
      const int64_t group = row * blocks + i / block;
      const int zero = zeros.empty() ? 1 << (bits - 1) : value_at(zeros, i / block, row * row_bytes);
      const int quantised = value_at(packed, i % block, group * block * bits / 8);
      weights[static_cast<size_t>(row * k + i)] = static_cast<float>((*factors)[static_cast<size_t>(group)]) * static_cast<float>(quantised - zero);
    }
  const ValueId dense = node.cast(node.reshape(node.floats_constant("weights", weights), {n, k}), node.dtype(a));
  MatMulParams product;
  product.transpose_b = true;
  node.result(product, {a, dense, node.input(5)});
}

}  // namespace ingot
