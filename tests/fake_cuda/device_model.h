// The devices that can be pretended, by what their makers publish.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fake_cuda/driver_api.h"

namespace ingot::fake_cuda {

struct DeviceModel {
  const char* name;
  int arch;  // 80 for sm_80
  int multiprocessors, threads_per_multiprocessor, blocks_per_multiprocessor;
  int shared_per_multiprocessor, shared_optin;  // bytes; optin: most that one block may have
  int l2_bytes, clock_khz, memory_clock_khz, bus_bits;
};

// nullptr: no such architecture.
const DeviceModel* model_of(int arch);
// False: the attribute is not known.
bool attribute_of(const DeviceModel& model, cuda::DeviceAttribute attribute, int& value);

// Blocks of a kernel that fit on one multiprocessor.
int active_blocks(const DeviceModel& model, int registers, int threads, size_t shared_bytes);

}  // namespace ingot::fake_cuda
