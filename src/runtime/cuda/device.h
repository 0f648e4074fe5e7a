// One GPU: its context, its loaded kernels and its memory. Made once for the process; contexts and engines share it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/kernel_image.h"

namespace ingot::cuda {

class Device {
 public:
  // The first device of the machine. Fails with kDeviceMismatch and the reason where there is none.
  static Expected<Device*> first();

  const Driver& driver() const { return *driver_; }
  int compute_capability() const { return capability_; }  // 80 for 8.0
  const std::string& name() const { return name_; }
  int multiprocessors() const { return multiprocessors_; }

  // Binds the device's context to the calling thread.
  Status make_current() const;
  // A kernel of the modules built in, by name; loads its module at first use. `dynamic_shared` bytes are what launches will ask.
  Expected<CUfunction> function(const char* name, int dynamic_shared);

 private:
  Device() = default;
  static Expected<Device*> make();
  Expected<CUmodule> load_module(std::string_view name);

  const Driver* driver_ = nullptr;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  int capability_ = 0, multiprocessors_ = 0;
  std::string name_;
  std::mutex mutex_;
  std::map<std::string, CUmodule, std::less<>> modules_;
};

// A module of a plan's own, unloaded with this.
class LoadedModule {
 public:
  LoadedModule() = default;
  LoadedModule(LoadedModule&& other) noexcept : device_(other.device_), module_(std::exchange(other.module_, nullptr)) {}
  LoadedModule& operator=(LoadedModule&&) = delete;
  ~LoadedModule();
  // Machine code where it is for this chip or an older one of its generation, else PTX.
  static Expected<LoadedModule> load(Device& device, const KernelImage& image);
  Expected<CUfunction> function(const char* name) const;

 private:
  Device* device_ = nullptr;
  CUmodule module_ = nullptr;
};

// A piece of device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept { swap(other); return *this; }
  ~DeviceMemory();
  // 256-byte aligned, not cleared.
  static Expected<DeviceMemory> allocate(Device& device, size_t bytes);
  static Expected<DeviceMemory> upload(Device& device, std::span<const std::byte> bytes);

  void* at(size_t offset) const { return reinterpret_cast<void*>(address_ + offset); }
  size_t bytes() const { return bytes_; }

 private:
  void swap(DeviceMemory& other) noexcept;
  Device* device_ = nullptr;
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
};

// Constants of one kernel, gathered on the host and uploaded as one piece of device memory.
class ConstantPack {
 public:
  // Offset of the bytes in the pack, 16-byte aligned.
  size_t add(std::span<const std::byte> bytes);
  template <class T>
  size_t add(const std::vector<T>& values) { return add(std::as_bytes(std::span(values))); }
  Expected<DeviceMemory> upload(Device& device) const { return DeviceMemory::upload(device, bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace ingot::cuda
