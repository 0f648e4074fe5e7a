// Our declarations of the driver API against NVIDIA's: numbers, layouts, and the shape of every function.
#include <cuda.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "fake_cuda/driver_api.h"

namespace ingot::cuda {
namespace {

// Two parameters are alike when they are passed alike: as large, and both pointers or both numbers.
template <class A, class B>
constexpr bool alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;

template <class F, class G>
struct Same : std::false_type {};
template <class R, class... A, class S, class... B>
struct Same<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B)) return sizeof(R) == sizeof(S) && (alike<A, B> && ...);
    return false;
  }();
};

#define SAME_FUNCTION(name, symbol, parameters) \
  static_assert(Same<decltype(DriverApi::name), decltype(&::symbol)>::value, #symbol);
INGOT_CUDA_FUNCTIONS(SAME_FUNCTION)

static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
              offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(GraphExecUpdateInfo) == sizeof(CUgraphExecUpdateResultInfo));

template <class A, class B>
void equal(A ours, B theirs) {
  EXPECT_EQ(static_cast<long long>(ours), static_cast<long long>(theirs));
}

TEST(DriverAbi, NumbersAreThoseOfTheHeader) {
  equal(Result::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
  equal(Result::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  equal(Result::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  equal(Result::kInvalidPtx, CUDA_ERROR_INVALID_PTX);
  equal(Result::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
  equal(Result::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
  equal(Result::kNotReady, CUDA_ERROR_NOT_READY);
  equal(Result::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  equal(Result::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  equal(Result::kAssert, CUDA_ERROR_ASSERT);
  equal(Result::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
  equal(Result::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
  equal(Result::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
  equal(Result::kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  equal(Result::kStreamCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  equal(Result::kStreamCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  equal(Result::kStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  equal(Result::kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
  equal(Result::kStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  equal(Result::kGraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  using D = DeviceAttribute;
  equal(D::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  equal(D::kMaxBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  equal(D::kMaxGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  equal(D::kMaxSharedPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  equal(D::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  equal(D::kMaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  equal(D::kClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  equal(D::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  equal(D::kIntegrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
  equal(D::kCanMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  equal(D::kConcurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  equal(D::kMemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  equal(D::kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  equal(D::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  equal(D::kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  equal(D::kAsyncEngines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  equal(D::kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  equal(D::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  equal(D::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  equal(D::kMaxSharedPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  equal(D::kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  equal(D::kMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  equal(D::kMaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  equal(D::kReservedSharedPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  equal(D::kMemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  using F = FunctionAttribute;
  equal(F::kSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  equal(F::kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  equal(F::kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
  equal(F::kBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  equal(F::kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  equal(F::kSharedCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  equal(CaptureMode::kRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  equal(CaptureStatus::kInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  equal(JitOption::kErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  equal(JitOption::kErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  equal(PointerAttribute::kMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  equal(PointerAttribute::kHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
  equal(MemoryType::kDevice, CU_MEMORYTYPE_DEVICE);
  equal(LaunchAttributeId::kClusterSize, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  equal(LaunchAttributeId::kProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  equal(LaunchAttributeId::kPriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
  equal(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
  equal(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
}

}  // namespace
}  // namespace ingot::cuda
