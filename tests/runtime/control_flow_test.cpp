// Plans with bodies: what they compute, what a file keeps of them, and hostile ones.
#include <gtest/gtest.h>

#include "runtime/format/engine_file.h"
#include "runtime/hand_made_plan.h"

namespace ingot {
namespace {

std::vector<float> run(const Engine& engine, const std::vector<float>& x, const char* output) {
  Expected<ExecutionContext> context = engine.create_context();
  EXPECT_TRUE(context.ok());
  EXPECT_TRUE(context->set_shape("x", {static_cast<int64_t>(x.size()) / 4, 4}).ok());
  std::copy(x.begin(), x.end(), static_cast<float*>(context->input_buffer("x").data));
  for (const TensorInfo& tensor : engine.outputs()) context->output_buffer(tensor.name);
  const Status status = context->run();
  EXPECT_TRUE(status.ok()) << status.message();
  const auto* data = static_cast<const float*>(context->output_buffer(output).data);
  return {data, data + context->shape(output)->elements()};
}

std::string refusal(const HandMadePlan& made) {
  Expected<Engine> engine = make_engine(made.finish(), {});
  return engine.ok() ? "loaded" : std::string(engine.status().message());
}

void expect_has(const std::string& text, std::string_view words) { EXPECT_NE(text.find(words), std::string::npos) << text; }

TEST(ControlFlow, BranchesAndLoops) {
  Expected<Engine> engine = make_engine(control_flow_plan().finish(), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(run(*engine, {1, -2, 3, -4}, "y"), (std::vector<float>{4, -6, 12, -12}));     // relu, then three times x
  EXPECT_EQ(run(*engine, {-1, -2, -3, -4}, "y"), (std::vector<float>{-2, -4, -6, -8}));   // −x, then three times x
  EXPECT_EQ(run(*engine, {1, 0, 0, 0, 0, 0, 0, 2}, "all"),
            (std::vector<float>{2, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 8}));
}

TEST(ControlFlow, ShapesMayDependOnTheBranch) {
  Expected<Engine> engine = make_engine(late_branch_plan().finish(), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(run(*engine, {1, -2, 3, -4}, "y"), (std::vector<float>{1, -2, 3, -4}));
  EXPECT_EQ(run(*engine, {-1, -2, -3, -4}, "y"), (std::vector<float>{-1, -2, -3, -4, -1, -2, -3, -4}));
}

TEST(ControlFlow, FilesKeepBodies) {
  for (const auto make : {control_flow_plan, late_branch_plan}) {
    HandMadePlan made = make();
    made.plan().halve_blobs = true;  // constants of bodies are stored by the same rule
    const EngineTarget target{&made.plan()};
    const auto bytes = encode_engine({&target, 1}, "{}");
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto memory = aligned_copy(bytes->data(), bytes->size());
    Expected<Engine> engine = Engine::load({memory.get(), bytes->size()});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    Expected<Engine> direct = make_engine(make().finish(), {});
    EXPECT_EQ(run(*engine, {-1, -2, -3, -4}, "y"), run(*direct, {-1, -2, -3, -4}, "y"));
    EXPECT_EQ(engine->arena_bytes(), direct->arena_bytes());
  }
}

TEST(ControlFlow, LoopsAreLimited) {
  RuntimeOptions options;
  options.loop_limit = 2;
  Expected<Engine> engine = make_engine(control_flow_plan().finish(), options);
  ASSERT_TRUE(engine.ok());
  Expected<ExecutionContext> context = engine->create_context();
  context->input_buffer("x");
  for (const char* name : {"y", "all"}) context->output_buffer(name);
  const Status status = context->run();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  expect_has(std::string(status.message()), "more than 2 iterations in one run; raise RuntimeOptions::loop_limit");
  options.loop_limit = 0;
  EXPECT_EQ(make_engine(control_flow_plan().finish(), options).status().code(), StatusCode::kInvalidArgument);
}

TEST(ControlFlow, SpoiltPlansAreRefused) {
  const auto spoilt = [](auto&& edit) {
    HandMadePlan made = control_flow_plan();
    edit(made.plan(), made.plan().steps[2], made.plan().steps[3]);
    return refusal(made);
  };
  EXPECT_EQ(spoilt([](Plan&, Step&, Step&) {}), "loaded");
  expect_has(spoilt([](Plan&, Step& choice, Step&) { choice.bodies[1] = 7; }), "a body does not exist");
  expect_has(spoilt([](Plan&, Step& choice, Step&) { choice.bodies[1] = choice.bodies[0]; }), "shares a body");
  expect_has(spoilt([](Plan&, Step& choice, Step&) { choice.bodies.pop_back(); }), "number of bodies");
  expect_has(spoilt([](Plan& plan, Step&, Step&) { plan.bodies.push_back(plan.bodies[0]); }), "belongs to no step");
  expect_has(spoilt([](Plan& plan, Step&, Step&) { plan.steps[0].bodies = {0}; }), "bodies, which its op does not take");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { loop.workspace_bytes -= 64; }), "cannot hold its bodies");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { loop.inputs.pop_back(); }), "inputs of the body");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { loop.inputs[3] = kNoIndex; }), "a tensor");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { std::get<LoopParams>(loop.params).states = int64_t{1} << 60; }), "out of range");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { std::get<LoopParams>(loop.params).states = 2; }), "cannot hold its bodies");
  expect_has(spoilt([](Plan&, Step&, Step& loop) { std::get<LoopParams>(loop.params).backward_outputs = {1, 1}; }), "directions");
  expect_has(spoilt([](Plan& plan, Step&, Step& loop) { plan.bodies[loop.bodies[0]].slots[1].type.dtype = DataType::kS32; }), "type");
  expect_has(spoilt([](Plan& plan, Step& choice, Step&) { plan.bodies[choice.bodies[0]].outputs.clear(); }), "outputs of a branch");
  expect_has(spoilt([](Plan& plan, Step&, Step&) { plan.known_inputs = {0}; }), "no input of a body");
  expect_has(spoilt([](Plan& plan, Step& choice, Step&) { plan.bodies[choice.bodies[0]].arena_bytes = uint64_t{1} << 50; }), "arena: got");
  // What a branch makes is larger than the memory for it.
  expect_has(spoilt([](Plan& plan, Step& choice, Step&) {
    Plan& body = plan.bodies[choice.bodies[0]];
    body.slots[body.outputs[0]].max_shape = {30, 4};
    body.slots[body.outputs[0]].bytes = 480;
  }), "larger or of another type");
  // Shapes that are late in a body are late outside.
  HandMadePlan late = late_branch_plan();
  late.plan().steps[2].late = false;
  expect_has(refusal(late), "differ between the branches");
}

