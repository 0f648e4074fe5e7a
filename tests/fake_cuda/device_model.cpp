// Figures of the CUDA programming guide's table of compute capabilities and the makers' data sheets.
#include "fake_cuda/device_model.h"

#include <algorithm>

namespace ingot::fake_cuda {

const DeviceModel* model_of(int arch) {
  static constexpr DeviceModel models[] = {
      {"PTX interpreter as sm_75", 75, 40, 1024, 16, 64 << 10, 64 << 10, 4 << 20, 1'590'000, 5'001'000, 256},
      {"PTX interpreter as sm_80", 80, 108, 2048, 32, 164 << 10, 163 << 10, 40 << 20, 1'410'000, 1'215'000, 5120},
      {"PTX interpreter as sm_86", 86, 82, 1536, 16, 100 << 10, 99 << 10, 6 << 20, 1'695'000, 9'751'000, 384},
      {"PTX interpreter as sm_89", 89, 128, 1536, 24, 100 << 10, 99 << 10, 72 << 20, 2'520'000, 10'501'000, 384},
      {"PTX interpreter as sm_90", 90, 132, 2048, 32, 228 << 10, 227 << 10, 50 << 20, 1'980'000, 2'619'000, 5120},
  };
  for (const DeviceModel& m : models) {
    if (m.arch == arch) return &m;
  }
  return nullptr;
}

bool attribute_of(const DeviceModel& m, cuda::DeviceAttribute attribute, int& value) {
  using A = cuda::DeviceAttribute;
  switch (attribute) {
    case A::kMaxThreadsPerBlock:
    case A::kMaxBlockX:
    case A::kMaxBlockY:
      value = 1024;
      return true;
    case A::kMaxBlockZ:
      value = 64;
      return true;
    case A::kMaxGridX:
      value = 2147483647;
      return true;
    case A::kMaxGridY:
    case A::kMaxGridZ:
      value = 65535;
      return true;
    case A::kMaxSharedPerBlock:
      value = 48 << 10;
      return true;
    case A::kWarpSize:
      value = 32;
      return true;
    case A::kMaxRegistersPerBlock:
    case A::kMaxRegistersPerMultiprocessor:
      value = 65536;
      return true;
    case A::kClockKhz:
      value = m.clock_khz;
      return true;
    case A::kMultiprocessors:
      value = m.multiprocessors;
      return true;
    case A::kIntegrated:
      value = 0;
      return true;
    case A::kCanMapHostMemory:
    case A::kConcurrentKernels:
    case A::kUnifiedAddressing:
    case A::kMemoryPoolsSupported:
      value = 1;
      return true;
    case A::kMemoryClockKhz:
      value = m.memory_clock_khz;
      return true;
    case A::kMemoryBusBits:
      value = m.bus_bits;
      return true;
    case A::kL2Bytes:
      value = m.l2_bytes;
      return true;
    case A::kMaxThreadsPerMultiprocessor:
      value = m.threads_per_multiprocessor;
      return true;
    case A::kAsyncEngines:
      value = 2;
      return true;
    case A::kComputeMajor:
      value = m.arch / 10;
      return true;
    case A::kComputeMinor:
      value = m.arch % 10;
      return true;
    case A::kMaxSharedPerMultiprocessor:
      value = m.shared_per_multiprocessor;
      return true;
    case A::kMaxSharedPerBlockOptin:
      value = m.shared_optin;
      return true;
    case A::kMaxBlocksPerMultiprocessor:
      value = m.blocks_per_multiprocessor;
      return true;
    case A::kReservedSharedPerBlock:
      value = 1024;
      return true;
  }
  return false;
}

int active_blocks(const DeviceModel& m, int registers, int threads, size_t shared_bytes) {
  const int warps = (threads + 31) / 32;
  if (warps == 0 || shared_bytes > static_cast<size_t>(m.shared_optin)) return 0;
  const int by_threads = m.threads_per_multiprocessor / 32 / warps;
  const int by_registers = 65536 / ((registers + 7) / 8 * 8 * 32) / warps;  // given out to warps in units of 256
  const int by_shared = m.shared_per_multiprocessor / static_cast<int>((shared_bytes + 1024 + 127) / 128 * 128);
  return std::min({by_threads, by_registers, by_shared, m.blocks_per_multiprocessor});
}

}  // namespace ingot::fake_cuda
