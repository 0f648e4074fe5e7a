// Dims that depend on data: which dims of which values do, what bounds them, and what cannot be bounded.
#include <gtest/gtest.h>

#include "builder/graph/graph_editor.h"
#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

// x: the data; p [2, n] where it is not zero; rows [n, 2]; g [n] the elements; n = [n]; k: a number only the run knows.
const std::string kHead = R"(%x = input f32[3x4]
%k = input s64[1]
%p = NonZero(%x)
%rows = Transpose(%p) {perm=[1,0]}
%g = GatherND(%x, %rows)
%n = Shape(%g)
%zero = const s64[1] [0]
%one = const s64[1] [1]
%minus = const s64[1] [-1]
%two = const s64[1] [2]
%three = const s64[1] [3]
%four = const s64[1] [4]
%five = const s64[1] [5]
%end = const s64[1] [9223372036854775807]
)";

Expected<ParsedGraph> parse(const std::string& lines) { return parse_graph(kHead + lines + "\noutput %y\n"); }

// "f32 ?x4 ≤ 12x4", or "constant", or the error.
std::string described(const std::string& lines) {
  const auto parsed = parse(lines);
  if (!parsed.ok()) return std::string(parsed.status().message());
  const Graph& graph = parsed->graph;
  EXPECT_EQ(verify_graph(graph).message(), "") << lines;
  const Value& y = graph.value(graph.find_value("y"));
  if (y.constant) return "constant";
  for (int d = 0; d < y.type.shape.rank; ++d) EXPECT_EQ(y.late_dims >> d & 1, y.type.shape[d] == Shape::kDynamic ? 1u : 0u);
  std::string text = to_string(y.type.shape);
  if (y.late_dims != 0) text += " ≤ " + to_string(y.probe_shapes[0]);
  return text;
}

