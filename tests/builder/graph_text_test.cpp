// The text grammar: what is read is printed again, and errors name the line.
#include "builder/graph/graph_text.h"

#include <gtest/gtest.h>

#include <random>

#include "builder/graph/graph_editor.h"
#include "builder/graph/graph_verifier.h"
#include "builder/graph/text_statement.h"

namespace ingot {
namespace {

constexpr const char* kText = R"(# everything the grammar has
%x = input f32[1:2:8x4x6x6]
%"a b:0" = input f32[1:2:8:3x4x6x6]
%w = const f32[3x4x1x1] [1,2.5,-3,4e-08,5,6,7,8,9,10,11,12]
%q = const s8[2x2] [1,-2,3,-128] : s8 s=[0.5,0.25] z=[0,0] axis=0 trained
%scalar = const f32[scalar] [0.1]
%y = Conv(%x, %w, _, _) {strides=[2,2], activation.function="clip", activation.beta=6} @conv1
%s = Unary.neg(%"a b:0")
%p, %i = Pool(%y) {function="max", kernel=[2,2]} : u8 s=0.02 z=3, _
%_, %j = Pool(%y) {function="max", kernel=[2,2]}
%d = Split(%y) {axis=1}
%e = Binary(%s, %scalar) {function="mul"}
%f = Unary.clip(%e) {alpha=-inf, beta=2.0}
output %p, %j, %f, %q
)";

TEST(GraphText, PrintReadsBackAsTheSame) {
  const auto first = parse_graph(kText);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_EQ(verify_graph(first->graph).message(), "");
  const std::string text = to_text(first->graph);
  const auto second = parse_graph(text);
  ASSERT_TRUE(second.ok()) << second.status().message() << '\n' << text;
  EXPECT_EQ(to_text(second->graph), text);
  for (const char* part : {"%x = input f32[1:2:8x4x6x6]\n", "%\"a b:0\" = input f32[1:2:8:3x4x6x6]\n", " @conv1\n",
                           " : u8 s=0.0199999996 z=3, _\n", "axis=0 trained\n", "alpha=-inf"})
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
}

TEST(GraphText, ReadsWhatItSays) {
  const auto parsed = parse_graph(kText);
  ASSERT_TRUE(parsed.ok());
  const Graph& graph = parsed->graph;
  const Value& x = graph.value(graph.find_value("x"));
  ASSERT_EQ(x.probe_shapes.size(), 4u);
  EXPECT_EQ(x.probe_shapes[kProbeMin], (Shape{1, 4, 6, 6}));
  EXPECT_EQ(x.probe_shapes[kProbeOpt], (Shape{2, 4, 6, 6}));
  EXPECT_EQ(x.probe_shapes[kProbeMax], (Shape{8, 4, 6, 6}));
  EXPECT_EQ(x.probe_shapes[kProbeBetween], (Shape{4, 4, 6, 6}));
  const Value& q = graph.value(graph.find_value("q"));
  ASSERT_TRUE(q.type.quant);
  EXPECT_EQ(q.type.quant->scales, (std::vector<float>{0.5f, 0.25f}));
  EXPECT_EQ(q.type.quant->axis, 0);
  EXPECT_TRUE(q.type.quant->trained);
  EXPECT_EQ(constant_span<int8_t>(graph, graph.find_value("q"))[3], -128);
  const Node* conv = graph.producer(graph.find_value("y"));
  EXPECT_EQ(conv->name, "conv1");
  EXPECT_EQ(conv->inputs.size(), 2u);
  EXPECT_EQ(std::get<ConvParams>(conv->params).activation.beta, 6);
  const Value& p = graph.value(graph.find_value("p"));
  EXPECT_EQ(p.type.dtype, DataType::kU8);
  EXPECT_EQ(p.type.quant->zero_points, std::vector<int32_t>{3});
}

TEST(GraphText, LargeConstantsPrintAsHash) {
  const auto parsed = parse_graph("%x = input f32[20]\n%c = const f32[20] random(3)\n%y = Binary.mul(%x, %c)\noutput %y\n");
  ASSERT_TRUE(parsed.ok());
  const std::string text = to_text(parsed->graph);
  EXPECT_NE(text.find("hash("), std::string::npos);
  EXPECT_FALSE(parse_graph(text).ok());
  const auto loose = parse_graph(text, true);
  ASSERT_TRUE(loose.ok());
  EXPECT_EQ(loose->unspecified.size(), 1u);
}

TEST(GraphText, RandomIsTheSameEverywhere) {
  const auto parsed = parse_graph("%c = const f32[3] random(7)\n%d = const f32[3] random(7, 2, 3)\noutput %c, %d\n");
  ASSERT_TRUE(parsed.ok());
  const auto plain = constant_span<float>(parsed->graph, 0), ranged = constant_span<float>(parsed->graph, 1);
  EXPECT_FLOAT_EQ(plain[0], -0.22034051f);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(ranged[i], 2.5 + plain[i] / 2, 1e-6);
}

TEST(GraphText, ErrorsNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"%x = input f32[2]\n%y = Unary.relu(%z)\n", "graph text line 2: unknown value: got 'z', need a name defined above"},
      {"%x = input f99[2]\n", "graph text line 1: unknown element type 'f99'"},
      {"%x = input f32[2]\n\n%y = Nonsense(%x)\n", "graph text line 3: unknown op 'Nonsense'"},
      {"%x = input f32[2]\n%x = Unary.relu(%x)\n", "graph text line 2: name defined twice: got 'x', need unique names"},
      {"%c = const f32[3] [1,2]\n", "graph text line 1: wrong number of elements: got 2, need 3"},
      {"%c = const f32[3] any\n", "graph text line 1: constant without data"},
      {"%x = input f32[2]\n%y = Unary.relu(%x:once)\n", "graph text line 2: pattern syntax in a graph"},
      {"%x = input f32[2]\n%y = Unary(%x) {function=\"relu\", nonsense=3}\n", "graph text line 2: Unary parameters"},
      {"%x = input f32[2]\n%y = Unary.relu(%x) rest\n", "graph text line 2: text after the statement"},
      {"%x = input f32[2:3]\n", "graph text line 1: malformed dim"},
      {"%x = input f32[2x2x2x2x2x2x2x2x2]\n", "graph text line 1: too many dims"},
      {"%x = const f32[999999x999999] fill(0)\n", "graph text line 1: size of a constant"},
      {"%q = const s8[2] [1,2] : s8 s=[0.1,0.2] z=3 axis=0\n", "graph text line 1: scales and zero points differ in number"},
      {"output %x\n", "graph text line 1: unknown value"},
      {"nonsense\n", "graph text line 1: unknown statement"},
      {"%x = input f32[2]\n%y = input f32[3]\n%z = Binary.add(%x, %y)\n", "graph text line 3: node 'z'"},
  };
  for (const auto& [text, message] : cases) {
    const auto parsed = parse_graph(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_TRUE(parsed.status().message().starts_with(message)) << parsed.status().message();
  }
}

// Whatever the damage: an error or a graph, never a crash.
TEST(GraphText, SurvivesDamage) {
  std::mt19937 random(5);
  const std::string text = kText;
  const std::string alphabet = "%:?[](){}=,.x019-\"\\@#_| \n";
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 3; ++i) {
      const size_t place = random() % damaged.size();
      if (random() % 3 == 0) damaged.erase(place, 1 + random() % 4);
      else damaged[place] = alphabet[random() % alphabet.size()];
    }
    const auto statements = parse_statements(damaged);
    EXPECT_TRUE(statements.ok() || statements.status().message().starts_with("graph text line ")) << statements.status().message();
  }
}

}  // namespace
}  // namespace ingot
