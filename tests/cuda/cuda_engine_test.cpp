// The whole engine on the stand-in: digits in INT8 with the bytes of the CPU's plan, contexts side by side, nothing allocated or
// awaited inside enqueue(), memory as planned.
#include "cuda/stand_in.h"
#include "e2e/digits_fixture.h"
#include "runtime/plan.h"
#include "tolerance.h"

namespace ingot {
namespace {

using cuda::DeviceMemory, cuda::stand_in_stats;
#define INGOT_SKIP_ON_A_REAL_DRIVER() \
  if (!cuda::on_stand_in()) GTEST_SKIP() << "needs the stand-in's counters"

// One file with both plans, loaded for either.
const std::vector<std::byte>& engine_file() {
  static const std::vector<std::byte> bytes = [] {
    BuildOptions options = digits::int8_options();
    options.targets = {"cuda-sm_80"};
    options.verify = true;
    auto built = build(digits::model(), options);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return built.ok() ? std::move(built->engine) : std::vector<std::byte>();
  }();
  return bytes;
}
Engine load(const std::string& backend) {
  RuntimeOptions options;
  options.backend = backend;
  // Engine::load() wants aligned memory that outlives the engine.
  static std::vector<std::byte> storage(engine_file().size() + 64);
  static std::byte* const aligned = [] {
    auto* at = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
    std::copy(engine_file().begin(), engine_file().end(), at);
    return at;
  }();
  auto engine = Engine::load({aligned, engine_file().size()}, options);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return *std::move(engine);
}

TEST(CudaEngine, TakesTheBestPlanAndSaysWhich) {
  EXPECT_EQ(load("").target(), "cuda-sm_80");
  EXPECT_EQ(load("cuda").target(), "cuda-sm_80");
  EXPECT_EQ(load("cpu").target(), "cpu-x86-64");
  EXPECT_EQ(load("").remark(), "");
}

TEST(CudaEngine, GivesTheBytesOfTheCpu) {
  const auto rows = digits::images(24);
  const Engine cpu = load("cpu"), gpu = load("cuda");
  const std::vector<float> wanted = digits::run(cpu, rows, 1);
  for (size_t batch : {1, 2, 7}) EXPECT_TRUE(digits::same_bytes(digits::run(gpu, rows, batch), wanted)) << "batch " << batch;
}

// A context's input and output in device memory.
struct OnDevice {
  OnDevice(const Engine& engine, const std::vector<float>& image) : device(*cuda::Device::first()), context(*engine.create_context()) {
    x = *DeviceMemory::upload(*device, std::as_bytes(std::span(image)));
    y = *DeviceMemory::allocate(*device, 10 * sizeof(float));
    EXPECT_TRUE(context.bind("image", x.at(0), x.bytes()).ok());
    EXPECT_TRUE(context.bind("logits", y.at(0), y.bytes()).ok());
    EXPECT_EQ(device->driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  std::vector<float> logits() {
    std::vector<float> result(10);
    EXPECT_EQ(device->driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(device->driver().cuMemcpyDtoHAsync(result.data(), reinterpret_cast<CUdeviceptr>(y.at(0)), y.bytes(), stream), CUDA_SUCCESS);
    EXPECT_EQ(device->driver().cuStreamSynchronize(stream), CUDA_SUCCESS);
    return result;
  }
  cuda::Device* device;
  ExecutionContext context;
  DeviceMemory x, y;
  CUstream stream = nullptr;
};

TEST(CudaEngine, ContextsOnTwoStreamsDoNotDisturbEachOther) {
  const auto rows = digits::images(2);
  const Engine cpu = load("cpu"), gpu = load("cuda");
  const std::vector<float> wanted = digits::run(cpu, rows, 1);
  OnDevice first(gpu, rows[0]), second(gpu, rows[1]);
  for (uint64_t round = 1; round <= 6; ++round) {
    cuda::seed_stand_in(round);
    ASSERT_TRUE(first.context.enqueue(first.stream).ok());
    ASSERT_TRUE(second.context.enqueue(second.stream).ok());
    std::vector<float> got = first.logits();
    const std::vector<float> more = second.logits();
    got.insert(got.end(), more.begin(), more.end());
    EXPECT_TRUE(digits::same_bytes(got, wanted)) << "round " << round;
  }
}

TEST(CudaEngine, EnqueueNeitherAllocatesNorWaits) {
  INGOT_SKIP_ON_A_REAL_DRIVER();
  const auto rows = digits::images(1);
  const Engine gpu = load("cuda");
  OnDevice io(gpu, rows[0]);
  ASSERT_TRUE(io.context.enqueue(io.stream).ok());  // records
  (void)io.logits();
  const FakeCudaStats before = stand_in_stats();
  ASSERT_TRUE(io.context.enqueue(io.stream).ok());
  const FakeCudaStats after = stand_in_stats();
  EXPECT_EQ(after.device_allocations, before.device_allocations);
  EXPECT_EQ(after.host_allocations, before.host_allocations);
  EXPECT_EQ(after.synchronisations, before.synchronisations);
  EXPECT_EQ(after.graph_launches, before.graph_launches + 1);
  EXPECT_EQ(after.failures, 0u);
  (void)io.logits();
}

TEST(CudaEngine, AContextTakesWhatThePlanSays) {
  INGOT_SKIP_ON_A_REAL_DRIVER();
  const Engine gpu = load("cuda");
  const uint64_t before = stand_in_stats().bytes_in_use;
  auto context = gpu.create_context();
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(stand_in_stats().bytes_in_use - before, gpu.arena_bytes());
}

// Digits in float for a GPU, each step verified by the build; `in_half`: layers that compute in halves of either kind.
std::vector<float> float_logits(bool fp16, bool bf16, const std::vector<std::vector<float>>& rows, int& in_half) {
  BuildOptions options = digits::int8_options();
  options.int8 = false;
  options.fp16 = fp16;
  options.bf16 = bf16;
  options.targets = {"cuda-sm_80"};
  options.verify = true;
  auto built = build(digits::model(), options);
  EXPECT_TRUE(built.ok()) << built.status().message();
  if (!built.ok()) return {};
  const std::string path = testing::TempDir() + "ingot_cuda_float.engine";
  EXPECT_TRUE(write_file_atomically(path, built->engine).ok());
  RuntimeOptions runtime;
  runtime.backend = "cuda";
  auto engine = Engine::load_file(path, runtime);
  std::remove(path.c_str());
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  if (!engine.ok()) return {};
  const auto& steps = engine->plan().steps;
  in_half = static_cast<int>(std::count_if(steps.begin(), steps.end(), [&](const Step& step) { return step.tactic.find(bf16 ? ".bf16" : ".f16") != std::string::npos; }));
  return digits::run(*engine, rows, 2);
}

TEST(CudaEngine, HalfPrecisionIsUsedWhereItIsPermittedOnly) {
  const auto rows = digits::images(4);
  int in_full = 0;
  const std::vector<float> full = float_logits(false, false, rows, in_full);
  EXPECT_EQ(in_full, 0);
  for (const bool bf16 : {false, true}) {
    SCOPED_TRACE(bf16 ? "bf16" : "f16");
    int in_half = 0;
    const std::vector<float> half = float_logits(!bf16, bf16, rows, in_half);
    EXPECT_GE(in_half, 3);
    ASSERT_EQ(half.size(), full.size());
    double largest = 0, error = 0;
    for (size_t i = 0; i < full.size(); ++i) {
      largest = std::max(largest, std::fabs(static_cast<double>(full[i])));
      error = std::max(error, std::fabs(static_cast<double>(half[i]) - static_cast<double>(full[i])));
    }
    EXPECT_GT(error, 0);  // operands were rounded
    EXPECT_LT(error, (bf16 ? kBrainNetworkTolerance : kHalfNetworkTolerance) * largest);
  }
}

TEST(CudaEngine, EnqueueWantsDeviceMemory) {
  const Engine gpu = load("cuda");
  auto context = gpu.create_context();
  (void)context->input_buffer("image");
  (void)context->output_buffer("logits");
  const Status status = context->enqueue(nullptr);
  EXPECT_NE(std::string(status.message()).find("input 'image': enqueue() needs device memory"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace ingot