TEST(ControlFlow, DepthIsBounded) {
  const auto nested = [](int depth) {
    const auto wrap = [](HandMadePlan inside, bool whole) {
      HandMadePlan made;
      const uint32_t x = made.input("x", f32({1, 4})), y = made.output("y", f32({1, 4}));
      const uint32_t c = made.constant<uint8_t>("c", {DataType::kBool, Shape{}, Layout::kLinear, {}}, {1});
      HandMadePlan other = inside;
      made.control(IfParams{}, {c, x}, {y}, {std::move(inside), std::move(other)});
      if (!whole) made.plan().target = "";
      return made;
    };
    HandMadePlan body;
    const uint32_t x = body.input("x", f32({1, 4})), y = body.output("y", f32({1, 4}));
    body.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {x}, {y});
    for (int i = 0; i < depth; ++i) body = wrap(std::move(body), i + 1 == depth);
    return body;
  };
  Expected<Engine> engine = make_engine(nested(kMaxBodyDepth).finish(), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(run(*engine, {1, 2, 3, 4}, "y"), (std::vector<float>{-1, -2, -3, -4}));
  expect_has(refusal(nested(kMaxBodyDepth + 1)), "bodies within bodies");
  HandMadePlan deep = nested(kMaxBodyDepth + 1);
  const EngineTarget target{&deep.plan()};
  const auto bytes = encode_engine({&target, 1}, "{}");
  ASSERT_TRUE(bytes.ok());
  const auto memory = aligned_copy(bytes->data(), bytes->size());
  expect_has(std::string(Engine::load({memory.get(), bytes->size()}).status().message()), "bodies within bodies");
}

}  // namespace
}  // namespace ingot
