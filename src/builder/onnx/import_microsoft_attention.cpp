// Attention of com.microsoft, as its optimiser and its exporters for text generation write it: with fused projections, key
// masks, caches of past keys and values, rotary embeddings and heads that share keys. All end in Ingot's own Attention op.
#include "builder/onnx/shared_attributes.h"

#include <cmath>
#include <limits>

namespace ingot {
namespace {

ValueId add_up(NodeImporter& node, ValueId a, ValueId b) { return b == kNone ? a : a == kNone ? b : node.binary(BinaryFunction::kAdd, a, b); }
ValueId whole(NodeImporter& node, int64_t value) { return node.scalar_constant("number", DataType::kS64, static_cast<double>(value)); }

// The masks of an attention node, added up. What a mask drops gets mask_filter_value. k: past keys among them.
class Masks {
 public:
  Masks(NodeImporter& node, DataType dtype, double filter, ValueId sum, ValueId q, ValueId k) : node_(node), sum_(sum), q_(q), k_(k) {
    keep_ = node.scalar_constant("keep", dtype, 0);
    drop_ = node.scalar_constant("drop", dtype, filter);
  }
  ValueId sum() const { return sum_; }
  ValueId columns() { return count_up(node_, node_.dims_of(k_, 2, 3)); }
  // Places of the queries among the keys, [S, 1]: they are the last ones.
  ValueId rows() {
    const ValueId first = node_.binary(BinaryFunction::kSub, node_.dims_of(k_, 2, 3), node_.dims_of(q_, 2, 3));
    return node_.unsqueeze(node_.binary(BinaryFunction::kAdd, count_up(node_, node_.dims_of(q_, 2, 3)), first), {1});
  }
  void add(ValueId allowed) { sum_ = add_up(node_, node_.add(WhereParams{}, {allowed, keep_, drop_}), sum_); }

