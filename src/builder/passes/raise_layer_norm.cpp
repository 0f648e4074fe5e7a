// LayerNorm spelled in primitives:  d = x − mean(x),  y = d / √(mean(d²) + ε);  without the mean it is RMSNorm. First the
// core becomes a LayerNorm with weight one, then constant factors and terms behind it join its weight and bias.
#include "builder/passes/raise_layer_norm.h"

#include <algorithm>
#include <deque>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"

namespace ingot {
namespace {

// The first of the reduced dims, if they are the last ones.
std::optional<int> first_axis(const Graph& graph, ValueId axes, int rank) {
  if (!graph.is_constant(axes) || graph.value(axes).type.dtype != DataType::kS64) return std::nullopt;
  std::vector<int64_t> dims;
  for (int64_t axis : constant_span<int64_t>(graph, axes)) dims.push_back(axis < 0 ? axis + rank : axis);
  std::sort(dims.begin(), dims.end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != rank - static_cast<int64_t>(dims.size() - i)) return std::nullopt;
  if (dims.empty()) return std::nullopt;
  return static_cast<int>(dims[0]);
}

std::optional<int> norm_axis(const Match& m) {
  const Graph& graph = m.graph();
  const Shape& shape = graph.value(m.value("x")).type.shape;
  const auto axis = first_axis(graph, m.value("axes"), shape.rank);
  if (m.value("axes2") != kNone && axis != first_axis(graph, m.value("axes2"), shape.rank)) return std::nullopt;
  for (int i = axis.value_or(shape.rank); i < shape.rank; ++i)
    if (shape[i] <= 0) return std::nullopt;
  return axis;
}

bool is_norm(const Match& m) {
  const auto epsilon = scalar_value(m.graph(), m.value("epsilon"));
  // Shape arithmetic stays what the runtime's shape pass can do.
  return !m.graph().is_shape_value(m.result()) && epsilon && *epsilon >= 0 && is_f32(m.graph(), m.value("x")) && same_shape(m.graph(), m.value("x"), m.result()) &&
         norm_axis(m).has_value();
}

Expected<NodeId> make_norm(const Match& m, GraphEditor& editor) {
  const Graph& graph = m.graph();
  const Shape& shape = graph.value(m.value("x")).type.shape;
  const int axis = *norm_axis(m);
  const Shape normalised = Shape::of(shape.span().subspan(static_cast<size_t>(axis)));
  const std::vector<float> ones(static_cast<size_t>(normalised.elements()), 1.0f);
  const bool rms = m.value("axes2") == kNone;
  const LayerNormParams params{axis - shape.rank, *scalar_value(graph, m.value("epsilon")), rms};
  const ValueId weight = editor.add_constant_of<float>(graph.node(m.root()).name + ".weight", DataType::kF32, normalised, ones);
  return replace_root(m, editor, params, {m.value("x"), weight});
}

// The constant stretched over the normalised dims, if it does not reach beyond them.
std::optional<std::vector<float>> over_normalised(const Match& m) {
  const Graph& graph = m.graph();
  if (!is_f32_constant(graph, m.value("c"))) return std::nullopt;
  const Shape &to = graph.value(m.value("w")).type.shape, &from = graph.value(m.value("c")).type.shape;
  const auto values = constant_span<float>(graph, m.value("c"));
  std::vector<int64_t> strides(static_cast<size_t>(to.rank), 0);
  int64_t stride = 1;
  for (int i = 1; i <= from.rank; ++i) {
    const int64_t dim = from[from.rank - i];
    if (dim == 1) continue;
    if (i > to.rank || to[to.rank - i] != dim) return std::nullopt;
    strides[static_cast<size_t>(to.rank - i)] = stride;
    stride *= dim;
  }
  std::vector<float> stretched(static_cast<size_t>(to.elements()));
  for (size_t flat = 0; flat < stretched.size(); ++flat) {
    int64_t rest = static_cast<int64_t>(flat), place = 0;
    for (int i = to.rank - 1; i >= 0; --i) {
      place += rest % to[i] * strides[static_cast<size_t>(i)];
      rest /= to[i];
    }
    stretched[flat] = values[static_cast<size_t>(place)];
  }
  return stretched;
}

bool joins_norm(const Match& m) {
  const ValueId bias = m.value("b");
  return is_f32_constant(m.graph(), m.value("w")) && (bias == kNone || is_f32_constant(m.graph(), bias)) &&
         is_f32(m.graph(), m.value("y")) && same_shape(m.graph(), m.value("y"), m.result()) && over_normalised(m).has_value();
}

Expected<NodeId> join_norm(const Match& m, GraphEditor& editor) {
  const Graph& graph = m.graph();
  const NodeId norm = m.node("y");
  const bool product = std::get<BinaryParams>(graph.node(m.root()).params).function == BinaryFunction::kMul;
  const auto change = [&](size_t input, ValueId old) {
    std::vector<float> values = *over_normalised(m);
    for (size_t i = 0; i < values.size(); ++i) {
      if (old == kNone) break;
      const float before = constant_span<float>(graph, old)[i];
      values[i] = product ? before * values[i] : before + values[i];
    }
    const std::string name = graph.value(m.value("c")).name;
    const Shape shape = graph.value(m.value("w")).type.shape;
    editor.set_input(norm, input, editor.add_constant_of<float>(name, DataType::kF32, shape, values));
  };
  if (product) change(1, m.value("w"));
  if (!product || m.value("b") != kNone) change(2, m.value("b"));
  fuse_root_into(m, editor, norm);
  return norm;
}

constexpr std::string_view kCentred = "%mean = Reduce.mean(%x, %axes:const) {keepdims=1}\n%d = Binary.sub(%x, %mean)\n";
constexpr std::string_view kSquares[] = {"%p = Binary.pow(%d, 2.0)\n", "%p = Binary.mul(%d, %d)\n"};
constexpr std::string_view kVariance = "%v = Reduce.mean(%p, %axes2:const) {keepdims=1}\n%e = Binary.add(%v, %epsilon:const)\n";
constexpr std::string_view kQuotients[] = {
    "%s = Unary.sqrt(%e)\n%y = Binary.div(%d, %s)",
    "%s = Unary.sqrt(%e)\n%r = Unary.reciprocal(%s)\n%y = Binary.mul(%d, %r)",
    "%s = Unary.sqrt(%e)\n%r = Binary.div(1.0, %s)\n%y = Binary.mul(%d, %r)",
    "%r = Binary.pow(%e, -0.5)\n%y = Binary.mul(%d, %r)",
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

std::vector<Rewrite> all_rewrites() {
  static std::deque<std::string> patterns;  // a Rewrite only views its pattern
  std::vector<Rewrite> rewrites;
  // The centred patterns first: their tail alone would match as RMSNorm of d.
  for (const bool rms : {false, true}) {
    for (std::string_view square : kSquares) {
      for (std::string_view quotient : kQuotients) {
        std::string text = std::string(square) + std::string(kVariance) + std::string(quotient);
        text = rms ? replaced(replaced(text, "%d", "%x"), "%axes2", "%axes") : std::string(kCentred) + text;
        rewrites.push_back({rms ? "rms_norm" : "layer_norm", patterns.emplace_back(std::move(text)), is_norm, make_norm,
                            rms ? "raised to rms norm" : "raised to layer norm"});
      }
    }
  }
  rewrites.push_back({"norm_weight", "%y = LayerNorm(%x, %w:const, %b:const?)\n%z = Binary.mul(%y:once, %c:const)", joins_norm, join_norm});
  rewrites.push_back({"norm_bias", "%y = LayerNorm(%x, %w:const, %b:const?)\n%z = Binary.add(%y:once, %c:const)", joins_norm, join_norm});
  return rewrites;
}

}  // namespace

Status raise_layer_norm(Graph& graph) {
  static const std::vector<Rewrite> rewrites = all_rewrites();
  return apply_rewrites(graph, rewrites);
}

}  // namespace ingot
