// Constants, arenas, staging memory, and CUDA graphs.
#include "runtime/cuda/backend_cuda.h"

#include <algorithm>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/thread_pool.h"

namespace ingot::cuda {
namespace {

class Run final : public DeviceRun {
 public:
  explicit Run(Device& device) : device_(device), cu_(device.driver()) {}
  Run(const Run&) = delete;
  ~Run() override {
    if (!device_.make_current().ok()) return;
    if (stream_) cu_.cuStreamSynchronize(stream_);
    drop_graph();
    for (void* memory : staging_) cu_.cuMemFreeHost(memory);
    if (replayed_) cu_.cuEventDestroy(replayed_);
    if (stream_) cu_.cuStreamDestroy(stream_);
  }

  Status prepare(uint64_t arena_bytes) {
    INGOT_ASSIGN(arena_, DeviceMemory::allocate(device_, arena_bytes));
    INGOT_CUDA_TRY(cu_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    INGOT_CUDA_TRY(cu_.cuEventCreate(&replayed_, CU_EVENT_DISABLE_TIMING));
    return {};
  }

  void* arena() const override { return arena_.at(0); }
  void* stream() const override { return stream_; }

  Expected<DeviceIo> allocate_io(uint64_t bytes) override {
    INGOT_TRY(device_.make_current());
    INGOT_ASSIGN(DeviceMemory memory, DeviceMemory::allocate(device_, bytes));
    INGOT_ASSIGN(void* const staging, allocate_staging(bytes));
    io_.push_back(std::move(memory));
    return DeviceIo{io_.back().at(0), staging};
  }
  Expected<void*> allocate_staging(uint64_t bytes) override {
    INGOT_TRY(device_.make_current());
    void* staging = nullptr;
    INGOT_CUDA_TRY(cu_.cuMemHostAlloc(&staging, bytes == 0 ? 1 : bytes, 0));
    staging_.push_back(staging);
    return staging;
  }

  Status enter() override { return device_.make_current(); }

  Status begin_recording() override {
    if (graph_) INGOT_CUDA_TRY(cu_.cuEventSynchronize(replayed_));
    drop_graph();
    // Other threads may allocate and synchronise meanwhile.
    INGOT_CUDA_TRY(cu_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    return {};
  }
  Status end_recording() override {
    CUgraph graph = nullptr;
    INGOT_CUDA_TRY(cu_.cuStreamEndCapture(stream_, &graph));
    Status status = check(cu_.cuGraphInstantiateWithFlags(&graph_, graph, 0), "cuGraphInstantiateWithFlags");
    cu_.cuGraphDestroy(graph);
    return status;
  }

  Status copy_in(const DeviceIo& io, uint64_t bytes) override {
    if (bytes == 0) return {};
    return check(cu_.cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(io.device), io.staging, bytes, stream_), "cuMemcpyHtoDAsync");
  }
  Status copy_out(const DeviceIo& io, uint64_t bytes) override {
    if (bytes == 0) return {};
    return check(cu_.cuMemcpyDtoHAsync(io.staging, reinterpret_cast<CUdeviceptr>(io.device), bytes, stream_), "cuMemcpyDtoHAsync");
  }

  Status replay(void* user_stream) override {
    if (!graph_) return Status(StatusCode::kInternal, "cuda: nothing has been recorded");
    const CUstream stream = user_stream ? static_cast<CUstream>(user_stream) : stream_;
    INGOT_CUDA_TRY(cu_.cuGraphLaunch(graph_, stream));
    return check(cu_.cuEventRecord(replayed_, stream), "cuEventRecord");
  }
  Status synchronize() override { return check(cu_.cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

  Status read(void* host, const void* device, uint64_t bytes) override {
    if (bytes == 0) return {};
    INGOT_CUDA_TRY(cu_.cuMemcpyDtoHAsync(host, reinterpret_cast<CUdeviceptr>(device), bytes, stream_));
    return synchronize();
  }

 private:
  void drop_graph() {
    if (graph_) cu_.cuGraphExecDestroy(graph_);
    graph_ = nullptr;
  }

  Device& device_;
  const Driver& cu_;
  DeviceMemory arena_;
  std::vector<DeviceMemory> io_;
  std::vector<void*> staging_;
  CUstream stream_ = nullptr;
  CUevent replayed_ = nullptr;  // behind the latest replay
  CUgraphExec graph_ = nullptr;
};

class Constants final : public DeviceConstants {
 public:
  Constants(Device& device, DeviceMemory memory, std::vector<const void*> addresses)
      : device_(device), memory_(std::move(memory)), addresses_(std::move(addresses)) {}

  const void* at(uint32_t slot) const override { return addresses_[slot]; }
  Expected<std::unique_ptr<DeviceRun>> create_run(uint64_t arena_bytes) const override {
    auto run = std::make_unique<Run>(device_);
    INGOT_TRY(run->prepare(arena_bytes));
    return std::unique_ptr<DeviceRun>(std::move(run));
  }

 private:
  Device& device_;
  DeviceMemory memory_;
  std::vector<const void*> addresses_;
};

// A stream, and the time between two events on it.
class Stopwatch {
 public:
  explicit Stopwatch(const Driver& cu) : cu_(cu) {}
  Stopwatch(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (start_) cu_.cuEventDestroy(start_);
    if (end_) cu_.cuEventDestroy(end_);
    if (stream_) cu_.cuStreamDestroy(stream_);
  }
  Status prepare() {
    INGOT_CUDA_TRY(cu_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    INGOT_CUDA_TRY(cu_.cuEventCreate(&start_, CU_EVENT_DEFAULT));
    INGOT_CUDA_TRY(cu_.cuEventCreate(&end_, CU_EVENT_DEFAULT));
    return {};
  }
  void* stream() const { return stream_; }
  Expected<double> microseconds(Kernel& kernel, const KernelArgs& args, int launches) {
    INGOT_CUDA_TRY(cu_.cuEventRecord(start_, stream_));
    for (int i = 0; i < launches; ++i) INGOT_TRY(kernel.run(args));
    INGOT_CUDA_TRY(cu_.cuEventRecord(end_, stream_));
    INGOT_CUDA_TRY(cu_.cuEventSynchronize(end_));
    float milliseconds = 0;
    INGOT_CUDA_TRY(cu_.cuEventElapsedTime(&milliseconds, start_, end_));
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  const Driver& cu_;
  CUstream stream_ = nullptr;
  CUevent start_ = nullptr, end_ = nullptr;
};

}  // namespace

Expected<DeviceInfo> find_device() {
  INGOT_ASSIGN(const Device* const found, Device::first());
  DeviceInfo device;
  device.name = found->name();
  device.fingerprint = found->name() + ", " + std::to_string(found->multiprocessors()) + " multiprocessors";
  device.multiprocessors = found->multiprocessors();
  device.keeps_time = found->name().find("interpreter") == std::string::npos;
  device.backend = Backend::kCuda;
  device.cuda_capability = found->compute_capability();
  return device;
}

Expected<std::unique_ptr<DeviceConstants>> upload_constants(const Plan& plan) {
  INGOT_ASSIGN(Device* const device, Device::first());
  ConstantPack pack;
  std::vector<size_t> offsets(plan.slots.size(), SIZE_MAX);
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.home == Slot::Home::kConstant && slot.offset < plan.blobs.size() && !plan.blobs[slot.offset].empty())
      offsets[i] = pack.add(plan.blobs[slot.offset]);
  }
  INGOT_ASSIGN(DeviceMemory memory, pack.upload(*device));
  std::vector<const void*> addresses;
  for (size_t offset : offsets) addresses.push_back(offset == SIZE_MAX ? nullptr : memory.at(offset));
  return std::unique_ptr<DeviceConstants>(std::make_unique<Constants>(*device, std::move(memory), std::move(addresses)));
}

Expected<double> time_on_device(Kernel& kernel, const DeviceCall& call) {
  INGOT_ASSIGN(Device* const device, Device::first());
  INGOT_TRY(device->make_current());
  const Driver& cu = device->driver();
  std::vector<DeviceMemory> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (std::span<const std::byte> bytes : call.inputs) {
    inputs.push_back(nullptr);
    if (bytes.data() == nullptr) continue;
    INGOT_ASSIGN(DeviceMemory uploaded, DeviceMemory::upload(*device, bytes));
    inputs.back() = uploaded.at(0);
    memory.push_back(std::move(uploaded));
  }
  for (size_t bytes : call.output_bytes) {
    INGOT_ASSIGN(DeviceMemory result, DeviceMemory::allocate(*device, bytes));
    outputs.push_back(result.at(0));
    memory.push_back(std::move(result));
  }
  INGOT_ASSIGN(const DeviceMemory workspace, DeviceMemory::allocate(*device, call.workspace_bytes));
  ThreadPool pool(1);
  KernelArgs args{inputs, outputs, call.input_shapes, call.output_shapes, workspace.at(0), &pool, {}};
  args.host_inputs = call.host_inputs;
  Stopwatch stopwatch(cu);
  INGOT_TRY(stopwatch.prepare());
  args.stream = stopwatch.stream();
  INGOT_ASSIGN(const double first, stopwatch.microseconds(kernel, args, 3));  // cold, and long enough to choose how many follow
  const int launches = std::clamp(static_cast<int>(500 * 3 / std::max(first, 1.0)), 1, 100);  // about half a millisecond
  double best = 1e30;
  for (int batch = 0; batch < 5; ++batch) {
    INGOT_ASSIGN(const double total, stopwatch.microseconds(kernel, args, launches));
    best = std::min(best, total / launches);
  }
  return best;
}

bool is_device_memory(const void* address) {
  const Expected<Device*> device = Device::first();
  if (!device.ok() || !(*device)->make_current().ok()) return false;
  CUmemorytype type{};
  const CUresult result = (*device)->driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(address));
  return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

}  // namespace ingot::cuda
