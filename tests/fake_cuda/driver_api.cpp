// Finds the functions in libcuda.so.1.
#include "fake_cuda/driver_api.h"

#include <dlfcn.h>

#include <string>

namespace ingot::cuda {
namespace {

struct LoadedDriver {
  DriverApi api;
  StatusCode code = StatusCode::kOk;
  std::string problem;

  void fail(StatusCode c, std::string text) {
    code = c;
    problem = "CUDA driver: " + std::move(text);
  }

  LoadedDriver() { load(); }

  void load() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return fail(StatusCode::kNotFound, "libcuda.so.1 is not there; install NVIDIA's driver to use a GPU");
    const char* missing = nullptr;
    const auto find = [&](const char* symbol) {
      void* address = dlsym(library, symbol);
      if (!address && !missing) missing = symbol;
      return address;
    };
#define INGOT_CUDA_FIND(name, symbol, parameters) api.name = reinterpret_cast<decltype(api.name)>(find(#symbol));
    INGOT_CUDA_FUNCTIONS(INGOT_CUDA_FIND)
#undef INGOT_CUDA_FIND
    if (missing)
      return fail(StatusCode::kUnsupported,
                  std::string("it is too old: got none with '") + missing + "', need that of CUDA 12 or newer");
    if (const Result r = api.init(0); r != Result::kSuccess) {
      return fail(r == Result::kNoDevice ? StatusCode::kNotFound : StatusCode::kUnsupported,
                  r == Result::kNoDevice ? "no device" : "cuInit: got error " + std::to_string(static_cast<int>(r)));
    }
    int devices = 0;
    if (api.device_get_count(&devices) != Result::kSuccess || devices == 0) fail(StatusCode::kNotFound, "no device");
  }
};

}  // namespace

Expected<const DriverApi*> driver_api() {
  static const LoadedDriver driver;
  if (driver.code != StatusCode::kOk) return Status(driver.code, driver.problem);
  return &driver.api;
}

Status to_status(const DriverApi& api, Result result, const char* where) {
  if (result == Result::kSuccess) return {};
  const char *name = nullptr, *text = nullptr;
  if (api.get_error_name(result, &name) != Result::kSuccess || !name) name = "error";
  if (api.get_error_string(result, &text) != Result::kSuccess || !text) text = "unknown";
  return Status(result == Result::kOutOfMemory ? StatusCode::kOutOfMemory : StatusCode::kDeviceError,
                std::string(where) + ": " + name + " (" + std::to_string(static_cast<int>(result)) + "): " + text);
}

}  // namespace ingot::cuda
