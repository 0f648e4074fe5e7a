// An engine for several profiles: which one serves, values after each change, what is said outside of all.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/hand_made_plan.h"

namespace ingot {
namespace {

// Two inputs and their negatives; both have a…b rows.
HandMadePlan pair_plan(int64_t least, int64_t most) {
  HandMadePlan made;
  for (const std::string name : {"v", "w"}) {
    const uint32_t in = made.input(name, f32({kAny, 4}), {least, 4}, {least, 4}, {most, 4});
    made.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {in}, {made.output("minus " + name, f32({kAny, 4}), {most, 4})});
  }
  return made;
}

TEST(Profiles, InputsAreTheUnionOfAll) {
  Expected<Engine> engine = make_engine(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(3, 4, 5)), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ASSERT_EQ(engine->profiles(), 2u);
  const TensorInfo x = engine->inputs()[0], y = engine->outputs()[0];
  EXPECT_EQ(x.shape, (Shape{kAny, 4}));
  EXPECT_EQ(x.min, (Shape{1, 4}));
  EXPECT_EQ(x.opt, (Shape{1, 4}));
  EXPECT_EQ(x.max, (Shape{5, 4}));
  EXPECT_EQ(y.shape, (Shape{kAny, 2, 2}));
  EXPECT_EQ(y.max, (Shape{5, 2, 2}));
  EXPECT_EQ(engine->inputs(0)[0].max, (Shape{1, 4}));
  EXPECT_EQ(engine->inputs(1)[0].min, (Shape{3, 4}));
  EXPECT_TRUE(engine->inputs(2).empty());
}

TEST(Profiles, OneArenaOfTheLargest) {
  const auto arena = [](OwnedPlan plan) { return make_engine(std::move(plan), {})->arena_bytes(); };
  const HandMadePlan small = shape_chain_plan_for(1, 1, 1), large = shape_chain_plan_for(2, 3, 500);
  EXPECT_GT(arena(large.finish()), arena(small.finish()));
  EXPECT_EQ(arena(with_profiles(small, large)), arena(large.finish()));
}

TEST(Profiles, ValuesAreRightAfterEachChange) {
  Expected<Engine> engine = make_engine(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5)), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  auto* x = static_cast<float*>(context->input_buffer("x").data);
  const auto* y = static_cast<const float*>(context->output_buffer("y").data);
  float next = 1;
  for (const int64_t rows : {1, 4, 1, 5, 2, 1, 1, 3}) {
    ASSERT_TRUE(context->set_shape("x", {rows, 4}).ok());
    for (int64_t i = 0; i < rows * 4; ++i) x[i] = next += 1;
    const float first = x[0];
    ASSERT_TRUE(context->run().ok()) << rows;
    EXPECT_EQ(*context->shape("y"), (Shape{rows, 2, 2}));
    for (int64_t i = 0; i < rows * 4; ++i) ASSERT_EQ(y[i], first + static_cast<float>(i)) << rows;
  }
  // Memory of the caller's stays bound through a change.
  std::vector<float> given(20, 2.0f), taken(20, 0.0f);
  ASSERT_TRUE(context->bind("x", given.data(), 80).ok());
  ASSERT_TRUE(context->bind("y", taken.data(), 80).ok());
  for (const int64_t rows : {5, 1}) {
    std::fill(taken.begin(), taken.end(), 0.0f);
    ASSERT_TRUE(context->set_shape("x", {rows, 4}).ok());
    ASSERT_TRUE(context->run().ok());
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 2.0f), rows * 4);
  }
}

TEST(Profiles, OutsideOfAllNamesTheNearest) {
  Expected<Engine> engine = make_engine(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(4, 4, 5)), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  context->input_buffer("x");
  context->output_buffer("y");
  EXPECT_EQ(context->set_shape("x", {9, 4}).message(), "input 'x' dim 0: got 9, need 4…5 in the nearest of the engine's profiles, 2 of 2");
  EXPECT_EQ(context->set_shape("x", {2, 4}).message(), "input 'x' dim 0: got 2, need 1 in the nearest of the engine's profiles, 1 of 2");
  EXPECT_EQ(context->set_shape("x", {4}).message(), "input 'x' rank: got 1, need 2");
  EXPECT_TRUE(context->run().ok());  // at the shape before
}

// Shapes are set one by one, and only together they say which profile is meant.
TEST(Profiles, AreChosenByAllInputs) {
  Expected<Engine> engine = make_engine(with_profiles(pair_plan(1, 2), pair_plan(3, 4)), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  auto* w = static_cast<float*>(context->input_buffer("w").data);
  context->input_buffer("v");
  context->output_buffer("minus v");
  const auto* minus_w = static_cast<const float*>(context->output_buffer("minus w").data);
  ASSERT_TRUE(context->set_shape("v", {3, 4}).ok());
  const Status status = context->run();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "input 'v' dim 0: got 3, need 1…2 in the nearest of the engine's profiles, 1 of 2");
  EXPECT_FALSE(context->shape("minus w").ok());
  ASSERT_TRUE(context->set_shape("w", {4, 4}).ok());
  for (int i = 0; i < 16; ++i) w[i] = static_cast<float>(i);
  ASSERT_TRUE(context->run().ok());
  EXPECT_EQ(minus_w[15], -15.0f);
  EXPECT_EQ(*context->shape("minus w"), (Shape{4, 4}));
}

