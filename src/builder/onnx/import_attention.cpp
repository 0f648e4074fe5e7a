// Attention, rotary embeddings and caches of ai.onnx, taken apart into products, masks and softmax; the plain case is
// Ingot's own Attention op.
#include "builder/onnx/shared_attributes.h"

#include <cmath>
#include <limits>

namespace ingot {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

ValueId infinite_where_not(NodeImporter& node, ValueId allowed, DataType dtype) {
  const ValueId zero = node.scalar_constant("zero", dtype, 0), masked = node.scalar_constant("masked", dtype, kMinusInfinity);
  return node.add(WhereParams{}, {allowed, zero, masked});
}

// The attention node's masks, added up; kNone if there is none.
class Bias {
 public:
  Bias(NodeImporter& node, DataType dtype, ValueId q, ValueId k) : node_(node), dtype_(dtype), q_(q), k_(k) {}

  void add(ValueId bias) { sum_ = sum_ == kNone ? bias : node_.binary(BinaryFunction::kAdd, sum_, bias); }
  void add_allowed(ValueId allowed) { add(infinite_where_not(node_, allowed, dtype_)); }
  ValueId sum() const { return sum_; }

  void add_mask(ValueId mask) {
    const int64_t given = node_.type(mask).shape[node_.rank(mask) - 1], wanted = node_.type(k_).shape[2];
    ValueId bias = node_.dtype(mask) == DataType::kBool ? infinite_where_not(node_, mask, dtype_) : node_.cast(mask, dtype_);
    if (given != 1 && given != wanted) {  // a mask of the first keys only; the others are masked
      if (given < 0 || wanted < 0) return node_.unsupported("the mask's last dim varies: got " + to_string(node_.type(mask).shape));
      std::vector<int64_t> pads(2 * static_cast<size_t>(node_.rank(mask)), 0);
      pads.back() = wanted - given;
      bias = node_.add(PadParams{}, {bias, node_.integers_constant("pads", pads), node_.scalar_constant("masked", dtype_, kMinusInfinity)});
    }
    add(bias);
  }

  // Places of the keys, [T], and of the queries among them, [S, 1] or, with an offset of [B, 1, 1, 1], [B, 1, S, 1].
  ValueId columns() { return count_up(node_, node_.dims_of(k_, 2, 3)); }
  ValueId rows(ValueId offset) {
    const ValueId row = node_.unsqueeze(count_up(node_, node_.dims_of(q_, 2, 3)), {1});
    return offset == kNone ? row : node_.binary(BinaryFunction::kAdd, row, offset);
  }

 private:
  NodeImporter& node_;
  DataType dtype_;
  ValueId q_, k_, sum_ = kNone;
};

}  // namespace

int64_t fixed_dim(NodeImporter& node, ValueId x, int dim, const char* what) {
  const int64_t size = node.ok() ? node.type(x).shape[dim] : 1;
  if (size < 1) node.unsupported(std::string(what) + " must be fixed: got " + to_string(node.type(x).shape));
  return std::max<int64_t>(size, 1);
}

// K and V heads repeated, each `times`: [B, K, T, D] → [B, K · times, T, D].
ValueId repeat_heads(NodeImporter& node, ValueId x, int64_t heads, int64_t times) {
  if (times == 1) return x;
  const ValueId wide = node.add(ExpandParams{}, {node.unsqueeze(x, {2}), node.integers_constant("repeats", {1, 1, times, 1, 1})});
  const ValueId shape = node.concat({node.dims_of(x, 0, 1), node.integers_constant("heads", {heads * times}), node.dims_of(x, 2, 4)}, 0);
  return node.add(ReshapeParams{true}, {wide, shape});
}

ValueId count_up(NodeImporter& node, ValueId dim) {
  const auto number = [&](double value) { return node.scalar_constant("number", DataType::kS64, value); };
  return node.add(RangeParams{}, {number(0), node.squeeze(dim, {0}), number(1)});
}

