// Shapes that depend on data: known after each run, bounded before, never larger than the memory set aside.
#include <gtest/gtest.h>

#include "runtime/hand_made_plan.h"
#include "runtime/step_observer.h"

namespace ingot {
namespace {

Engine load(const HandMadePlan& made) {
  Expected<Engine> engine = make_engine(made.finish(), {});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) std::abort();
  return *std::move(engine);
}

struct Replay {
  explicit Replay(const Engine& engine) : context(*engine.create_context()) {
    x = static_cast<float*>(context.input_buffer("x").data);
    for (const TensorInfo& output : engine.outputs()) context.output_buffer(output.name);
  }
  Status operator()(const std::vector<float>& values) {
    Status set = context.set_shape("x", {static_cast<int64_t>(values.size()) / 4, 4});
    if (!set.ok()) return set;
    std::copy(values.begin(), values.end(), x);
    return context.run();
  }
  std::vector<float> y() {
    const auto* data = static_cast<const float*>(context.output_buffer("y").data);
    return {data, data + context.shape("y")->elements()};
  }
  int64_t count() { return *static_cast<const int64_t*>(context.output_buffer("count").data); }

  ExecutionContext context;
  float* x = nullptr;
};

TEST(LateShapes, FollowTheData) {
  const Engine engine = load(late_plan());
  Replay run(engine);
  EXPECT_EQ(*run.context.shape("y"), Shape{12});  // the bound, before any run
  ASSERT_TRUE(run({0, 2, 0, 3}).ok());
  EXPECT_EQ(run.y(), (std::vector<float>{4, 6}));
  EXPECT_EQ(run.count(), 2);
  ASSERT_TRUE(run({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).ok());
  EXPECT_EQ(*run.context.shape("y"), Shape{12});
  EXPECT_EQ(run.y()[11], 24);
  ASSERT_TRUE(run({0, 0, 0, 0, 0, 0, 0, 0}).ok());
  EXPECT_EQ(*run.context.shape("y"), Shape{0});
  EXPECT_EQ(run.count(), 0);
  ASSERT_TRUE(run({0, 0, 0, 0, 0, 0, 5, 0}).ok());  // another result of the same input shape
  EXPECT_EQ(run.y(), std::vector<float>{10});
  ASSERT_TRUE(run.context.set_shape("x", {3, 4}).ok());
  EXPECT_EQ(*run.context.shape("y"), Shape{12});
}

TEST(LateShapes, ContextsDoNotShareThem) {
  const Engine engine = load(late_plan());
  Replay a(engine), b(engine);
  ASSERT_TRUE(a({0, 2, 0, 3}).ok());
  ASSERT_TRUE(b({1, 1, 1, 1, 0, 0, 0, 1}).ok());
  EXPECT_EQ(*a.context.shape("y"), Shape{2});
  EXPECT_EQ(*b.context.shape("y"), Shape{5});
  EXPECT_EQ(a.y(), (std::vector<float>{4, 6}));
}

TEST(LateShapes, OutputsNeedMemoryForTheirLargestShape) {
  const Engine engine = load(late_plan());
  EXPECT_EQ(engine.outputs()[0].max, Shape{12});
  Replay run(engine);
  ASSERT_TRUE(run({0, 2, 0, 3}).ok());
  std::vector<float> memory(12);
  EXPECT_EQ(run.context.bind("y", memory.data(), 8).message(),
            "bind: output 'y': memory is too small: got 8 bytes, need 48 for shape 12");
  ASSERT_TRUE(run.context.bind("y", memory.data(), 48).ok());
  ASSERT_TRUE(run({0, 1, 1, 1}).ok());
  EXPECT_EQ(memory[2], 2);
}

TEST(LateShapes, MoreThanTheLimitIsAnError) {
  HandMadePlan made = late_plan();
  for (uint32_t slot : {1, 3, 4, 5})
    for (int64_t& dim : made.slot(slot).max_shape.dims)
      if (dim == 12) dim = 3;
  const Engine engine = load(made);
  Replay run(engine);
  ASSERT_TRUE(run({0, 2, 1, 3}).ok());
  EXPECT_EQ(run.y(), (std::vector<float>{4, 2, 6}));
  const Status status = run({1, 2, 3, 4});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "step 'step0' (cpu.nonzero.reference): output 'places': shape that depends on data: got 2x4, need at most 2x3");
  ASSERT_TRUE(run({0, 0, 0, 7}).ok());
  EXPECT_EQ(run.y(), std::vector<float>{14});
}

TEST(LateShapes, AliasesFollow) {
  HandMadePlan made = late_plan();
  const uint32_t lined = made.tensor("lined", f32({kAny, 1}), {12, 1});
  const uint32_t z = made.output("z", f32({kAny, 1}), {12, 1});
  made.slot(lined).offset = made.slot(5).offset;
  const uint32_t dims = made.constant<int64_t>("dims", s64({2}), {-1, 1});
  made.step(ReshapeParams{}, {5, dims}, {lined}).late = true;
  made.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {lined}, {z}).late = true;
  const Engine engine = load(made);
  Replay run(engine);
  ASSERT_TRUE(run({0, 2, 0, 3}).ok());
  EXPECT_EQ(*run.context.shape("z"), (Shape{2, 1}));
  EXPECT_EQ(static_cast<const float*>(run.context.output_buffer("z").data)[1], -3);
}

class ShapeObserver final : public StepObserver {
 public:
  std::vector<Shape> outputs;
  void after_step(size_t, const Step&, std::span<const ConstTensorRef>, std::span<const ConstTensorRef> made, double) override {
    outputs.push_back(made[0].type->shape);
  }
};

TEST(LateShapes, ObserversSeeThem) {
  const Engine engine = load(late_plan());
  Replay run(engine);
  ShapeObserver observer;
  run.context.set_observer(&observer);
  ASSERT_TRUE(run({0, 2, 0, 3}).ok());
  const std::vector<Shape> expected = {{2, 2}, {2, 2}, {2}, {2}, {1}};
  EXPECT_EQ(observer.outputs, expected);
}

// Operands that do not fit each other are found by the rule, whatever their bounds were.
TEST(LateShapes, RulesHoldInTheRun) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4});
  const uint32_t c = made.constant<float>("c", f32({12}), std::vector<float>(12, 1.0f));
  const uint32_t places = made.tensor("places", s64({2, kAny}), {2, 12}), rows = made.tensor("rows", s64({kAny, 2}), {12, 2});
  const uint32_t values = made.tensor("values", f32({kAny}), {12}), y = made.output("y", f32({kAny}), {12});
  made.step(NonZeroParams{}, {x}, {places}).late = true;
  made.step(TransposeParams{{1, 0}}, {places}, {rows}).late = true;
  made.step(GatherNDParams{}, {x, rows}, {values}).late = true;
  made.step(BinaryParams{}, {values, c}, {y}).late = true;
  const Engine engine = load(made);
  Replay run(engine);
  EXPECT_TRUE(run(std::vector<float>(12, 2.0f)).ok());
  EXPECT_TRUE(run({0, 0, 3, 0}).ok());  // one element is repeated
  EXPECT_EQ(run.y(), std::vector<float>(12, 4.0f));
  const Status status = run({0, 2, 0, 3});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("step 'step3'"), std::string_view::npos) << status.message();
}

}  // namespace
}  // namespace ingot
