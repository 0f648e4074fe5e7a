// Models whose structure or tensors are malformed, or nested beyond measure; divisions that trap; and that all problems of one
// model come in one list.
#include <sys/stat.h>

#include <functional>

#include "builder/onnx/tensor_proto.h"
#include "guarded_build.h"

namespace ingot {
namespace {

ModelMaker source(int64_t opset = 18) {
  ModelMaker model(opset);
  model.input("x", {int64_t{1}, int64_t{4}}).output("y");
  return model;
}

onnx::AttributeProto& add_graph(NodeMaker node, const char* name) { return node.attribute(name, onnx::AttributeProto::GRAPH); }

// A branch that hands on `from`.
void fill_branch(onnx::GraphProto& graph, const std::string& from, const std::string& op = "Identity") {
  auto& node = *graph.add_node();
  node.set_op_type(op);
  node.add_input(from);
  node.add_output("inner");
  graph.add_output()->set_name("inner");
}

TEST(BadStructure, CycleThroughABranch) {
  ModelMaker model = source();
  model.constant<uint8_t>("c", {}, {1});
  model.graph().mutable_initializer(0)->set_data_type(9);
  NodeMaker node = model.node("If", {"c"}, {"y"});
  fill_branch(*add_graph(node, "then_branch").mutable_g(), "z");
  fill_branch(*add_graph(node, "else_branch").mutable_g(), "z");
  model.node("Relu", {"y"}, {"z"});
  expect_malformed(model, "cycle");
}

TEST(BadStructure, DanglingNameInABranch) {
  ModelMaker model = source();
  model.constant<uint8_t>("c", {}, {1});
  model.graph().mutable_initializer(0)->set_data_type(9);
  NodeMaker node = model.node("If", {"c"}, {"y"});
  fill_branch(*add_graph(node, "then_branch").mutable_g(), "ghost");
  fill_branch(*add_graph(node, "else_branch").mutable_g(), "x");
  expect_malformed(model, "'ghost'");
}

TEST(BadStructure, AllProblemsAtOnce) {
  ModelMaker model = source();
  model.constant<float>("w", {1}, {1}).constant<float>("w", {1}, {2});
  model.node("Softmax", {"x"}, {"a"}).integer("axis", 9).named("first");
  model.node("NoSuchThing", {"x"}, {"b"}).named("second");
  model.node("Transpose", {"x"}, {"c"}).integers("perm", {0, 0}).named("third");
  model.node("Relu", {"ghost"}, {"d"}).named("fourth");
  model.node("Sum", {"a", "b", "c", "d", "w"}, {"y"});
  const Outcome outcome = build_guarded(model);
  expect_refused(outcome, StatusCode::kInvalidModel, "5 problems, among them 3 of 5 nodes");
  for (const char* part : {"initialiser 'w' is there twice", "'first' (Softmax, ai.onnx 18, inputs f32[1x4]): axis is out of range: got 9",
                           "'second' (NoSuchThing, ai.onnx 18, inputs f32[1x4]): this operator is not supported", "'third' (Transpose",
                           "node 'fourth' (Relu): input 'ghost' is made by no node", "; mend it, or export the model again"})
    EXPECT_NE(outcome.message.find(part), std::string::npos) << "need '" << part << "' in: " << outcome.message;
}

TEST(BadStructure, OpenDimsAndUnsupportedNodesAtOnce) {
  ModelMaker model(18);
  model.input("x", {open("n"), open("m")}).output("y").node("NoSuchThing", {"x"}, {"y"});
  const Outcome outcome = build_guarded(model);
  expect_refused(outcome, StatusCode::kUnsupported, "give --profile 'x=");
  expect_refused(outcome, StatusCode::kUnsupported, "NoSuchThing");
}

TEST(BadStructure, NestedGraphs) {
  for (int levels : {15, 40, 300}) {
    ModelMaker model = source();
    model.constant<uint8_t>("c", {}, {1});
    model.graph().mutable_initializer(0)->set_data_type(9);
    onnx::GraphProto* graph = &model.graph();
    for (int i = 0; i < levels; ++i) {
      auto& node = *graph->add_node();
      node.set_op_type("If");
      node.add_input("c");
      node.add_output(i == 0 ? "y" : "inner");
      if (i > 0) graph->add_output()->set_name("inner");
      NodeMaker maker(node);
      fill_branch(*add_graph(maker, "else_branch").mutable_g(), "x");
      graph = maker.attribute("then_branch", onnx::AttributeProto::GRAPH).mutable_g();
    }
    fill_branch(*graph, "x", "Relu");
    const Outcome outcome = build_guarded(model);
    expect_readable(outcome);
    EXPECT_EQ(outcome.code == StatusCode::kOk, levels == 15) << levels << ": " << outcome.message;
  }
}

TEST(BadStructure, NestedMessages) {
  std::string bytes;  // a message of field 20, again and again, from the inside out
  for (int i = 0; i < 5000; ++i) {
    std::string size;
    for (size_t n = bytes.size(); ; n >>= 7) {
      size += static_cast<char>(n > 127 ? (n & 127) | 128 : n);
      if (n < 128) break;
    }
    bytes = "\xa3\x01" + bytes + "\xa4\x01";  // groups nest without lengths
  }
  const ScratchFolder folder;
  expect_refused(build_guarded(folder.write("model.onnx", bytes)), StatusCode::kInvalidModel, "");
}

TEST(BadStructure, TensorsWithDataInTwoPlaces) {
  ModelMaker model = source();
  model.constant<float>("w", {1}, {1}).node("Add", {"x", "w"}, {"y"});
  model.graph().mutable_initializer(0)->add_float_data(1);
  expect_malformed(model, "initialiser 'w': has data in two places");
}

TEST(BadStructure, TensorsOfAWrongLength) {
  for (int64_t dim : {int64_t{0}, int64_t{2}, int64_t{-1}, INT64_MAX, INT64_MIN, int64_t{1} << 40}) {
    ModelMaker model = source();
    model.constant<float>("w", {dim}, {1}).node("Add", {"x", "w"}, {"y"});
    expect_malformed(model, "initialiser 'w'");
  }
  ModelMaker many = source();
  many.constant<float>("w", {1}, {1}).node("Add", {"x", "w"}, {"y"});
  for (int i = 0; i < 100'000; ++i) many.graph().mutable_initializer(0)->add_dims(1);
  expect_refused(many, StatusCode::kUnsupported, "too many dims: got 100001");
}

TEST(BadStructure, TensorsOfUnknownTypes) {
  for (int type : {0, 8, 14, 15, 99, -1}) {
    ModelMaker model = source();
    model.constant<float>("w", {1}, {1}).node("Add", {"x", "w"}, {"y"});
    model.graph().mutable_initializer(0)->set_data_type(type);
    const Outcome outcome = build_guarded(model);
    expect_readable(outcome);
    EXPECT_NE(outcome.message.find("initialiser 'w': "), std::string::npos) << outcome.message;
  }
}

// The attribute of a Constant is a tensor like any other.
TEST(BadStructure, ConstantNodes) {
  const auto constant = [](const std::function<void(NodeMaker&)>& fill) {
    ModelMaker model = source();
    NodeMaker node = model.node("Constant", {}, {"w"});
    fill(node);
    model.node("Add", {"x", "w"}, {"y"});
    return model;
  };
  expect_malformed(constant([](NodeMaker&) {}), "'Constant_0'");
  expect_malformed(constant([](NodeMaker& n) { n.number("value_float", 1).integer("value_int", 1); }), "'Constant_0'");
  expect_malformed(constant([](NodeMaker& n) { (void)n.attribute("value", onnx::AttributeProto::TENSOR); }), "'Constant_0'");
  expect_refused(constant([](NodeMaker& n) { n.text("value_string", "text"); }), StatusCode::kUnsupported, "'Constant_0'");
  expect_malformed(constant([](NodeMaker& n) {
    auto& tensor = *n.attribute("value", onnx::AttributeProto::TENSOR).mutable_t();
    fill_tensor<float>(tensor, {4}, {1, 2, 3, 4});
    tensor.set_dims(0, 5);
  }), "need 20");
}

class ExternalFiles : public testing::Test {
 protected:
  ExternalFiles() {
    std::filesystem::create_directories(folder_.path() / "model");
    std::ofstream(folder_.path() / "secret.bin") << std::string(64, 's');
    std::ofstream(folder_.path() / "model/w.bin") << std::string(64, 'w');
    std::filesystem::create_symlink(folder_.path() / "secret.bin", folder_.path() / "model/link.bin");
    std::filesystem::create_hard_link(folder_.path() / "secret.bin", folder_.path() / "model/hard.bin");
    EXPECT_EQ(::mkfifo((folder_.path() / "model/pipe").c_str(), 0600), 0);
  }
  static void locate(onnx::TensorProto& tensor, const std::string& where) {
    tensor.clear_raw_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(where);
  }
  Outcome build(const ModelMaker& model) { return build_guarded(folder_.write("model/net.onnx", model.bytes())); }
  const ScratchFolder folder_;
};

// Wherever a tensor may stand in a model, its file must lie inside the model's folder.
TEST_F(ExternalFiles, StayInside) {
  for (const char* where : {"w.bin", "../secret.bin", "link.bin", "hard.bin", "pipe", ".", "/dev/zero", "/proc/self/environ", "none.bin"}) {
    SCOPED_TRACE(where);
    const bool fine = std::string(where) == "w.bin";
    const auto expect = [&](const ModelMaker& model) {
      const Outcome outcome = build(model);
      expect_readable(outcome);
      EXPECT_EQ(outcome.code == StatusCode::kOk, fine) << outcome.message;
      if (!fine) {
        EXPECT_NE(outcome.message.find("external data '" + std::string(where) + "'"), std::string::npos) << outcome.message;
      }
    };
    ModelMaker initialiser = source();
    initialiser.constant<float>("w", {4}, {1, 2, 3, 4}).node("Add", {"x", "w"}, {"y"});
    locate(*initialiser.graph().mutable_initializer(0), where);
    expect(initialiser);

    ModelMaker constant = source();
    NodeMaker node = constant.node("Constant", {}, {"w"});
    auto& tensor = *node.attribute("value", onnx::AttributeProto::TENSOR).mutable_t();
    fill_tensor<float>(tensor, {4}, {1, 2, 3, 4});
    locate(tensor, where);
    constant.node("Add", {"x", "w"}, {"y"});
    expect(constant);

    ModelMaker sparse = source();
    auto& proto = *sparse.graph().add_sparse_initializer();
    fill_tensor<float>(*proto.mutable_values(), {4}, {1, 2, 3, 4});
    proto.mutable_values()->set_name("w");
    fill_tensor<int64_t>(*proto.mutable_indices(), {4}, {0, 1, 2, 3});
    proto.add_dims(4);
    locate(*proto.mutable_values(), where);
    sparse.node("Add", {"x", "w"}, {"y"});
    expect(sparse);

    ModelMaker branch = source();
    branch.constant<uint8_t>("c", {}, {1});
    branch.graph().mutable_initializer(0)->set_data_type(9);
    NodeMaker chosen = branch.node("If", {"c"}, {"y"});
    auto& inside = *add_graph(chosen, "then_branch").mutable_g();
    auto& weights = *inside.add_initializer();
    weights.set_name("w");
    fill_tensor<float>(weights, {4}, {1, 2, 3, 4});
    locate(weights, where);
    fill_branch(inside, "w");
    fill_branch(*add_graph(chosen, "else_branch").mutable_g(), "x");
    expect(branch);
  }
}

TEST_F(ExternalFiles, LengthIsCheckedBeforeMemoryIsTaken) {
  ModelMaker model = source();
  model.constant<float>("w", {1}, {1}).node("Add", {"x", "w"}, {"y"});
  locate(*model.graph().mutable_initializer(0), "w.bin");
  model.graph().mutable_initializer(0)->set_dims(0, int64_t{1} << 33);
  const Outcome outcome = build(model);
  expect_refused(outcome, StatusCode::kInvalidModel, "ends too early");
  EXPECT_LT(outcome.peak_bytes, int64_t{200} << 20);
}

// Both operands fed at run time, one fed, none: the last is folded at build time.
TEST(BadStructure, DivisionsThatTrap) {
  for (const char* op : {"Div", "Mod"})
    for (int type : {3, 5, 6, 7})
      for (int64_t divisor : {int64_t{-1}, int64_t{0}})
        for (int fed : {0, 1, 2}) {
          SCOPED_TRACE(std::string(op) + " of type " + std::to_string(type) + " by " + std::to_string(divisor));
          auto dtype = data_type_from_onnx(type);
          ASSERT_TRUE(dtype.ok());
          const size_t size = element_bytes(*dtype), count = 40;
          std::vector<std::byte> low(size * count, std::byte{0}), by(size * count, std::byte{divisor == 0 ? uint8_t{0} : uint8_t{255}});
          for (size_t i = 1; i <= count; ++i) low[i * size - 1] = std::byte{0x80};
          ModelMaker model(14);
          model.output("y");
          std::vector<NamedTensor> feed;
          const auto give = [&](const char* name, const std::vector<std::byte>& bytes, bool at_run_time) {
            if (at_run_time) {
              model.input(name, {static_cast<int64_t>(count)}, type);
              feed.push_back({name, *dtype, Shape{static_cast<int64_t>(count)}, bytes});
            } else {
              auto& tensor = *model.graph().add_initializer();
              tensor.set_name(name);
              tensor.set_data_type(type);
              tensor.add_dims(static_cast<int64_t>(count));
              tensor.set_raw_data(bytes.data(), bytes.size());
            }
          };
          give("a", low, fed >= 1);
          give("b", by, fed >= 2);
          model.node(op, {"a", "b"}, {"y"});
          const Outcome outcome = build_guarded(model, {}, {}, feed);
          expect_readable(outcome);
          if (divisor == -1) {
            EXPECT_EQ(outcome.code, StatusCode::kOk) << outcome.message;
          }
        }
}

TEST(BadStructure, AbsoluteOfTheLeast) {
  for (const char* op : {"Abs", "Neg", "Sign"})
    for (int64_t value : {INT64_MIN, INT64_MAX}) {
      ModelMaker model(14);
      model.output("y").constant<int64_t>("a", {1}, {value}).node(op, {"a"}, {"y"});
      EXPECT_EQ(build_guarded(model).code, StatusCode::kOk);
    }
  ModelMaker shift(14);
  shift.output("y").constant<uint8_t>("a", {1}, {255}).constant<uint8_t>("b", {1}, {200});
  shift.node("BitShift", {"a", "b"}, {"y"}).text("direction", "LEFT");
  expect_readable(build_guarded(shift));
  ModelMaker power(14);
  power.output("y").constant<int64_t>("a", {1}, {0}).constant<int64_t>("b", {1}, {-1}).node("Pow", {"a", "b"}, {"y"});
  expect_readable(build_guarded(power));
}

TEST(BadStructure, NotAFileOfAModel) {
  const ScratchFolder folder;
  expect_refused(build_guarded(folder.write("empty.onnx", "")), StatusCode::kInvalidModel, "is empty");
  expect_refused(build_guarded(folder.write("text.onnx", "hello\n")), StatusCode::kInvalidModel, "is not an ONNX model");
  expect_refused(build_guarded(folder.path().string()), StatusCode::kInvalidArgument, "is not a regular file");
  expect_refused(build_guarded("/dev/zero"), StatusCode::kInvalidArgument, "is not a regular file");
  expect_refused(build_guarded(folder.path() / "none.onnx"), StatusCode::kNotFound, "cannot be opened");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  expect_refused(build_guarded(folder.path() / "pipe"), StatusCode::kInvalidArgument, "is not a regular file");
}

}  // namespace
}  // namespace ingot
