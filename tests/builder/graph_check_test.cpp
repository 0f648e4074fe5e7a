// Bodies of graph_check.h, and that the check itself sees differences.
#include "graph_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

namespace ingot {
namespace {

bool numbers_agree(double a, double b) { return a == b || std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b)) || (a != a && b != b); }

std::vector<double> numbers(const TensorType& type, const std::byte* data) {
  std::vector<double> values(static_cast<size_t>(type.shape.elements()));
  const auto fill = [&]<class T>(T) {
    for (size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, data + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(element);
    }
  };
  switch (type.dtype) {
    case DataType::kF32: fill(float{}); break;
    case DataType::kF64: fill(double{}); break;
    case DataType::kS64: fill(int64_t{}); break;
    case DataType::kS32: fill(int32_t{}); break;
    case DataType::kS8: fill(int8_t{}); break;
    default: fill(uint8_t{}); break;
  }
  return values;
}

bool params_agree(const OpParams& a, const OpParams& b) {
  if (kind_of(a) != kind_of(b)) return false;
  const auto left = fields_of(a), right = fields_of(b);
  for (size_t i = 0; i < left.size(); ++i) {
    const auto *x = std::get_if<double>(&left[i].value), *y = std::get_if<double>(&right[i].value);
    if (x && y ? !numbers_agree(*x, *y) : !(left[i] == right[i])) return false;
  }
  return true;
}

class Comparison {
 public:
  Comparison(const Graph& got, const ParsedGraph& want) : got_(got), want_(want.graph), free_(want.unspecified) {}

  std::string run() {
    if (got_.inputs().size() != want_.inputs().size()) return "number of inputs";
    if (got_.outputs().size() != want_.outputs().size()) return "number of outputs";
    for (size_t i = 0; i < got_.inputs().size(); ++i) pair(got_.inputs()[i], want_.inputs()[i]);
    for (size_t i = 0; i < got_.outputs().size(); ++i) {
      const ValueId a = got_.outputs()[i], b = want_.outputs()[i];
      if (got_.value(a).name != want_.value(b).name) return "name of output " + std::to_string(i) + ": " + got_.value(a).name;
      pair(a, b);
    }
    while (problem_.empty() && !todo_.empty()) {
      const auto [a, b] = todo_.back();
      todo_.pop_back();
      compare(a, b);
    }
    if (problem_.empty() && live(got_) != live(want_))
      return "number of nodes: got " + std::to_string(live(got_)) + ", need " + std::to_string(live(want_));
    return problem_;
  }

 private:
  static size_t live(const Graph& graph) {
    size_t count = 0;
    for (NodeId id = 0; id < graph.node_count(); ++id) count += graph.node(id).alive;
    return count;
  }
  void pair(ValueId a, ValueId b) {
    if ((a == kNone) != (b == kNone)) {
      problem_ = "an operand or result is left out on one side";
    } else if (a != kNone) {
      const auto [place, is_new] = partner_.emplace(a, b);
      if (is_new) todo_.emplace_back(a, b);
      else if (place->second != b) problem_ = "value '" + got_.value(a).name + "' stands for two different ones";
    }
  }
  void compare(ValueId a, ValueId b) {
    const Value &x = got_.value(a), &y = want_.value(b);
    const std::string where = "value '" + x.name + "' against '" + y.name + "': ";
    if (x.type.dtype != y.type.dtype || x.type.quant != y.type.quant) problem_ = where + "element type";
    else if (x.probe_shapes != y.probe_shapes) problem_ = where + "shape " + to_string(x.type.shape) + ", need " + to_string(y.type.shape);
    else if (!x.constant != !y.constant) problem_ = where + "constant";
    else if (x.is_input != y.is_input || x.is_output != y.is_output) problem_ = where + "input or output";
    else if (x.constant && std::find(free_.begin(), free_.end(), b) == free_.end()) compare_constants(where, x, y);
    const Node *p = got_.producer(a), *q = want_.producer(b);
    if (!problem_.empty() || (!p && !q)) return;
    if (!p || !q || !params_agree(p->params, q->params) || p->inputs.size() != q->inputs.size() || p->outputs.size() != q->outputs.size()) {
      problem_ = where + "made by another node";
      return;
    }
    for (size_t i = 0; i < p->inputs.size(); ++i) pair(p->inputs[i], q->inputs[i]);
    for (size_t i = 0; i < p->outputs.size(); ++i) pair(p->outputs[i], q->outputs[i]);
  }
  void compare_constants(const std::string& where, const Value& x, const Value& y) {
    const auto a = numbers(x.type, x.constant->data()), b = numbers(y.type, y.constant->data());
    for (size_t i = 0; i < a.size(); ++i)
      if (!numbers_agree(a[i], b[i])) problem_ = where + "constant element " + std::to_string(i) + ": got " + std::to_string(a[i]) + ", need " + std::to_string(b[i]);
  }

  const Graph &got_, &want_;
  const std::vector<ValueId>& free_;
  std::map<ValueId, ValueId> partner_;
  std::vector<std::pair<ValueId, ValueId>> todo_;
  std::string problem_;
};

