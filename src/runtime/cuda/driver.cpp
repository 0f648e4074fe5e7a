// dlopen and dlsym, once.
#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <string>

namespace ingot::cuda {
namespace {

struct Loaded {
  Driver functions{};
  std::string error;  // empty if all is well
};

Loaded load() {
  Loaded loaded;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    loaded.error = "no CUDA driver: libcuda.so.1 cannot be loaded";
    return loaded;
  }
  // cuda.h renames some functions to their newest version; the symbol is what the name expands to.
#define INGOT_CUDA_SYMBOL_OF(name) #name
#define INGOT_CUDA_LOAD(name)                                                                                   \
  loaded.functions.name = reinterpret_cast<decltype(loaded.functions.name)>(::dlsym(library, INGOT_CUDA_SYMBOL_OF(name))); \
  if (!loaded.functions.name && loaded.error.empty())                                                           \
    loaded.error = std::string("the CUDA driver is too old: it has no ") + INGOT_CUDA_SYMBOL_OF(name) + "; update it";
  INGOT_CUDA_FUNCTIONS(INGOT_CUDA_LOAD)
#undef INGOT_CUDA_LOAD
#undef INGOT_CUDA_SYMBOL_OF
  if (!loaded.error.empty()) return loaded;
  if (const CUresult result = loaded.functions.cuInit(0); result != CUDA_SUCCESS) {
    const char* name = nullptr;
    loaded.functions.cuGetErrorName(result, &name);
    loaded.error = std::string("the CUDA driver does not start: ") + (name ? name : "unknown error");
  }
  return loaded;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

}  // namespace

Expected<const Driver*> driver() {
  if (!loaded().error.empty()) return Status(StatusCode::kDeviceMismatch, loaded().error);
  return &loaded().functions;
}

Status check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  if (loaded().functions.cuGetErrorName) loaded().functions.cuGetErrorName(result, &name);
  std::string call(what);
  if (const size_t paren = call.find('('); paren != std::string::npos) call.resize(paren);
  if (const size_t dot = call.find_last_of(".>"); dot != std::string::npos) call.erase(0, dot + 1);
  const StatusCode code = result == CUDA_ERROR_OUT_OF_MEMORY ? StatusCode::kOutOfMemory : StatusCode::kDeviceError;
  return Status(code, "cuda: " + call + ": " + (name ? name : "error " + std::to_string(static_cast<int>(result))));
}

}  // namespace ingot::cuda