// Where ranges overlap, the first profile serves; control flow and late steps keep their values apart.
TEST(Profiles, EveryKindOfStepMayHaveSeveral) {
  for (const auto make : {late_plan, control_flow_plan, late_branch_plan}) {
    Expected<Engine> engine = make_engine(with_profiles(make(), make()), {});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    Expected<ExecutionContext> context = engine->create_context();
    ASSERT_TRUE(context.ok());
    auto* x = static_cast<float*>(context->input_buffer("x").data);
    for (const TensorInfo& output : engine->outputs()) context->output_buffer(output.name);
    for (const int64_t rows : {1, 3, 2}) {
      ASSERT_TRUE(context->set_shape("x", {rows, 4}).ok());
      std::fill_n(x, rows * 4, 1.0f);
      EXPECT_TRUE(context->run().ok());
    }
  }
}

// Dims of one name are one size in every run, and errors name them.
TEST(Profiles, DimsOfOneNameAreEqual) {
  HandMadePlan made = pair_plan(1, 6);
  for (ProfileEntry& entry : made.plan().profile) entry.dim_names = {"rows", ""};
  Expected<Engine> engine = make_engine(made.finish(), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(engine->inputs()[1].dim_names, (std::vector<std::string>{"rows", ""}));
  Expected<ExecutionContext> context = engine->create_context();
  for (const char* name : {"v", "w"}) (void)context->input_buffer(name), (void)context->output_buffer(std::string("minus ") + name);
  ASSERT_TRUE(context->run().ok());
  ASSERT_TRUE(context->set_shape("v", {3, 4}).ok());
  EXPECT_EQ(context->run().message(), "input 'w' dim 0 (rows): got 1, need 3, the size of input 'v' dim 0 (rows)");
  ASSERT_TRUE(context->set_shape("w", {3, 4}).ok());
  EXPECT_TRUE(context->run().ok());
  EXPECT_EQ(context->set_shape("w", {7, 4}).message(), "input 'w' dim 0 (rows): got 7, need 1…6");
  // Other names, other sizes.
  made.plan().profile[1].dim_names = {"columns", ""};
  engine = make_engine(made.finish(), {});
  ASSERT_TRUE(engine.ok());
  context = engine->create_context();
  for (const char* name : {"v", "w"}) (void)context->input_buffer(name), (void)context->output_buffer(std::string("minus ") + name);
  ASSERT_TRUE(context->set_shape("v", {3, 4}).ok());
  EXPECT_TRUE(context->run().ok());
  // A sum.
  made.plan().profile[1].dim_names = {"2*rows+1", ""};
  made.plan().profile[1].opt[0] = 3;
  engine = make_engine(made.finish(), {});
  ASSERT_TRUE(engine.ok());
  context = engine->create_context();
  for (const char* name : {"v", "w"}) (void)context->input_buffer(name), (void)context->output_buffer(std::string("minus ") + name);
  ASSERT_TRUE(context->set_shape("v", {2, 4}).ok());
  EXPECT_EQ(context->run().message(), "input 'w' dim 0 (2*rows+1): got 3, need 5");
  ASSERT_TRUE(context->set_shape("w", {5, 4}).ok());
  EXPECT_TRUE(context->run().ok());
  made.plan().profile[1].dim_names = {"rows", ""};
  made.plan().profile[1].opt[0] = 2;
  EXPECT_NE(make_engine(made.finish(), {}).status().message().find("another dim of that name has another range"), std::string_view::npos);
}

TEST(Profiles, MayBeginAtZero) {
  Expected<Engine> engine = make_engine(pair_plan(0, 6).finish(), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Expected<ExecutionContext> context = engine->create_context();
  for (const int64_t rows : {0, 2, 0}) {
    for (const char* name : {"v", "w"}) {
      ASSERT_TRUE(context->set_shape(name, {rows, 4}).ok());
      (void)context->input_buffer(name), (void)context->output_buffer(std::string("minus ") + name);
    }
    EXPECT_TRUE(context->run().ok()) << rows;
    EXPECT_EQ(*context->shape("minus v"), (Shape{rows, 4}));
  }
  // Nothing needs no memory.
  Expected<ExecutionContext> bare = engine->create_context();
  EXPECT_TRUE(bare->run().ok());
}

}  // namespace
}  // namespace ingot
