// The explicit list of backends built in. The CPU needs nothing from here.
#include "runtime/device_backend.h"

#include <array>

#ifdef INGOT_HAS_CUDA
#include "runtime/cuda/backend_cuda.h"
#endif

namespace ingot {

namespace {
#ifndef INGOT_HAS_CUDA
Status no_cuda() { return Status(StatusCode::kDeviceMismatch, "this build has no CUDA backend; build with nvcc on PATH"); }
#endif
}  // namespace

Expected<DeviceInfo> find_device(Backend backend) {
  if (backend == Backend::kCpu) return Status(StatusCode::kInternal, "find device: the CPU is not asked for here");
#ifdef INGOT_HAS_CUDA
  return cuda::find_device();
#else
  return no_cuda();
#endif
}

Expected<DeviceInfo> device_of_target(const std::string& target) {
  for (int capability : kCudaCapabilities) {
    if (target != "cuda-sm_" + std::to_string(capability)) continue;
    DeviceInfo device;
    device.name = target;
    device.fingerprint = target;
    device.backend = Backend::kCuda;
    device.cuda_capability = capability;
    return device;
  }
  return Status(StatusCode::kInvalidArgument, "target: got '" + target + "', need cpu, cuda, or one of cuda-sm_80, cuda-sm_86, cuda-sm_89, cuda-sm_90");
}

Expected<std::unique_ptr<DeviceConstants>> upload_constants([[maybe_unused]] Backend backend, [[maybe_unused]] const Plan& plan) {
#ifdef INGOT_HAS_CUDA
  return cuda::upload_constants(plan);
#else
  return no_cuda();
#endif
}

Expected<double> time_on_device([[maybe_unused]] Backend backend, [[maybe_unused]] Kernel& kernel, [[maybe_unused]] const DeviceCall& call) {
#ifdef INGOT_HAS_CUDA
  return cuda::time_on_device(kernel, call);
#else
  return no_cuda();
#endif
}

bool is_device_memory([[maybe_unused]] Backend backend, [[maybe_unused]] const void* address) {
#ifdef INGOT_HAS_CUDA
  return backend == Backend::kCuda && cuda::is_device_memory(address);
#else
  return false;
#endif
}

}  // namespace ingot