TEST(LateDims, Bounds) {
  const std::pair<const char*, const char*> cases[] = {
      {"%y = Unary.neg(%p)", "2x? ≤ 2x12"},
      {"%y = Unary.neg(%rows)", "?x2 ≤ 12x2"},
      {"%y = Binary(%g, %g)", "? ≤ 12"},
      {"%c = const f32[12] hash(0)\n%y = Binary(%g, %g)", "graph text"},
      {"%c = const f32[5] [1,2,3,4,5]\n%c1 = const f32[5x1] [1,2,3,4,5]\n%y = Binary(%g, %c1)", "5x? ≤ 5x12"},
      {"%y = Reduce(%g)", "1"},
      {"%y = Shape(%g)", "1"},
      {"%y = Shape(%p) {start=0, end=1}", "constant"},
      {"%y = Concat(%g, %g) {axis=0}", "? ≤ 24"},
      {"%y = Flatten(%rows) {axis=0}", "1x? ≤ 1x24"},
      {"%y = Unsqueeze(%g, %zero)", "1x? ≤ 1x12"},
      {"%y = Squeeze(%rows, %zero)", "2"},
      {"%y = Squeeze(%rows)", "rank of the result depends on data"},
      {"%y = Gather(%x, %g)", "gather"},
      {"%i = Gather(%p, %zero) {axis=0}\n%y = Gather(%x, %i) {axis=0}", "1x?x4 ≤ 1x12x4"},
      {"%r = Cast(%rows) {to=0}\n%w = const f32[2x3] [1,2,3,4,5,6]\n%y = MatMul(%r, %w)", "?x3 ≤ 12x3"},
      {"%r = Cast(%p) {to=0}\n%t = Transpose(%r)\n%y = MatMul(%r, %t)", "2x2"},
      // Reshape
      {"%s = Concat(%minus, %two) {axis=0}\n%y = Reshape(%p, %s)", "?x2 ≤ 12x2"},
      {"%s = Concat(%zero, %minus) {axis=0}\n%y = Reshape(%rows, %s)", "?x2 ≤ 12x2"},
      {"%s = Concat(%minus, %five) {axis=0}\n%y = Reshape(%p, %s)", "?x5 ≤ 4x5"},
      {"%s = Concat(%three, %four) {axis=0}\n%y = Reshape(%g, %s)", "3x4"},
      {"%s = Concat(%n, %two) {axis=0}\n%y = Reshape(%p, %s)", "?x2 ≤ 12x2"},
      {"%s = Concat(%one, %n) {axis=0}\n%y = Reshape(%g, %s)", "1x? ≤ 1x12"},
      {"%y = Reshape(%x, %k)", "? ≤ 12"},
      // Values that give dims
      {"%y = ConstantOfShape(%n)", "? ≤ 12"},
      {"%m = Binary.add(%n, %two)\n%y = ConstantOfShape(%m)", "? ≤ 14"},
      {"%m = Binary.mul(%n, %two)\n%y = ConstantOfShape(%m)", "? ≤ 24"},
      {"%m = Binary.sub(%five, %n)\n%y = ConstantOfShape(%m)", "? ≤ 5"},
      {"%m = Binary.div(%n, %two)\n%y = ConstantOfShape(%m)", "? ≤ 6"},
      {"%m = Binary.min(%n, %five)\n%y = ConstantOfShape(%m)", "? ≤ 5"},
      {"%m = Unary.neg(%n)\n%o = Unary.neg(%m)\n%y = ConstantOfShape(%o)", "? ≤ 12"},
      {"%s = Shape(%p)\n%m = Reduce(%s) {function=\"prod\"}\n%y = ConstantOfShape(%m)", "? ≤ 24"},
      {"%s = Shape(%rows)\n%y = ConstantOfShape(%s)", "?x2 ≤ 12x2"},
      {"%c = Binary.equal(%n, %minus)\n%m = Where(%c, %end, %n)\n%y = ConstantOfShape(%m)", "? ≤ 12"},
      {"%c = Binary.greater(%n, %five)\n%m = Where(%c, %two, %n)\n%y = ConstantOfShape(%m)", "? ≤ 12"},
      {"%y = Range(%zero, %n, %one)", "? ≤ 12"},
      {"%y = Range(%n, %zero, %minus)", "? ≤ 12"},
      {"%c = const f32[1] [1]\n%y = Expand(%c, %n)", "? ≤ 12"},
      {"%s = Concat(%three, %n) {axis=0}\n%c = const f32[3x1] [1,2,3]\n%y = Expand(%c, %s)", "3x? ≤ 3x12"},
      {"%s = Shape(%g)\n%c = const f32[5x1] [1,2,3,4,5]\n%y = Expand(%c, %s)", "5x? ≤ 5x12"},
      {"%y = Tile(%g, %two)", "? ≤ 24"},
      {"%c = const f32[3] [1,2,3]\n%y = Tile(%c, %n)", "? ≤ 36"},
      {"%s = Concat(%one, %two) {axis=0}\n%y = Pad(%g, %s)", "? ≤ 15"},
      {"%v = const f32[2] [0,1]\n%i = Cast(%g) {to=10}\n%y = OneHot(%i, %five, %v)", "?x5 ≤ 12x5"},
      {"%v = const f32[2] [0,1]\n%y = OneHot(%zero, %n, %v)", "1x? ≤ 1x12"},
      // Slice: also where the bound is not that of the longest input
      {"%y = Slice(%g, %zero, %five)", "? ≤ 5"},
      {"%y = Slice(%g, %two, %end)", "? ≤ 10"},
      {"%y = Slice(%g, %zero, %minus)", "? ≤ 11"},
      {"%m = const s64[1] [-5]\n%y = Slice(%g, %m, %four)", "? ≤ 4"},
      {"%y = Slice(%x, %zero, %n, %one)", "3x? ≤ 3x4"},
      {"%y = Slice(%g, %zero, %k)", "? ≤ 12"},
      {"%y = Slice(%x, %k, %end, %one, %two)", "3x? ≤ 3x2"},
      {"%y = Slice(%p, %zero, %one, %zero)", "1x? ≤ 1x12"},
      // TopK, Split
      {"%y, %i = TopK(%g, %five)", "5"},
      {"%m = Binary.min(%n, %five)\n%y, %i = TopK(%g, %m)", "? ≤ 5"},
      {"%y, %i = TopK(%x, %k)", "3x? ≤ 3x4"},
      {"%y, %z = Split(%g)", "? ≤ 6"},
      {"%z, %y = Split(%g)", "? ≤ 6"},
      {"%s = Concat(%k, %k) {axis=0}\n%y, %z = Split(%x, %s) {axis=1}", "3x? ≤ 3x4"},
      {"%s = Concat(%two, %three) {axis=0}\n%y, %z = Split(%g, %s)", "2"},
      // Ops that count
      {"%c = input bool[3]\n%y = Compress(%x, %c) {flat=0}", "?x4 ≤ 3x4"},
      {"%c = input bool[5]\n%y = Compress(%x, %c)", "? ≤ 5"},
      {"%y, %a, %b, %c = Unique(%x)", "? ≤ 12"},
      {"%a, %b, %y, %c = Unique(%x)", "12"},
      {"%b = input f32[2x6x4]\n%s = input f32[2x3x6]\n%y = NonMaxSuppression(%b, %s, %five)", "?x3 ≤ 30x3"},
      {"%b = input f32[2x6x4]\n%s = input f32[2x3x6]\n%y = NonMaxSuppression(%b, %s, %k)", "?x3 ≤ 36x3"},
      {"%b = input f32[2x6x4]\n%s = input f32[2x3x6]\n%m = Binary.min(%k, %two)\n%y = NonMaxSuppression(%b, %s, %m)", "?x3 ≤ 36x3"},
      {"%b = input f32[2x6x4]\n%s = input f32[2x3x6]\n%y = NonMaxSuppression(%b, %s)", "?x3 ≤ 0x3"},
      {"%c = const f32[4] [0,1,0,2]\n%y = NonZero(%c)", "constant"},
      {"%c = const s64[5] [2,2,7,7,1]\n%y, %a, %b, %d = Unique(%c)", "constant"},
      // No bound
      {"%y = ConstantOfShape(%k)", "size of dim 0 of 'y' depends on data, and no upper bound of it is known; give a limit, as by --limit 'y=?'"},
      {"%y = Range(%zero, %k, %one)", "size of dim 0 of 'y' depends on data"},
      {"%c = const f32[3x1] [1,2,3]\n%y = Expand(%c, %k)", "size of dim 1 of 'y' depends on data, and no upper bound of it is known; give a limit, as by --limit 'y=3x?'"},
      {"%y = Tile(%g, %k)", "size of dim 0 of 'y' depends on data"},
      {"%s = Concat(%k, %k) {axis=0}\n%y = Pad(%g, %s)", "size of dim 0 of 'y' depends on data"},
      {"%s = Concat(%k, %k) {axis=0}\n%y = Reshape(%g, %s)", "size of dim 0 of 'y' depends on data"},
      {"%v = const f32[2] [0,1]\n%y = OneHot(%zero, %k, %v)", "size of dim 1 of 'y' depends on data"},
      // Bounds that differ do not broadcast.
      {"%z = Slice(%g, %two, %end)\n%y = Binary(%g, %z)", "dims that depend on data count with their upper bounds, which limits can make fit"},
  };
  for (const auto& [lines, want] : cases) {
    const std::string got = described(lines);
    const bool is_error = got.find("graph text") != std::string::npos;
    EXPECT_TRUE(is_error ? got.find(want) != std::string::npos : got == want) << lines << "\n  got " << got << "\n  need " << want;
  }
}

