// The matcher, mark by mark, and the driver: order, fixpoint, names, origins, and time.
#include "builder/graph/rewrite.h"

#include <gtest/gtest.h>

#include <chrono>

#include "builder/graph/graph_text.h"
#include "builder/graph/graph_verifier.h"

namespace ingot {
namespace {

Graph make(std::string_view text) {
  auto parsed = parse_graph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed->graph);
}

// Whether the pattern matches at the node that makes %y.
bool matches(std::string_view graph_text, std::string_view pattern) {
  const Graph graph = make(graph_text);
  const Rewrite rewrite{"test", pattern};
  auto match = find_match(graph, rewrite, graph.value(graph.find_value("y")).producer);
  EXPECT_TRUE(match.ok()) << match.status().message();
  return match.ok() && match->has_value();
}

TEST(Matcher, OpsAndFields) {
  const char* graph = "%x = input f32[4]\n%y = Unary.leaky_relu(%x) {alpha=0.1}\noutput %y\n";
  EXPECT_TRUE(matches(graph, "%y = Unary(%x)"));
  EXPECT_TRUE(matches(graph, "%y = Binary|Unary(%x)"));
  EXPECT_TRUE(matches(graph, "%y = Unary(%x) {function=\"leaky_relu\", alpha=0.1}"));
  EXPECT_FALSE(matches(graph, "%y = Unary(%x) {alpha=0.2}"));
  EXPECT_FALSE(matches(graph, "%y = Unary.relu(%x)"));
  EXPECT_FALSE(matches(graph, "%y = Softmax(%x)"));
}

TEST(Matcher, OptionalAndMissingOperands) {
  const char* without = "%x = input f32[1x4x4x4]\n%w = const f32[4x4x1x1] random(1)\n%y = Conv(%x, %w)\noutput %y\n";
  const char* with = "%x = input f32[1x4x4x4]\n%w = const f32[4x4x1x1] random(1)\n%b = input f32[4]\n%y = Conv(%x, %w, %b)\noutput %y\n";
  const char* residual = "%x = input f32[1x4x4x4]\n%w = const f32[4x4x1x1] random(1)\n%y = Conv(%x, %w, _, %x)\noutput %y\n";
  for (const char* graph : {without, with, residual}) EXPECT_TRUE(matches(graph, "%y = Conv(%x, %w:const, %b?, %r?)"));
  EXPECT_TRUE(matches(without, "%y = Conv(%x, %w)"));
  EXPECT_FALSE(matches(with, "%y = Conv(%x, %w)"));
  EXPECT_FALSE(matches(without, "%y = Conv(%x, %w, %b)"));
  EXPECT_FALSE(matches(with, "%y = Conv(%x, %w, %b:const?)"));
  EXPECT_TRUE(matches(without, "%y = Conv(%x, %w, %b:const?)"));
  EXPECT_TRUE(matches(residual, "%y = Conv(%x, %w, _, %r)"));
  EXPECT_FALSE(matches(with, "%y = Conv(%x, %w, _, %r?)"));
  EXPECT_FALSE(matches(with, "%y = Conv(%x, %w:once, %x)"));
}

TEST(Matcher, UsedOnceAndOutputs) {
  const std::string head = "%x = input f32[4]\n%a = Unary.exp(%x)\n%y = Unary.neg(%a)\n";
  const char* pattern = "%a = Unary.exp(%x)\n%y = Unary.neg(%a:once)";
  EXPECT_TRUE(matches(head + "output %y\n", pattern));
  EXPECT_FALSE(matches(head + "output %y, %a\n", pattern));
  EXPECT_FALSE(matches(head + "%z = Unary.abs(%a)\noutput %y, %z\n", pattern));
  EXPECT_TRUE(matches(head + "%z = Unary.abs(%a)\noutput %y, %z\n", "%a = Unary.exp(%x)\n%y = Unary.neg(%a)"));
  // A second result that somebody reads must be named.
  const std::string split = "%x = input f32[4]\n%y, %b = Split(%x)\n%z = Unary.neg(%b)\n";
  EXPECT_FALSE(matches(split + "output %y, %z\n", "%y = Split(%x)"));
  EXPECT_TRUE(matches(split + "output %y, %z\n", "%y, %b = Split(%x)"));
}

TEST(Matcher, OperandOrderAndRepeatedNames) {
  const std::string head = "%x = input f32[4]\n%s = Unary.sigmoid(%x)\n";
  const char* silu = "%s = Unary.sigmoid(%x)\n%y = Binary.mul(%x, %s)";
  EXPECT_TRUE(matches(head + "%y = Binary.mul(%x, %s)\noutput %y\n", silu));
  EXPECT_TRUE(matches(head + "%y = Binary.mul(%s, %x)\noutput %y\n", silu));
  EXPECT_FALSE(matches(head + "%y = Binary.mul(%s, %s)\noutput %y\n", silu));
  EXPECT_FALSE(matches(head + "%y = Binary.div(%s, %x)\noutput %y\n", "%s = Unary.sigmoid(%x)\n%y = Binary.div(%x, %s)"));
  // The order must be right deep inside too: the first guess fails two lines up.
  EXPECT_TRUE(matches("%x = input f32[4]\n%u = input f32[4]\n%a = Unary.exp(%u)\n%b = Unary.exp(%x)\n%c = Binary.add(%a, %b)\n"
                      "%y = Binary.mul(%c, %x)\noutput %y\n",
                      "%b = Unary.exp(%x)\n%c = Binary.add(%b, %r)\n%y = Binary.mul(%x, %c)"));
}

TEST(Matcher, NumbersAndActivations) {
  const std::string head = "%x = input f32[2x4]\n%half = const f32[1] [0.5]\n%more = const f32[1x1x1] [0.5]\n%v = const f32[4] fill(0.5)\n";
  EXPECT_TRUE(matches(head + "%y = Binary.mul(%half, %x)\noutput %y\n", "%y = Binary.mul(%x, 0.5)"));
  EXPECT_TRUE(matches(head + "%y = Binary.div(%x, %half)\noutput %y\n", "%y = Binary.div(%x, 0.5)"));
  EXPECT_FALSE(matches(head + "%y = Binary.div(%half, %x)\noutput %y\n", "%y = Binary.div(%x, 0.5)"));
  EXPECT_FALSE(matches(head + "%y = Binary.mul(%half, %x)\noutput %y\n", "%y = Binary.mul(%x, 0.51)"));
  EXPECT_FALSE(matches(head + "%y = Binary.mul(%v, %x)\noutput %y\n", "%y = Binary.mul(%x, 0.5)"));
  EXPECT_FALSE(matches(head + "%y = Binary.mul(%more, %x)\noutput %y\n", "%y = Binary.mul(%x, 0.5)"));
  const std::string active = head + "%y = Binary.mul(%x, %x) {activation.function=\"relu\"}\noutput %y\n";
  EXPECT_FALSE(matches(active, "%y = Binary.mul(%x, %x)"));
  EXPECT_TRUE(matches(active, "%y = Binary.mul(%x, %x) {activation.function=*}"));
  EXPECT_TRUE(matches(active, "%y = Binary.mul(%x, %x) {activation.function=\"relu\"}"));
}

TEST(Matcher, WhereDecidesBetweenOrders) {
  const Graph graph = make("%x = input f32[4]\n%u = input f32[4]\n%y = Binary.add(%x, %u)\noutput %y\n");
  const Rewrite rewrite{"test", "%y = Binary.add(%a, %b)", [](const Match& m) { return m.graph().value(m.value("a")).name == "u"; }};
  const auto match = find_match(graph, rewrite, 0);
  ASSERT_TRUE(match.ok() && match->has_value());
  EXPECT_EQ((*match)->value("b"), graph.find_value("x"));
  EXPECT_EQ((*match)->node("y"), 0u);
  EXPECT_EQ((*match)->value("nothing"), kNone);
}

TEST(Patterns, MistakesAreFound) {
  const std::pair<const char*, const char*> cases[] = {
      {"%y = Unray(%x)", "unknown op 'Unray'"},
      {"%a = Unary.exp(%x)\n%y = Unary.neg(%x)", "line 1 does not feed a later one"},
      {"%y = Unary(%x) {funktion=\"relu\"}", "unknown field 'funktion'"},
      {"%y:once = Unary(%x)", "marks belong to operands"},
      {"%y = Unary(%x:twice)", "unknown mark 'twice'"},
      {"", "it is empty"},
      {"%c = const f32[1] [1]", "only ops may stand in it"},
  };
  for (const auto& [pattern, words] : cases) {
    const Status status = check_pattern({"test", pattern});
    EXPECT_FALSE(status.ok()) << pattern;
    EXPECT_TRUE(status.message().starts_with("pattern of 'test': ")) << status.message();
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
  }
}

Expected<NodeId> exp_to_abs(const Match& m, GraphEditor& editor) {
  return replace_root(m, editor, UnaryParams{UnaryFunction::kAbs, 0, 0}, {m.value("x")});
}

TEST(Driver, KeepsTheLastNameAndCollectsOrigins) {
  Graph graph = make("%x = input f32[4]\n%a = Unary.neg(%x) @first\n%y = Unary.exp(%a) @second\noutput %y\n");
  const Rewrite rewrites[] = {{"both", "%a = Unary.neg(%x)\n%y = Unary.exp(%a:once)", nullptr, exp_to_abs, "merged"}};
  ASSERT_EQ(apply_rewrites(graph, rewrites).message(), "");
  ASSERT_EQ(verify_graph(graph).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"abs\"} @second\noutput %y\n");
  const Node& node = *graph.producer(graph.find_value("y"));
  EXPECT_EQ(node.origins, (std::vector<std::string>{"second", "first"}));
  EXPECT_EQ(node.notes, std::vector<std::string>{"merged 'second'"});
}

TEST(Driver, KeepsMatchedNodesThatOthersRead) {
  Graph graph = make("%x = input f32[4]\n%a = Unary.neg(%x)\n%y = Unary.exp(%a)\noutput %y, %a\n");
  const Rewrite rewrites[] = {{"both", "%a = Unary.neg(%x)\n%y = Unary.exp(%a)", nullptr, exp_to_abs}};
  ASSERT_EQ(apply_rewrites(graph, rewrites).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%a = Unary(%x) {function=\"neg\"}\n%y = Unary(%x) {function=\"abs\"}\noutput %y, %a\n");
}

TEST(Driver, ReachesAFixpointThroughOtherRewrites) {
  // neg(neg(x)) = x; exp → abs only behind a product, which appears when the negations between them are gone. The use
  // count of %m falls when the second reader goes.
  Graph graph = make("%x = input f32[4]\n%m = Binary.mul(%x, %x)\n%n = Unary.neg(%m)\n%o = Unary.neg(%n)\n%y = Unary.exp(%o)\noutput %y\n");
  const Rewrite rewrites[] = {
      {"exp", "%m = Binary.mul(%x, %x)\n%y = Unary.exp(%m:once)", nullptr, exp_to_abs},
      {"negations", "%a = Unary.neg(%x)\n%y = Unary.neg(%a)", nullptr,
       [](const Match& m, GraphEditor& editor) -> Expected<NodeId> {
         editor.replace_uses(m.result(), m.value("x"));
         return NodeId{kNone};
       }},
  };
  ASSERT_EQ(apply_rewrites(graph, rewrites).message(), "");
  EXPECT_EQ(to_text(graph), "%x = input f32[4]\n%y = Unary(%x) {function=\"abs\"}\noutput %y\n");
}

TEST(Driver, StopsRewritesThatNeverEnd) {
  Graph graph = make("%x = input f32[4]\n%y = Unary.exp(%x)\noutput %y\n");
  const Rewrite rewrites[] = {{"flip", "%y = Unary(%x)", nullptr, exp_to_abs}};
  const Status status = apply_rewrites(graph, rewrites);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("does not come to an end"), std::string_view::npos) << status.message();
}

TEST(Driver, ReportsAWrongReplacement) {
  Graph graph = make("%x = input f32[4]\n%y = Unary.exp(%x)\noutput %y\n");
  const Rewrite rewrites[] = {{"shape", "%y = Unary.exp(%x)", nullptr, [](const Match& m, GraphEditor& editor) {
                                 return replace_root(m, editor, ShapeParams{}, {m.value("x")});
                               }}};
  const Status status = apply_rewrites(graph, rewrites);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_TRUE(status.message().starts_with("rewrite 'shape' at 'y': ")) << status.message();
}

double seconds_for(int nodes) {
  std::string text = "%x = input f32[4]\n%v0 = Unary.exp(%x)\n";
  for (int i = 1; i < nodes; ++i)
    text += "%v" + std::to_string(i) + " = Unary." + (i % 3 ? "neg" : "exp") + "(%v" + std::to_string(i - 1) + ")\n";
  Graph graph = make(text + "output %v" + std::to_string(nodes - 1) + "\n");
  const Rewrite rewrites[] = {
      {"exp", "%y = Unary.exp(%x)", nullptr, exp_to_abs},
      {"negations", "%a = Unary.neg(%x)\n%y = Unary.neg(%a)", nullptr, [](const Match& m, GraphEditor& editor) -> Expected<NodeId> {
         editor.replace_uses(m.result(), m.value("x"));
         return NodeId{kNone};
       }}};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(apply_rewrites(graph, rewrites).message(), "");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Driver, TakesNearLinearTime) {
  const double small = seconds_for(2000), large = seconds_for(32000);
  // 16 times the nodes; quadratic would be 256 times the time.
  EXPECT_LT(large, 64 * small + 0.5);
}

}  // namespace
}  // namespace ingot
