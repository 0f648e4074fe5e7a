// Nodes that change nothing go, and two that move data become one. A node that a graph output hangs on stays where removing
// it would make an input or another output take its place.
#include <algorithm>
#include <numeric>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

template <class P>
const P& params_of(const Match& m, NodeId node) {
  return std::get<P>(m.graph().node(node).params);
}

// What most rewrites here do: users of the result read x.
Expected<NodeId> forward_x(const Match& m, GraphEditor& editor) {
  const ValueId x = m.value("x");
  editor.replace_uses(m.result(), x);
  return editor.graph().value(x).producer;
}
bool x_is_result(const Match& m) {
  // Equal bounds do not make dims equal that depend on data, except where an op keeps all dims.
  const OpKind kind = m.graph().node(m.root()).kind();
  const bool keeps_dims = kind == OpKind::kIdentity || kind == OpKind::kUnary || kind == OpKind::kCast || kind == OpKind::kConcat ||
                          kind == OpKind::kTranspose;
  return (keeps_dims || m.graph().value(m.result()).late_dims == 0) && can_replace(m.graph(), m.result(), m.value("x"));
}

bool neutral_operand(const Match& m) {
  const auto function = params_of<BinaryParams>(m, m.root()).function;
  const bool sum = function == BinaryFunction::kAdd || function == BinaryFunction::kSub;
  const bool product = function == BinaryFunction::kMul || function == BinaryFunction::kDiv || function == BinaryFunction::kPow;
  return (sum || product) && is_filled_with(m.graph(), m.value("c"), sum ? 0 : 1) && x_is_result(m);
}

bool pads_nothing(const Match& m) { return is_filled_with(m.graph(), m.value("pads"), 0) && x_is_result(m); }

// Of full extent and in order.
bool slices_whole(const Match& m) {
  const ValueId steps = m.value("steps");
  return (steps == kNone || is_filled_with(m.graph(), steps, 1)) && x_is_result(m);
}

// With equal sizes every sampling place is an element, but not by these coordinate rules.
bool resizes_nothing(const Match& m) {
  const auto& params = params_of<ResizeParams>(m, m.root());
  const ValueId scales = m.value("scales");
  return params.coordinates != ResizeCoordinates::kTfHalfPixelForNearest &&
         params.coordinates != ResizeCoordinates::kTfCropAndResize && !params.antialias &&
         (scales == kNone || is_filled_with(m.graph(), scales, 1)) && x_is_result(m);
}

std::vector<int64_t> full_perm(const Match& m, NodeId node) {
  std::vector<int64_t> perm = params_of<TransposeParams>(m, node).perm;
  if (!perm.empty()) return perm;
  perm.resize(static_cast<size_t>(m.graph().value(m.graph().node(node).inputs[0]).type.shape.rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  return perm;
}
bool transposes_nothing(const Match& m) {
  const auto perm = full_perm(m, m.root());
  return std::is_sorted(perm.begin(), perm.end()) && x_is_result(m);
}
Expected<NodeId> merge_transposes(const Match& m, GraphEditor& editor) {
  const auto first = full_perm(m, m.node("y")), second = full_perm(m, m.root());
  TransposeParams merged;
  for (int64_t axis : second) merged.perm.push_back(first[static_cast<size_t>(axis)]);
  return replace_root(m, editor, merged, {m.value("x")});
}

// The second shape written out as a constant; one dim may vary.
bool is_one_reshape(const Match& m) {
  const Shape& shape = m.graph().value(m.result()).type.shape;
  int64_t varying = 0;
  for (int64_t dim : shape.span()) {
    varying += dim == Shape::kDynamic;
    if (dim == 0) return false;
  }
  return varying <= 1 && is_alias_op(m.graph().node(m.node("y")).kind());
}
Expected<NodeId> merge_reshapes(const Match& m, GraphEditor& editor) {
  const Shape shape = m.graph().value(m.result()).type.shape;  // kDynamic is −1, which is what Reshape calls the rest
  const ValueId target = editor.add_constant_of<int64_t>(m.graph().node(m.root()).name + ".shape", DataType::kS64,
                                                         Shape{shape.rank}, shape.span());
  return replace_root(m, editor, ReshapeParams{}, {m.value("x"), target});
}

const Rewrite kRewrites[] = {
    {"identity", "%y = Identity(%x)", x_is_result, forward_x},
    {"unary_identity", R"(%y = Unary(%x) {function="identity"})", x_is_result, forward_x},
    {"cast_to_same", "%y = Cast(%x)", x_is_result, forward_x},
    {"reshape_to_same", "%y = Reshape|Flatten|Squeeze|Unsqueeze|Expand|Tile(%x, %shape?)", x_is_result, forward_x},
    {"neutral_operand", "%y = Binary(%x, %c:const)", neutral_operand, forward_x},
    {"pad_nothing", "%y = Pad(%x, %pads:const, %value?, %axes?)", pads_nothing, forward_x},
    {"concat_of_one", "%y = Concat(%x)", x_is_result, forward_x},
    {"split_in_one", "%y = Split(%x, %sizes?)", x_is_result, forward_x},
    {"slice_whole", "%y = Slice(%x, %starts, %ends, %axes?, %steps?)", slices_whole, forward_x},
    {"resize_to_same", "%y = Resize(%x, _, %scales?, %sizes?)", resizes_nothing, forward_x},
    {"transpose_nothing", "%y = Transpose(%x)", transposes_nothing, forward_x},
    {"transpose_twice", "%y = Transpose(%x)\n%z = Transpose(%y)", nullptr, merge_transposes, "merged transpose"},
    {"reshape_twice",
     "%y = Reshape|Flatten|Squeeze|Unsqueeze(%x, %first?)\n%z = Reshape|Flatten|Squeeze|Unsqueeze(%y, %second?)",
     is_one_reshape, merge_reshapes, "merged reshape"},
};

}  // namespace

Status eliminate_identities(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
