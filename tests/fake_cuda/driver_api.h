// The part of the CUDA driver API that Ingot uses, declared here and found at run time in libcuda.so.1: nothing is linked, no CUDA header
// is needed, and a machine without a driver runs everything else. Numbers and layouts are those of the public API; a test compares them
// with <cuda.h> where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingot/status.h"

namespace ingot::cuda {

using Device = int;
using DevicePointer = unsigned long long;
struct ContextObject;
struct ModuleObject;
struct FunctionObject;
struct StreamObject;
struct EventObject;
struct GraphObject;
struct GraphExecObject;
struct GraphNodeObject;
struct MemoryPoolObject;
using Context = ContextObject*;
using Module = ModuleObject*;
using Function = FunctionObject*;
using Stream = StreamObject*;
using Event = EventObject*;
using Graph = GraphObject*;
using GraphExec = GraphExecObject*;
using GraphNode = GraphNodeObject*;
using MemoryPool = MemoryPoolObject*;
using HostFunction = void (*)(void* user_data);

enum class Result : int {
  kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4, kStubLibrary = 34, kNoDevice = 100,
  kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209, kInvalidPtx = 218, kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400, kIllegalState = 401, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700, kLaunchOutOfResources = 701,
  kContextIsDestroyed = 709, kAssert = 710, kHostMemoryAlreadyRegistered = 712, kHostMemoryNotRegistered = 713, kMisalignedAddress = 716,
  kLaunchFailed = 719, kNotPermitted = 800, kNotSupported = 801, kStreamCaptureUnsupported = 900, kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902, kStreamCaptureUnmatched = 903, kStreamCaptureUnjoined = 904, kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906, kCapturedEvent = 907, kStreamCaptureWrongThread = 908, kGraphExecUpdateFailure = 910, kUnknown = 999,
};

enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1, kMaxBlockX = 2, kMaxBlockY = 3, kMaxBlockZ = 4, kMaxGridX = 5, kMaxGridY = 6, kMaxGridZ = 7,
  kMaxSharedPerBlock = 8, kWarpSize = 10, kMaxRegistersPerBlock = 12, kClockKhz = 13, kMultiprocessors = 16, kIntegrated = 18,
  kCanMapHostMemory = 19, kConcurrentKernels = 31, kMemoryClockKhz = 36, kMemoryBusBits = 37, kL2Bytes = 38,
  kMaxThreadsPerMultiprocessor = 39, kAsyncEngines = 40, kUnifiedAddressing = 41, kComputeMajor = 75, kComputeMinor = 76,
  kMaxSharedPerMultiprocessor = 81, kMaxRegistersPerMultiprocessor = 82, kMaxSharedPerBlockOptin = 97, kMaxBlocksPerMultiprocessor = 106,
  kReservedSharedPerBlock = 111, kMemoryPoolsSupported = 115,
};

enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0, kSharedBytes = 1, kConstBytes = 2, kLocalBytes = 3, kRegisters = 4, kPtxVersion = 5, kBinaryVersion = 6,
  kMaxDynamicSharedBytes = 8, kSharedCarveout = 9,
};

enum class CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };
enum class JitOption : int { kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6 };
enum class PointerAttribute : int { kContext = 1, kMemoryType = 2, kDevicePointer = 3, kHostPointer = 4 };
enum class MemoryType : unsigned { kHost = 1, kDevice = 2 };
enum class LaunchAttributeId : int { kIgnore = 0, kClusterSize = 4, kProgrammaticSerialization = 6, kPriority = 8 };

constexpr unsigned kStreamNonBlocking = 1, kEventDisableTiming = 2, kHostPortable = 1, kHostMapped = 2;

struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  alignas(8) char value[64];
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct GraphExecUpdateInfo {
  int result;  // 0: updated; 1: error; 2: topology changed; 3: node type changed; 4: function changed; 5: parameters changed
  GraphNode error_node, error_from_node;
};

