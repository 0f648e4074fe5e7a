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

// The masks of an attention node, added up. What a mask drops gets mask_filter_value.
class Masks {
 public:
  Masks(NodeImporter& node, DataType dtype, double filter, ValueId sum) : node_(node), sum_(sum) {
    keep_ = node.scalar_constant("keep", dtype, 0);
    drop_ = node.scalar_constant("drop", dtype, filter);
  }
  ValueId sum() const { return sum_; }

  // [B] (numbers of keys), [B,T] or [B,S,T] (1: counts).
  void add_key_mask(ValueId mask, ValueId k, int64_t batch) {
    const int rank = node_.rank(mask);
    if (rank == 1 && node_.type(mask).shape == Shape{batch}) {
      add(node_.binary(BinaryFunction::kLess, range(node_.dims_of(k, 2, 3)), node_.reshape(node_.cast(mask, DataType::kS64), {-1, 1, 1, 1})));
    } else if (rank == 2 || rank == 3) {
      const ValueId wide = rank == 2 ? node_.unsqueeze(mask, {1, 2}) : node_.unsqueeze(mask, {1});
      add(node_.binary(BinaryFunction::kGreater, wide, node_.scalar_constant("zero", node_.dtype(mask), 0)));
    } else {
      node_.unsupported("a mask of this form is not supported: got " + to_string(node_.type(mask).shape));
    }
  }
  void add_causal(ValueId q, ValueId k) {
    add(node_.binary(BinaryFunction::kLessOrEqual, range(node_.dims_of(k, 2, 3)), node_.unsqueeze(range(node_.dims_of(q, 2, 3)), {1})));
  }

 private:
  void add(ValueId allowed) { sum_ = add_up(node_, node_.add(WhereParams{}, {allowed, keep_, drop_}), sum_); }
  ValueId range(ValueId dim) {
    const auto number = [&](double value) { return node_.scalar_constant("number", DataType::kS64, value); };
    return node_.add(RangeParams{}, {number(0), node_.squeeze(dim, {0}), number(1)});
  }

  NodeImporter& node_;
  ValueId sum_, keep_ = kNone, drop_ = kNone;
};

// Inputs x [B,S,D], weights [D,3·N·H], bias, mask, past, an additive mask.
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
  if (sizes.size() != 3 || width < 1 || sizes[0] > width || sizes[2] > width || sizes[0] != sizes[1] ||
      sizes[0] + sizes[1] + sizes[2] != width || sizes[0] % heads != 0 || sizes[2] % heads != 0 || sizes[0] < heads || sizes[2] < heads)
    return node.invalid("widths of queries, keys and values are wrong: got weights of " + std::to_string(width) + " columns, " +
                        std::to_string(heads) + " heads");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(sizes[0] / heads));
  const ValueId projected = node.add(MatMulParams{}, {x, weights, bias});
  const ValueId q = split_heads(node, node.slice(projected, 2, 0, sizes[0]), heads);
  const ValueId k = split_heads(node, node.slice(projected, 2, sizes[0], 2 * sizes[0]), heads);
  const ValueId v = split_heads(node, node.slice(projected, 2, 2 * sizes[0], width), heads);
  Masks masks(node, node.dtype(x), filter, node.input(5));
  if (mask != kNone) masks.add_key_mask(mask, k, node.type(x).shape[0]);
  if (causal) masks.add_causal(q, k);
  node.alias(join_heads(node, node.add(AttentionParams{scale, false}, {q, k, v, masks.sum()})));
}

// Inputs q, k, v (each [B,S,N·H]), the three's bias in a row, key mask, an additive mask.
void import_multi_head_attention(NodeImporter& node) {
  ValueId q = node.required(0), k = node.required(1), v = node.required(2);
  const ValueId bias = node.input(3), mask = node.input(4);
  const int64_t heads = node.integer("num_heads", 0);
  const bool causal = node.flag("unidirectional", false);
  const double filter = node.number("mask_filter_value", -10000.0);
  double scale = node.number("scale", 0);
  for (size_t i = 6; i < node.input_count(); ++i)
    if (node.input(i) != kNone) return node.unsupported("past keys and values are not supported");
  if (node.has_output(1) || node.has_output(2) || node.has_output(3)) return node.unsupported("outputs of keys and values are not supported");
  if (!node.ok()) return;
  if (heads < 1) return node.invalid("attribute 'num_heads' is wrong: got " + std::to_string(heads) + ", need ≥ 1");
  if (node.rank(q) != 3 || node.rank(k) != 3 || node.rank(v) != 3) return node.unsupported("queries, keys and values must have 3 dims");
  const int64_t width = node.type(q).shape[2], v_width = node.type(v).shape[2];
  if (width < heads || v_width < heads || width % heads != 0 || v_width % heads != 0 || node.type(k).shape[2] != width)
    return node.invalid("heads do not divide the widths: got " + std::to_string(width) + " and " + std::to_string(v_width) + ", " +
                        std::to_string(heads) + " heads");
  if (bias != kNone) {
    q = add_up(node, q, node.slice(bias, 0, 0, width));
    k = add_up(node, k, node.slice(bias, 0, width, 2 * width));
    v = add_up(node, v, node.slice(bias, 0, 2 * width, 2 * width + v_width));
  }
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(width / heads));
  const ValueId queries = split_heads(node, q, heads), keys = split_heads(node, k, heads);
  Masks masks(node, node.dtype(q), filter, node.input(5));
  if (mask != kNone) masks.add_key_mask(mask, keys, node.type(q).shape[0]);
  if (causal) masks.add_causal(queries, keys);
  node.alias(join_heads(node, node.add(AttentionParams{scale, false}, {queries, keys, split_heads(node, v, heads), masks.sum()})));
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
