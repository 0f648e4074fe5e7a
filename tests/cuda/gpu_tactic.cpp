// Uploads, one launch, downloads.
#include "cuda/gpu_tactic.h"

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

Expected<std::vector<std::vector<std::byte>>> GpuTactic::run(const ReferenceRun& reference) {
  const Driver& cu = device_->driver();
  std::vector<DeviceMemory> memory;
  std::vector<const void*> inputs, host_inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < reference.inputs.size(); ++i) {
    const Operand& operand = problem_->inputs[i];
    host_inputs.push_back(operand.is_constant ? reference.inputs[i].data() : nullptr);
    inputs.push_back(nullptr);
    if (!operand.present || (packed_ >> i & 1) != 0) continue;
    INGOT_ASSIGN(DeviceMemory uploaded, DeviceMemory::upload(*device_, laid_out(operand.type, reference.input_shapes[i], reference.inputs[i])));
    inputs.back() = uploaded.at(0);
    memory.push_back(std::move(uploaded));
  }
  for (const auto& wanted : reference.outputs) {
    const std::vector<std::byte> guarded(wanted.size() + kGuardBytes, kGuard);
    INGOT_ASSIGN(DeviceMemory result, DeviceMemory::upload(*device_, guarded));
    outputs.push_back(result.at(0));
    memory.push_back(std::move(result));
  }
  INGOT_ASSIGN(const DeviceMemory workspace, DeviceMemory::allocate(*device_, workspace_bytes_));
  CUstream stream = nullptr;
  INGOT_CUDA_TRY(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ThreadPool pool(1);
  KernelArgs args;
  args.inputs = inputs;
  args.outputs = outputs;
  args.input_shapes = reference.input_shapes;
  args.output_shapes = reference.output_shapes;
  args.workspace = workspace.at(0);
  args.pool = &pool;
  args.stream = stream;
  args.host_inputs = host_inputs;
  Status status = kernel_->run(args);
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