ValueId split_heads(NodeImporter& node, ValueId x, int64_t heads) {
  return node.transpose(node.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}
ValueId join_heads(NodeImporter& node, ValueId x) { return node.reshape(node.transpose(x, {0, 2, 1, 3}), {0, 0, -1}); }

// Inputs q, k, v, mask, past keys, past values, number of keys that count; outputs y, keys, values, q·k.
void import_attention(NodeImporter& node) {
  ValueId q = node.required(0), k = node.required(1), v = node.required(2);
  const ValueId mask = node.input(3), past_k = node.input(4), past_v = node.input(5), lengths = node.input(6);
  int64_t q_heads = node.integer("q_num_heads", 0), k_heads = node.integer("kv_num_heads", 0);
  const bool causal = node.flag("is_causal", false);
  const int64_t mode = node.integer("qk_matmul_output_mode", 0), precision = node.integer("softmax_precision", 0);
  const double softcap = node.number("softcap", 0);
  const int64_t left = node.integer("left_window_size", -1), right = node.integer("right_window_size", -1);
  double scale = node.number("scale", 0);
  if (!node.ok()) return;
  const int rank = node.rank(q);
  if (rank != 3 && rank != 4) return node.invalid("wrong number of dims: got " + std::to_string(rank) + ", need 3 or 4");
  if (node.rank(k) != rank || node.rank(v) != rank) return node.invalid("queries, keys and values differ in their number of dims");
  if (mask != kNone && node.rank(mask) < 1) return node.invalid("the mask has no dims");
  if ((past_k == kNone) != (past_v == kNone)) return node.invalid("past keys and past values must come together");
  // Narrow floats are computed as f32 and rounded once, at the end.
  const DataType given = node.dtype(q), dtype = given == DataType::kF16 || given == DataType::kBF16 ? DataType::kF32 : given;
  if (rank == 3) {
    if (q_heads < 1 || k_heads < 1) return node.invalid("attributes 'q_num_heads' and 'kv_num_heads' are needed for 3 dims");
    q = split_heads(node, q, q_heads);
    k = split_heads(node, k, k_heads);
    v = split_heads(node, v, k_heads);
  }
  if (past_k != kNone) {
    k = node.concat({past_k, k}, 2);
    v = node.concat({past_v, v}, 2);
  }
  q_heads = fixed_dim(node, q, 1, "the number of heads");
  k_heads = fixed_dim(node, k, 1, "the number of heads");
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(fixed_dim(node, q, 3, "the size of a head")));
  if (!node.ok()) return;
  if (q_heads % k_heads != 0)
    return node.invalid("heads do not divide: got " + std::to_string(q_heads) + " of queries, " + std::to_string(k_heads) + " of keys");

  Bias bias(node, dtype, q, k);
  ValueId offset = kNone, counts = kNone;
  if (past_k != kNone) offset = node.dims_of(past_k, 2, 3);
  if (lengths != kNone) {
    counts = node.reshape(lengths, {-1, 1, 1, 1});
    if (past_k == kNone) offset = node.binary(BinaryFunction::kSub, counts, node.dims_of(q, 2, 3));
  }
  if (mask != kNone) bias.add_mask(mask);
  if (causal) bias.add_allowed(node.binary(BinaryFunction::kLessOrEqual, bias.columns(), bias.rows(offset)));
  if (left >= 0 || right >= 0) {
    const ValueId distance = node.binary(BinaryFunction::kSub, bias.rows(offset), bias.columns());
    const auto number = [&](int64_t value) { return node.scalar_constant("window", DataType::kS64, static_cast<double>(value)); };
    if (left >= 0) bias.add_allowed(node.binary(BinaryFunction::kLessOrEqual, distance, number(left)));
    if (right >= 0) bias.add_allowed(node.binary(BinaryFunction::kGreaterOrEqual, distance, number(-right)));
  }
  if (lengths != kNone) bias.add_allowed(node.binary(BinaryFunction::kLess, bias.columns(), counts));

  const ValueId queries = node.cast(q, dtype), keys = repeat_heads(node, node.cast(k, dtype), k_heads, q_heads / k_heads),
                values = repeat_heads(node, node.cast(v, dtype), k_heads, q_heads / k_heads);
  const auto give = [&](ValueId y) {
    y = node.cast(y, given);
    node.alias(rank == 3 ? join_heads(node, y) : y, 0);
    node.alias(k, 1);
    node.alias(v, 2);
  };
  // Rows whose keys are all masked give 0; a causal mask alone leaves each row a key.
  const bool may_be_masked = mask != kNone || lengths != kNone || left >= 0 || right >= 0;
  if (!may_be_masked && softcap == 0 && precision == 0 && !node.has_output(3) && dtype == DataType::kF32)
    return give(node.add(AttentionParams{scale, false}, {queries, keys, values, bias.sum()}));
  MatMulParams product;
  product.alpha = scale;
  ValueId scores = node.add(product, {queries, node.transpose(keys, {0, 1, 3, 2})});
  ValueId shown = scores;
  if (softcap > 0) {
    const ValueId cap = node.scalar_constant("softcap", dtype, softcap);
    scores = node.unary(UnaryFunction::kTanh, node.binary(BinaryFunction::kDiv, scores, cap));
    scores = node.binary(BinaryFunction::kMul, scores, cap);
    if (mode == 1 || mode == 0) shown = scores;
  }
  if (bias.sum() != kNone) scores = node.binary(BinaryFunction::kAdd, scores, bias.sum());
  if (mode == 2) shown = scores;
  if (precision != 0) {
    auto wide = data_type_from_onnx(precision);
    if (!wide.ok()) return node.fail(wide.status().code(), std::string(wide.status().message()));
    scores = node.cast(scores, *wide);
  }
  SoftmaxParams softmax;
  softmax.axis = -1;
  ValueId weights = node.cast(node.add(softmax, {scores}), dtype);
  if (may_be_masked) {
    const ValueId best = node.reduce(ReduceFunction::kMax, bias.sum(), {-1}, true);
    const ValueId none = node.binary(BinaryFunction::kEqual, best, node.scalar_constant("masked", dtype, kMinusInfinity));
    weights = node.add(WhereParams{}, {none, node.scalar_constant("zero", dtype, 0), weights});
  }
  if (mode == 3) shown = weights;
  give(node.add(MatMulParams{}, {weights, values}));
  if (node.has_output(3)) node.alias(node.cast(shown, given), 3);
}

