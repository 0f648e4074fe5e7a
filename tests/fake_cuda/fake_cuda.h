// What tests may ask of the stand-in for libcuda.so.1 beside the driver API: counts, failures, seeds. Found by dlsym in
// the library, or linked. Environment, read by cuInit and fake_cuda_reset:
//   FAKE_CUDA_ARCH     75, 80, 86, 89 or 90: the device that is pretended (80)
//   FAKE_CUDA_VERSION  of CUDA that the driver is for; 12040: 12.4 (13000)
//   FAKE_CUDA_SEED     of the order in which streams and warps take turns (1)
//   FAKE_CUDA_DEVICES  how many devices; 0: none (1)
//   FAKE_CUDA_MEMORY   bytes of device memory (17179869184)
//   FAKE_CUDA_THREADS  of the interpreter; 0: all of the machine (0)
//   FAKE_CUDA_QUIET    1: failures are not printed
#pragma once

#include <cstdint>

struct FakeCudaStats {
  uint64_t device_allocations, device_frees, bytes_in_use, peak_bytes,
      host_allocations;       // of the driver's user; modules not counted
  uint64_t synchronisations;  // calls that wait for the device, implicit ones (cuMemFree, pageable copies to the host)
                              // included
  uint64_t launches, graph_launches, copies, fills, event_records;
  uint64_t direct_launches;  // of kernels, outside of graphs and their capture
  uint64_t failures;
  uint64_t warp_instructions, bank_conflicts, global_sectors, mma, ldmatrix, cp_async;  // of the kernels that ran
};

extern "C" {
void fake_cuda_stats(FakeCudaStats* stats);
// What kernels did wrong since the last reset, one a line; valid until the next call.
const char* fake_cuda_failures();
// Kernels that ran since the last reset, sorted, one a line: name, launches, threads of the largest block, bytes of the
// most dynamic shared memory; valid until the next call.
const char* fake_cuda_kernels();
// Lines of its module's PTX that a kernel has run since the last reset, by number from 1; valid until the next call.
const char* fake_cuda_lines(const char* kernel);
// Forgets failures, kernels, counts and the sticky error, and reads the environment again. Memory, modules and streams stay.
void fake_cuda_reset();
void fake_cuda_seed(uint64_t seed);
}
