// Hand-made plans, run end to end with reference tactics: static and varying shapes, layouts, binding, observers, errors.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/hand_made_plan.h"
#include "runtime/step_observer.h"

namespace ingot {
namespace {

Engine load(const HandMadePlan& made, int threads = 1) {
  RuntimeOptions options;
  options.threads = threads;
  Expected<Engine> engine = make_engine(made.finish(), options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) std::abort();
  return *std::move(engine);
}

ExecutionContext context_of(const Engine& engine) {
  Expected<ExecutionContext> context = engine.create_context();
  EXPECT_TRUE(context.ok()) << context.status().message();
  if (!context.ok()) std::abort();
  return *std::move(context);
}

#define EXPECT_OK(expr)                                          \
  do {                                                           \
    const Status status = (expr);                                \
    EXPECT_TRUE(status.ok()) << #expr << ": " << status.message(); \
  } while (false)

std::vector<float> floats(const Buffer& buffer, size_t count) {
  const float* data = static_cast<const float*>(buffer.data);
  return {data, data + count};
}

TEST(Execution, RunsAStaticPlan) {
  const Engine engine = load(add_relu_plan());
  EXPECT_EQ(engine.inputs().size(), 1u);
  EXPECT_EQ(engine.inputs()[0].name, "x");
  EXPECT_EQ(engine.outputs()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(engine.weight_bytes(), 12u);
  EXPECT_EQ(engine.target(), "cpu-x86-64");
  ExecutionContext context = context_of(engine);
  const Buffer x = context.input_buffer("x"), y = context.output_buffer("y");
  ASSERT_EQ(x.bytes, 24u);
  const std::vector<float> in = {-3, 1, 0, 2, 5, -1};
  std::memcpy(x.data, in.data(), 24);
  EXPECT_OK(context.run());
  EXPECT_EQ(floats(y, 6), (std::vector<float>{0, 0, 0.5f, 3, 3, 0}));
}

TEST(Execution, AnInputThatGoesOutAgainHasOneNameForBoth) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({2})), out = made.output("x", f32({2})), y = made.output("y", f32({2}));
  made.step(IdentityParams{}, {x}, {out});
  made.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {x}, {y});
  const Engine engine = load(made);
  EXPECT_EQ(engine.outputs()[0].name, "x");
  ExecutionContext context = context_of(engine);
  std::vector<float> in = {3, -1}, copy(2), negative(2);
  EXPECT_OK(context.bind("x", in.data(), 8));  // the input
  EXPECT_NE(context.run().message().find("output 'x'"), std::string::npos);
  EXPECT_OK(context.bind_output("x", copy.data(), 8));
  EXPECT_OK(context.bind_output("y", negative.data(), 8));
  EXPECT_FALSE(context.bind_output("z", copy.data(), 8).ok());
  EXPECT_OK(context.run());
  EXPECT_EQ(copy, in);
  EXPECT_EQ(negative, (std::vector<float>{-3, 1}));
  EXPECT_EQ(*context.shape("x"), Shape{2});
  // The context's own memory is apart, too.
  const Buffer own_in = context.input_buffer("x"), own_out = context.output_buffer("x");
  ASSERT_NE(own_in.data, own_out.data);
  static_cast<float*>(own_in.data)[1] = 7;
  EXPECT_OK(context.run());
  EXPECT_EQ(floats(own_out, 2)[1], 7);
}

TEST(Execution, BoundMemoryIsReadAndWritten) {
  ExecutionContext context = context_of(load(add_relu_plan()));
  std::vector<float> x = {0, 2, 0, 0, 9, 1}, y(6), z(6);
  EXPECT_OK(context.bind("x", x.data(), 24));
  EXPECT_OK(context.bind("y", y.data(), 24));
  EXPECT_OK(context.run());
  EXPECT_EQ(y, (std::vector<float>{1, 0, 0.5f, 1, 7, 1.5f}));
  EXPECT_OK(context.bind("y", z.data(), 24));
  x[0] = 3;
  EXPECT_OK(context.run());
  EXPECT_EQ(z[0], 4);
  EXPECT_EQ(y[0], 1);
}

TEST(Execution, BindingErrorsSayWhatIsWrong) {
  ExecutionContext context = context_of(load(add_relu_plan()));
  std::vector<float> memory(7);
  EXPECT_EQ(context.bind("q", memory.data(), 24).message(), "tensor 'q': the engine has no such input or output");
  EXPECT_EQ(context.bind("x", nullptr, 24).message(), "bind 'x': got a null pointer");
  EXPECT_EQ(context.bind("x", memory.data(), 20).message(),
            "bind: input 'x': memory is too small: got 20 bytes, need 24 for shape 2x3");
  EXPECT_EQ(context.bind("x", reinterpret_cast<char*>(memory.data()) + 1, 24).message(),
            "bind 'x': memory is not aligned for f32");
  EXPECT_EQ(context.run().message(), "input 'x': no memory is bound; call bind() first");
  EXPECT_EQ(context.input_buffer("y").data, nullptr);
  EXPECT_EQ(context.output_buffer("x").data, nullptr);
}

