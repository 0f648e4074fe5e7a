// Shapes that depend on data: known after each run, bounded before, never larger than the memory set aside.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/hand_made_plan.h"
#include "runtime/step_observer.h"
#include "tolerance.h"

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

// y from an op that reads `values`, the [n, 2] indices of what is not zero in x as floats, or `places`, those as [2, n].
struct EmptyCase {
  const char* name;
  OpParams params;
  Shape y, y_max;
  std::function<std::vector<uint32_t>(HandMadePlan&, uint32_t values, uint32_t places)> inputs;
};

HandMadePlan plan_of(const EmptyCase& c) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({kAny, 4}), {1, 4}, {2, 4}, {3, 4});
  const uint32_t places = made.tensor("places", s64({2, kAny}), {2, 12}), columns = made.tensor("columns", f32({2, kAny}), {2, 12});
  const uint32_t values = made.tensor("values", f32({kAny, 2}), {12, 2}), y = made.output("y", f32(c.y), c.y_max);
  made.step(NonZeroParams{}, {x}, {places}).late = true;
  made.step(CastParams{static_cast<int64_t>(DataType::kF32), true}, {places}, {columns}).late = true;
  made.step(TransposeParams{{1, 0}}, {columns}, {values}).late = true;
  made.step(c.params, c.inputs(made, values, columns), {y}).late = true;
  return made;
}

// Nothing found is an ordinary result: every tactic that takes such an op gives what reference code gives.
TEST(LateShapes, EveryTacticTakesSizesOfZero) {
  std::vector<EmptyCase> cases;
  using List = std::vector<uint32_t>;
  for (int64_t f = 0; f < static_cast<int64_t>(ReduceFunction::kCount); ++f) {
    ReduceParams reduce;
    reduce.function = static_cast<ReduceFunction>(f);
    reduce.keepdims = false;
    cases.push_back({"reduce rows", reduce, {2}, {2}, [](HandMadePlan& made, uint32_t values, uint32_t) {
                       return List{values, made.constant<int64_t>("axes", s64({1}), {0})};
                     }});
    cases.push_back({"reduce columns", reduce, {2}, {2}, [](HandMadePlan& made, uint32_t, uint32_t columns) {
                       return List{columns, made.constant<int64_t>("axes", s64({1}), {1})};
                     }});
    cases.push_back({"reduce all", reduce, {}, {}, [](HandMadePlan&, uint32_t values, uint32_t) { return List{values}; }});
  }
  cases.push_back({"concat", ConcatParams{0}, {kAny, 2}, {14, 2}, [](HandMadePlan& made, uint32_t values, uint32_t) {
                     return List{values, made.constant<float>("c", f32({2, 2}), {1, 2, 3, 4})};
                   }});
  cases.push_back({"concat inside", ConcatParams{1}, {2, kAny}, {2, 27}, [](HandMadePlan& made, uint32_t, uint32_t columns) {
                     return List{columns, made.constant<float>("c", f32({2, 3}), {1, 2, 3, 4, 5, 6}), columns};
                   }});
  cases.push_back({"pad", PadParams{}, {kAny, 2}, {15, 2}, [](HandMadePlan& made, uint32_t values, uint32_t) {
                     return List{values, made.constant<int64_t>("pads", s64({4}), {1, 0, 2, 0})};
                   }});
  cases.push_back({"matmul of depth 0", MatMulParams{}, {2, 2}, {2, 2}, [](HandMadePlan&, uint32_t values, uint32_t columns) { return List{columns, values}; }});
  cases.push_back({"matmul of no rows", MatMulParams{}, {kAny, 3}, {12, 3}, [](HandMadePlan& made, uint32_t values, uint32_t) {
                     return List{values, made.constant<float>("w", f32({2, 3}), {1, 2, 3, 4, 5, 6})};
                   }});
  cases.push_back({"add", BinaryParams{}, {kAny, 2}, {12, 2}, [](HandMadePlan& made, uint32_t values, uint32_t) {
                     return List{values, made.constant<float>("c", f32({2}), {1, 2})};
                   }});
  cases.push_back({"softmax", SoftmaxParams{}, {kAny, 2}, {12, 2}, [](HandMadePlan&, uint32_t values, uint32_t) { return List{values}; }});
  int others = 0;
  for (const EmptyCase& c : cases) {
    const Engine reference = load(plan_of(c));
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(c.params))) {
      HandMadePlan made = plan_of(c);
      if (!made.use_tactic(3, *tactic)) continue;
      SCOPED_TRACE(std::string(c.name) + ' ' + to_string(c.params) + " by " + std::string(tactic->info().name));
      ++others;
      const Engine engine = load(made);
      Replay want(reference), got(engine);
      for (const std::vector<float>& x : {std::vector<float>(4, 0.0f), std::vector<float>{0, 1, 0, 1, 1, 1, 0, 0}, std::vector<float>(12, 0.0f), std::vector<float>{0, 0, 0, 5}}) {
        ASSERT_TRUE(want(x).ok());
        const Status status = got(x);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(to_string(*got.context.shape("y")), to_string(*want.context.shape("y")));
        const std::vector<float> a = want.y(), b = got.y();
        ASSERT_EQ(a.size(), b.size());
        for (size_t i = 0; i < a.size(); ++i)
          EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || tolerance_of(kind_of(c.params), DataType::kF32).allows(b[i], a[i], 12, 9)) << a[i] << " / " << b[i];
      }
    }
  }
  EXPECT_GT(others, 40);
}

}  // namespace
}  // namespace ingot
