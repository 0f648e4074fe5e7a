// The CUDA driver, found at run time: a program links no CUDA library, and starts on machines without one.
#pragma once

#include <cuda.h>

#include "ingot/status.h"

namespace ingot::cuda {

// clang-format off
#define INGOT_CUDA_FUNCTIONS(X) \
  X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) \
  X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuGetErrorName) \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncSetAttribute) \
  X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) \
  X(cuMemcpyDtoDAsync) X(cuMemsetD8Async) X(cuPointerGetAttribute) \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) \
  X(cuEventElapsedTime) X(cuEventSynchronize) X(cuStreamWaitEvent) \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuGraphExecDestroy) \
  X(cuGraphDestroy) X(cuLaunchKernel)
// clang-format on

struct Driver {
#define INGOT_CUDA_MEMBER(name) decltype(&::name) name;
  INGOT_CUDA_FUNCTIONS(INGOT_CUDA_MEMBER)
#undef INGOT_CUDA_MEMBER
};

// Loaded and initialised once. Fails with kDeviceMismatch and the reason where there is no driver, or none that works.
Expected<const Driver*> driver();

// An error with the driver's name for it: "cuda: <what>: CUDA_ERROR_…".
Status check(CUresult result, const char* what);

#define INGOT_CUDA_TRY(call) INGOT_TRY(::ingot::cuda::check((call), #call))

}  // namespace ingot::cuda