Blob random_input(const TensorType& type, uint64_t& state) {
  Blob bytes(static_cast<size_t>(type.bytes()));
  const auto next = [&] { return state = state * 6364136223846793005ull + 1442695040888963407ull; };
  const int64_t count = type.shape.elements();
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
    std::byte* to = bytes.data() + static_cast<size_t>(i) * element_bytes(type.dtype);
    if (type.dtype == DataType::kF32) {
      const float value = static_cast<float>(unit * 8 - 4);
      std::memcpy(to, &value, sizeof value);
    } else {
      *to = static_cast<std::byte>(unit * 2);  // small whole numbers, little-endian
    }
  }
  return bytes;
}

}  // namespace

std::string graph_difference(const Graph& got, const ParsedGraph& want) { return Comparison(got, want).run(); }

Expected<Values> interpret(const Graph& graph, size_t probe, uint64_t seed) {
  std::map<ValueId, std::pair<TensorType, Blob>> memory;
  const auto type_of = [&](ValueId id) { return TensorType{graph.value(id).type.dtype, graph.value(id).probe_shapes[probe], Layout::kLinear, graph.value(id).type.quant}; };
  for (ValueId id : graph.inputs()) memory[id] = {type_of(id), random_input(type_of(id), seed)};
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (graph.value(id).constant) memory[id] = {type_of(id), *graph.value(id).constant};
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<ConstTensorRef> inputs(node.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      if (node.inputs[i] != kNone) inputs[i] = {&memory.at(node.inputs[i]).first, memory.at(node.inputs[i]).second.data()};
    std::vector<TensorRef> outputs(node.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      auto& [type, bytes] = memory[node.outputs[i]];
      type = type_of(node.outputs[i]);
      bytes.resize(static_cast<size_t>(type.bytes()));
      outputs[i] = {&type, bytes.data()};
    }
    if (Status status = run_reference(node.params, inputs, outputs); !status.ok())
      return std::move(status).with_context("node '" + node.name + "'");
  }
  Values values;
  for (ValueId id : graph.outputs()) values.push_back(numbers(memory.at(id).first, memory.at(id).second.data()));
  return values;
}

double largest_error(const Values& got, const Values& want, bool of_largest) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].size() != want[i].size()) return INFINITY;
    double most = 0;
    for (double value : want[i]) most = std::max(most, std::abs(value));
    for (size_t j = 0; j < got[i].size(); ++j) {
      const double error = std::abs(got[i][j] - want[i][j]) / (of_largest ? most : std::max(1.0, std::abs(want[i][j])));
      if (!(error <= worst) && got[i][j] != want[i][j]) worst = error == error ? error : INFINITY;
    }
  }
  return worst;
}

namespace {

ParsedGraph parsed(std::string_view text) {
  auto graph = parse_graph(text, true);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

TEST(GraphCheck, SeesDifferences) {
  const char* text = "%x = input f32[2x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%x, %c)\n%z = Unary.relu(%y)\noutput %z\n";
  EXPECT_EQ(graph_difference(parsed(text).graph, parsed(text)), "");
  for (const char* other : {
           "%x = input f32[2x3]\n%c = const f32[3] [1,2,4]\n%y = Binary.sub(%x, %c)\n%z = Unary.relu(%y)\noutput %z\n",
           "%x = input f32[2x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%c, %x)\n%z = Unary.relu(%y)\noutput %z\n",
           "%x = input f32[2x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%x, %c)\n%z = Unary.tanh(%y)\noutput %z\n",
           "%x = input f32[2x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%x, %c)\n%z = Unary.relu(%y)\noutput %y\n",
           "%x = input f32[4x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%x, %c)\n%z = Unary.relu(%y)\noutput %z\n",
           "%x = input f32[2x3]\n%c = const f32[3] [1,2,3]\n%y = Binary.sub(%x, %c)\n%z = Unary.relu(%y)\n%u = Unary.relu(%x)\noutput %z\n"})
    EXPECT_NE(graph_difference(parsed(text).graph, parsed(other)), "") << other;
  EXPECT_EQ(graph_difference(parsed(text).graph, parsed("%x = input f32[2x3]\n%c = const f32[3] any\n%q = Binary.sub(%x, %c)\n%z = Unary.relu(%q)\noutput %z\n")), "");
}

TEST(GraphCheck, InterpretsByReference) {
  const auto graph = parsed("%x = input f32[1:2:4x3]\n%y = Binary.add(%x, %x)\n%z = Binary.sub(%y, %x)\noutput %z, %x\n");
  const auto values = interpret(graph.graph, kProbeMax, 7);
  ASSERT_TRUE(values.ok()) << values.status().message();
  ASSERT_EQ((*values)[0].size(), 12u);
  EXPECT_EQ(largest_error({(*values)[0]}, {(*values)[1]}), 0);
  EXPECT_GT(largest_error({{1, 2}}, {{1, 2.1}}), 0.04);
  EXPECT_NEAR(largest_error({{1, 20}}, {{2, 20}}), 0.5, 1e-9);
  EXPECT_NEAR(largest_error({{1, 20}}, {{2, 20}}, true), 0.05, 1e-9);
}

}  // namespace
}  // namespace ingot
