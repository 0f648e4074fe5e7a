// Small models that ask for very much memory, time or text: each is answered in bounded time and memory, by a build that does
// not do the work at import, or by one line that names the limit.
#include "guarded_build.h"

namespace ingot {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// Either answer; the import's memory is a small multiple of nothing.
Outcome expect_answer(const ModelMaker& model, const Limits& limits = {}, std::span<const NamedTensor> feed = {}) {
  Outcome outcome = build_guarded(model, limits, {}, feed);
  expect_readable(outcome);
  return outcome;
}

// Refused, in one line that has `part`, long before the limits.
void expect_defused(const ModelMaker& model, const std::string& part) {
  const Outcome outcome = expect_answer(model);
  EXPECT_NE(outcome.code, StatusCode::kOk) << "built in " << outcome.seconds << " s with " << outcome.peak_bytes / kMiB << " MiB";
  EXPECT_NE(outcome.message.find(part), std::string::npos) << "need '" << part << "' in: " << outcome.message;
  EXPECT_LT(outcome.seconds, 10) << outcome.message;
  EXPECT_LT(outcome.peak_bytes, 300 * kMiB) << outcome.message;
  EXPECT_EQ(outcome.message.find('\n'), std::string::npos) << outcome.message;
}

ModelMaker source(int64_t opset = 18) {
  ModelMaker model(opset);
  model.input("x", {int64_t{1}, int64_t{4}}).output("y");
  return model;
}

TEST(BombModels, ConstantOfShapeOf600Megabytes) {
  ModelMaker model(13);
  model.output("y").constant<int64_t>("n", {1}, {int64_t{150} << 20}).node("ConstantOfShape", {"n"}, {"y"});
  EXPECT_LT(model.bytes().size(), 120u);
  // It may be built where there is memory for its result; the import alone takes none.
  EXPECT_LT(expect_answer(model).seconds, 20);
  const auto graph = model.import();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_FALSE(graph->is_constant(graph->find_value("y")));
  // That it is not folded, and by which limit, stands in the report.
  const ScratchFolder folder;
  const auto report = check_model(folder.write("model.onnx", model.bytes()), {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_NE(report->find("folded it would take 629145600 bytes, need ≤ 67108864 for a tensor"), std::string::npos) << *report;
  Limits tight;
  tight.memory_bytes = 500 * kMiB;
  const Outcome outcome = build_guarded(model, tight);
  expect_refused(outcome, StatusCode::kOutOfMemory, "memory");
}

TEST(BombModels, ConstantOfShapeOfExabytes) {
  ModelMaker model(13);
  model.output("y").constant<int64_t>("n", {2}, {int64_t{1} << 30, int64_t{1} << 28}).node("ConstantOfShape", {"n"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, Tile) {
  ModelMaker model = source();
  model.constant<int64_t>("n", {2}, {1 << 20, 1 << 18}).node("Tile", {"x", "n"}, {"y"}).named("tile");
  expect_defused(model, "tile");
}

TEST(BombModels, TileOfAConstant) {
  ModelMaker model(13);
  model.output("y").constant<float>("c", {1}, {1}).constant<int64_t>("n", {1}, {int64_t{1} << 40}).node("Tile", {"c", "n"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, Expand) {
  ModelMaker model = source();
  model.constant<int64_t>("n", {4}, {1 << 20, 1 << 18, 1, 4}).node("Expand", {"x", "n"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, Range) {
  ModelMaker model(13);
  model.output("y").constant<int64_t>("a", {}, {0}).constant<int64_t>("b", {}, {int64_t{1} << 40}).constant<int64_t>("d", {}, {1});
  model.node("Range", {"a", "b", "d"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, RangeWithTinyStep) {
  ModelMaker model(13);
  model.output("y").constant<float>("a", {}, {0}).constant<float>("b", {}, {3e38f}).constant<float>("d", {}, {1e-38f});
  model.node("Range", {"a", "b", "d"}, {"y"}).named("range");
  expect_defused(model, "range");
}

TEST(BombModels, OneHot) {
  ModelMaker model(13);
  model.input("i", {int64_t{100}}, 7).output("y").constant<int64_t>("depth", {}, {int64_t{1} << 40}).constant<float>("v", {2}, {0, 1});
  model.node("OneHot", {"i", "depth", "v"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, Pad) {
  ModelMaker model = source();
  model.constant<int64_t>("p", {4}, {1 << 20, 1 << 20, 1 << 20, 1 << 20}).node("Pad", {"x", "p"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, PadByMoreThanCanBeAdded) {
  ModelMaker model = source();
  model.constant<int64_t>("p", {4}, {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}).node("Pad", {"x", "p"}, {"y"}).named("pad");
  expect_defused(model, "pad");
}

TEST(BombModels, ResizeByScales) {
  ModelMaker model(18);
  model.input("x", {int64_t{1}, int64_t{1}, int64_t{4}, int64_t{4}}).output("y").constant<float>("s", {4}, {1, 1, 1e6f, 1e6f});
  model.node("Resize", {"x", "", "s"}, {"y"}).named("resize");
  expect_defused(model, "resize");
}

TEST(BombModels, ResizeByInfinity) {
  for (float scale : {INFINITY, NAN, -1.0f, 0.0f, 3e38f}) {
    ModelMaker model(18);
    model.input("x", {int64_t{1}, int64_t{1}, int64_t{4}, int64_t{4}}).output("y").constant<float>("s", {4}, {1, 1, scale, 1});
    model.node("Resize", {"x", "", "s"}, {"y"}).named("resize");
    expect_defused(model, "resize");
  }
}

TEST(BombModels, ResizeBySizes) {
  ModelMaker model(18);
  model.input("x", {int64_t{1}, int64_t{1}, int64_t{4}, int64_t{4}}).output("y").constant<int64_t>("s", {4}, {1, 1, 1 << 30, 1 << 30});
  model.node("Resize", {"x", "", "", "s"}, {"y"}).named("resize");
  expect_defused(model, "resize");
}

TEST(BombModels, EyeLike) {
  ModelMaker model(13);
  model.output("y").constant<int64_t>("n", {2}, {1 << 20, 1 << 20}).node("ConstantOfShape", {"n"}, {"z"});
  model.node("EyeLike", {"z"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, ConcatChain) {
  ModelMaker model = source();
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "y" : "v" + std::to_string(i);
    model.node("Concat", {last.c_str(), last.c_str()}, {next.c_str()}).integer("axis", 1);
    last = next;
  }
  expect_defused(model, "too large");
}

TEST(BombModels, ConcatChainOfConstants) {
  ModelMaker model(13);
  model.output("y").constant<float>("x", {1}, {1});
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "y" : "v" + std::to_string(i);
    model.node("Concat", {last.c_str(), last.c_str()}, {next.c_str()}).integer("axis", 0);
    last = next;
  }
  expect_defused(model, "too large");
}

TEST(BombModels, MatMulOuterProduct) {
  ModelMaker model(13);
  model.input("x", {int64_t{1} << 20, int64_t{1}}).input("z", {int64_t{1}, int64_t{1} << 20}).output("y").node("MatMul", {"x", "z"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, BroadcastOuterProduct) {
  ModelMaker model(13);
  model.input("x", {int64_t{1} << 20, int64_t{1}}).input("z", {int64_t{1}, int64_t{1} << 20}).output("y").node("Add", {"x", "z"}, {"y"});
  expect_defused(model, "too large");
}

// Folding may make constants, but not without bound in their number: each of a thousand nodes may double a small one.
TEST(BombModels, ManyFoldedConstants) {
  ModelMaker model(13);
  model.output("y").constant<int64_t>("n", {1}, {16 << 20});
  std::string last;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "c" + std::to_string(i);
    model.constant<float>("v" + std::to_string(i), {1}, {static_cast<float>(i)});
    model.node("Expand", {("v" + std::to_string(i)).c_str(), "m"}, {name.c_str()});
    if (i > 0) {
      const std::string sum = i == 199 ? "y" : "s" + std::to_string(i);
      model.node("Add", {last.c_str(), name.c_str()}, {sum.c_str()});
      last = sum;
    } else {
      last = name;
    }
  }
  model.constant<int64_t>("m", {1}, {250'000});
  const Outcome outcome = expect_answer(model);
  EXPECT_EQ(outcome.code, StatusCode::kOk) << outcome.message;
  EXPECT_LT(outcome.peak_bytes, 300 * kMiB);
}

TEST(BombModels, EinsumOf5000Letters) {
  ModelMaker model = source();
  model.node("Einsum", {"x"}, {"y"}).text("equation", std::string(5000, 'i')).named("einsum");
  expect_defused(model, "too long: got 5000 characters");
}

TEST(BombModels, EinsumOfManyTerms) {
  ModelMaker model = source();
  auto node = model.node("Einsum", {}, {"y"});
  std::string equation;
  for (int i = 0; i < 300; ++i) {
    node.proto().add_input("x");
    equation += (i ? ",ij" : "ij");
  }
  node.text("equation", equation + "->ij");
  expect_answer(model);
}

TEST(BombModels, EinsumOfManyDims) {
  ModelMaker model = source();
  auto node = model.node("Einsum", {}, {"y"});
  std::string equation, result;
  for (char c = 'a'; c < 'a' + 24; c = static_cast<char>(c + 2)) {
    node.proto().add_input("x");
    equation += (result.empty() ? "" : ",") + std::string{c, static_cast<char>(c + 1)};
    result += c;
    result += static_cast<char>(c + 1);
  }
  node.text("equation", equation + "->" + result);
  expect_answer(model);
}

TEST(BombModels, StringsOfAbsurdLength) {
  const std::string name(10 * kMiB, 'n');
  ModelMaker input(18);
  input.input(name, {int64_t{1}, int64_t{4}}).output("y").node("Relu", {name.c_str()}, {"y"});
  expect_defused(input, "a name is too long: got 10485760 bytes, need ≤ 65536, in 'nnnn");
  ModelMaker op(18);
  op.input("x", {int64_t{1}, int64_t{4}}).output("y").node(name, {"x"}, {"y"});
  const Outcome refused = expect_answer(op);
  EXPECT_EQ(refused.code, StatusCode::kInvalidModel);
  EXPECT_LT(refused.message.size(), 2000u);
  ModelMaker attribute = source();
  attribute.node("Relu", {"x"}, {"y"}).text(name.c_str(), name);
  expect_defused(attribute, "is not supported");
  ModelMaker choice(18);
  choice.input("x", {int64_t{1}, int64_t{1}, int64_t{4}, int64_t{4}}).output("y").constant<float>("s", {4}, {1, 1, 2, 2});
  choice.node("Resize", {"x", "", "s"}, {"y"}).text("mode", name);
  expect_defused(choice, "attribute 'mode' is not supported: got 'nnnn");
  ModelMaker dim(18);
  dim.input("x", {open(name.c_str()), open(name.c_str())}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_LT(expect_answer(dim).message.size(), 2000u);
  ModelMaker domain = source();
  domain.set_opset(name, 1);
  domain.set_opset(name, 2);
  domain.node("Relu", {"x"}, {"y"});
  EXPECT_LT(expect_answer(domain).message.size(), 2000u);
}

TEST(BombModels, ManyProblemsAreCutOff) {
  ModelMaker model = source();
  for (int i = 0; i < 5000; ++i) model.node("NoSuchThing", {"x"}, {("v" + std::to_string(i)).c_str()});
  auto sum = model.node("Sum", {}, {"y"});
  for (int i = 0; i < 5000; ++i) sum.proto().add_input("v" + std::to_string(i));
  const Outcome outcome = expect_answer(model);
  EXPECT_EQ(outcome.code, StatusCode::kUnsupported);
  EXPECT_LT(outcome.message.size(), 100'000u);
}

TEST(BombModels, ConvolutionWithoutEnd) {
  ModelMaker model(13);
  model.input("x", {int64_t{1}, int64_t{1}, int64_t{1} << 20, int64_t{1} << 20}).output("y").constant<float>("w", {1, 1, 1, 1}, {1});
  model.node("Conv", {"x", "w"}, {"y"});
  expect_defused(model, "too large");
}

TEST(BombModels, ConvTransposeStride) {
  ModelMaker model(13);
  model.input("x", {int64_t{1}, int64_t{1}, int64_t{4}, int64_t{4}}).output("y").constant<float>("w", {1, 1, 1, 1}, {1});
  model.node("ConvTranspose", {"x", "w"}, {"y"}).integers("strides", {1 << 20, 1 << 20}).named("deconv");
  expect_defused(model, "too large");
}

TEST(BombModels, LoopsOfZeroSize) {
  ModelMaker model(13);
  model.input("x", {int64_t{0}, int64_t{1} << 40}).output("y").node("Relu", {"x"}, {"y"});
  expect_answer(model);
  ModelMaker reduce(13);
  reduce.input("x", {int64_t{1} << 40, int64_t{0}}).output("y").node("ReduceSum", {"x"}, {"y"}).integer("keepdims", 0);
  expect_answer(reduce);
  ModelMaker rows(13);
  rows.input("x", {int64_t{1} << 40, int64_t{0}}).input("w", {int64_t{0}, int64_t{1}}).output("y").node("MatMul", {"x", "w"}, {"y"});
  expect_answer(rows);
  ModelMaker softmax(13);
  softmax.input("x", {int64_t{1} << 50, int64_t{0}}).output("y").node("Softmax", {"x"}, {"y"});
  expect_answer(softmax);
  ModelMaker transpose(13);
  transpose.input("x", {int64_t{1} << 50, int64_t{0}}).output("y").node("Transpose", {"x"}, {"y"});
  expect_answer(transpose);
}

TEST(BombModels, RecurrentSequence) {
  ModelMaker model(14);
  model.input("x", {int64_t{1} << 40, int64_t{1}, int64_t{1}}).output("y").constant<float>("w", {1, 4, 1}, {1, 1, 1, 1}).constant<float>("r", {1, 4, 1}, {1, 1, 1, 1});
  model.node("LSTM", {"x", "w", "r"}, {"y"}).integer("hidden_size", 1);
  expect_defused(model, "too large");
}

TEST(BombModels, SparseInitialiser) {
  ModelMaker model(13);
  model.output("y").node("Identity", {"w"}, {"y"});
  auto& sparse = *model.graph().add_sparse_initializer();
  fill_tensor<float>(*sparse.mutable_values(), {1}, {3});
  sparse.mutable_values()->set_name("w");
  fill_tensor<int64_t>(*sparse.mutable_indices(), {1}, {4});
  sparse.add_dims(int64_t{1} << 40);
  expect_defused(model, "too large when dense");
}

// A kilobyte of sparse tensors, each within its own limit, that are some gigabytes together.
TEST(BombModels, ManySparseInitialisers) {
  ModelMaker model(13);
  model.output("y");
  auto sum = model.node("Sum", {}, {"y"});
  for (int i = 0; i < 40; ++i) {
    auto& sparse = *model.graph().add_sparse_initializer();
    fill_tensor<float>(*sparse.mutable_values(), {1}, {3});
    sparse.mutable_values()->set_name("w" + std::to_string(i));
    fill_tensor<int64_t>(*sparse.mutable_indices(), {1}, {4});
    sparse.add_dims(60 << 20);
    sum.proto().add_input("w" + std::to_string(i));
  }
  const Outcome outcome = expect_answer(model);
  EXPECT_EQ(outcome.code, StatusCode::kUnsupported);
  EXPECT_NE(outcome.message.find("too large when dense"), std::string::npos) << outcome.message;
  EXPECT_LT(outcome.peak_bytes, 400 * kMiB);
}

TEST(BombModels, AffineGridAndWindows) {
  ModelMaker window(17);
  window.output("y").constant<int64_t>("n", {}, {int64_t{1} << 40}).node("HannWindow", {"n"}, {"y"});
  expect_defused(window, "");
  ModelMaker mel(17);
  mel.output("y").constant<int64_t>("bins", {}, {1 << 30}).constant<int64_t>("length", {}, {1 << 30}).constant<int64_t>("rate", {}, {16000});
  mel.constant<float>("low", {}, {0}).constant<float>("high", {}, {8000});
  mel.node("MelWeightMatrix", {"bins", "length", "rate", "low", "high"}, {"y"});
  expect_defused(mel, "");
  ModelMaker dft = ModelMaker(20);
  dft.input("x", {int64_t{1}, int64_t{1} << 20, int64_t{1}}).output("y").constant<int64_t>("axis", {}, {1}).node("DFT", {"x", "", "axis"}, {"y"});
  expect_answer(dft);
  ModelMaker stft(17);
  stft.input("x", {int64_t{1}, int64_t{1} << 20, int64_t{1}}).output("y").constant<int64_t>("step", {}, {1}).constant<int64_t>("length", {}, {1 << 19});
  stft.node("STFT", {"x", "step", "", "length"}, {"y"});
  expect_answer(stft);
  ModelMaker grid(20);
  grid.input("t", {int64_t{1}, int64_t{2}, int64_t{3}}).output("y").constant<int64_t>("s", {4}, {1, 1, 1 << 25, 1 << 25}).node("AffineGrid", {"t", "s"}, {"y"});
  expect_defused(grid, "");
}

// A Loop whose state goes through `ops` in each iteration: Identity, or a Concat with itself or with the state at the start.
// trips: constant, −1: none, so that the condition alone ends it, which is always true.
ModelMaker loop(int64_t trips, const char* body_op, bool stack = false) {
  ModelMaker model(16);
  model.input("x", {int64_t{1}, int64_t{2}}).output("y");
  if (trips >= 0) model.constant<int64_t>("trips", {}, {trips});
  model.constant<uint8_t>("yes", {}, {1});
  for (auto& tensor : *model.graph().mutable_initializer())
    if (tensor.name() == "yes") tensor.set_data_type(9);
  NodeMaker node = model.node("Loop", {trips >= 0 ? "trips" : "", "yes", "x"}, {"state"});
  if (stack) node.proto().add_output("rows");
  node.named("loop");
  auto& body = *node.attribute("body", onnx::AttributeProto::GRAPH).mutable_g();
  const auto info = [](onnx::ValueInfoProto& value, const char* name, int type, std::vector<int64_t> dims) {
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int64_t dim : dims)
      if (auto& proto = *shape.add_dim(); dim >= 0) proto.set_dim_value(dim);
  };
  info(*body.add_input(), "i", 7, {});
  info(*body.add_input(), "c", 9, {});
  info(*body.add_input(), "s", 1, {-1, 2});
  const auto add = [&](const char* op, std::initializer_list<const char*> inputs, const char* output) {
    auto& inner = *body.add_node();
    inner.set_op_type(op);
    for (const char* name : inputs) inner.add_input(name);
    inner.add_output(output);
    if (std::string(op) == "Concat") NodeMaker(inner).integer("axis", 0);
  };
  add("Identity", {"c"}, "c2");
  if (std::string(body_op) == "Double") add("Concat", {"s", "s"}, "s2");
  else if (std::string(body_op) == "Grow") add("Concat", {"s", "x"}, "s2");
  else add("Relu", {"s"}, "s2");
  add("Identity", {"s"}, "row");
  info(*body.add_output(), "c2", 9, {});
  info(*body.add_output(), "s2", 1, {-1, 2});
  if (stack) info(*body.add_output(), "row", 1, {-1, 2});
  model.node("Identity", {stack ? "rows" : "state"}, {"y"});
  return model;
}

TEST(BombModels, LoopsWithoutEnd) {
  EXPECT_NE(expect_answer(loop(-1, "Relu")).message.find("never ends: got neither a count nor a condition"), std::string::npos);
  // Verification looks at the first iterations; a run has RuntimeOptions::loop_limit.
  const Outcome outcome = expect_answer(loop(int64_t{1} << 62, "Relu"));
  EXPECT_EQ(outcome.code, StatusCode::kOk) << outcome.message;
  EXPECT_LT(outcome.peak_bytes, 300 * kMiB);
}

TEST(BombModels, LoopsThatGrow) {
  expect_defused(loop(100, "Double"), "");
  EXPECT_LT(expect_answer(loop(10'000'000, "Grow")).seconds, 10);  // bounded, if large
  expect_defused(loop(-1, "Grow"), "");
  EXPECT_EQ(expect_answer(loop(3, "Grow")).code, StatusCode::kOk);
}

}  // namespace
}  // namespace ingot
