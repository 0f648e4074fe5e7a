// Single ONNX nodes against the answers of other runtimes, stored in tests/cases/nodes/*.txt (tests/cases/make_node_cases.py
// has their origin): imported, then run by reference code. A case is
//   case <name>
//   node <operator> opset=<version> [domain=<domain>]
//   attr <name> int|float|string|ints|floats|tensor <values>
//   in <tensor>, const <tensor>, or in absent     a tensor as in tests/ops/op_case.h; const: an initialiser
//   out <tensor>, or out absent
//   tol <relative and absolute tolerance>         default: every bit
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "builder/graph/graph_text.h"
#include "builder/onnx/tensor_proto.h"
#include "builder/pipeline.h"
#include "onnx_model_maker.h"
#include "ops/op_case.h"
#include "tolerance.h"

namespace ingot {
namespace {

struct NodeCase {
  std::string name;
  ModelMaker model{1};
  std::vector<CaseTensor> inputs, outputs;  // inputs: of the graph; outputs: those present
  double tolerance = 0;
};

int onnx_type_of(DataType type) { return static_cast<int>(data_type_to_onnx(type)); }

void read_attribute(std::istringstream& line, onnx::NodeProto& node) {
  std::string name, kind;
  line >> name >> kind;
  NodeMaker maker(node);
  if (kind == "string") {
    std::string value;
    std::getline(line >> std::ws, value);
    maker.text(name.c_str(), value);
    return;
  }
  if (kind == "tensor") {
    const CaseTensor value = parse_case_tensor(line);
    auto& tensor = *maker.attribute(name.c_str(), onnx::AttributeProto::TENSOR).mutable_t();
    tensor.set_data_type(onnx_type_of(value.type.dtype));
    for (int64_t dim : value.type.shape.span()) tensor.add_dims(dim);
    tensor.set_raw_data(value.bytes.data(), value.bytes.size());
    return;
  }
  std::vector<int64_t> whole;
  std::vector<float> real;
  for (std::string word; line >> word;) {
    whole.push_back(std::strtoll(word.c_str(), nullptr, 10));
    real.push_back(std::strtof(word.c_str(), nullptr));
  }
  if (kind == "ints") maker.integers(name.c_str(), whole);
  else if (kind == "floats") maker.numbers(name.c_str(), real);
  else if (kind == "int" && whole.size() == 1) maker.integer(name.c_str(), whole[0]);
  else if (kind == "float" && real.size() == 1) maker.number(name.c_str(), real[0]);
  else ADD_FAILURE() << "attribute of kind '" << kind << "'";
}

std::vector<NodeCase> parse_node_cases(std::istream& text) {
  return parse_cases<NodeCase>(text, [](NodeCase& c, std::string word, std::istringstream& line) {
    auto& graph = c.model.graph();
    if (word == "node") {
      line >> word;
      graph.add_node()->set_op_type(word);
      while (line >> word) {
        if (word.starts_with("opset=")) c.model.model.mutable_opset_import(0)->set_version(std::stoll(word.substr(6)));
        else graph.mutable_node(0)->set_domain(word.substr(word.find('=') + 1));
      }
    } else if (word == "attr") {
      read_attribute(line, *graph.mutable_node(0));
    } else if (word != "in" && word != "const" && word != "out") {
      ADD_FAILURE() << "unknown line '" << word << "'";
    } else {
      CaseTensor tensor = parse_case_tensor(line);
      onnx::NodeProto& node = *graph.mutable_node(0);
      const bool is_output = word == "out";
      const std::string name = (is_output ? "o" : "i") + std::to_string(is_output ? node.output_size() : node.input_size());
      (is_output ? node.add_output() : node.add_input())->assign(tensor.present ? name : "");
      if (!tensor.present) return;
      if (word == "const") {
        auto& initialiser = *graph.add_initializer();
        initialiser.set_name(name);
        initialiser.set_data_type(onnx_type_of(tensor.type.dtype));
        for (int64_t dim : tensor.type.shape.span()) initialiser.add_dims(dim);
        initialiser.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
      } else if (is_output) {
        c.model.output(name);
        c.outputs.push_back(std::move(tensor));
      } else {
        std::vector<TestDim> dims(tensor.type.shape.span().begin(), tensor.type.shape.span().end());
        c.model.input(name, dims, onnx_type_of(tensor.type.dtype));
        c.inputs.push_back(std::move(tensor));
      }
    }
  });
}

// Runs the graph node by node; gives its outputs.
Status run_graph(const Graph& graph, const std::vector<CaseTensor>& inputs, std::vector<CaseTensor>& outputs) {
  std::map<ValueId, CaseTensor> memory;
  for (size_t i = 0; i < inputs.size(); ++i) memory[graph.inputs()[i]] = inputs[i];
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (graph.value(id).constant)
      memory[id] = {graph.value(id).type, {graph.value(id).constant->begin(), graph.value(id).constant->end()}};
  for (NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<ConstTensorRef> in(node.inputs.size());
    std::vector<OpInput> known(node.inputs.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const CaseTensor& tensor = memory.at(node.inputs[i]);
      in[i] = {&tensor.type, tensor.bytes.data()};
      known[i] = {tensor.type.dtype, tensor.type.shape, tensor.bytes.data(), true};
    }
    // With all values known, shapes that depend on data are too, or have a bound.
    std::vector<OpOutput> types(node.outputs.size());
    INGOT_TRY(infer_types(node.params, known, types).with_context(to_string(node.kind())));
    std::vector<TensorRef> out(node.outputs.size());
    std::vector<Shape> produced(node.outputs.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      CaseTensor& tensor = memory[node.outputs[i]];
      tensor.type = graph.value(node.outputs[i]).type;
      tensor.type.shape = produced[i] = types[i].shape;
      tensor.bytes.assign(static_cast<size_t>(tensor.type.bytes()), std::byte{0xcd});
      out[i] = {&tensor.type, tensor.bytes.data(), &produced[i]};
    }
    INGOT_TRY(run_reference(node.params, in, out).with_context(to_string(node.kind())));
    for (size_t i = 0; i < out.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      CaseTensor& tensor = memory[node.outputs[i]];
      tensor.type.shape = produced[i];
      tensor.bytes.resize(static_cast<size_t>(tensor.type.bytes()));
    }
  }
  for (ValueId id : graph.outputs()) outputs.push_back(memory.at(id));
  return {};
}

void expect_outputs(const NodeCase& c, const std::vector<CaseTensor>& outputs, double tolerance) {
  EXPECT_EQ(outputs.size(), c.outputs.size());
  for (size_t i = 0; i < outputs.size() && i < c.outputs.size(); ++i) {
    const CaseTensor &got = outputs[i], &want = c.outputs[i];
    EXPECT_EQ(got.type.dtype, want.type.dtype);
    EXPECT_EQ(to_string(got.type.shape), to_string(want.type.shape));
    if (got.type.dtype == want.type.dtype && got.type.shape == want.type.shape) expect_equal_tensors(got, want, tolerance);
  }
}

Status run_passes_on(Graph& graph) {
  INGOT_TRY(run_float_passes(graph, {}));
  return run_quantise_passes(graph, {});
}

// Versions of each operator, by tests/cases/onnx_versions.txt.
std::map<std::string, std::set<int64_t>> read_versions() {
  std::map<std::string, std::set<int64_t>> versions;
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/onnx_versions.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string op;
    int64_t version = 0;
    if (words >> op >> version) versions[op].insert(version);
  }
  return versions;
}

// What an operator means is decided by its own version, never by the model's opset: at each opset until its next version a node
// becomes the same graph.
TEST(NodeCases, MeanTheSameAtEveryOpsetOfTheirVersion) {
  constexpr int64_t kNewest = 28;
  const auto versions = read_versions();
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/nodes/versions.txt");
  int compared = 0;
  for (NodeCase& c : parse_node_cases(file)) {
    SCOPED_TRACE(c.name);
    auto& opset = *c.model.model.mutable_opset_import(0);
    const std::string& op = c.model.graph().node(0).op_type();
    ASSERT_TRUE(versions.contains(op));
    const auto next = versions.at(op).upper_bound(opset.version());
    const int64_t end = next == versions.at(op).end() ? kNewest + 1 : *next;
    const auto first = c.model.import();
    ASSERT_TRUE(first.ok()) << first.status().message();
    for (int64_t version = opset.version() + 1; version < end; ++version) {
      opset.set_version(version);
      const auto graph = c.model.import();
      ASSERT_TRUE(graph.ok()) << version << ": " << graph.status().message();
      EXPECT_EQ(to_text(*graph), to_text(*first)) << "at opset " << version;
      ++compared;
    }
  }
  EXPECT_GE(compared, 3000);
}

struct NodeFile {
  const char* name;
  size_t least;  // cases that the file must hold, so that a truncated one shows
};
void PrintTo(const NodeFile& file, std::ostream* out) { *out << file.name; }

class NodeCases : public testing::TestWithParam<NodeFile> {};

TEST_P(NodeCases, EqualTheStoredAnswers) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/nodes/" + GetParam().name);
  ASSERT_TRUE(file.is_open());
  const std::vector<NodeCase> cases = parse_node_cases(file);
  EXPECT_GE(cases.size(), GetParam().least);
  for (const NodeCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto graph = c.model.import();
    if (!graph.ok()) {
      ADD_FAILURE() << graph.status().message();
      continue;
    }
    std::vector<CaseTensor> outputs;
    const Status ran = run_graph(*graph, c.inputs, outputs);
    EXPECT_TRUE(ran.ok()) << ran.message();
    if (!ran.ok()) continue;
    expect_outputs(c, outputs, c.tolerance);
    // The passes keep the meaning: integers to the bit.
    auto optimised = c.model.import();
    ASSERT_TRUE(optimised.ok());
    const Status passed = run_passes_on(*optimised);
    EXPECT_TRUE(passed.ok()) << passed.message();
    outputs.clear();
    const Status again = run_graph(*optimised, c.inputs, outputs);
    EXPECT_TRUE(again.ok()) << again.message() << '\n' << to_text(*optimised);
    SCOPED_TRACE("after the passes:\n" + to_text(*optimised));
    const bool integers = c.tolerance == 0 && !c.outputs.empty() && !is_float(c.outputs[0].type.dtype);
    if (again.ok()) expect_outputs(c, outputs, integers ? 0 : std::max(c.tolerance, kAfterPasses));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, NodeCases,
                         testing::Values(NodeFile{"indexed.txt", 150}, NodeFile{"sampling.txt", 60}, NodeFile{"einsum.txt", 30},
                                         NodeFile{"attention.txt", 60}, NodeFile{"microsoft.txt", 45},
                                         NodeFile{"signal.txt", 35}, NodeFile{"counted.txt", 57}, NodeFile{"rare.txt", 74}, NodeFile{"fused.txt", 50},
                                         NodeFile{"quantized.txt", 60}, NodeFile{"cached_attention.txt", 40}, NodeFile{"versions.txt", 800}),
                         [](const auto& info) {
                           const std::string name = info.param.name;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace ingot
