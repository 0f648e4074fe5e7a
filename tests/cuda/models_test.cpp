// Real networks on small inputs, whole, on the stand-in: one graph a run, with the bytes of the CPU where all is 8-bit, contexts
// interleaved on two streams in several orders, nothing allocated or awaited in enqueue(), memory as planned. tests/cuda/cut_models makes
// them of the models that scripts/models has brought.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "cuda/counted_new.h"
#include "cuda/stand_in.h"
#include "data/sample_files.h"
#include "ingot/builder.h"
#include "runtime/arena.h"
#include "tolerance.h"

namespace ingot {
namespace {

using cuda::DeviceMemory;
using Sample = std::vector<NamedTensor>;
using Results = std::vector<std::vector<std::byte>>;

struct Network {
  const char* name;
  bool all_int8;  // no float layer between 8-bit ones: the bytes of the CPU
};

struct Loaded {
  Arena memory;
  Engine cpu, gpu;
};

std::vector<Sample> samples_of(const std::string& folder) {
  SampleOptions options;
  options.path = folder + "/calib";
  auto files = open_samples(options);
  EXPECT_TRUE(files.ok()) << files.status().message();
  std::vector<Sample> all;
  for (Sample sample; files.ok(); sample.clear()) {
    auto more = files->source->next(sample);
    EXPECT_TRUE(more.ok()) << more.status().message();
    if (!more.ok() || !*more) break;
    all.push_back(sample);
  }
  return all;
}

Expected<Engine> load(const Arena& memory, size_t bytes, const std::string& backend) {
  RuntimeOptions options;
  options.backend = backend;
  return Engine::load({static_cast<const std::byte*>(memory.at(0)), bytes}, options);
}

Expected<Loaded> build_both(const std::string& folder, bool int8) {
  SampleOptions files;
  files.path = folder + "/calib";
  INGOT_ASSIGN(const SampleFiles calibration, open_samples(files));
  BuildOptions options;
  options.int8 = int8;
  options.fp16 = !int8;
  if (int8) options.calibration = calibration.source.get();
  options.targets = {"cuda-sm_80"};
  options.tune = false;
  options.verify = true;  // each step on its own, 8-bit ones to the byte
  INGOT_ASSIGN(const BuildResult built, build(folder + "/model.onnx", options));
  for (const std::string& warning : built.warnings) EXPECT_EQ(warning.find("not verified"), std::string::npos) << warning;
  INGOT_ASSIGN(Arena memory, Arena::allocate(built.engine.size()));
  std::copy(built.engine.begin(), built.engine.end(), static_cast<std::byte*>(memory.at(0)));
  INGOT_ASSIGN(Engine cpu, load(memory, built.engine.size(), "cpu"));
  INGOT_ASSIGN(Engine gpu, load(memory, built.engine.size(), "cuda"));
  return Loaded{std::move(memory), std::move(cpu), std::move(gpu)};
}

Results run_on_host(const Engine& engine, const Sample& sample) {
  auto context = engine.create_context();
  EXPECT_TRUE(context.ok()) << context.status().message();
  Status status = feed_sample(*context, engine, sample);
  std::vector<Buffer> outputs;
  for (const TensorInfo& output : engine.outputs()) outputs.push_back(context->output_buffer(output.name));
  if (status.ok()) status = context->run();
  EXPECT_TRUE(status.ok()) << status.message();
  Results results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo output = engine.outputs()[i];
    const auto* data = static_cast<const std::byte*>(outputs[i].data);
    results.emplace_back(data, data + context->shape(output.name)->elements() * static_cast<int64_t>(element_bytes(output.dtype)));
  }
  return results;
}

// A context whose inputs and outputs are device memory, with a stream of its own.
class OnDevice {
 public:
  OnDevice(const Engine& engine, const Sample& sample) : device_(*cuda::Device::first()), context_(*engine.create_context()) {
    const std::vector<TensorInfo> inputs = engine.inputs();
    for (size_t i = 0; i < sample.size(); ++i) {
      const std::string& name = sample[i].name.empty() ? inputs[i].name : sample[i].name;
      memory_.push_back(*DeviceMemory::upload(*device_, sample[i].data));
      EXPECT_TRUE(context_.set_shape(name, sample[i].shape).ok());
      EXPECT_TRUE(context_.bind(name, memory_.back().at(0), memory_.back().bytes()).ok());
    }
    first_output_ = memory_.size();
    for (const TensorInfo& output : engine.outputs()) {
      const auto shape = context_.shape(output.name);
      EXPECT_TRUE(shape.ok()) << shape.status().message();
      memory_.push_back(*DeviceMemory::allocate(*device_, static_cast<size_t>(shape->elements()) * element_bytes(output.dtype)));
      EXPECT_TRUE(context_.bind(output.name, memory_.back().at(0), memory_.back().bytes()).ok());
    }
    EXPECT_EQ(device_->driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  ~OnDevice() {
    device_->driver().cuStreamSynchronize(stream_);
    device_->driver().cuStreamDestroy(stream_);
  }
  Status enqueue() { return context_.enqueue(stream_); }
  Results results() {
    Results all;
    const cuda::Driver& cu = device_->driver();
    EXPECT_EQ(cu.cuStreamSynchronize(stream_), CUDA_SUCCESS);
    for (size_t i = first_output_; i < memory_.size(); ++i) {
      all.emplace_back(memory_[i].bytes());
      EXPECT_EQ(cu.cuMemcpyDtoHAsync(all.back().data(), reinterpret_cast<CUdeviceptr>(memory_[i].at(0)), memory_[i].bytes(), stream_), CUDA_SUCCESS);
      EXPECT_EQ(cu.cuStreamSynchronize(stream_), CUDA_SUCCESS);
    }
    return all;
  }

 private:
  cuda::Device* device_;
  ExecutionContext context_;
  std::vector<DeviceMemory> memory_;
  size_t first_output_ = 0;
  CUstream stream_ = nullptr;
};

// The largest difference of f32 results, relative to the largest value of each output.
double difference(const Results& got, const Results& want) {
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const std::span a(reinterpret_cast<const float*>(got[i].data()), got[i].size() / sizeof(float)),
        b(reinterpret_cast<const float*>(want[i].data()), want[i].size() / sizeof(float));
    double largest = 0, error = 0;
    for (size_t k = 0; k < b.size(); ++k) {
      largest = std::fmax(largest, std::fabs(static_cast<double>(b[k])));
      const double apart = std::fabs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
      error = apart <= error ? error : apart;  // NaN stays
    }
    most = std::fmax(most, largest > 0 ? error / largest : error);
  }
  return most;
}

class CudaModels : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    folder_ = std::string(INGOT_CUT_MODELS) + "/" + GetParam().name;
    std::string model = GetParam().name;
    if (model.ends_with("_begin")) model.resize(model.size() - std::strlen("_begin"));
    if (!std::filesystem::exists(folder_ + "/model.onnx"))
      GTEST_SKIP() << model << " is not there: run scripts/models " << model << ", then tests/cuda/cut_models " << INGOT_CUT_MODELS;
    if (!cuda::on_stand_in()) GTEST_SKIP() << "needs the stand-in's counters";
    samples_ = samples_of(folder_);
    ASSERT_GE(samples_.size(), 2u);
  }
  void expect_same(const Results& got, const Results& want, const char* what) const {
    if (GetParam().all_int8) EXPECT_TRUE(got == want) << what << ": not the bytes of the CPU; apart by " << difference(got, want);
    else EXPECT_LT(difference(got, want), kMixedNetworkTolerance) << what;
  }
  std::string folder_;
  std::vector<Sample> samples_;
};

