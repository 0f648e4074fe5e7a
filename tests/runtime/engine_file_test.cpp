// The file format: round trips, equal bytes, sharing of blobs, words for what is wrong, and thousands of damaged files.
#include "runtime/format/engine_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "fuzz/engine_target.h"
#include "runtime/hand_made_plan.h"

namespace ingot {
namespace {

std::vector<std::byte> encode(const Plan& plan, std::string_view report = "{\"why\":1}") {
  const EngineTarget target{&plan};
  Expected<std::vector<std::byte>> bytes = encode_engine({&target, 1}, report);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *std::move(bytes) : std::vector<std::byte>();
}

std::vector<std::byte> encode(const OwnedPlan& plans) {
  std::vector<EngineTarget> targets = {{&plans.plan}};
  for (const Plan& more : plans.more) targets.push_back({&more});
  Expected<std::vector<std::byte>> bytes = encode_engine(targets, "{}");
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *std::move(bytes) : std::vector<std::byte>();
}

Status load_error(std::span<const std::byte> bytes, const RuntimeOptions& options = {}) {
  const auto memory = aligned_copy(bytes.data(), bytes.size());
  return Engine::load({memory.get(), bytes.size()}, options).take_status();
}

std::vector<float> run(const Engine& engine) {
  Expected<ExecutionContext> context = engine.create_context();
  EXPECT_TRUE(context.ok());
  const Buffer x = context->input_buffer("x"), y = context->output_buffer("y");
  for (size_t i = 0; i < x.bytes / 4; ++i) static_cast<float*>(x.data)[i] = static_cast<float>(i) - 2.5f;
  EXPECT_TRUE(context->run().ok());
  return {static_cast<float*>(y.data), static_cast<float*>(y.data) + y.bytes / 4};
}

TEST(EngineFile, LoadedEnginesRunLikeTheirPlans) {
  for (const auto make : {add_relu_plan, shape_chain_plan, channels_last_plan}) {
    HandMadePlan made = make();
    const std::vector<std::byte> bytes = encode(made.plan());
    const auto memory = aligned_copy(bytes.data(), bytes.size());
    Expected<Engine> direct = make_engine(made.finish(), {});
    Expected<Engine> loaded = Engine::load({memory.get(), bytes.size()});
    ASSERT_TRUE(direct.ok()) << direct.status().message();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(run(*direct), run(*loaded));
    EXPECT_EQ(loaded->report_json(), "{\"why\":1}");
    EXPECT_EQ(loaded->model_hash(), "0123456789abcdef");
    // Encoding what was decoded gives the same file.
    EXPECT_EQ(encode(loaded->plan()), bytes);
  }
}

TEST(EngineFile, KeepsEveryFieldOfAPlan) {
  HandMadePlan made = conv_plan();
  Plan& plan = made.plan();
  plan.device_fingerprint = "some cpu; avx2; 2 threads";
  plan.slots[0].type.quant->trained = true;
  const std::vector<std::byte> bytes = encode(plan);
  const auto memory = aligned_copy(bytes.data(), bytes.size());
  Expected<Engine> engine = Engine::load({memory.get(), bytes.size()});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const Plan& back = engine->plan();
  EXPECT_EQ(back.device_fingerprint, plan.device_fingerprint);
  EXPECT_EQ(back.arena_bytes, plan.arena_bytes);
  ASSERT_EQ(back.slots.size(), plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    EXPECT_EQ(back.slots[i].name, plan.slots[i].name);
    EXPECT_EQ(back.slots[i].type, plan.slots[i].type);
    EXPECT_EQ(back.slots[i].max_shape, plan.slots[i].max_shape);
    EXPECT_EQ(back.slots[i].home, plan.slots[i].home);
    EXPECT_EQ(back.slots[i].bytes, plan.slots[i].bytes);
  }
  ASSERT_EQ(back.steps.size(), plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    EXPECT_TRUE(equal(back.steps[i].params, plan.steps[i].params));
    EXPECT_EQ(back.steps[i].inputs, plan.steps[i].inputs);
    EXPECT_EQ(back.steps[i].tactic, plan.steps[i].tactic);
    EXPECT_EQ(back.steps[i].blob, plan.steps[i].blob);
  }
  for (size_t i = 0; i < plan.blobs.size(); ++i)
    EXPECT_TRUE(std::equal(plan.blobs[i].begin(), plan.blobs[i].end(), back.blobs[i].begin(), back.blobs[i].end()));
}

TEST(EngineFile, EqualBlobsAreStoredOnce) {
  HandMadePlan made = add_relu_plan();
  const std::vector<float> large(5000, 1.5f);
  made.constant<float>("big1", f32({5000}), large);
  const size_t once = encode(made.plan()).size();
  made.constant<float>("big2", f32({5000}), large);
  EXPECT_LT(encode(made.plan()).size(), once + 2000);
}

TEST(EngineFile, SeveralTargetsInOneFile) {
  HandMadePlan plain = add_relu_plan(), wide = add_relu_plan();
  wide.plan().target = "cpu-avx512-vnni";
  const EngineTarget targets[] = {{&wide.plan()}, {&plain.plan()}};
  const auto bytes = encode_engine(targets, "");
  ASSERT_TRUE(bytes.ok());
  const auto memory = aligned_copy(bytes->data(), bytes->size());
  RuntimeOptions options;
  options.cpu_level = "avx2";
  EXPECT_EQ(Engine::load({memory.get(), bytes->size()}, options)->target(), "cpu-x86-64");
  const bool has_vnni = cpu_device({}).cpu.level == CpuLevel::kAvx512Vnni;
  EXPECT_EQ(Engine::load({memory.get(), bytes->size()})->target(), has_vnni ? "cpu-avx512-vnni" : "cpu-x86-64");
  plain.plan().target = "gpu-future";
  const Status status = load_error(encode(plain.plan()));
  EXPECT_EQ(status.code(), StatusCode::kDeviceMismatch);
  EXPECT_NE(status.message().find("got gpu-future"), std::string_view::npos) << status.message();
}

// Rows of one target are plans of one network for several profiles; equal weights are one range of the file.
TEST(EngineFile, SeveralProfilesInOneFile) {
  const OwnedPlan plans = with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5));
  const std::vector<std::byte> bytes = encode(plans);
  const auto memory = aligned_copy(bytes.data(), bytes.size());
  Expected<Engine> engine = Engine::load({memory.get(), bytes.size()});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  ASSERT_EQ(engine->profiles(), 2u);
  for (size_t i = 0; i < engine->plan(0).blobs.size(); ++i) EXPECT_EQ(engine->plan(0).blobs[i].data(), engine->plan(1).blobs[i].data());
  EXPECT_EQ(engine->weight_bytes(), 3 * sizeof(int64_t));
  EXPECT_EQ(engine->inputs()[0].max, (Shape{5, 4}));
}

