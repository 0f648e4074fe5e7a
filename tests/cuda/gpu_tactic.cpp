// Uploads, one launch, downloads.
#include "cuda/gpu_tactic.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "runtime/thread_pool.h"

namespace ingot::cuda {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5};

// Row-major values in the memory order of an operand.
std::vector<std::byte> laid_out(const TensorType& type, const Shape& shape, const std::vector<std::byte>& values) {
  if (type.layout != Layout::kChannelsLast || shape.rank < 3) return values;
  std::vector<std::byte> turned(values.size());
  change_layout(values.data(), turned.data(), shape, element_bytes(type.dtype), Layout::kLinear);
  return turned;
}

}  // namespace

bool on_stand_in() {
  static const bool found = ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_stats") != nullptr;
  return found;
}

Expected<GpuTactic> GpuTactic::load(const TestProblem& problem, const Tactic& tactic, const DeviceInfo& device) {
  GpuTactic gpu;
  gpu.problem_ = &problem;
  INGOT_ASSIGN(gpu.device_, Device::first());
  const Problem view = problem.problem(device);
  gpu.packed_ = tactic.packed_inputs(view);
  gpu.workspace_bytes_ = tactic.workspace_bytes(view);
  INGOT_ASSIGN(const Blob blob, tactic.prepare(view));
  INGOT_ASSIGN(gpu.kernel_, tactic.load(view, blob));
  if (!blob.empty() && tactic.load(view, std::span(blob).first(blob.size() - 1)).ok())
    return Status(StatusCode::kInternal, "a blob of another size is taken");
  return gpu;
}

Expected<std::unique_ptr<GpuTactic::Launch>> GpuTactic::upload(const ReferenceRun& reference, ThreadPool& pool) {
  auto launch = std::make_unique<Launch>();
  for (size_t i = 0; i < reference.inputs.size(); ++i) {
    const Operand& operand = problem_->inputs[i];
    launch->host_inputs.push_back(operand.is_constant ? reference.inputs[i].data() : nullptr);
    launch->inputs.push_back(nullptr);
    if (!operand.present || (packed_ >> i & 1) != 0) continue;
    INGOT_ASSIGN(DeviceMemory uploaded, DeviceMemory::upload(*device_, laid_out(operand.type, reference.input_shapes[i], reference.inputs[i])));
    launch->inputs.back() = uploaded.at(0);
    launch->memory.push_back(std::move(uploaded));
  }
  for (size_t i = 0; i < reference.output_shapes.size(); ++i) {
    const int64_t bytes = reference.output_shapes[i].elements() * static_cast<int64_t>(element_bytes(problem_->outputs[i].type.dtype));
    const std::vector<std::byte> guarded(static_cast<size_t>(bytes) + kGuardBytes, kGuard);
    INGOT_ASSIGN(DeviceMemory result, DeviceMemory::upload(*device_, guarded));
    launch->outputs.push_back(result.at(0));
    launch->memory.push_back(std::move(result));
  }
  INGOT_ASSIGN(launch->workspace, DeviceMemory::allocate(*device_, workspace_bytes_));
  KernelArgs& args = launch->args;
  args.inputs = launch->inputs;
  args.outputs = launch->outputs;
  args.input_shapes = reference.input_shapes;
  args.output_shapes = reference.output_shapes;
  args.workspace = launch->workspace.at(0);
  args.pool = &pool;
  args.host_inputs = launch->host_inputs;
  return launch;
}

Expected<double> GpuTactic::microseconds(const ReferenceRun& reference) {
  const Driver& cu = device_->driver();
  ThreadPool pool(1);
  INGOT_ASSIGN(const std::unique_ptr<Launch> launch, upload(reference, pool));
  CUstream stream = nullptr;
  CUevent start = nullptr, end = nullptr;
  INGOT_CUDA_TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  INGOT_CUDA_TRY(cu.cuEventCreate(&start, CU_EVENT_DEFAULT));
  INGOT_CUDA_TRY(cu.cuEventCreate(&end, CU_EVENT_DEFAULT));
  launch->args.stream = stream;
  const auto batch_us = [&](int launches) -> Expected<double> {
    INGOT_CUDA_TRY(cu.cuEventRecord(start, stream));
    for (int i = 0; i < launches; ++i) INGOT_TRY(kernel_->run(launch->args));
    INGOT_CUDA_TRY(cu.cuEventRecord(end, stream));
    INGOT_CUDA_TRY(cu.cuEventSynchronize(end));
    float milliseconds = 0;
    INGOT_CUDA_TRY(cu.cuEventElapsedTime(&milliseconds, start, end));
    return 1e3 * static_cast<double>(milliseconds);
  };
  std::vector<double> each;
  Status status;
  const int warm_up = on_stand_in() ? 1 : 5;
  Expected<double> first = batch_us(warm_up);
  if (!first.ok()) status = first.take_status();
  if (status.ok() && !on_stand_in()) {
    const int launches = std::clamp(static_cast<int>(2000 * warm_up / std::max(*first, 1.0)), 5, 200);  // about 2 ms
    for (int i = 0; i < 7 && status.ok(); ++i) {
      const Expected<double> batch = batch_us(launches);
      if (batch.ok()) each.push_back(*batch / launches);
      else status = batch.status().clone();
    }
  }
  cu.cuEventDestroy(start);
  cu.cuEventDestroy(end);
  cu.cuStreamDestroy(stream);
  INGOT_TRY(std::move(status));
  if (each.empty()) return 0.0;
  std::nth_element(each.begin(), each.begin() + 3, each.end());
  return each[3];
}

Expected<std::vector<std::vector<std::byte>>> GpuTactic::run(const ReferenceRun& reference) {
  const Driver& cu = device_->driver();
  ThreadPool pool(1);
  INGOT_ASSIGN(const std::unique_ptr<Launch> launch, upload(reference, pool));
  const std::vector<void*>& outputs = launch->outputs;
  CUstream stream = nullptr;
  INGOT_CUDA_TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  launch->args.stream = stream;
  Status status = kernel_->run(launch->args);
  if (status.ok()) status = check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
  std::vector<std::vector<std::byte>> results;
  for (size_t i = 0; status.ok() && i < outputs.size(); ++i) {
    std::vector<std::byte> bytes(reference.outputs[i].size() + kGuardBytes);
    status = check(cu.cuMemcpyDtoHAsync(bytes.data(), reinterpret_cast<CUdeviceptr>(outputs[i]), bytes.size(), stream), "cuMemcpyDtoHAsync");
    if (status.ok()) status = check(cu.cuStreamSynchronize(stream), "cuStreamSynchronize");
    for (size_t at = reference.outputs[i].size(); status.ok() && at < bytes.size(); ++at)
      if (bytes[at] != kGuard) status = Status(StatusCode::kInternal, "output " + std::to_string(i) + " is written beyond its end");
    bytes.resize(reference.outputs[i].size());
    const TensorType& type = problem_->outputs[i].type;
    const Shape& shape = reference.output_shapes[i];
    results.push_back(bytes);
    if (type.layout == Layout::kChannelsLast && shape.rank >= 3)
      change_layout(bytes.data(), results.back().data(), shape, element_bytes(type.dtype), Layout::kChannelsLast);
  }
  cu.cuStreamDestroy(stream);
  INGOT_TRY(std::move(status));
  return results;
}

}  // namespace ingot::cuda
