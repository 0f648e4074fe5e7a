// Operators that choose, order and mark elements: scatters, GatherND, TopK, CumSum, OneHot, Trilu and their like.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>

namespace ingot {
namespace {

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

}  // namespace ingot