TEST(EngineFile, NamesOfDimsAreKept) {
  HandMadePlan made = shape_chain_plan();
  made.plan().profile[0].dim_names = {"rows", ""};
  const std::vector<std::byte> bytes = encode(made.plan());
  const auto memory = aligned_copy(bytes.data(), bytes.size());
  Expected<Engine> engine = Engine::load({memory.get(), bytes.size()});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(engine->inputs()[0].dim_names, (std::vector<std::string>{"rows", ""}));
}

TEST(EngineFile, ProfilesThatDisagreeAreRefused) {
  const auto error = [](auto&& edit) {
    OwnedPlan plans = with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5));
    edit(plans.more[0]);
    return load_error(encode(plans));
  };
  const auto expect = [](const Status& status, std::string_view words) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidEngine);
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
    EXPECT_NE(status.message().find("profile 2"), std::string_view::npos) << status.message();
  };
  const OwnedPlan more_outputs = control_flow_plan().finish(), other_type = conv_plan().finish(), other_rank = channels_last_plan().finish();
  EXPECT_TRUE(error([](Plan&) {}).ok());
  expect(error([](Plan& plan) { plan.model_hash = "f123456789abcdef"; }), "model: got f1");
  expect(error([](Plan& plan) { plan.slots[plan.inputs[0]].name = "z"; }), "input 'x': got 'z'");
  expect(error([](Plan& plan) { plan.slots[plan.outputs[0]].name = "z"; }), "output 'y': got 'z'");
  expect(error([&](Plan& plan) { plan = more_outputs.plan; }), "number of outputs: got 2, need 1");
  expect(error([&](Plan& plan) { plan = other_type.plan; }), "input 'x' type");
  expect(error([&](Plan& plan) { plan = other_rank.plan; }), "input 'x' rank: got 4, need 2");
  expect(error([](Plan& plan) { plan.arena_bytes = uint64_t{1} << 60; }), "arena");

  // Rows that share bytes would decode to more than the file is large; too many would, too.
  std::vector<std::byte> bytes = encode(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5)));
  std::memcpy(bytes.data() + 128 + 16 + 128 + 64, bytes.data() + 128 + 16 + 64, 16);
  ASSERT_TRUE(refresh_checksums(bytes));
  expect(load_error(bytes), "overlaps another");
  const HandMadePlan plan = add_relu_plan();
  OwnedPlan many = plan.finish();
  many.more.assign(16, many.plan);
  const Status status = load_error(encode(many));
  EXPECT_NE(status.message().find("profile 17: need at most 16"), std::string_view::npos) << status.message();
}

