// Activation functions spelled in primitives become one Unary. Exporters differ in the order of factors and in which sum
// comes first, so a pattern here is a beginning joined with each of several endings.
#include <cfloat>
#include <deque>
#include <limits>

#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"
#include "builder/passes/raise_group_norm.h"
#include "builder/passes/raise_layer_norm.h"

namespace ingot {
namespace {

bool keeps_type(const Match& m) {
  const ValueId x = m.value("x");
  return is_f32(m.graph(), x) && is_f32(m.graph(), m.result()) && same_shape(m.graph(), x, m.result());
}

Expected<NodeId> to_unary(const Match& m, GraphEditor& editor, UnaryFunction function, double alpha = 0, double beta = 0) {
  return replace_root(m, editor, UnaryParams{function, alpha, beta}, {m.value("x")});
}
template <UnaryFunction F>
Expected<NodeId> raise_to(const Match& m, GraphEditor& editor) {
  return to_unary(m, editor, F);
}
Expected<NodeId> raise_to_quick_gelu(const Match& m, GraphEditor& editor) {
  return to_unary(m, editor, UnaryFunction::kQuickGelu, *scalar_value(m.graph(), m.value("c")));
}
Expected<NodeId> raise_to_hard_sigmoid(const Match& m, GraphEditor& editor) {
  return to_unary(m, editor, UnaryFunction::kHardSigmoid, 1.0 / 6, 0.5);
}

// A function that limits its value, as [low, high].
struct Limits {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};
Limits limits_of(const UnaryParams& params) {
  if (params.function == UnaryFunction::kRelu) return {0, Limits{}.high};
  return {params.alpha, params.beta};
}
Expected<NodeId> to_clamp(const Match& m, GraphEditor& editor, Limits limits) {
  if (limits.low == 0 && limits.high >= FLT_MAX) return to_unary(m, editor, UnaryFunction::kRelu);
  return to_unary(m, editor, UnaryFunction::kClip, limits.low, limits.high);
}

bool limits_by_constant(const Match& m) { return scalar_value(m.graph(), m.value("c")).has_value() && keeps_type(m); }
Expected<NodeId> raise_max(const Match& m, GraphEditor& editor) {
  return to_clamp(m, editor, {*scalar_value(m.graph(), m.value("c")), Limits{}.high});
}
Expected<NodeId> raise_min(const Match& m, GraphEditor& editor) {
  return to_clamp(m, editor, {Limits{}.low, *scalar_value(m.graph(), m.value("c"))});
}

bool is_relu(const Match& m) {
  const auto& params = std::get<UnaryParams>(m.graph().node(m.root()).params);
  return params.alpha == 0 && params.beta >= FLT_MAX && keeps_type(m);
}

const UnaryParams& unary(const Match& m, NodeId node) { return std::get<UnaryParams>(m.graph().node(node).params); }
bool both_clamp(const Match& m) {
  for (NodeId node : {m.root(), m.node("y")}) {
    const UnaryParams& params = unary(m, node);
    if (!is_clamp(params.function) || params.function == UnaryFunction::kIdentity) return false;
    const Limits limits = limits_of(params);
    if (!(limits.low <= limits.high)) return false;
  }
  return keeps_type(m);
}
Expected<NodeId> merge_clamps(const Match& m, GraphEditor& editor) {
  const Limits inner = limits_of(unary(m, m.node("y"))), outer = limits_of(unary(m, m.root()));
  const auto limit = [&](double v) { return std::min(std::max(v, outer.low), outer.high); };
  return to_clamp(m, editor, {limit(inner.low), limit(inner.high)});
}

std::optional<double> uniform_slope(const Match& m) {
  if (!is_f32_constant(m.graph(), m.value("c"))) return std::nullopt;
  const auto values = constant_span<float>(m.graph(), m.value("c"));
  if (values.empty() || !is_filled_with(m.graph(), m.value("c"), values[0])) return std::nullopt;
  return values[0];
}
bool has_one_slope(const Match& m) { return uniform_slope(m).has_value() && keeps_type(m); }
Expected<NodeId> raise_to_leaky_relu(const Match& m, GraphEditor& editor) {
  return to_unary(m, editor, UnaryFunction::kLeakyRelu, *uniform_slope(m));
}

bool is_quick_gelu(const Match& m) {
  const auto scale = scalar_value(m.graph(), m.value("c"));
  return scale && *scale > 0 && m.graph().value(m.value("c")).type.shape.rank <= m.graph().value(m.value("x")).type.shape.rank &&
         keeps_type(m);
}

constexpr std::string_view kErfHeads[] = {
    "%h = Binary.div(%x, 1.4142135623730951)\n%e = Unary.erf(%h)\n",
    "%h = Binary.mul(%x, 0.7071067811865476)\n%e = Unary.erf(%h)\n",
};
constexpr std::string_view kTanhHeads[] = {
    R"(%x3 = Binary.pow(%x, 3.0)
       %c = Binary.mul(%x3, 0.044715)
       %s = Binary.add(%x, %c)
       %t = Binary.mul(%s, 0.7978845608028654)
       %e = Unary.tanh(%t)
    )",
    R"(%x2 = Binary.mul(%x, %x)
       %x3 = Binary.mul(%x2, %x)
       %c = Binary.mul(%x3, 0.044715)
       %s = Binary.add(%x, %c)
       %t = Binary.mul(%s, 0.7978845608028654)
       %e = Unary.tanh(%t)
    )",
    R"(%x2 = Binary.mul(%x, %x)
       %b = Binary.mul(%x2, 0.044715)
       %c = Binary.add(%b, 1.0)
       %s = Binary.mul(%x, 0.7978845608028654)
       %t = Binary.mul(%s, %c)
       %e = Unary.tanh(%t)
    )",
    R"(%x2 = Binary.pow(%x, 2.0)
       %b = Binary.mul(%x2, 0.044715)
       %c = Binary.add(%b, 1.0)
       %s = Binary.mul(%x, 0.7978845608028654)
       %t = Binary.mul(%s, %c)
       %e = Unary.tanh(%t)
    )",
    R"(%b = Binary.mul(%x, 0.044715)
       %x2 = Binary.mul(%b, %x)
       %c = Binary.add(%x2, 1.0)
       %s = Binary.mul(%x, 0.7978845608028654)
       %t = Binary.mul(%s, %c)
       %e = Unary.tanh(%t)
    )",
};
// y = ½·x·(1 + e)
constexpr std::string_view kGeluTails[] = {
    "%a = Binary.add(%e, 1.0)\n%m = Binary.mul(%x, %a)\n%y = Binary.mul(%m, 0.5)",
    "%a = Binary.add(%e, 1.0)\n%m = Binary.mul(%x, 0.5)\n%y = Binary.mul(%m, %a)",
    "%a = Binary.add(%e, 1.0)\n%m = Binary.mul(%a, 0.5)\n%y = Binary.mul(%x, %m)",
    "%a = Binary.mul(%e, 0.5)\n%m = Binary.add(%a, 0.5)\n%y = Binary.mul(%x, %m)",
};

