// Chains and single element-wise operators in an engine for a GPU, over the stand-in: the CPU's results from generated kernels that the
// file holds, and damaged ones. Plans without them are in loading_check.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>

#include "builder/kernel_compiler.h"
#include "builder/onnx_model_maker.h"
#include "cuda/gpu_tactic.h"
#include "ingot/builder.h"
#include "ingot/runtime.h"
#include "tolerance.h"

namespace ingot {
namespace {

// %y: a chain of floats; %n: one over integers; %r: one that ends in a reduction; %k: a single operator without a built-in kernel.
std::string model_path() {
  ModelMaker model(17);
  model.input("x", {2, 3, 5, 7}).input("m", {2, 3, 5, 7}, 7);
  model.constant<float>("s", {3, 1, 1}, {0.5f, -1.25f, 2}).constant<float>("half", {}, {0.5f}).constant<int64_t>("two", {}, {2}).constant<int64_t>("axes", {1}, {-1});
  model.node("Mul", {"x", "s"}, {"a"});
  model.node("Tanh", {"a"}, {"b"});
  model.node("Greater", {"x", "half"}, {"c"});
  model.node("Where", {"c", "b", "x"}, {"d"});
  model.node("Add", {"d", "a"}, {"y"});
  model.node("Mod", {"m", "two"}, {"e"});
  model.node("Equal", {"e", "two"}, {"f"});
  model.node("Not", {"f"}, {"g"});
  model.node("Cast", {"g"}, {"n"}).integer("to", 7);
  model.node("Mul", {"x", "x"}, {"h"});
  model.node("Sqrt", {"h"}, {"i"});
  model.node("ReduceSum", {"i", "axes"}, {"r"});
  model.node("Mod", {"m", "m"}, {"k"});
  for (const char* name : {"y", "n", "r", "k"}) model.output(name);
  const std::string path = testing::TempDir() + "chains.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes();
  return path;
}

std::vector<std::vector<std::byte>> run(const std::vector<std::byte>& file, const std::string& backend) {
  std::vector<std::byte> storage(file.size() + 64);
  std::byte* const aligned = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
  std::copy(file.begin(), file.end(), aligned);
  RuntimeOptions options;
  options.backend = backend;
  auto engine = Engine::load({aligned, file.size()}, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  auto context = engine->create_context();
  EXPECT_TRUE(context.ok()) << context.status().message();
  std::mt19937 random(5);
  auto* x = static_cast<float*>(context->input_buffer("x").data);
  auto* m = static_cast<int64_t*>(context->input_buffer("m").data);
  for (int i = 0; i < 210; ++i) x[i] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256, m[i] = static_cast<int64_t>(random() % 9) - 4;
  for (const TensorInfo& output : engine->outputs()) context->output_buffer(output.name);
  const Status status = context->run();
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<std::byte>> results;
  for (const TensorInfo& output : engine->outputs()) {
    const Buffer buffer = context->output_buffer(output.name);
    const auto* bytes = static_cast<const std::byte*>(buffer.data);
    results.emplace_back(bytes, bytes + buffer.bytes);
  }
  return results;
}

TEST(CudaChains, GiveTheCpusResults) {
  if (const auto compiler = kernel_compiler(); !compiler.ok()) GTEST_SKIP() << compiler.status().message();
  BuildOptions options;
  options.tune = false;
  options.targets = {"cuda-sm_80"};
  const auto built = build(model_path(), options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_NE(built->report_json.find("cuda.pointwise_chain.generated"), std::string::npos);
  EXPECT_NE(built->report_json.find("cuda.binary.generated"), std::string::npos);
  const auto cpu = run(built->engine, "cpu"), gpu = run(built->engine, "cuda");
  ASSERT_EQ(cpu.size(), 4u);
  for (size_t i : {0, 1, 3}) EXPECT_EQ(cpu[i], gpu[i]) << "output " << i;
  for (size_t at = 0; at < cpu[2].size(); at += sizeof(float)) {
    float a, b;
    std::memcpy(&a, &cpu[2][at], sizeof a);
    std::memcpy(&b, &gpu[2][at], sizeof b);
    EXPECT_TRUE(tolerance_of(OpKind::kReduce, DataType::kF32).allows(b, a)) << a << ' ' << b;
  }
  // The same images each time.
  const auto again = build(model_path(), options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->engine, built->engine);
}

TEST(CudaChains, DamagedImagesAreRefused) {
  if (const auto compiler = kernel_compiler(); !compiler.ok()) GTEST_SKIP() << compiler.status().message();
  BuildOptions options;
  options.tune = false;
  options.targets = {"cuda-sm_80"};
  auto built = build(model_path(), options);
  ASSERT_TRUE(built.ok()) << built.status().message();
  const std::string magic = "INGK";
  auto at = std::search(built->engine.begin(), built->engine.end(), magic.begin(), magic.end(), [](std::byte a, char b) { return static_cast<char>(a) == b; });
  ASSERT_NE(at, built->engine.end());
  at[8] = std::byte{0xff}, at[12] = std::byte{0xff};
  std::vector<std::byte> storage(built->engine.size() + 64);
  std::byte* const aligned = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
  std::copy(built->engine.begin(), built->engine.end(), aligned);
  RuntimeOptions runtime;
  runtime.backend = "cuda";
  runtime.verify_checksums = false;
  const auto engine = Engine::load({aligned, built->engine.size()}, runtime);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().code(), StatusCode::kInvalidEngine) << engine.status().message();
}

}  // namespace
}  // namespace ingot