TEST(EngineFile, FilesAreMappedAndErrorsNameThem) {
  const std::string path = testing::TempDir() + "ingot_engine_file_test.engine";
  const std::vector<std::byte> bytes = encode(add_relu_plan().plan());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  Expected<Engine> engine = Engine::load_file(path);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(run(*engine)[5], 3.0f);
  std::remove(path.c_str());
  EXPECT_EQ(run(*engine)[5], 3.0f);
  const Status missing = Engine::load_file(path).take_status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "engine '" + path + "': cannot open: No such file or directory");
  EXPECT_FALSE(Engine::load_file(testing::TempDir()).ok());
}

TEST(EngineFile, DamageIsNamed) {
  const std::vector<std::byte> good = encode(add_relu_plan().plan());
  const auto error = [&](auto&& edit) {
    std::vector<std::byte> bytes = good;
    edit(bytes);
    return load_error(bytes);
  };
  const auto expect = [](const Status& status, std::string_view words) {
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
  };
  expect(error([](auto& b) { b.resize(100); }), "size: got 100 bytes, need at least 128");
  expect(error([](auto& b) { b.clear(); }), "size: got 0 bytes");
  expect(error([](auto& b) { b[1] = std::byte{0}; }), "magic bytes are missing");
  expect(error([](auto& b) { b.resize(b.size() - 1); }), "cut off or damaged");
  expect(error([](auto& b) { b.push_back({}); }), "cut off or damaged");
  expect(error([](auto& b) { b[20] ^= std::byte{1}; }), "header: checksum does not match");
  expect(error([](auto& b) { b.back() ^= std::byte{1}; }), "section 'blobs': checksum does not match");
  const Status version = error([](auto& b) { b[8] = std::byte{3}; });
  EXPECT_EQ(version.code(), StatusCode::kVersionMismatch);
  EXPECT_EQ(version.message(), "engine: format 3.3 is newer than this runtime: got 3.3, need 1.x; "
                               "rebuild the engine or update the runtime");
  std::vector<std::byte> shifted(good.size() + 64);
  const auto memory = aligned_copy(shifted.data(), shifted.size());
  std::memcpy(memory.get() + 8, good.data(), good.size());
  expect(Engine::load({memory.get() + 8, good.size()}).take_status(), "not 64-byte aligned");
}

TEST(EngineFile, ChecksumsMayBeSkipped) {
  std::vector<std::byte> bytes = encode(add_relu_plan().plan());
  bytes.back() ^= std::byte{1};
  RuntimeOptions options;
  options.verify_checksums = false;
  EXPECT_TRUE(load_error(bytes, options).ok());
  EXPECT_FALSE(load_error(bytes).ok());
}

// Each damaged file ends in a Status, or loads and runs without fault. Checksums are made right again for most, since
// otherwise hardly any would get past them.
TEST(EngineFile, SurvivesTwentyThousandMutations) {
  std::vector<std::vector<std::byte>> seeds;
  for (const auto make : {add_relu_plan, shape_chain_plan, channels_last_plan, conv_plan}) seeds.push_back(encode(make().plan()));
  seeds.push_back(encode(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5))));
  HandMadePlan named = shape_chain_plan();
  named.plan().profile[0].dim_names = {"rows", ""};
  seeds.push_back(encode(named.plan()));
  std::mt19937_64 random(20240607);
  const auto below = [&](uint64_t n) { return random() % n; };
  int loaded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = seeds[below(seeds.size())];
    const uint64_t edits = 1 + below(4);
    for (uint64_t k = 0; k < edits; ++k) {
      // Mostly past the header, where the plan lies.
      const size_t at = below(8) == 0 ? below(bytes.size()) : 128 + below(bytes.size() - 128);
      switch (below(4)) {
        case 0: bytes[at] = static_cast<std::byte>(below(256)); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1 << below(8)); break;
        case 2: bytes[at] = std::byte{0xff}; break;
        default: bytes[at] = bytes[below(bytes.size())]; break;
      }
    }
    if (below(20) == 0) bytes.resize(below(bytes.size()));
    if (below(10) != 0) refresh_checksums(bytes);
    const auto memory = aligned_copy(bytes.data(), bytes.size());
    loaded += try_engine({memory.get(), bytes.size()}) ? 1 : 0;
  }
  EXPECT_GT(loaded, 100);     // the mutations reach the runtime …
  EXPECT_LT(loaded, 15000);   // … and many are noticed
}

}  // namespace
}  // namespace ingot
