// Operators that choose, order and mark elements: scatters, GatherND, TopK, CumSum, OneHot, Trilu and their like.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>

namespace ingot {
namespace {

constexpr int64_t kMostNgrams = int64_t{1} << 24;

ScatterReduction read_reduction(NodeImporter& node) {
  return static_cast<ScatterReduction>(node.choice("reduction", "none", {"none", "add", "mul", "min", "max"}));
}

// Zeros and ones of x's dims, in another element type.
ValueId add_filled_like(NodeImporter& node, ValueId x, DataType dtype, int64_t value) {
  ConstantOfShapeParams params;
  params.dtype = static_cast<int64_t>(dtype);
  params.value = static_cast<double>(value);
  params.integer_value = value;
  return node.add(params, {node.add(ShapeParams{}, {x})});
}

}  // namespace

void import_scatter_elements(NodeImporter& node) {
  const int64_t axis = node.integer("axis", 0);
  const ScatterReduction reduction = node.op_type() == "Scatter" ? ScatterReduction::kReplace : read_reduction(node);
  node.result(ScatterElementsParams{axis, reduction}, {node.required(0), node.required(1), node.required(2)});
}

void import_scatter_nd(NodeImporter& node) {
  const ScatterReduction reduction = read_reduction(node);
  node.result(ScatterNDParams{reduction}, {node.required(0), node.required(1), node.required(2)});
}

void import_gather_nd(NodeImporter& node) {
  const int64_t batch_dims = node.integer("batch_dims", 0);
  node.result(GatherNDParams{batch_dims}, {node.required(0), node.required(1)});
}

// k is an attribute before opset 10.
void import_top_k(NodeImporter& node) {
  TopKParams params;
  params.axis = node.integer("axis", -1);
  params.largest = node.flag("largest", true);
  node.ignore({"sorted"});  // sorted is also right where any order is
  const ValueId x = node.required(0);
  ValueId k = kNone;
  if (node.version() >= 10) {
    k = node.required(1);
  } else {
    if (!node.has_attribute("k")) return node.invalid("attribute 'k' is missing");
    k = node.integers_constant("k", {node.integer("k", 0)});
  }
  node.result_of(params, {x, k}, 2);
}

void import_cumulate(NodeImporter& node) {
  CumulateParams params;
  params.product = node.op_type() == "CumProd";
  params.exclusive = node.flag("exclusive", false);
  params.reverse = node.flag("reverse", false);
  node.result(params, {node.required(0), node.required(1)});
}

void import_reverse_sequence(NodeImporter& node) {
  ReverseSequenceParams params;
  params.batch_axis = node.integer("batch_axis", 1);
  params.time_axis = node.integer("time_axis", 0);
  node.result(params, {node.required(0), node.required(1)});
}

void import_one_hot(NodeImporter& node) {
  const int64_t axis = node.integer("axis", -1);
  node.result(OneHotParams{axis}, {node.required(0), node.required(1), node.required(2)});
}

void import_trilu(NodeImporter& node) {
  const bool upper = node.flag("upper", true);
  node.result(TriluParams{upper}, {node.required(0), node.input(1)});
}

// Ones where a triangle from diagonal k up and one from it down overlap.
void import_eye_like(NodeImporter& node) {
  const ValueId x = node.required(0);
  const ValueId k = node.integers_constant("k", {node.integer("k", 0)});
  const int64_t given = node.integer("dtype", 0);
  if (!node.ok()) return;
  DataType dtype = node.dtype(x);
  if (given != 0) {
    auto read = data_type_from_onnx(given);
    if (!read.ok()) return node.fail(read.status().code(), std::string(read.status().message()));
    dtype = *read;
  }
  if (node.rank(x) != 2) return node.invalid("wrong number of dims: got " + std::to_string(node.rank(x)) + ", need 2");
  const ValueId ones = add_filled_like(node, x, dtype, 1);
  node.result(TriluParams{false}, {node.add(TriluParams{true}, {ones, k}), k});
}

// One at the first largest element along the axis, zero elsewhere. Before opset 13 all dims from `axis` on are taken together.
void import_hardmax(NodeImporter& node) {
  const ValueId x = node.required(0);
  const bool flatten = node.version() < 13;
  int64_t axis = node.integer("axis", flatten ? 1 : -1);
  if (!node.ok()) return;
  const int rank = node.rank(x);
  if (flatten && rank == 1 && axis == 1) axis = 0;
  axis = node.axis(axis, rank);
  const bool merge = flatten && axis != rank - 1;
  const ValueId rows = merge ? node.add(FlattenParams{axis}, {x}) : x;
  if (merge) axis = 1;
  const ValueId place = node.add(ArgReduceParams{true, false, false, axis}, {rows});
  const ValueId values = node.cast(node.floats_constant("values", {0, 1}), node.dtype(x));
  const ValueId hot = node.add(OneHotParams{axis}, {place, node.dims_of(rows, axis, axis + 1), values});
  if (!merge) return node.alias(hot);
  node.result(ReshapeParams{}, {hot, node.add(ShapeParams{}, {x})});
}

// Keeps the slices whose condition holds: a Gather where the condition is constant.
void import_compress(NodeImporter& node) {
  ValueId x = node.required(0);
  const ValueId condition = node.required(1);
  const bool flat = !node.has_attribute("axis");
  int64_t axis = node.integer("axis", 0);
  if (!node.ok()) return;
  const auto flags = node.constant_numbers(condition, int64_t{1} << 20);
  if (!flags) return node.result(CompressParams{flat, axis}, {x, condition});
  if (flat) x = node.reshape(x, {-1});
  if (!node.ok()) return;
  axis = node.axis(axis, node.rank(x));
  if (!node.ok()) return;
  const int64_t dim = node.type(x).shape[static_cast<int>(axis)];
  if (dim >= 0 && static_cast<int64_t>(flags->size()) > dim)
    return node.invalid("condition is longer than the dim: got " + std::to_string(flags->size()) + ", need at most " +
                        std::to_string(dim));
  std::vector<int64_t> places;
  for (size_t i = 0; i < flags->size(); ++i)
    if ((*flags)[i] != 0) places.push_back(static_cast<int64_t>(i));
  node.result(GatherParams{axis}, {x, node.integers_constant("places", places)});
}

void import_non_zero(NodeImporter& node) { node.result(NonZeroParams{}, {node.required(0)}); }

void import_unique(NodeImporter& node) {
  UniqueParams params;
  params.sorted = node.flag("sorted", true);
  params.flat = !node.has_attribute("axis");
  params.axis = node.integer("axis", 0);
  node.result_of(params, {node.required(0)}, 4);
}

// Scores are compared, and boxes overlap, in f32.
void import_non_max_suppression(NodeImporter& node) {
  const bool centre = node.flag("center_point_box", false);
  node.result(NonMaxSuppressionParams{centre}, {node.required(0), node.required(1), node.input(2), node.input(3), node.input(4)});
}

void import_bit_cast(NodeImporter& node) {
  if (!node.has_attribute("to")) return node.invalid("attribute 'to' is missing");
  auto dtype = data_type_from_onnx(node.integer("to", 0));
  const ValueId x = node.required(0);
  if (!dtype.ok()) return node.fail(dtype.status().code(), std::string(dtype.status().message()));
  node.result(BitCastParams{static_cast<int64_t>(*dtype)}, {x});
}

// How often each n-gram of the pool stands in a row of integers, its items neighbours or, with skips, 2, 3 … apart.
void import_tf_idf_vectorizer(NodeImporter& node) {
  const size_t mode = node.choice("mode", "TF", {"TF", "IDF", "TFIDF"});
  const int64_t shortest = node.integer("min_gram_length", 1), longest = node.integer("max_gram_length", 1), skips = node.integer("max_skip_count", 0);
  const std::vector<int64_t> starts = node.integers("ngram_counts"), indices = node.integers("ngram_indexes"), pool = node.integers("pool_int64s");
  const std::vector<double> weights = node.numbers("weights");
  const ValueId given = node.required(0);
  if (!node.ok()) return;
  if (node.has_attribute("pool_strings")) return node.unsupported("strings are not supported");
  const int rank = node.rank(given);
  if (rank > 2 || (node.dtype(given) != DataType::kS32 && node.dtype(given) != DataType::kS64))
    return node.invalid("the input is wrong: got " + std::string(to_string(node.dtype(given))) + " of " + std::to_string(rank) + " dims, need s32 or s64 of at most 2");
  if (shortest < 1 || longest < shortest || longest > 64 || skips < 0 || skips > 1024 || indices.empty() || static_cast<int64_t>(starts.size()) < longest)
    return node.invalid("attributes of the n-grams are out of range");
  int64_t width = 0;
  for (int64_t index : indices) {
    if (index < 0 || index >= kMostNgrams) return node.invalid("attribute 'ngram_indexes' is out of range: got " + std::to_string(index));
    width = std::max(width, index + 1);
  }
  if (!weights.empty() && weights.size() != indices.size())
    return node.invalid("wrong number of weights: got " + std::to_string(weights.size()) + ", need " + std::to_string(indices.size()));
  const ValueId x = node.cast(rank == 2 ? given : node.reshape(given, {1, -1}), DataType::kS64);
  ValueId sum = kNone;
  const auto add_to_sum = [&](ValueId part) { sum = sum == kNone ? part : node.binary(BinaryFunction::kAdd, sum, part); };
  size_t first = 0;  // n-gram of the pool
  for (int64_t n = 1; n <= static_cast<int64_t>(starts.size()); ++n) {
    const int64_t from = starts[static_cast<size_t>(n - 1)];
    const int64_t to = n < static_cast<int64_t>(starts.size()) ? starts[static_cast<size_t>(n)] : static_cast<int64_t>(pool.size());
    if (from < 0 || to < from || to > static_cast<int64_t>(pool.size())) return node.invalid("attribute 'ngram_counts' is out of range");
    const int64_t grams = (to - from) / n;
    if (first + static_cast<size_t>(grams) > indices.size()) return node.invalid("attribute 'ngram_indexes' is too short");
    if (n >= shortest && n <= longest && grams > 0) {
      if (grams > kMostNgrams / width) return node.unsupported("too many n-grams: got " + std::to_string(grams) + " of " + std::to_string(width));
      std::vector<float> places(static_cast<size_t>(grams * width), 0);
      std::map<std::vector<int64_t>, int64_t> last;  // of equal n-grams the last one counts
      for (int64_t g = 0; g < grams; ++g) last[{pool.begin() + from + g * n, pool.begin() + from + (g + 1) * n}] = g;
      for (const auto& [gram, g] : last) places[static_cast<size_t>(g * width + indices[first + static_cast<size_t>(g)])] = 1;
      const ValueId to_places = node.reshape(node.floats_constant("places", places), {grams, width});
      for (int64_t distance = 1; distance <= (n == 1 ? 1 : skips + 1); ++distance) {
        ValueId all = kNone;
        for (int64_t j = 0; j < n; ++j) {
          std::vector<int64_t> items;
          for (int64_t g = 0; g < grams; ++g) items.push_back(pool[static_cast<size_t>(from + g * n + j)]);
          const int64_t behind = (n - 1 - j) * distance;
          const ValueId window = node.slice(x, 1, j * distance, behind ? -behind : INT64_MAX);
          const ValueId equal = node.binary(BinaryFunction::kEqual, node.unsqueeze(window, {2}), node.integers_constant("items", items));
          all = all == kNone ? equal : node.binary(BinaryFunction::kAnd, all, equal);
        }
        const ValueId counts = node.reduce(ReduceFunction::kSum, node.cast(all, DataType::kF32), {1}, false);
        add_to_sum(node.add(MatMulParams{}, {counts, to_places}));
      }
    }
    first += static_cast<size_t>(grams);
  }
  if (sum == kNone) {  // no n-gram of the lengths asked for
    ConstantOfShapeParams zeros;
    sum = node.add(zeros, {node.concat({node.dims_of(x, 0, 1), node.integers_constant("width", {width})}, 0)});
  }
  if (mode == 1) sum = node.cast(node.binary(BinaryFunction::kGreater, sum, node.scalar_constant("zero", DataType::kF32, 0)), DataType::kF32);
  if (mode != 0 && !weights.empty()) {
    std::vector<float> factors(static_cast<size_t>(width), 0);
    for (size_t i = 0; i < weights.size(); ++i) factors[static_cast<size_t>(indices[i])] = static_cast<float>(weights[i]);
    sum = node.binary(BinaryFunction::kMul, sum, node.floats_constant("weights", factors));
  }
  node.alias(rank == 2 ? sum : node.reshape(sum, {-1}));
}

}  // namespace ingot