TEST(Execution, ShapesFollowThroughShapeSteps) {
  const Engine engine = load(shape_chain_plan());
  ExecutionContext context = context_of(engine);
  const Buffer x = context.input_buffer("x"), y = context.output_buffer("y");
  EXPECT_EQ(*context.shape("y"), (Shape{3, 2, 2}));  // the profile's optimum, until set
  std::vector<float> in(20);
  std::iota(in.begin(), in.end(), -7.0f);
  std::memcpy(x.data, in.data(), 80);
  for (int64_t n : {1, 5, 2, 3, 5, 4}) {
    EXPECT_OK(context.set_shape("x", {n, 4}));
    EXPECT_EQ(*context.shape("x"), (Shape{n, 4}));
    EXPECT_EQ(*context.shape("y"), (Shape{n, 2, 2}));
    std::fill_n(static_cast<float*>(y.data), 20, -5.0f);
    EXPECT_OK(context.run());
    for (size_t i = 0; i < 20; ++i)
      EXPECT_EQ(floats(y, 20)[i], i < static_cast<size_t>(n * 4) ? std::max(in[i], 0.0f) : -5.0f) << n << " " << i;
  }
}

TEST(Execution, ProfileErrorsNameTheDim) {
  ExecutionContext context = context_of(load(shape_chain_plan()));
  EXPECT_EQ(context.set_shape("x", {6, 4}).message(), "input 'x' dim 0: got 6, need 1…5");
  EXPECT_EQ(context.set_shape("x", {0, 4}).message(), "input 'x' dim 0: got 0, need 1…5");
  EXPECT_EQ(context.set_shape("x", {2, 5}).message(), "input 'x' dim 1: got 5, need 4");
  EXPECT_EQ(context.set_shape("x", {2}).message(), "input 'x' rank: got 1, need 2");
  EXPECT_EQ(context.set_shape("y", {2, 2, 2}).message(), "tensor 'y': the engine has no such input");
  EXPECT_EQ(*context.shape("x"), (Shape{3, 4}));
  // Memory that is enough for a small shape is not for a large one.
  std::vector<float> x(8), y(20);
  EXPECT_OK(context.set_shape("x", {2, 4}));
  EXPECT_OK(context.bind("x", x.data(), 32));
  EXPECT_OK(context.bind("y", y.data(), 80));
  EXPECT_OK(context.run());
  EXPECT_OK(context.set_shape("x", {3, 4}));
  EXPECT_EQ(context.run().message(), "input 'x': memory is too small: got 32 bytes, need 48 for shape 3x4");
}

TEST(Execution, InputsThatMustAgreeAreCheckedAtTheRun) {
  HandMadePlan made;
  const uint32_t a = made.input("a", f32({kAny}), {1}, {2}, {4}), b = made.input("b", f32({kAny}), {1}, {2}, {4});
  const uint32_t y = made.output("y", f32({kAny}), {4});
  made.step(BinaryParams{}, {a, b}, {y});
  ExecutionContext context = context_of(load(made));
  context.input_buffer("a"), context.input_buffer("b"), context.output_buffer("y");
  EXPECT_OK(context.set_shape("a", {4}));
  EXPECT_OK(context.set_shape("b", {4}));
  EXPECT_OK(context.run());
  EXPECT_OK(context.set_shape("b", {3}));
  const Status status = context.run();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("step 'step0' (Binary)"), std::string_view::npos) << status.message();
  EXPECT_FALSE(context.shape("y").ok());
  EXPECT_OK(context.set_shape("a", {3}));
  EXPECT_OK(context.run());
  EXPECT_EQ(*context.shape("y"), Shape{3});
}

TEST(Execution, OtherLayoutsPassThroughTheWorkspace) {
  ExecutionContext context = context_of(load(channels_last_plan()));
  const Buffer x = context.input_buffer("x"), y = context.output_buffer("y");
  std::vector<float> in(48), negated(48);
  for (size_t i = 0; i < 48; ++i) in[i] = static_cast<float>(i), negated[i] = -in[i];
  std::memcpy(x.data, in.data(), x.bytes);
  struct Spy : StepObserver {
    std::vector<float> first;
    int steps = 0;
    void after_step(size_t, const Step&, std::span<const ConstTensorRef> inputs, std::span<const ConstTensorRef> outputs,
                    double elapsed_us) override {
      EXPECT_EQ(inputs.size(), 1u);
      if (steps++ == 0) first.assign(outputs[0].as<float>(), outputs[0].as<float>() + outputs[0].type->shape.elements());
      EXPECT_GE(elapsed_us, 0);
    }
  } spy;
  context.set_observer(&spy);
  for (int64_t n : {4, 1, 2}) {
    EXPECT_OK(context.set_shape("x", {n, 3, 2, 2}));
    std::memset(y.data, 0, y.bytes);
    spy.steps = 0;
    EXPECT_OK(context.run());
    EXPECT_EQ(spy.steps, 3);
    const size_t count = static_cast<size_t>(n) * 12;
    EXPECT_EQ(floats(y, count), std::vector<float>(negated.begin(), negated.begin() + static_cast<long>(count)));
    ASSERT_EQ(spy.first.size(), count);
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(spy.first[i], static_cast<float>(i % 3 * 4 + i / 3));  // [pixel][channel]
  }
}