TEST(LateDims, WhatIsLate) {
  const auto parsed = parse(R"(%c = Binary.add(%n, %one)
%d = ConstantOfShape(%c)
%s = Reduce(%d)
%z = Unary.neg(%s)
%u = Unary.neg(%x)
%v = Reshape(%x, %k)
%w = Unary.neg(%v)
%y = Binary(%z, %w))");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Graph& graph = parsed->graph;
  const auto late = [&](const char* name) { return graph.is_late(graph.node(graph.value(graph.find_value(name)).producer)); };
  for (const char* name : {"p", "rows", "g", "n", "d", "s", "v", "y"}) EXPECT_TRUE(late(name)) << name;
  // What is computed from a late result of fixed shape is not: its shape is known.
  for (const char* name : {"c", "z", "u"}) EXPECT_FALSE(late(name)) << name;
  // A list of all the 12 elements is late for its value, but its shape is 12.
  EXPECT_EQ(to_string(graph.value(graph.find_value("v")).type.shape), "?");
}

TEST(LateDims, ProfilesVaryTheBounds) {
  const auto parsed = parse_graph(R"(%x = input f32[1:2:8x4]
%p = NonZero(%x)
%r = Transpose(%p) {perm=[1,0]}
%g = GatherND(%x, %r)
%n = Shape(%x)
%zero = const s64[1] [0]
%b = Gather(%n, %zero)
%k = Shape(%g)
%s = Concat(%b, %k) {axis=0}
%c = const f32[1] [1]
%y = Expand(%c, %s)
output %y
)");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Graph& graph = parsed->graph;
  EXPECT_EQ(verify_graph(graph).message(), "");
  const Value& y = graph.value(graph.find_value("y"));
  EXPECT_EQ(to_string(y.type.shape), "?x?");
  EXPECT_EQ(to_string(y.probe_shapes[kProbeMin]), "1x4");
  EXPECT_EQ(to_string(y.probe_shapes[kProbeMax]), "8x32");
  EXPECT_TRUE(graph.is_shape_value(graph.find_value("b")));
  EXPECT_FALSE(graph.is_shape_value(graph.find_value("s")));  // half of it is data
}

