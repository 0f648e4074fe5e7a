// The main road on the shipped model: calibrate, build, run; INT8 is the same bytes everywhere and as accurate as promised.
#include <nlohmann/json.hpp>

#include "e2e/digits_fixture.h"
#include "runtime/cpu/cpu_features.h"

namespace ingot {
namespace {

Engine must_build(const BuildOptions& options, const std::string& model = digits::model()) {
  auto engine = build_and_load(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

TEST(Digits, Int8IsWithinHalfAPointOfFloat) {
  const auto rows = digits::images(1000);
  ASSERT_EQ(rows.size(), 1000u);
  BuildOptions f32 = digits::int8_options();
  f32.int8 = false;
  const double reference = digits::accuracy(digits::run(must_build(f32), rows, 16));
  const double quantised = digits::accuracy(digits::run(must_build(digits::int8_options()), rows, 16));
  EXPECT_GT(reference, 98.0);
  EXPECT_GE(quantised, reference - 0.5);
}

TEST(Digits, EveryCalibrationMethodServes) {
  const auto rows = digits::images(1000);
  for (const auto method : {CalibrationMethod::kMinMax, CalibrationMethod::kPercentile, CalibrationMethod::kEntropy, CalibrationMethod::kMeanSquaredError}) {
    SampleFiles files = digits::open(digits::folder() + "/calib");
    BuildOptions options = digits::int8_options();
    options.calibration_table.reset();
    options.calibration = files.source.get();
    options.method = method;
    EXPECT_GE(digits::accuracy(digits::run(must_build(options), rows, 16)), 98.0) << to_string(method);
  }
}

TEST(Digits, CalibrationIsTheSameOnAllVectorInstructionSets) {
  if (detect_cpu_features().level < CpuLevel::kAvx2) GTEST_SKIP() << "needs AVX2";
  std::string first;
  for (const char* level : {"avx2", "avx_vnni", "avx512_vnni"}) {
    SampleFiles files = digits::open(digits::folder() + "/calib");
    BuildOptions options;
    options.calibration = files.source.get();
    options.cpu_level = level;
    options.threads = first.empty() ? 1 : 2;
    auto table = calibrate(digits::model(), options);
    ASSERT_TRUE(table.ok()) << table.status().message();
    if (first.empty()) first = table->to_text();
    EXPECT_EQ(table->to_text(), first) << level;
  }
}

TEST(Digits, Int8BytesDoNotDependOnTacticThreadsOrInstructionSet) {
  const auto rows = digits::images(40);
  BuildOptions options = digits::int8_options();
  options.reference_only = true;
  const auto want = digits::run(must_build(options), rows, 1);
  options.reference_only = false;
  for (const bool tune : {false, true})
    for (const int threads : {1, 2}) {
      options.tune = tune;
      options.threads = threads;
      EXPECT_TRUE(digits::same_bytes(want, digits::run(must_build(options), rows, 1))) << "tune " << tune << " threads " << threads;
    }
  options.threads = 1;
  options.tune = false;
  const CpuLevel machine = detect_cpu_features().level;
  for (const CpuLevel level : {CpuLevel::kScalar, CpuLevel::kAvx2, CpuLevel::kAvxVnni, CpuLevel::kAvx512Vnni}) {
    if (level > machine) continue;
    options.cpu_level = to_string(level);
    EXPECT_TRUE(digits::same_bytes(want, digits::run(must_build(options), rows, 1))) << to_string(level);
  }
}

TEST(Digits, Int8BytesDoNotDependOnThePlaceInTheBatch) {
  const auto rows = digits::images(35);
  const Engine engine = must_build(digits::int8_options());
  const auto one = digits::run(engine, rows, 1);
  EXPECT_TRUE(digits::same_bytes(one, digits::run(engine, rows, 7)));
  EXPECT_TRUE(digits::same_bytes(one, digits::run(engine, rows, 16)));
}

TEST(Digits, TwoBuildsWithOneTimingCacheAreTheSameFile) {
  const std::string cache = testing::TempDir() + "ingot_timing.cache";
  std::remove(cache.c_str());
  BuildOptions options = digits::int8_options();
  options.tune = true;
  options.timing_cache = cache;
  auto first = build(digits::model(), options), second = build(digits::model(), options), third = build(digits::model(), options);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  // The first one measured; the others read what it wrote.
  EXPECT_EQ(second->engine, third->engine);
  EXPECT_EQ(first->engine, second->engine);
  std::remove(cache.c_str());
}

TEST(Digits, AnEngineFileRunsAsTheEngineInMemory) {
  const auto rows = digits::images(5);
  auto built = build(digits::model(), digits::int8_options());
  ASSERT_TRUE(built.ok()) << built.status().message();
  const std::string path = testing::TempDir() + "ingot_digits.engine";
  ASSERT_TRUE(write_file_atomically(path, built->engine).ok());
  auto loaded = Engine::load_file(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_TRUE(digits::same_bytes(digits::run(*loaded, rows, 1), digits::run(must_build(digits::int8_options()), rows, 1)));
  std::remove(path.c_str());
}

TEST(Digits, ArenaIsCloseToThePeakOfLiveBytes) {
  for (const bool int8 : {false, true}) {
    BuildOptions options = digits::int8_options();
    options.int8 = int8;
    auto built = build(digits::model(), options);
    ASSERT_TRUE(built.ok());
    const auto memory = nlohmann::json::parse(built->report_json)["memory"];
    EXPECT_LE(memory["arena_bytes"].get<double>(), 1.2 * memory["peak_live_bytes"].get<double>());
    EXPECT_GT(memory["peak_live_bytes"].get<double>(), 0);
  }
}

TEST(Digits, EveryLayerOfTheInt8EngineIsExplained) {
  auto built = build(digits::model(), digits::int8_options());
  ASSERT_TRUE(built.ok());
  const auto report = nlohmann::json::parse(built->report_json);
  EXPECT_GE(report["summary"]["int8_layers"].get<int>(), 14);
  for (const auto& layer : report["layers"]) {
    EXPECT_FALSE(layer["tactic"].get<std::string>().empty());
    if (layer["op"] == "Conv") {
      EXPECT_EQ(layer["precision"], "int8") << layer["name"];
      EXPECT_FALSE(layer["notes"].empty()) << layer["name"];
    }
  }
}

TEST(Digits, VerificationPassesAndLooksAtEveryStep) {
  BuildOptions options = digits::int8_options();
  options.verify = true;
  auto built = build(digits::model(), options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const auto verified = nlohmann::json::parse(built->report_json)["verified"];
  EXPECT_GE(verified["exact_steps"].get<int>(), 14);
}

TEST(Digits, HalfWeightsHalveTheFileAndKeepTheAnswers) {
  BuildOptions options = digits::int8_options();
  options.int8 = false;
  auto full = build(digits::model(), options);
  options.fp16 = true;
  auto half = build(digits::model(), options);
  ASSERT_TRUE(full.ok() && half.ok());
  EXPECT_LT(half->engine.size(), full->engine.size() * 6 / 10);
  const std::string path = testing::TempDir() + "ingot_half.engine";
  ASSERT_TRUE(write_file_atomically(path, half->engine).ok());
  auto loaded = Engine::load_file(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const auto rows = digits::images(20);
  options.fp16 = false;
  const auto want = digits::run(must_build(options), rows, 1), got = digits::run(*loaded, rows, 1);
  double largest = 0;
  for (size_t i = 0; i < want.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(want[i]) - static_cast<double>(got[i])));
  EXPECT_GT(largest, 0);  // the weights were rounded
  EXPECT_LT(largest, 0.1);
  options.fp16 = true;
  EXPECT_TRUE(digits::same_bytes(got, digits::run(must_build(options), rows, 1)));
  std::remove(path.c_str());
}

TEST(Digits, ModelsWithQdqNeedNoCalibrationAndKeepTheirScales) {
  BuildOptions options = digits::int8_options();
  options.calibration_table.reset();
  options.int8 = false;
  options.verify = true;
  const std::string model = digits::folder() + "/digits_qdq.onnx";
  auto built = build(model, options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const auto report = nlohmann::json::parse(built->report_json);
  EXPECT_GE(report["summary"]["int8_layers"].get<int>(), 14);
  const auto rows = digits::images(1000);
  EXPECT_GE(digits::accuracy(digits::run(must_build(options, model), rows, 16)), 98.6);
}

TEST(Digits, TableOfAnotherModelIsRefused) {
  BuildOptions options = digits::int8_options();
  options.calibration_table->model_hash = "0123456789abcdef";
  auto built = build(digits::model(), options);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.status().message().find("was made for another model"), std::string_view::npos);
}

TEST(Digits, AnInterruptedBuildSaysSo) {
  const std::atomic<bool> stop{true};
  BuildOptions options = digits::int8_options();
  options.stop = &stop;
  auto built = build(digits::model(), options);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.status().code(), StatusCode::kInterrupted);
}

TEST(Digits, UnknownPassNamesAreListed) {
  BuildOptions options = digits::int8_options();
  options.disabled_passes = {"fuse_everything"};
  auto built = build(digits::model(), options);
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.status().message().find("fuse_activation"), std::string_view::npos);
}

TEST(Digits, EveryPassMayBeLeftOut) {
  const auto rows = digits::images(3);
  BuildOptions options = digits::int8_options();
  options.int8 = false;
  const auto want = digits::run(must_build(options), rows, 1);
  for (const char* pass : {"fold_constants", "eliminate_identities", "raise_composites", "fuse_conv_batchnorm", "fuse_bias",
                           "fuse_residual_add", "fuse_activation", "eliminate_common_subexpressions"}) {
    options.disabled_passes = {pass};
    const auto got = digits::run(must_build(options), rows, 1);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-3) << pass;
  }
}

TEST(WriteFile, FailureLeavesNothingBehind) {
  const std::byte byte{1};
  const Status status = write_file_atomically("/nonexistent-folder/x.engine", {&byte, 1});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nonexistent-folder/x.engine"), std::string_view::npos);
}

}  // namespace
}  // namespace ingot
