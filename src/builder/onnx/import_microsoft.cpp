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

namespace {

struct Embedding {
  ValueId words, places, kinds, scale, shift, mask, positions;
};
// Inputs 0 and 1 are word and segment ids. Outputs y, numbers of words by the mask, the sum that went into the norm.
void give_embedding(NodeImporter& node, const LayerNormParams& params, const Embedding& e) {
  const ValueId ids = node.required(0), segments = node.input(1);
  if (!node.ok()) return;
  const ValueId word = node.add(GatherParams{0}, {e.words, ids});
  const ValueId place = e.positions != kNone ? node.add(GatherParams{0}, {e.places, e.positions})
                                             : node.add(SliceParams{}, {e.places, node.integers_constant("start", {0}), node.dims_of(ids, 1, 2),
                                                                        node.integers_constant("axis", {0})});
  ValueId sum = node.binary(BinaryFunction::kAdd, word, place);
  if (segments != kNone && e.kinds != kNone) sum = add_up(node, sum, node.add(GatherParams{0}, {e.kinds, segments}));
  node.alias(node.add(params, {sum, e.scale, e.shift}), 0);
  if (node.has_output(1)) {
    if (e.mask != kNone) {
      node.alias(node.reduce(ReduceFunction::kSum, node.cast(e.mask, DataType::kS32), {1}, false), 1);
    } else {
      ConstantOfShapeParams zeros;
      zeros.dtype = static_cast<int64_t>(DataType::kS32);
      node.alias(node.add(zeros, {node.dims_of(ids, 0, 1)}), 1);
    }
  }
  node.alias(sum, 2);
}

}  // namespace

// Inputs word and segment ids, then the three tables, scale, shift, mask, positions.
void import_embed_layer_norm(NodeImporter& node) {
  LayerNormParams params;
  params.epsilon = node.number("epsilon", 1e-12f);
  node.ignore({"mask_index_type"});
  for (size_t i : {2, 3, 5, 6}) node.required(i);
  give_embedding(node, params, {node.input(2), node.input(3), node.input(4), node.input(5), node.input(6), node.input(7), node.input(8)});
}

// Inputs as before but the positions; behind the mask the scales of tables, scale and shift, then their zero points.
void import_quantized_embed_layer_norm(NodeImporter& node) {
  LayerNormParams params;
  params.epsilon = node.number("epsilon", 1e-12f);
  for (size_t i : {2, 3, 5, 6, 8, 9, 11, 12}) node.required(i);
  for (size_t i : {10, 15}) node.input(i);  // without segments they may be there, and say nothing
  const auto real = [&](size_t i, size_t scale) {
    return node.input(i) == kNone || !node.ok() ? kNone : add_dequantize(node, node.input(i), node.input(scale), node.input(scale + 5), -1);
  };
  give_embedding(node, params, {real(2, 8), real(3, 9), real(4, 10), real(5, 11), real(6, 12), node.input(7), kNone});
}

// a · dequantised b. b: [N, blocks, bytes], packed low bits first; scales [N · blocks]; zero points packed likewise, one row
// of whole bytes for each of N.
void import_matmul_nbits(NodeImporter& node) {
  const ValueId a = node.required(0), b = node.required(1), scales = node.required(2), zero_points = node.input(3);
  const int64_t k = node.integer("K", 0), n = node.integer("N", 0), bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  node.ignore({"accuracy_level"});
  if (node.integer("weight_prepacked", 0) != 0) return node.unsupported("attribute 'weight_prepacked' is not supported: need 0");
  if (!node.ok()) return;
  if (k < 1 || n < 1 || block < 16 || block > 65536 || (block & (block - 1)) != 0 || k > INT32_MAX || n > INT32_MAX || k > (int64_t{1} << 33) / n)
    return node.invalid("attributes 'K', 'N' and 'block_size' are wrong: got " + std::to_string(k) + ", " + std::to_string(n) + ", " + std::to_string(block));
  if (bits != 2 && bits != 4 && bits != 8) return node.unsupported("attribute 'bits' is not supported: got " + std::to_string(bits) + ", need 2, 4 or 8");
  if (node.input(4) != kNone) return node.unsupported("input 'g_idx' is not supported");
  const int64_t blocks = (k + block - 1) / block, row_bytes = (blocks * bits + 7) / 8;
  const std::vector<uint8_t> packed = constant_bytes(node, b, "input B", n * blocks * block * bits / 8);
  const auto factors = node.constant_numbers(scales, n * blocks);
  std::vector<uint8_t> zeros;
  std::optional<std::vector<double>> real_zeros;  // given as they are, one for each block
  if (zero_points != kNone && node.ok() && node.dtype(zero_points) == node.dtype(scales)) {
    real_zeros = node.constant_numbers(zero_points, n * blocks);
    if (!real_zeros || static_cast<int64_t>(real_zeros->size()) != n * blocks)
      return node.unsupported("zero points must be a constant of " + std::to_string(n * blocks) + " elements");
  } else if (zero_points != kNone) zeros = constant_bytes(node, zero_points, "input zero_points", n * row_bytes);
  if (!node.ok()) return;
  if (!factors || static_cast<int64_t>(factors->size()) != n * blocks)
    return node.unsupported("scales must be a constant of " + std::to_string(n * blocks) + " elements");
  const auto value_at = [&](const std::vector<uint8_t>& bytes, int64_t i, int64_t first_byte) {
    const int64_t each = 8 / bits;
    return bytes[static_cast<size_t>(first_byte + i / each)] >> (i % each * bits) & ((1 << bits) - 1);
  };
  std::vector<float> weights(static_cast<size_t>(n * k));
  for (int64_t row = 0; row < n; ++row)
    for (int64_t i = 0; i < k; ++i) {
      const int64_t group = row * blocks + i / block;
      const float zero = real_zeros ? static_cast<float>((*real_zeros)[static_cast<size_t>(group)])
                                    : static_cast<float>(zeros.empty() ? 1 << (bits - 1) : value_at(zeros, i / block, row * row_bytes));
      const int quantised = value_at(packed, i % block, group * block * bits / 8);
      weights[static_cast<size_t>(row * k + i)] = static_cast<float>((*factors)[static_cast<size_t>(group)]) * (static_cast<float>(quantised) - zero);
    }
  const ValueId dense = node.cast(node.reshape(node.floats_constant("weights", weights), {n, k}), node.dtype(a));
  MatMulParams product;
  product.transpose_b = true;
  node.result(product, {a, dense, node.input(5)});
}

}  // namespace ingot
