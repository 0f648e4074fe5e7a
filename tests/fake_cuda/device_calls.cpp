// Start, devices, contexts, error texts; and what tests ask.
#include <algorithm>
#include <cstring>

#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {
namespace {

using cuda::Context;
using cuda::Device;

thread_local std::vector<ContextState*> context_stack;

ContextState* context_of(Driver& d, Context handle) {
  for (const auto& c : d.contexts) {
    if (reinterpret_cast<Context>(c.get()) == handle) return c.get();
  }
  return nullptr;
}

bool is_device(const Driver& d, Device device) { return device >= 0 && device < d.devices; }

struct ErrorText {
  Result error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {Result::kSuccess, "CUDA_SUCCESS", "no error"},
    {Result::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Result::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Result::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {Result::kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {Result::kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {Result::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Result::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {Result::kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {Result::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {Result::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {Result::kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {Result::kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {Result::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {Result::kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {Result::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {Result::kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {Result::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {Result::kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {Result::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {Result::kAssert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {Result::kHostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {Result::kHostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {Result::kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {Result::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {Result::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {Result::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {Result::kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {Result::kStreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {Result::kStreamCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {Result::kStreamCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {Result::kStreamCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {Result::kStreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {Result::kStreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {Result::kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {Result::kStreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {Result::kGraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints"},
    {Result::kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

Result error_text(Result error, const char** text, const char* ErrorText::*which) {
  if (!text) return Result::kInvalidValue;
  *text = nullptr;
  for (const ErrorText& e : kErrors) {
    if (e.error == error) *text = e.*which;
  }
  return *text ? Result::kSuccess : Result::kInvalidValue;
}

}  // namespace

FAKE_CUDA_API Result cuInit(unsigned flags) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (flags) return Result::kInvalidValue;
  if (!d.initialized) d.read_environment();
  if (d.devices == 0) return Result::kNoDevice;
  d.initialized = true;
  return Result::kSuccess;
}

FAKE_CUDA_API Result cuDriverGetVersion(int* version) {
  if (!version) return Result::kInvalidValue;
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (!d.initialized) d.read_environment();
  *version = d.version;
  return Result::kSuccess;
}

FAKE_CUDA_API Result cuGetErrorName(Result error, const char** text) {
  return error_text(error, text, &ErrorText::name);
}
FAKE_CUDA_API Result cuGetErrorString(Result error, const char** text) {
  return error_text(error, text, &ErrorText::text);
}

FAKE_CUDA_API Result cuDeviceGetCount(int* count) {
  return call(
      [&](Driver& d) {
        if (!count) return Result::kInvalidValue;
        *count = d.devices;
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuDeviceGet(Device* device, int ordinal) {
  return call(
      [&](Driver& d) {
        if (!device) return Result::kInvalidValue;
        if (!is_device(d, ordinal)) return Result::kInvalidDevice;
        *device = ordinal;
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuDeviceGetName(char* name, int length, Device device) {
  return call(
      [&](Driver& d) {
        if (!name || length < 1) return Result::kInvalidValue;
        if (!is_device(d, device)) return Result::kInvalidDevice;
        std::strncpy(name, d.model->name, static_cast<size_t>(length));
        name[length - 1] = '\0';
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuDeviceGetAttribute(int* value, cuda::DeviceAttribute attribute, Device device) {
  return call(
      [&](Driver& d) {
        if (!value) return Result::kInvalidValue;
        if (!is_device(d, device)) return Result::kInvalidDevice;
        return attribute_of(*d.model, attribute, *value) ? Result::kSuccess : Result::kInvalidValue;
      },
      false);
}

FAKE_CUDA_API Result cuDeviceTotalMem_v2(size_t* bytes, Device device) {
  return call(
      [&](Driver& d) {
        if (!bytes) return Result::kInvalidValue;
        if (!is_device(d, device)) return Result::kInvalidDevice;
        *bytes = d.memory_bytes;
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  return call(
      [&](Driver& d) {
        if (!context) return Result::kInvalidValue;
        if (!is_device(d, device)) return Result::kInvalidDevice;
        for (const auto& c : d.contexts) {
          if (c->device != device) continue;
          ++c->retained;
          *context = reinterpret_cast<Context>(c.get());
          return Result::kSuccess;
        }
        d.contexts.push_back(std::make_unique<ContextState>(ContextState{device, 1}));
        *context = reinterpret_cast<Context>(d.contexts.back().get());
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuDevicePrimaryCtxRelease_v2(Device device) {
  return call(
      [&](Driver& d) {
        for (const auto& c : d.contexts) {
          if (c->device != device || c->retained == 0) continue;
          --c->retained;
          return Result::kSuccess;
        }
        return is_device(d, device) ? Result::kInvalidContext : Result::kInvalidDevice;
      },
      false);
}

FAKE_CUDA_API Result cuCtxSetCurrent(Context context) {
  return call(
      [&](Driver& d) {
        ContextState* c = context_of(d, context);
        if (context && (!c || c->retained == 0)) return Result::kInvalidContext;
        current_context() = c;
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuCtxGetCurrent(Context* context) {
  return call(
      [&](Driver&) {
        if (!context) return Result::kInvalidValue;
        *context = reinterpret_cast<Context>(current_context());
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuCtxPushCurrent_v2(Context context) {
  return call(
      [&](Driver& d) {
        ContextState* c = context_of(d, context);
        if (!c || c->retained == 0) return Result::kInvalidContext;
        context_stack.push_back(current_context());
        current_context() = c;
        return Result::kSuccess;
      },
      false);
}

FAKE_CUDA_API Result cuCtxPopCurrent_v2(Context* context) {
  return call([&](Driver&) {
    if (context_stack.empty()) return Result::kInvalidContext;
    if (context) *context = reinterpret_cast<Context>(current_context());
    current_context() = context_stack.back();
    context_stack.pop_back();
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuCtxGetDevice(Device* device) {
  return call([&](Driver&) {
    if (!device) return Result::kInvalidValue;
    *device = current_context()->device;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuCtxSynchronize() {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    ++d.stats.synchronisations;
    return d.finish_all();
  });
}

FAKE_CUDA_API Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return call([&](Driver&) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API void fake_cuda_stats(FakeCudaStats* stats) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.stats.bytes_in_use = d.memory.bytes_in_use();
  *stats = d.stats;
}

FAKE_CUDA_API const char* fake_cuda_failures() { return driver().failures.c_str(); }

FAKE_CUDA_API const char* fake_cuda_kernels() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.kernels_text.clear();
  for (const auto& [name, use] : d.kernels)
    d.kernels_text += name + " " + std::to_string(use.launches) + " " + std::to_string(use.threads) + " " +
                      std::to_string(use.dynamic_shared) + "\n";
  return d.kernels_text.c_str();
}

FAKE_CUDA_API const char* fake_cuda_lines(const char* kernel) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.lines_text.clear();
  if (const auto it = d.kernels.find(kernel); it != d.kernels.end())
    for (size_t line = 0; line < it->second.lines.size(); ++line)
      if (it->second.lines[line]) d.lines_text += std::to_string(line) + " ";
  return d.lines_text.c_str();
}

FAKE_CUDA_API void fake_cuda_reset() {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.finish_all();
  d.failures.clear();
  d.kernels.clear();
  d.stats = {};
  d.stats.peak_bytes = d.memory.bytes_in_use();
  d.sticky = Result::kSuccess;
  d.read_environment();
}

FAKE_CUDA_API void fake_cuda_seed(uint64_t seed) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  d.seed = d.random = seed;
}

}  // namespace ingot::fake_cuda