TEST(Execution, AliasStepsShareMemory) {
  HandMadePlan made;
  const uint32_t x = made.input("x", f32({2, 3})), y = made.output("y", f32({6}));
  const uint32_t a = made.tensor("a", f32({2, 3})), b = made.tensor("b", f32({6}));
  const uint32_t shape = made.constant<int64_t>("shape", s64({1}), {6});
  made.slot(b).offset = made.slot(a).offset;
  made.step(UnaryParams{UnaryFunction::kNeg, 0, 0}, {x}, {a});
  made.step(ReshapeParams{}, {a, shape}, {b});
  made.step(UnaryParams{UnaryFunction::kAbs, 0, 0}, {b}, {y});
  ExecutionContext context = context_of(load(made));
  std::vector<float> in = {1, -2, 3, -4, 5, -6};
  std::memcpy(context.input_buffer("x").data, in.data(), 24);
  const Buffer out = context.output_buffer("y");
  EXPECT_OK(context.run());
  EXPECT_EQ(floats(out, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Execution, QuantisedConvolutionGivesTheDefinedBytes) {
  ExecutionContext context = context_of(load(conv_plan()));
  const Buffer x = context.input_buffer("x"), y = context.output_buffer("y");
  uint8_t in[32];
  for (size_t i = 0; i < 32; ++i) in[i] = static_cast<uint8_t>(i * 37 % 251);
  std::memcpy(x.data, in, 32);
  EXPECT_OK(context.run());
  // The formula of docs/numerics.md, spelled out.
  const float multiplier[2] = {1.0f, 0.5f};
  const int32_t bias[2] = {5, -9};
  for (int o = 0; o < 2; ++o)
    for (int py = 0; py < 2; ++py)
      for (int px = 0; px < 2; ++px) {
        int best = 0;
        for (int dy = 0; dy < 2; ++dy)
          for (int dx = 0; dx < 2; ++dx) {
            int32_t sum = bias[o];
            for (int c = 0; c < 2; ++c)
              for (int ky = 0; ky < 3; ++ky)
                for (int kx = 0; kx < 3; ++kx) {
                  const int iy = py * 2 + dy + ky - 1, ix = px * 2 + dx + kx - 1;
                  if (iy < 0 || iy > 3 || ix < 0 || ix > 3) continue;
                  const int w = ((o * 2 + c) * 3 + ky) * 3 + kx;
                  sum += (in[(c * 4 + iy) * 4 + ix] - 3) * (w * 7 % 23 - 11);
                }
            best = std::max(best, round_clamp(static_cast<float>(sum) * multiplier[o], 7, 0, 255));
          }
        EXPECT_EQ(static_cast<uint8_t*>(y.data)[(o * 2 + py) * 2 + px], best) << o << py << px;
      }
}

TEST(Execution, ContextsShareAnEngine) {
  const Engine engine = load(shape_chain_plan(), 2);
  std::vector<std::thread> users;
  for (int user = 0; user < 2; ++user)
    users.emplace_back([&engine, user] {
      ExecutionContext context = context_of(engine);
      const Buffer x = context.input_buffer("x"), y = context.output_buffer("y");
      for (int loop = 0; loop < 300; ++loop) {
        const int64_t n = 1 + (loop + user * 2) % 5;
        EXPECT_OK(context.set_shape("x", {n, 4}));
        for (int64_t i = 0; i < n * 4; ++i) static_cast<float*>(x.data)[i] = static_cast<float>(i - loop % 7 * (user + 1));
        EXPECT_OK(context.run());
        for (int64_t i = 0; i < n * 4; ++i)
          ASSERT_EQ(static_cast<float*>(y.data)[i], std::max(static_cast<float*>(x.data)[i], 0.0f));
      }
    });
  for (std::thread& user : users) user.join();
}

TEST(Execution, OptionsAreChecked) {
  RuntimeOptions options;
  options.threads = 0;
  EXPECT_EQ(make_engine(add_relu_plan().finish(), options).status().message(), "runtime options: threads: got 0, need 1…1024");
  options.threads = 1;
  options.cpu_level = "sse9";
  EXPECT_EQ(make_engine(add_relu_plan().finish(), options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ingot
