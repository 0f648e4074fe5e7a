// One engine for batches of one and for larger ones: the same bytes as with one wide profile, and the weights once.
#include <nlohmann/json.hpp>

#include "e2e/digits_fixture.h"
#include "runtime/arena.h"

namespace ingot {
namespace {

ShapeProfile batches(int64_t least, int64_t usual, int64_t most) {
  return {"image", Shape{least, 1, 20, 20}, Shape{usual, 1, 20, 20}, Shape{most, 1, 20, 20}};
}

struct Loaded {
  Arena memory;
  Engine engine;
  nlohmann::json report;
};

Loaded must_build(const BuildOptions& options) {
  auto built = build(digits::model(), options);
  EXPECT_TRUE(built.ok()) << built.status().message();
  auto memory = Arena::allocate(built->engine.size());
  EXPECT_TRUE(memory.ok());
  std::memcpy(memory->at(0), built->engine.data(), built->engine.size());
  auto engine = Engine::load({memory->at(0), built->engine.size()});
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return {*std::move(memory), *std::move(engine), nlohmann::json::parse(built->report_json)};
}

BuildOptions options_for(bool int8) {
  BuildOptions options = digits::int8_options();
  options.int8 = int8;
  options.verify = true;
  return options;
}

TEST(Profiles, GiveTheBytesOfOneWideProfile) {
  const auto rows = digits::images(24);
  for (const bool int8 : {false, true}) {
    BuildOptions options = options_for(int8);
    options.profiles = {batches(1, 1, 8)};
    const Loaded wide = must_build(options);
    options.profiles = {batches(1, 1, 1)};
    options.more_profiles = {{batches(2, 4, 8)}};
    const Loaded two = must_build(options);
    ASSERT_EQ(two.engine.profiles(), 2u);
    EXPECT_EQ(two.engine.inputs()[0].min, wide.engine.inputs()[0].min);
    EXPECT_EQ(two.engine.inputs()[0].max, wide.engine.inputs()[0].max);
    for (const size_t batch : {1u, 8u, 5u, 24u / 7u})
      EXPECT_TRUE(digits::same_bytes(digits::run(wide.engine, rows, batch), digits::run(two.engine, rows, batch))) << batch << " int8 " << int8;
    // Shapes change from run to run of one context.
    auto context = two.engine.create_context();
    ASSERT_TRUE(context.ok());
    auto* x = static_cast<float*>(context->input_buffer("image").data);
    const auto* y = static_cast<const float*>(context->output_buffer("logits").data);
    const auto want = digits::run(wide.engine, rows, 1);
    for (const int64_t batch : {8, 1, 3, 1}) {
      ASSERT_TRUE(context->set_shape("image", {batch, 1, 20, 20}).ok());
      for (size_t r = 0; r < static_cast<size_t>(batch); ++r) std::copy(rows[r].begin(), rows[r].end(), x + r * 400);
      ASSERT_TRUE(context->run().ok());
      EXPECT_EQ(std::memcmp(y, want.data(), static_cast<size_t>(batch) * 40), 0) << batch;
    }
    // The kernels are the same here, and so are the packed weights.
    EXPECT_EQ(two.engine.weight_bytes(), wide.engine.weight_bytes());
    EXPECT_LE(two.engine.arena_bytes(), wide.engine.arena_bytes());
    EXPECT_LE(two.report["memory"]["weight_bytes"].get<size_t>(), wide.report["memory"]["weight_bytes"].get<size_t>());
    ASSERT_EQ(two.report["profiles"].size(), 2u);
    for (const auto& profile : two.report["profiles"]) EXPECT_GT(profile["verified"]["steps"].get<int>(), 0);
    EXPECT_EQ(two.report["profiles"][1]["inputs"]["image"], "2x1x20x20:4x1x20x20:8x1x20x20");
  }
}

TEST(Profiles, AreCalibratedAsOne) {
  SampleFiles files = digits::open(digits::folder() + "/calib");
  BuildOptions options = options_for(true);
  options.calibration_table.reset();
  options.calibration = files.source.get();
  options.profiles = {batches(2, 4, 8)};  // the samples have one row each: they are for the second
  options.more_profiles = {{batches(1, 1, 1)}};
  auto built = build(digits::model(), options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(built->calibration_table->to_text(), digits::table().to_text());
}

TEST(Profiles, AreAddedInTheOrderGiven) {
  BuildOptions options;
  for (const char* text : {"v=1x4", "w=1x5", "v=2x4", "w=2x5"}) add_profile(options, *parse_profile(text));
  ASSERT_EQ(options.profiles.size(), 2u);
  ASSERT_EQ(options.more_profiles.size(), 1u);
  EXPECT_EQ(options.more_profiles[0][1].max, (Shape{2, 5}));
}

TEST(Profiles, RefusalsSayWhich) {
  BuildOptions options = options_for(false);
  options.more_profiles = {{{"image", Shape{1, 1, 21, 20}, Shape{1, 1, 21, 20}, Shape{1, 1, 21, 20}}}};
  const Status wrong = build(digits::model(), options).take_status();
  EXPECT_TRUE(wrong.message().starts_with("profile 2: ")) << wrong.message();
  options.more_profiles.assign(16, options.profiles);
  EXPECT_EQ(build(digits::model(), options).status().message(), "profiles: got 17, need at most 16");
  options.more_profiles.resize(1);
  options.targets = {"cuda-sm_80"};
  EXPECT_EQ(build(digits::model(), options).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace ingot