const Rewrite kActivations[] = {
    {"softplus", "%e = Unary.exp(%x)\n%a = Binary.add(%e, 1.0)\n%y = Unary.log(%a)", keeps_type, raise_to<UnaryFunction::kSoftplus>,
     "raised to softplus"},
    {"mish", "%s = Unary.softplus(%x)\n%t = Unary.tanh(%s)\n%y = Binary.mul(%x, %t)", keeps_type, raise_to<UnaryFunction::kMish>,
     "raised to mish"},
    {"sigmoid", "%n = Unary.neg(%x)\n%e = Unary.exp(%n)\n%a = Binary.add(%e, 1.0)\n%y = Binary.div(1.0, %a)", keeps_type,
     raise_to<UnaryFunction::kSigmoid>, "raised to sigmoid"},
    {"sigmoid_reciprocal", "%n = Unary.neg(%x)\n%e = Unary.exp(%n)\n%a = Binary.add(%e, 1.0)\n%y = Unary.reciprocal(%a)", keeps_type,
     raise_to<UnaryFunction::kSigmoid>, "raised to sigmoid"},
    {"silu_div", "%n = Unary.neg(%x)\n%e = Unary.exp(%n)\n%a = Binary.add(%e, 1.0)\n%y = Binary.div(%x, %a)", keeps_type,
     raise_to<UnaryFunction::kSilu>, "raised to silu"},
    {"silu", "%s = Unary.sigmoid(%x)\n%y = Binary.mul(%x, %s)", keeps_type, raise_to<UnaryFunction::kSilu>, "raised to silu"},
    {"quick_gelu", "%t = Binary.mul(%x, %c:const)\n%s = Unary.sigmoid(%t)\n%y = Binary.mul(%x, %s)", is_quick_gelu, raise_to_quick_gelu,
     "raised to quick_gelu"},
    {"hard_sigmoid_div", "%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%y = Binary.div(%c, 6.0)", keeps_type,
     raise_to_hard_sigmoid, "raised to hard_sigmoid"},
    {"hard_sigmoid_mul", "%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%y = Binary.mul(%c, 0.16666666666666666)",
     keeps_type, raise_to_hard_sigmoid, "raised to hard_sigmoid"},
    {"hard_swish", "%s = Unary.hard_sigmoid(%x) {alpha=0.16666666666666666, beta=0.5}\n%y = Binary.mul(%x, %s)", keeps_type,
     raise_to<UnaryFunction::kHardSwish>, "raised to hard_swish"},
    {"hard_swish_div",
     "%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%m = Binary.mul(%x, %c)\n%y = Binary.div(%m, 6.0)", keeps_type,
     raise_to<UnaryFunction::kHardSwish>, "raised to hard_swish"},
    {"hard_swish_mul",
     "%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%m = Binary.mul(%x, %c)\n%y = Binary.mul(%m, "
     "0.16666666666666666)",
     keeps_type, raise_to<UnaryFunction::kHardSwish>, "raised to hard_swish"},
    {"hard_swish_div_first",
     "%d = Binary.div(%x, 6.0)\n%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%y = Binary.mul(%d, %c)", keeps_type,
     raise_to<UnaryFunction::kHardSwish>, "raised to hard_swish"},
    {"hard_swish_mul_first",
     "%d = Binary.mul(%x, 0.16666666666666666)\n%a = Binary.add(%x, 3.0)\n%c = Unary.clip(%a) {alpha=0, beta=6}\n%y = Binary.mul(%d, "
     "%c)",
     keeps_type, raise_to<UnaryFunction::kHardSwish>, "raised to hard_swish"},
    {"clip_to_relu", "%y = Unary.clip(%x)", is_relu, raise_to<UnaryFunction::kRelu>},
    {"max_to_clip", "%y = Binary.max(%x, %c:const)", limits_by_constant, raise_max},
    {"min_to_clip", "%y = Binary.min(%x, %c:const)", limits_by_constant, raise_min},
    {"clamp_twice", "%y = Unary(%x)\n%z = Unary(%y)", both_clamp, merge_clamps, "merged"},
    {"prelu_to_leaky", "%y = Binary.prelu(%x, %c:const)", has_one_slope, raise_to_leaky_relu},
};

std::vector<Rewrite> all_rewrites() {
  static std::deque<std::string> patterns;  // a Rewrite only views its pattern
  std::vector<Rewrite> rewrites(std::begin(kActivations), std::end(kActivations));
  const auto join = [&](std::string_view head, std::string_view tail) -> std::string_view {
    return patterns.emplace_back(std::string(head) + std::string(tail));
  };
  for (std::string_view tail : kGeluTails) {
    for (std::string_view head : kErfHeads)
      rewrites.push_back({"gelu", join(head, tail), keeps_type, raise_to<UnaryFunction::kGelu>, "raised to gelu"});
    for (std::string_view head : kTanhHeads)
      rewrites.push_back({"gelu_tanh", join(head, tail), keeps_type, raise_to<UnaryFunction::kGeluTanh>, "raised to gelu_tanh"});
  }
  return rewrites;
}

}  // namespace

Status raise_composites(Graph& graph, const BuildOptions&) {
  static const std::vector<Rewrite> rewrites = all_rewrites();
  INGOT_TRY(raise_layer_norm(graph));
  INGOT_TRY(raise_group_norm(graph));
  return apply_rewrites(graph, rewrites);
}

}  // namespace ingot
