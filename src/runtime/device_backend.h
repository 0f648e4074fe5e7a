// What a plan for another processor needs besides its kernels: memory there, and one recorded sequence of launches for a whole run.
// The context works out shapes and addresses as ever; the backend holds memory and replays. Implemented by runtime/cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"
#include "runtime/tactic.h"

namespace ingot {

// The memory of one input or output: on the device, and pinned on the host, from which copies are fast.
struct DeviceIo {
  void* device = nullptr;
  void* staging = nullptr;
};

// Of one context. Not thread-safe, as the context is not.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;
  virtual void* arena() const = 0;    // device memory, as large as create_run() was told
  virtual void* stream() const = 0;   // where kernels are launched while recording, or step by step
  virtual Expected<DeviceIo> allocate_io(uint64_t bytes) = 0;  // lives as long as this
  virtual Expected<void*> allocate_staging(uint64_t bytes) = 0;  // the host's side alone

  // Binds the device to the calling thread; before anything below.
  virtual Status enter() = 0;
  // What is launched and copied between the two becomes one graph, which replaces the one before; begin waits until that one has run.
  virtual Status begin_recording() = 0;
  virtual Status end_recording() = 0;
  // Between staging and device memory, in the order of the stream; may be recorded.
  virtual Status copy_in(const DeviceIo& io, uint64_t bytes) = 0;
  virtual Status copy_out(const DeviceIo& io, uint64_t bytes) = 0;
  // Starts the recorded graph on the caller's stream, or on stream() if null. Neither waits nor allocates.
  virtual Status replay(void* user_stream) = 0;
  virtual Status synchronize() = 0;
  // For observers: waits, then copies.
  virtual Status read(void* host, const void* device, uint64_t bytes) = 0;
};

// Of one engine: constants that its kernels did not pack.
class DeviceConstants {
 public:
  virtual ~DeviceConstants() = default;
  virtual const void* at(uint32_t slot) const = 0;  // null if the slot is no constant or is packed everywhere
  virtual Expected<std::unique_ptr<DeviceRun>> create_run(uint64_t arena_bytes) const = 0;
};

// One run of a kernel on made-up data: what tuning times.
struct DeviceCall {
  std::vector<std::span<const std::byte>> inputs;  // on the host; a null pointer stays one: left out, or packed
  std::vector<const void*> host_inputs;            // as in KernelArgs
  std::vector<size_t> output_bytes;
  std::span<const Shape> input_shapes;
  std::span<Shape> output_shapes;
  size_t workspace_bytes = 0;
};

// The device that plans of a backend would run on here, or why there is none.
Expected<DeviceInfo> find_device(Backend backend);
// The same for a target that need not be here, as "cuda-sm_80"; kInvalidArgument if the name is unknown.
Expected<DeviceInfo> device_of_target(const std::string& target);
Expected<std::unique_ptr<DeviceConstants>> upload_constants(Backend backend, const Plan& plan);
// Microseconds of one run of a kernel that was loaded for the device that is here, launches back to back: the best of some batches.
Expected<double> time_on_device(Backend backend, Kernel& kernel, const DeviceCall& call);
// Whether an address is memory of the backend's device.
bool is_device_memory(Backend backend, const void* address);

}  // namespace ingot
