// Device choice, module loading, memory.
#include "runtime/cuda/device.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/cuda/modules.h"

namespace ingot::cuda {

Expected<Device*> Device::first() {
  // Kept until the process ends: a context destroyed at exit could outlive the driver's own state.
  static const Expected<Device*>* const once = new Expected<Device*>(make());
  if (!once->ok()) return once->status().clone();
  return **once;
}

Expected<Device*> Device::make() {
  auto device = std::unique_ptr<Device>(new Device);
  INGOT_ASSIGN(device->driver_, cuda::driver());
  const Driver& cu = *device->driver_;
  // Of an older generation it takes neither our PTX nor our machine code.
  int version = 0;
  INGOT_CUDA_TRY(cu.cuDriverGetVersion(&version));
  if (version < CUDA_VERSION / 1000 * 1000)
    return Status(StatusCode::kDeviceMismatch, "the CUDA driver is too old: got one of CUDA " + std::to_string(version / 1000) + "." +
                                                   std::to_string(version % 1000 / 10) + ", need " + std::to_string(CUDA_VERSION / 1000) + ".0");
  int count = 0;
  if (cu.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    return Status(StatusCode::kDeviceMismatch, "no CUDA device: the driver finds none");
  INGOT_CUDA_TRY(cu.cuDeviceGet(&device->device_, 0));
  char name[128] = {};
  INGOT_CUDA_TRY(cu.cuDeviceGetName(name, sizeof name - 1, device->device_));
  device->name_ = name;
  int major = 0, minor = 0;
  INGOT_CUDA_TRY(cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device_));
  INGOT_CUDA_TRY(cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device_));
  INGOT_CUDA_TRY(cu.cuDeviceGetAttribute(&device->multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->device_));
  device->capability_ = 10 * major + minor;
  if (device->capability_ < 80)
    return Status(StatusCode::kDeviceMismatch, "CUDA device '" + device->name_ + "' is too old: got compute capability " +
                                                   std::to_string(major) + "." + std::to_string(minor) + ", need ≥ 8.0");
  INGOT_CUDA_TRY(cu.cuDevicePrimaryCtxRetain(&device->context_, device->device_));
  INGOT_CUDA_TRY(cu.cuCtxSetCurrent(device->context_));
  return device.release();
}

Status Device::make_current() const {
  CUcontext current = nullptr;
  INGOT_CUDA_TRY(driver_->cuCtxGetCurrent(&current));
  if (current != context_) INGOT_CUDA_TRY(driver_->cuCtxSetCurrent(context_));
  return {};
}

Expected<CUmodule> Device::load_module(std::string_view name) {
  if (const auto known = modules_.find(name); known != modules_.end()) return known->second;
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  for (const ModuleImage& image : module_images()) {
    if (image.module != name) continue;
    CUmodule module = nullptr;
    result = driver_->cuModuleLoadDataEx(&module, image.bytes.data(), 0, nullptr, nullptr);
    if (result == CUDA_SUCCESS) return modules_.emplace(std::string(name), module).first->second;
  }
  return check(result, "cuModuleLoadDataEx").with_context("kernels '" + std::string(name) + "'");
}

Expected<CUfunction> Device::function(const char* name, int dynamic_shared) {
  const std::lock_guard lock(mutex_);
  INGOT_TRY(make_current());
  INGOT_ASSIGN(const CUmodule module, load_module(module_of(name)));
  CUfunction function = nullptr;
  Status status = check(driver_->cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
  if (!status.ok()) return std::move(status).with_context("kernel '" + std::string(name) + "'");
  // Above 48 KiB a kernel must be asked for.
  if (dynamic_shared > 48 * 1024)
    INGOT_CUDA_TRY(driver_->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic_shared));
  return function;
}

LoadedModule::~LoadedModule() {
  if (module_ && device_->make_current().ok()) device_->driver().cuModuleUnload(module_);
}

Expected<LoadedModule> LoadedModule::load(Device& device, const KernelImage& image) {
  INGOT_TRY(device.make_current());
  LoadedModule loaded;
  loaded.device_ = &device;
  const int capability = device.compute_capability();
  CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!image.machine_code.empty() && image.capability / 10 == capability / 10 && image.capability <= capability)
    result = device.driver().cuModuleLoadDataEx(&loaded.module_, image.machine_code.data(), 0, nullptr, nullptr);
  if (result != CUDA_SUCCESS) result = device.driver().cuModuleLoadDataEx(&loaded.module_, image.ptx.data(), 0, nullptr, nullptr);
  Status status = check(result, "cuModuleLoadDataEx");
  if (!status.ok()) return std::move(status).with_context("the plan's own kernel");
  return loaded;
}

Expected<CUfunction> LoadedModule::function(const char* name) const {
  CUfunction function = nullptr;
  Status status = check(device_->driver().cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
  if (!status.ok()) return std::move(status).with_context("kernel '" + std::string(name) + "'");
  return function;
}

DeviceMemory::~DeviceMemory() {
  if (address_ && device_->make_current().ok()) device_->driver().cuMemFree(address_);
}

void DeviceMemory::swap(DeviceMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
}

Expected<DeviceMemory> DeviceMemory::allocate(Device& device, size_t bytes) {
  DeviceMemory memory;
  INGOT_TRY(device.make_current());
  Status status = check(device.driver().cuMemAlloc(&memory.address_, std::max<size_t>(bytes, 1)), "cuMemAlloc");
  if (!status.ok()) return std::move(status).with_context(std::to_string(bytes) + " bytes of device memory");
  memory.device_ = &device;
  memory.bytes_ = bytes;
  return memory;
}

Expected<DeviceMemory> DeviceMemory::upload(Device& device, std::span<const std::byte> bytes) {
  INGOT_ASSIGN(DeviceMemory memory, allocate(device, bytes.size()));
  if (!bytes.empty()) INGOT_CUDA_TRY(device.driver().cuMemcpyHtoD(memory.address_, bytes.data(), bytes.size()));
  return memory;
}

size_t ConstantPack::add(std::span<const std::byte> bytes) {
  const size_t offset = (bytes_.size() + 15) / 16 * 16;
  bytes_.resize(offset);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return offset;
}

}  // namespace ingot::cuda
