// cuGetProcAddress: the functions of the stand-in by their names without version suffixes.
#include <cstring>

#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {

using namespace cuda;
#define FAKE_CUDA_DECLARE(name, symbol, parameters) extern "C" Result symbol parameters;
INGOT_CUDA_FUNCTIONS(FAKE_CUDA_DECLARE)
#undef FAKE_CUDA_DECLARE

// status: 0 found, 1 no such symbol.
FAKE_CUDA_API Result cuGetProcAddress_v2(const char* symbol, void** function, int, uint64_t, int* status) {
  struct Entry {
    const char* name;
    void* address;
  };
#define FAKE_CUDA_ENTRY(name, symbol, parameters) {#symbol, reinterpret_cast<void*>(&symbol)},
  static const Entry entries[] = {
      INGOT_CUDA_FUNCTIONS(FAKE_CUDA_ENTRY){"cuGetProcAddress_v2", reinterpret_cast<void*>(&cuGetProcAddress_v2)}};
#undef FAKE_CUDA_ENTRY
  if (!symbol || !function) return Result::kInvalidValue;
  *function = nullptr;
  const size_t length = std::strlen(symbol);
  for (const Entry& e : entries) {
    const bool same = std::strncmp(e.name, symbol, length) == 0;
    if (same && (e.name[length] == '\0' || std::strcmp(e.name + length, "_v2") == 0)) *function = e.address;
  }
  if (status) *status = *function ? 0 : 1;
  return *function ? Result::kSuccess : Result::kNotFound;
}

}  // namespace ingot::fake_cuda
