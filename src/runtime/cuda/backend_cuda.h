// The CUDA backend as the runtime sees it: see runtime/device_backend.h.
#pragma once

#include "runtime/device_backend.h"

namespace ingot::cuda {

Expected<DeviceInfo> find_device();
Expected<std::unique_ptr<DeviceConstants>> upload_constants(const Plan& plan);
Expected<double> time_on_device(Kernel& kernel, const DeviceCall& call);
bool is_device_memory(const void* address);

}  // namespace ingot::cuda