// n mod 8 is 0 at every probe, 8 − n mod 8 is 8, and neither is so between them.
TEST(LateDims, RemaindersVaryBetweenProbes) {
  const auto parsed = parse_graph(R"(%x = input f32[8:16:32]
%n = Shape(%x)
%eight = const s64[1] [8]
%rest = Binary.mod(%n, %eight)
%left = Binary.sub(%eight, %rest)
%c = ConstantOfShape(%rest)
%d = ConstantOfShape(%left)
%y = Concat(%c, %d) {axis=0}
%size = Shape(%c)
output %y, %size
)");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Graph& graph = parsed->graph;
  EXPECT_EQ(verify_graph(graph).message(), "");
  for (const auto& [name, most] : {std::pair{"c", "7"}, std::pair{"d", "8"}, std::pair{"y", "15"}}) {
    const Value& value = graph.value(graph.find_value(name));
    EXPECT_EQ(value.late_dims, 1u) << name;
    EXPECT_EQ(to_string(value.probe_shapes[kProbeMax]), most) << name;
  }
  EXPECT_FALSE(graph.is_constant(graph.find_value("size")));
}

TEST(LateDims, PassesDoNotTakeBoundsForSizes) {
  // A slice of equal bound is no copy.
  auto parsed = parse("%z = Slice(%g, %zero, %k)\n%y = Unary.neg(%z)");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(eliminate_identities(parsed->graph, {}).ok());
  EXPECT_NE(to_text(parsed->graph).find("Slice"), std::string::npos);
  parsed = parse("%i = Identity(%g)\n%z = Cast(%i) {to=0}\n%y = Unary.neg(%z)");
  ASSERT_TRUE(parsed.ok());
  ASSERT_TRUE(eliminate_identities(parsed->graph, {}).ok());
  EXPECT_EQ(to_text(parsed->graph).find("Identity"), std::string::npos);
  EXPECT_EQ(to_text(parsed->graph).find("Cast"), std::string::npos);
}

}  // namespace
}  // namespace ingot