// Softmax of scores between two graphs of the model's own, which see scores and weights as [B, H, S, T].
void import_flex_attention(NodeImporter& node) {
  const ValueId q = node.required(0);
  ValueId k = node.required(1), v = node.required(2);
  double scale = node.number("scale", 0);
  const int64_t precision = node.integer("softmax_precision", 0);
  if (!node.ok()) return;
  if (node.rank(q) != 4 || node.rank(k) != 4 || node.rank(v) != 4) return node.invalid("queries, keys and values must have 4 dims");
  const DataType given = node.dtype(q);
  DataType dtype = given == DataType::kF64 ? DataType::kF64 : DataType::kF32;
  if (precision != 0) {
    auto wanted = data_type_from_onnx(precision);
    if (!wanted.ok()) return node.fail(wanted.status().code(), std::string(wanted.status().message()));
    dtype = *wanted;
  }
  const int64_t q_heads = fixed_dim(node, q, 1, "the number of heads"), k_heads = fixed_dim(node, k, 1, "the number of heads");
  if (!node.has_attribute("scale")) scale = 1 / std::sqrt(static_cast<double>(fixed_dim(node, q, 3, "the size of a head")));
  if (!node.ok()) return;
  if (q_heads % k_heads != 0)
    return node.invalid("heads do not divide: got " + std::to_string(q_heads) + " of queries, " + std::to_string(k_heads) + " of keys");
  k = repeat_heads(node, node.cast(k, dtype), k_heads, q_heads / k_heads);
  v = repeat_heads(node, node.cast(v, dtype), k_heads, q_heads / k_heads);
  const auto modified = [&](std::string_view graph, ValueId x) {
    if (!node.ok() || !node.has_attribute(graph)) return x;
    const std::vector<ValueId> outputs = node.inline_body(graph, {x});
    if (node.ok() && outputs.size() != 1) node.invalid("a graph has a wrong number of outputs: got " + std::to_string(outputs.size()) + ", need 1");
    if (node.ok() && node.aggregate(outputs[0])) node.invalid("a graph gives no tensor");
    return node.ok() ? outputs[0] : kNone;
  };
  if (!node.has_attribute("score_mod") && !node.has_attribute("prob_mod") && dtype == DataType::kF32)
    return node.alias(node.cast(node.add(AttentionParams{scale, false}, {node.cast(q, dtype), k, v}), given));
  MatMulParams product;
  product.alpha = scale;
  const ValueId scores = modified("score_mod", node.add(product, {node.cast(q, dtype), node.transpose(k, {0, 1, 3, 2})}));
  SoftmaxParams softmax;
  softmax.axis = -1;
  const ValueId weights = modified("prob_mod", node.add(softmax, {scores}));
  node.alias(node.cast(node.add(MatMulParams{}, {weights, v}), given));
}