// name in DriverApi, exported symbol, parameters; all return a Result.
#define INGOT_CUDA_FUNCTIONS(X)                                                                                                            \
  X(init, cuInit, (unsigned flags))                                                                                                        \
  X(driver_get_version, cuDriverGetVersion, (int* version))                                                                                \
  X(get_error_name, cuGetErrorName, (Result error, const char** text))                                                                     \
  X(get_error_string, cuGetErrorString, (Result error, const char** text))                                                                 \
  X(device_get_count, cuDeviceGetCount, (int* count))                                                                                      \
  X(device_get, cuDeviceGet, (Device * device, int ordinal))                                                                               \
  X(device_get_name, cuDeviceGetName, (char* name, int length, Device device))                                                             \
  X(device_get_attribute, cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, Device device))                                    \
  X(device_total_memory, cuDeviceTotalMem_v2, (size_t * bytes, Device device))                                                             \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, (Context * context, Device device))                                                  \
  X(primary_context_release, cuDevicePrimaryCtxRelease_v2, (Device device))                                                                \
  X(context_set_current, cuCtxSetCurrent, (Context context))                                                                               \
  X(context_get_current, cuCtxGetCurrent, (Context * context))                                                                             \
  X(context_push_current, cuCtxPushCurrent_v2, (Context context))                                                                          \
  X(context_pop_current, cuCtxPopCurrent_v2, (Context * context))                                                                          \
  X(context_get_device, cuCtxGetDevice, (Device * device))                                                                                 \
  X(context_synchronize, cuCtxSynchronize, ())                                                                                             \
  X(context_get_stream_priority_range, cuCtxGetStreamPriorityRange, (int* least, int* greatest))                                           \
  X(module_load_data, cuModuleLoadData, (Module * module, const void* image))                                                              \
  X(module_load_data_ex, cuModuleLoadDataEx,                                                                                               \
    (Module * module, const void* image, unsigned option_count, JitOption* options, void** option_values))                                 \
  X(module_unload, cuModuleUnload, (Module module))                                                                                        \
  X(module_get_function, cuModuleGetFunction, (Function * function, Module module, const char* name))                                      \
  X(module_get_global, cuModuleGetGlobal_v2, (DevicePointer * address, size_t* bytes, Module module, const char* name))                    \
  X(function_get_attribute, cuFuncGetAttribute, (int* value, FunctionAttribute attribute, Function function))                              \
  X(function_set_attribute, cuFuncSetAttribute, (Function function, FunctionAttribute attribute, int value))                               \
  X(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                              \
    (int* blocks, Function function, int block_size, size_t dynamic_shared_bytes))                                                         \
  X(memory_allocate, cuMemAlloc_v2, (DevicePointer * address, size_t bytes))                                                               \
  X(memory_free, cuMemFree_v2, (DevicePointer address))                                                                                    \
  X(memory_allocate_async, cuMemAllocAsync, (DevicePointer * address, size_t bytes, Stream stream))                                        \
  X(memory_free_async, cuMemFreeAsync, (DevicePointer address, Stream stream))                                                             \
  X(memory_get_info, cuMemGetInfo_v2, (size_t * free_bytes, size_t* total_bytes))                                                          \
  X(host_allocate, cuMemHostAlloc, (void** address, size_t bytes, unsigned flags))                                                         \
  X(host_free, cuMemFreeHost, (void* address))                                                                                             \
  X(host_register, cuMemHostRegister_v2, (void* address, size_t bytes, unsigned flags))                                                    \
  X(host_unregister, cuMemHostUnregister, (void* address))                                                                                 \
  X(host_get_device_pointer, cuMemHostGetDevicePointer_v2, (DevicePointer * device, void* host, unsigned flags))                           \
  X(pointer_get_attribute, cuPointerGetAttribute, (void* data, PointerAttribute attribute, DevicePointer address))                         \
  X(copy_host_to_device, cuMemcpyHtoD_v2, (DevicePointer to, const void* from, size_t bytes))                                              \
  X(copy_device_to_host, cuMemcpyDtoH_v2, (void* to, DevicePointer from, size_t bytes))                                                    \
  X(copy_device_to_device, cuMemcpyDtoD_v2, (DevicePointer to, DevicePointer from, size_t bytes))                                          \
  X(copy_host_to_device_async, cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, size_t bytes, Stream stream))                    \
  X(copy_device_to_host_async, cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, size_t bytes, Stream stream))                          \
  X(copy_device_to_device_async, cuMemcpyDtoDAsync_v2, (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))                \
  X(set_bytes, cuMemsetD8_v2, (DevicePointer to, unsigned char value, size_t count))                                                       \
  X(set_bytes_async, cuMemsetD8Async, (DevicePointer to, unsigned char value, size_t count, Stream stream))                                \
  X(set_words_async, cuMemsetD32Async, (DevicePointer to, unsigned value, size_t count, Stream stream))                                    \
  X(stream_create, cuStreamCreate, (Stream * stream, unsigned flags))                                                                      \
  X(stream_create_with_priority, cuStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))                              \
  X(stream_destroy, cuStreamDestroy_v2, (Stream stream))                                                                                   \
  X(stream_synchronize, cuStreamSynchronize, (Stream stream))                                                                              \
  X(stream_query, cuStreamQuery, (Stream stream))                                                                                          \
  X(stream_wait_event, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                                                    \
  X(stream_begin_capture, cuStreamBeginCapture_v2, (Stream stream, CaptureMode mode))                                                      \
  X(stream_end_capture, cuStreamEndCapture, (Stream stream, Graph * graph))                                                                \
  X(stream_is_capturing, cuStreamIsCapturing, (Stream stream, CaptureStatus * status))                                                     \
  X(launch_host_function, cuLaunchHostFunc, (Stream stream, HostFunction function, void* user_data))                                       \
  X(event_create, cuEventCreate, (Event * event, unsigned flags))                                                                          \
  X(event_destroy, cuEventDestroy_v2, (Event event))                                                                                       \
  X(event_record, cuEventRecord, (Event event, Stream stream))                                                                             \
  X(event_synchronize, cuEventSynchronize, (Event event))                                                                                  \
  X(event_query, cuEventQuery, (Event event))                                                                                              \
  X(event_elapsed_time, cuEventElapsedTime, (float* milliseconds, Event start, Event end))                                                 \
  X(launch_kernel, cuLaunchKernel,                                                                                                         \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,           \
     unsigned shared_bytes, Stream stream, void** parameters, void** extra))                                                               \
  X(launch_kernel_ex, cuLaunchKernelEx, (const LaunchConfig* config, Function function, void** parameters, void** extra))                  \
  X(graph_get_nodes, cuGraphGetNodes, (Graph graph, GraphNode * nodes, size_t* count))                                                     \
  X(graph_instantiate, cuGraphInstantiateWithFlags, (GraphExec * exec, Graph graph, unsigned long long flags))                             \
  X(graph_exec_update, cuGraphExecUpdate_v2, (GraphExec exec, Graph graph, GraphExecUpdateInfo * info))                                    \
  X(graph_upload, cuGraphUpload, (GraphExec exec, Stream stream))                                                                          \
  X(graph_launch, cuGraphLaunch, (GraphExec exec, Stream stream))                                                                          \
  X(graph_exec_destroy, cuGraphExecDestroy, (GraphExec exec))                                                                              \
  X(graph_destroy, cuGraphDestroy, (Graph graph))

struct DriverApi {
#define INGOT_CUDA_MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  INGOT_CUDA_FUNCTIONS(INGOT_CUDA_MEMBER)
#undef INGOT_CUDA_MEMBER
};

// The driver, loaded and initialised on the first call and kept until the process ends. kNotFound: there is no libcuda.so.1;
// kUnsupported: it is too old, or there is no device.
Expected<const DriverApi*> driver_api();

// OK, or kDeviceError (kOutOfMemory) with "<where>: <driver's name and text of the error>".
Status to_status(const DriverApi& api, Result result, const char* where);

}  // namespace ingot::cuda