  // [B] (numbers of keys), [2B] (their ends, then their starts), [B,T], [B,S,T] or [B,1,M,M] (1: counts).
  void add_key_mask(ValueId mask, int64_t batch) {
    const int rank = node_.rank(mask);
    const auto column = [&](ValueId x) { return node_.reshape(node_.cast(x, DataType::kS64), {-1, 1, 1, 1}); };
    if (rank == 1 && node_.type(mask).shape == Shape{batch}) {
      add(node_.binary(BinaryFunction::kLess, columns(), column(mask)));
    } else if (rank == 1 && batch > 0 && node_.type(mask).shape == Shape{2 * batch}) {
      add(node_.binary(BinaryFunction::kLess, columns(), column(node_.slice(mask, 0, 0, batch))));
      add(node_.binary(BinaryFunction::kGreaterOrEqual, columns(), column(node_.slice(mask, 0, batch, 2 * batch))));
    } else if (rank >= 2 && rank <= 4) {
      ValueId wide = rank == 4 ? mask : node_.unsqueeze(mask, rank == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
      if (rank == 4) {  // a square over all places that there may be
        const ValueId total = node_.dims_of(k_, 2, 3), first = node_.binary(BinaryFunction::kSub, total, node_.dims_of(q_, 2, 3));
        const ValueId axes = node_.integers_constant("axes", {2, 3}), zero = node_.integers_constant("zero", {0});
        wide = node_.add(SliceParams{}, {wide, node_.concat({first, zero}, 0), node_.concat({total, total}, 0), axes});
      }
      add(node_.binary(BinaryFunction::kGreater, wide, node_.scalar_constant("zero", node_.dtype(mask), 0)));
    } else {
      node_.unsupported("a mask of this form is not supported: got " + to_string(node_.type(mask).shape));
    }
  }
  void add_causal() { add(node_.binary(BinaryFunction::kLessOrEqual, columns(), rows())); }

 private:
  NodeImporter& node_;
  ValueId sum_, q_, k_, keep_ = kNone, drop_ = kNone;
};

// The attributes that several of these nodes share.
struct Heads {
  int64_t count;
  bool causal;
  double filter, scale;
};
Heads read_heads(NodeImporter& node) {
  const Heads heads{node.integer("num_heads", 0), node.flag("unidirectional", false), node.number("mask_filter_value", -10000.0), node.number("scale", 0)};
  if (heads.count < 1) node.invalid("attribute 'num_heads' is wrong: got " + std::to_string(heads.count) + ", need ≥ 1");
  return heads;
}

// Narrow floats are computed as f32 and rounded once, at the end.
ValueId attend(NodeImporter& node, ValueId q, ValueId k, ValueId v, ValueId mask, double scale) {
  const DataType given = node.dtype(q), dtype = given == DataType::kF16 || given == DataType::kBF16 ? DataType::kF32 : given;
  const auto wide = [&](ValueId x) { return x == kNone ? kNone : node.cast(x, dtype); };
  return node.cast(node.add(AttentionParams{scale, false}, {wide(q), wide(k), wide(v), wide(mask)}), given);
}

// projected: queries, keys and values side by side, [B,S,width]; past: keys and values [2,B,N,P,H].
void attend_projected(NodeImporter& node, ValueId projected, const Heads& heads, std::vector<int64_t> sizes, ValueId mask, ValueId past, ValueId bias) {
  if (!node.ok()) return;
  const int64_t width = node.type(projected).shape[2];
  if (sizes.empty()) sizes.assign(3, width / 3);
  if (sizes.size() != 3 || width < 1 || sizes[0] > width || sizes[2] > width || sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != width ||
      sizes[0] % heads.count != 0 || sizes[2] % heads.count != 0 || sizes[0] < heads.count || sizes[2] < heads.count)
    return node.invalid("widths of queries, keys and values are wrong: got weights of " + std::to_string(width) + " columns, " +
                        std::to_string(heads.count) + " heads");
  const double scale = heads.scale != 0 ? heads.scale : 1 / std::sqrt(static_cast<double>(sizes[0] / heads.count));
  const ValueId q = split_heads(node, node.slice(projected, 2, 0, sizes[0]), heads.count);
  ValueId k = split_heads(node, node.slice(projected, 2, sizes[0], 2 * sizes[0]), heads.count);
  ValueId v = split_heads(node, node.slice(projected, 2, 2 * sizes[0], width), heads.count);
  if (past != kNone) {
    if (node.rank(past) != 5) return node.invalid("wrong number of dims of the past: got " + std::to_string(node.rank(past)) + ", need 5");
    k = node.concat({node.squeeze(node.slice(past, 0, 0, 1), {0}), k}, 2);
    v = node.concat({node.squeeze(node.slice(past, 0, 1, 2), {0}), v}, 2);
  }
  if (node.has_output(1)) node.alias(node.concat({node.unsqueeze(k, {0}), node.unsqueeze(v, {0})}, 0), 1);
  Masks masks(node, node.dtype(q), heads.filter, bias, q, k);
  if (mask != kNone) masks.add_key_mask(mask, node.type(projected).shape[0]);
  if (heads.causal) masks.add_causal();
  node.alias(join_heads(node, attend(node, q, k, v, masks.sum(), scale)));
}

void refuse_shared_buffer(NodeImporter& node) {
  if (node.flag("past_present_share_buffer", false))
    node.unsupported("attribute 'past_present_share_buffer' is not supported: got 1, need 0");
}

}  // namespace

// Inputs x [B,S,D], weights [D,3·N·H], bias, mask, past, an additive mask.
void import_microsoft_attention(NodeImporter& node) {
  const ValueId x = node.required(0), weights = node.required(1), bias = node.input(2);
  const Heads heads = read_heads(node);
  std::vector<int64_t> sizes = node.integers("qkv_hidden_sizes");
  refuse_shared_buffer(node);
  node.ignore({"rotary_embedding_dim"});
  if (node.flag("do_rotary", false)) return node.unsupported("attribute 'do_rotary' is not supported: need 0");
  if (!node.ok()) return;
  if (node.rank(x) != 3 || node.rank(weights) != 2) return node.invalid("wrong number of dims: need 3 of x and 2 of the weights");
  attend_projected(node, node.add(MatMulParams{}, {x, weights, bias}), heads, std::move(sizes), node.input(3), node.input(4), node.input(5));
}

// The same of 8-bit x and weights: inputs x, weights, bias, scales of x and weights, mask, their zero points, past.
void import_quantized_attention(NodeImporter& node) {
  const ValueId x = node.required(0), weights = node.required(1), bias = node.required(2);
  for (size_t i : {3, 4}) node.required(i);
  const Heads heads = read_heads(node);
  refuse_shared_buffer(node);
  if (node.flag("do_rotary", false)) return node.unsupported("attribute 'do_rotary' is not supported: need 0");
  if (!node.ok()) return;
  if (node.rank(x) != 3 || node.rank(weights) != 2) return node.invalid("wrong number of dims: need 3 of x and 2 of the weights");
  const ValueId left = add_dequantize(node, x, node.input(3), node.input(6), -1), right = add_dequantize(node, weights, node.input(4), node.input(7), -1);
  attend_projected(node, node.add(MatMulParams{}, {left, right, bias}), heads, {}, node.input(5), node.input(8), kNone);
}

// Inputs q, k, v (each [B,S,N·H]; k and v also [B,N,T,H], ready made), the three's bias in a row, key mask, an additive mask,
// past keys and values [B,N,P,H].
void import_multi_head_attention(NodeImporter& node) {
  ValueId q = node.required(0), k = node.required(1), v = node.required(2);
  const ValueId bias = node.input(3), mask = node.input(4), past_k = node.input(6), past_v = node.input(7);
  const Heads heads = read_heads(node);
  for (size_t i = 8; i < node.input_count(); ++i)
    if (node.input(i) != kNone) return node.unsupported("past keys and values in a shared buffer are not supported");
  if (node.has_output(3)) return node.unsupported("the output of scores is not supported");
  if (!node.ok()) return;
  if ((past_k == kNone) != (past_v == kNone)) return node.invalid("past keys and past values must come together");
  const bool ready = node.rank(k) == 4;
  if (node.rank(q) != 3 || node.rank(k) != node.rank(v) || (!ready && node.rank(k) != 3))
    return node.unsupported("queries, keys and values must have 3 dims, or the latter 4");
  const int64_t width = node.type(q).shape[2], v_width = ready ? node.type(v).shape[3] * heads.count : node.type(v).shape[2];
  if (width < heads.count || v_width < heads.count || width % heads.count != 0 || v_width % heads.count != 0 || (!ready && node.type(k).shape[2] != width))
    return node.invalid("heads do not divide the widths: got " + std::to_string(width) + " and " + std::to_string(v_width) + ", " +
                        std::to_string(heads.count) + " heads");
  if (bias != kNone) {
    q = add_up(node, q, node.slice(bias, 0, 0, width));
    if (!ready) {
      k = add_up(node, k, node.slice(bias, 0, width, 2 * width));
      v = add_up(node, v, node.slice(bias, 0, 2 * width, 2 * width + v_width));
    }
  }
  const double scale = heads.scale != 0 ? heads.scale : 1 / std::sqrt(static_cast<double>(width / heads.count));
  const ValueId queries = split_heads(node, q, heads.count);
  if (!ready) {
    k = split_heads(node, k, heads.count);
    v = split_heads(node, v, heads.count);
  }
  if (past_k != kNone) {
    k = node.concat({past_k, k}, 2);
    v = node.concat({past_v, v}, 2);
  }
  Masks masks(node, node.dtype(q), heads.filter, node.input(5), queries, k);
  if (mask != kNone) masks.add_key_mask(mask, node.type(q).shape[0]);
  if (heads.causal) masks.add_causal();
  node.alias(join_heads(node, attend(node, queries, k, v, masks.sum(), scale)));
  node.alias(k, 1);
  node.alias(v, 2);
}

// Inputs x, places ([B,S], or [1]: that of the first), tables of cosines and sines.
void import_microsoft_rotary_embedding(NodeImporter& node) {
  ValueId x = node.required(0), places = node.required(1);
  const ValueId cosines = node.required(2), sines = node.required(3);
  const bool interleaved = node.flag("interleaved", false);
  int64_t heads = node.integer("num_heads", 0), turned = node.integer("rotary_embedding_dim", 0);
  if (node.flag("is_packed_batching", false)) return node.unsupported("attribute 'is_packed_batching' is not supported: got 1, need 0");
  if (const double scale = node.number("scale", 1); scale != 1) return node.unsupported("attribute 'scale' is not supported: got " + std::to_string(scale) + ", need 1");
  if (!node.ok()) return;
  const int rank = node.rank(x);
  if ((rank != 3 && rank != 4) || node.rank(cosines) != 2) return node.invalid("wrong number of dims: need 3 or 4 of x and 2 of the tables");
  const int64_t table = 2 * fixed_dim(node, cosines, 1, "the width of the tables");
  if (rank == 3) {
    const int64_t width = fixed_dim(node, x, 2, "the width of x");
    if (turned == 0) heads = width / table;
    if (heads < 1 || width % heads != 0) return node.invalid("heads do not divide the width: got " + std::to_string(width) + ", " + std::to_string(heads) + " heads");
    x = split_heads(node, x, heads);
  }
  const int64_t size = fixed_dim(node, x, 3, "the size of a head");
  if (turned == 0) turned = table;
  if (turned != table || turned > size) return node.invalid("width of the tables is wrong: got " + std::to_string(table / 2) + ", need " + std::to_string(turned / 2));
  if (node.rank(places) == 1) places = node.unsqueeze(node.binary(BinaryFunction::kAdd, node.cast(places, DataType::kS64), count_up(node, node.dims_of(x, 2, 3))), {0});
  const auto turn = [&](ValueId values) { return node.unsqueeze(node.add(GatherParams{0}, {values, places}), {1}); };
  const ValueId y = rotate_pairs(node, x, turn(cosines), turn(sines), size, turned, interleaved);
  node.alias(rank == 3 ? join_heads(node, y) : y);
}

// Inputs q, k, v ([B,S,·]; or all three side by side in q), past keys and values [B,K,P,H], for each batch its number of
// keys − 1, the largest of these numbers, tables of cosines and sines, places, an additive mask, a logit for each head that
// takes weight from the keys, scales of a quantised cache (refused), weights of a norm of q and k.
void import_group_query_attention(NodeImporter& node) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  ValueId q = node.required(0), k = node.input(1), v = node.input(2);
  const ValueId past_k = node.input(3), past_v = node.input(4), last = node.required(5), longest = node.required(6), bias = node.input(10);
  const int64_t q_heads = node.integer("num_heads", 0), heads = node.integer("kv_num_heads", 0), window = node.integer("local_window_size", -1);
  const bool rotary = node.flag("do_rotary", false), interleaved = node.flag("rotary_interleaved", false), causal = node.flag("causal", true);
  const bool smooth = node.flag("smooth_softmax", false);
  const double softcap = node.number("softcap", 0), epsilon = node.number("qk_norm_epsilon", 1e-6f);
  const double q_epsilon = node.number("q_norm_epsilon", epsilon), k_epsilon = node.number("k_norm_epsilon", epsilon);
  double scale = node.number("scale", 0);
  node.choice("k_quant_type", "NONE", {"NONE"});
  node.choice("v_quant_type", "NONE", {"NONE"});
  node.ignore({"kv_cache_bit_width"});
  for (const char* name : {"qk_output", "sliding_window_cache"})
    if (node.flag(name, false)) return node.unsupported("attribute '" + std::string(name) + "' is not supported: need 0");
  for (size_t i : {12, 13, 16})
    if (node.input(i) != kNone) return node.unsupported("input " + std::to_string(i) + " is not supported: quantised caches and padded chunks");
  if (!node.ok()) return;
  if (heads < 1 || q_heads < heads || q_heads % heads != 0)
    return node.invalid("heads do not divide: got " + std::to_string(q_heads) + " of queries, " + std::to_string(heads) + " of keys");
  if (node.rank(q) != 3 || (k == kNone) != (v == kNone) || (k != kNone && (node.rank(k) != 3 || node.rank(v) != 3)))
    return node.unsupported("queries, keys and values must have 3 dims each, or be one tensor");
  if ((past_k == kNone) != (past_v == kNone)) return node.invalid("past keys and past values must come together");
  const int64_t width = fixed_dim(node, q, 2, "the width of the queries"), parts = k == kNone ? q_heads + 2 * heads : q_heads;
  if (width % parts != 0) return node.invalid("heads do not divide the width: got " + std::to_string(width) + ", " + std::to_string(parts) + " heads");
  const int64_t size = width / parts;
  if (k == kNone) {
    k = node.slice(q, 2, q_heads * size, (q_heads + heads) * size);
    v = node.slice(q, 2, (q_heads + heads) * size, width);
    q = node.slice(q, 2, 0, q_heads * size);
  }
  q = split_heads(node, q, q_heads);
  k = split_heads(node, k, heads);
  v = split_heads(node, v, heads);
  if (node.input(14) != kNone) q = node.add(LayerNormParams{-1, q_epsilon, true}, {q, node.input(14)});
  if (node.input(15) != kNone) k = node.add(LayerNormParams{-1, k_epsilon, true}, {k, node.input(15)});
  // Where the new keys start, [B]: behind the old ones; in a prompt with padding at 0.
  const ValueId steps = node.dims_of(q, 2, 3);
  const ValueId total = node.binary(BinaryFunction::kAdd, node.cast(node.reshape(last, {-1}), DataType::kS64), whole(node, 1));
  const ValueId start = node.binary(BinaryFunction::kMax, node.binary(BinaryFunction::kSub, total, steps), whole(node, 0));
  const ValueId place = node.binary(BinaryFunction::kAdd, node.reshape(start, {-1, 1}), count_up(node, steps));  // [B,S]
  for (size_t i : {7, 8, 9}) node.input(i);  // without rotation they may be there, and say nothing
  if (rotary) {
    for (size_t i : {7, 8})
      if (node.required(i) != kNone && node.rank(node.input(i)) != 2) return node.invalid("tables of cosines and sines must have 2 dims");
    if (!node.ok()) return;
    const int64_t turned = 2 * fixed_dim(node, node.input(7), 1, "the width of the tables");
    if (turned > size) return node.invalid("width of the tables is wrong: got " + std::to_string(turned / 2) + ", need at most " + std::to_string(size / 2));
    const ValueId at = node.input(9) != kNone ? node.input(9) : place;
    const ValueId cosine = node.unsqueeze(node.add(GatherParams{0}, {node.input(7), at}), {1});
    const ValueId sine = node.unsqueeze(node.add(GatherParams{0}, {node.input(8), at}), {1});
    q = rotate_pairs(node, q, cosine, sine, size, turned, interleaved);
    k = rotate_pairs(node, k, cosine, sine, size, turned, interleaved);
  }
  if (past_k != kNone) {
    // Of all batches the longest says how long the cache becomes; where that is known only in the run it grows by all steps.
    const auto known = node.constant_scalar(longest);
    const auto put = [&](ValueId past, ValueId fresh) {
      ValueId cache = node.concat({past, fresh}, 2);
      const int64_t before = node.ok() ? node.type(past).shape[2] : -1;
      if (known && before >= 0) cache = node.slice(cache, 2, 0, std::max(before, static_cast<int64_t>(*known)));
      return scatter_along(node, cache, fresh, start, 2, false);
    };
    k = put(past_k, k);
    v = put(past_v, v);
  }
  node.alias(k, 1);
  node.alias(v, 2);
  if (!node.ok()) return;
  const DataType given = node.dtype(q), dtype = given == DataType::kF16 || given == DataType::kBF16 ? DataType::kF32 : given;
  Masks masks(node, dtype, kMinusInfinity, bias == kNone ? kNone : node.cast(bias, dtype), q, k);
  const ValueId row = node.unsqueeze(place, {1, 3});  // [B,1,S,1]
  if (causal) {
    masks.add(node.binary(BinaryFunction::kLessOrEqual, masks.columns(), row));
  } else {
    masks.add(node.binary(BinaryFunction::kLess, masks.columns(), node.reshape(total, {-1, 1, 1, 1})));
  }
  if (window > 0) masks.add(node.binary(BinaryFunction::kLess, node.binary(BinaryFunction::kSub, row, masks.columns()), whole(node, window)));
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  q = node.cast(q, dtype);
  k = repeat_heads(node, node.cast(k, dtype), heads, q_heads / heads);
  v = repeat_heads(node, node.cast(v, dtype), heads, q_heads / heads);
  const ValueId sink = node.input(11);
  if (softcap == 0 && sink == kNone && !smooth)
    return node.alias(join_heads(node, node.cast(node.add(AttentionParams{scale, false}, {q, k, v, masks.sum()}), given)));
  MatMulParams product;
  product.alpha = scale;
  ValueId scores = node.add(product, {q, node.transpose(k, {0, 1, 3, 2})});
  if (softcap > 0) {
    const ValueId cap = node.scalar_constant("softcap", dtype, softcap);
    scores = node.binary(BinaryFunction::kMul, node.unary(UnaryFunction::kTanh, node.binary(BinaryFunction::kDiv, scores, cap)), cap);
  }
  scores = add_up(node, scores, masks.sum());
  if (sink != kNone || smooth) {  // one more column, dropped behind the softmax
    const ValueId logits = sink == kNone ? node.scalar_constant("sink", dtype, 0) : node.reshape(node.cast(sink, dtype), {1, -1, 1, 1});
    const ValueId shape = node.concat({node.dims_of(scores, 0, 3), node.integers_constant("one", {1})}, 0);
    scores = node.concat({scores, node.add(ExpandParams{}, {logits, shape})}, 3);
  }
  SoftmaxParams softmax;
  softmax.axis = -1;
  ValueId weights = node.add(softmax, {scores});
  if (sink != kNone || smooth) weights = node.slice(weights, 3, 0, -1);
  node.alias(join_heads(node, node.cast(node.add(MatMulParams{}, {weights, v}), given)));
}

}  // namespace ingot