// Inputs q, k, v, past state, decay, rate; attributes that only help with speed are passed over.
void import_linear_attention(NodeImporter& node) {
  LinearAttentionParams params;
  const size_t rule = node.choice("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  params.gated = rule == 1 || rule == 3;
  params.delta = rule >= 2;
  params.q_heads = node.integer("q_num_heads", 0);
  params.heads = node.integer("kv_num_heads", 0);
  params.scale = node.number("scale", 0);
  node.ignore({"chunk_size"});
  const ValueId q = node.required(0), k = node.required(1), v = node.required(2);
  if (!node.ok()) return;
  if (params.q_heads < 1 || params.heads < 1)
    return node.invalid("attributes 'q_num_heads' and 'kv_num_heads' are wrong: got " + std::to_string(params.q_heads) + " and " +
                        std::to_string(params.heads) + ", need 1 or more");
  if (params.scale == 0) params.scale = 1 / std::sqrt(static_cast<double>(fixed_dim(node, q, 2, "the size of a head") / params.q_heads));
  const std::vector<ValueId> outputs = node.add_all(params, {q, k, v, node.input(3), node.input(4), node.input(5)}, 2);
  node.alias(outputs[0], 0);
  node.alias(outputs[1], 1);
}

ValueId rotate_pairs(NodeImporter& node, ValueId x, ValueId cosine, ValueId sine, int64_t size, int64_t turned, bool interleaved) {
  const auto part = [&](int64_t which) {
    return interleaved ? node.slice(x, 3, which, turned, 2) : node.slice(x, 3, which * turned / 2, (which + 1) * turned / 2);
  };
  const auto times = [&](ValueId a, ValueId b) { return node.binary(BinaryFunction::kMul, a, b); };
  const ValueId a = part(0), b = part(1);
  const ValueId real = node.binary(BinaryFunction::kSub, times(a, cosine), times(b, sine));
  const ValueId imaginary = node.binary(BinaryFunction::kAdd, times(a, sine), times(b, cosine));
  ValueId y = kNone;
  if (interleaved) {
    const ValueId pairs = node.concat({node.unsqueeze(real, {4}), node.unsqueeze(imaginary, {4})}, 4);
    y = node.reshape(pairs, {0, 0, 0, -1});
  } else {
    y = node.concat({real, imaginary}, 3);
  }
  if (turned < size) y = node.concat({y, node.slice(x, 3, turned, size)}, 3);
  return y;
}

void import_rotary_embedding(NodeImporter& node) {
  ValueId x = node.required(0), cosine = node.required(1), sine = node.required(2);
  const ValueId positions = node.input(3);
  const bool interleaved = node.flag("interleaved", false);
  const int64_t heads = node.integer("num_heads", 0);
  int64_t turned = node.integer("rotary_embedding_dim", 0);
  if (!node.ok()) return;
  const int rank = node.rank(x);
  if (rank != 3 && rank != 4) return node.invalid("wrong number of dims: got " + std::to_string(rank) + ", need 3 or 4");
  if (rank == 3 && heads < 1) return node.invalid("attribute 'num_heads' is needed for 3 dims");
  x = rank == 3 ? split_heads(node, x, heads) : x;  // [B, N, S, D]
  const int64_t size = fixed_dim(node, x, 3, "the size of a head");
  if (turned == 0) turned = size;
  if (turned < 0 || turned > size || turned % 2 != 0)
    return node.invalid("attribute 'rotary_embedding_dim' is wrong: got " + std::to_string(turned) + ", need an even number up to " + std::to_string(size));
  if (positions != kNone) {
    cosine = node.add(GatherParams{0}, {cosine, positions});
    sine = node.add(GatherParams{0}, {sine, positions});
  }
  const ValueId y = rotate_pairs(node, x, node.unsqueeze(cosine, {1}), node.unsqueeze(sine, {1}), size, turned, interleaved);
  node.alias(rank == 3 ? join_heads(node, y) : y);
}

ValueId scatter_along(NodeImporter& node, ValueId cache, ValueId update, ValueId places, int64_t axis, bool circular) {
  const int rank = node.rank(cache);
  ValueId index = count_up(node, node.dims_of(update, axis, axis + 1));
  std::vector<int64_t> behind, around = {-1};
  for (int64_t i = axis + 1; i < rank; ++i) behind.push_back(i - axis);
  index = node.unsqueeze(index, behind);
  if (places != kNone) {
    for (int i = 1; i < rank; ++i) around.push_back(1);
    index = node.binary(BinaryFunction::kAdd, index, node.reshape(places, around));
  }
  if (circular) index = node.binary(BinaryFunction::kMod, index, node.dims_of(cache, axis, axis + 1));
  index = node.add(ExpandParams{}, {index, node.add(ShapeParams{}, {update})});
  return node.add(ScatterElementsParams{axis, ScatterReduction::kReplace}, {cache, index, update});
}

void import_tensor_scatter(NodeImporter& node) {
  const ValueId cache = node.required(0), update = node.required(1), places = node.input(2);
  const bool circular = node.choice("mode", "linear", {"linear", "circular"}) == 1;
  int64_t axis = node.integer("axis", -2);
  if (!node.ok()) return;
  axis = node.axis(axis, node.rank(cache));
  if (!node.ok()) return;
  if (axis == 0 || node.rank(update) != node.rank(cache)) return node.invalid("attribute 'axis' or the update's number of dims is wrong");
  node.alias(scatter_along(node, cache, update, places, axis, circular));
}

}  // namespace ingot