TEST_P(CudaModels, Int8RunsAsOneGraphWithTheResultsOfTheCpu) {
  const auto loaded = build_both(folder_, true);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ASSERT_EQ(loaded->gpu.target(), "cuda-sm_80");
  const Results wanted[] = {run_on_host(loaded->cpu, samples_[0]), run_on_host(loaded->cpu, samples_[1])};
  ASSERT_NE(wanted[0], wanted[1]);
  cuda::seed_stand_in(1);
  const uint64_t before = cuda::stand_in_stats().bytes_in_use;
  {
    const auto context = loaded->gpu.create_context();
    ASSERT_TRUE(context.ok()) << context.status().message();
    EXPECT_EQ(cuda::stand_in_stats().bytes_in_use - before, loaded->gpu.arena_bytes());
  }
  OnDevice first(loaded->gpu, samples_[0]), second(loaded->gpu, samples_[1]);
  for (const uint64_t seed : {1, 2, 3}) {
    cuda::seed_stand_in(seed);
    if (seed == 1) {  // recording, the one time that may allocate
      ASSERT_TRUE(first.enqueue().ok());
      ASSERT_TRUE(second.enqueue().ok());
    } else {
      // Both in flight on streams of their own; the calls only queue.
      const FakeCudaStats calls = cuda::stand_in_stats();
      counted_new = 0;
      counting_new = true;
      const Status one = first.enqueue(), two = second.enqueue();
      counting_new = false;
      const FakeCudaStats after = cuda::stand_in_stats();
      ASSERT_TRUE(one.ok() && two.ok()) << one.message() << two.message();
      EXPECT_EQ(counted_new, 0);
      EXPECT_EQ(after.device_allocations, calls.device_allocations);
      EXPECT_EQ(after.host_allocations, calls.host_allocations);
      EXPECT_EQ(after.synchronisations, calls.synchronisations);
      EXPECT_EQ(after.graph_launches - calls.graph_launches, 2u);
      EXPECT_EQ(after.direct_launches, calls.direct_launches);
    }
    const Results one = first.results(), two = second.results();
    expect_same(one, wanted[0], "first context");
    expect_same(two, wanted[1], "second context");
    EXPECT_EQ(cuda::stand_in_stats().failures, 0u);
  }
}

TEST_P(CudaModels, HalfPrecisionStaysNearTheCpu) {
  const auto loaded = build_both(folder_, false);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  OnDevice context(loaded->gpu, samples_[0]);
  ASSERT_TRUE(context.enqueue().ok());
  const double apart = difference(context.results(), run_on_host(loaded->cpu, samples_[0]));
  EXPECT_GT(apart, 0);  // operands were rounded
  EXPECT_LT(apart, kHalfNetworkTolerance);
  RecordProperty("apart", std::to_string(apart));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaModels,
                         testing::Values(Network{"ppocr_v4_rec", false}, Network{"ppocr_v4_rec_begin", true}, Network{"efficientnet_lite0", true},
                                         Network{"minilm_l6", false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ingot
