// NVRTC through dlopen. It sees no file system: the headers of kernels are in this library, taken in by the assembler.
#include "builder/kernel_compiler.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/kernel_image.h"

// INGOT_KERNEL_HEADER(symbol, path): the bytes of a file, and a closing zero. The folder comes from CMake.
#define INGOT_KERNEL_HEADER(symbol, path)                                                                              \
  asm(".section .rodata\n.global ingot_kernel_" #symbol "\ningot_kernel_" #symbol ":\n.incbin \"" INGOT_KERNEL_SOURCES \
      "/" path "\"\n.byte 0\n.previous\n");                                                                            \
  extern "C" const char ingot_kernel_##symbol[];
INGOT_KERNEL_HEADER(chain_math, "runtime/cuda/kernels/chain_math.cuh")
INGOT_KERNEL_HEADER(lane, "runtime/cuda/kernels/lane.cuh")
INGOT_KERNEL_HEADER(chain_params, "runtime/cuda/chain_params.h")
INGOT_KERNEL_HEADER(exact_math, "runtime/ops/exact_math.h")
INGOT_KERNEL_HEADER(functions, "runtime/ops/pointwise_functions.h")
#undef INGOT_KERNEL_HEADER

namespace ingot {
namespace {

// The part of <cstdint> that these headers need.
constexpr const char* kIntegers =
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\ntypedef short int16_t;\ntypedef unsigned short uint16_t;\n"
    "typedef int int32_t;\ntypedef unsigned int uint32_t;\ntypedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"
    "#define INT64_MIN (-9223372036854775807ll - 1)\n#define INT64_MAX 9223372036854775807ll\n";

// Of nvrtc.h, whose C interface is stable.
using Program = struct OpaqueProgram*;
struct Nvrtc {
  int (*version)(int*, int*);
  const char* (*error)(int);
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts, const char* const* names);
  int (*destroy)(Program*);
  int (*compile)(Program, int count, const char* const* options);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*code_size)(Program, size_t*);
  int (*code)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
};

Expected<Nvrtc> load_nvrtc() {
  static constexpr std::array<const char*, 5> kPlaces = {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda-13.0/lib/libnvrtc.so.13",
                                                         "/usr/local/cuda-13.0/lib64/libnvrtc.so.13", "libnvrtc.so"};
  const char* const given = std::getenv("INGOT_NVRTC");
  void* library = given ? ::dlopen(given, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (given && !library) return Status(StatusCode::kNotFound, "INGOT_NVRTC: '" + std::string(given) + "' cannot be loaded");
  for (size_t i = 0; i < kPlaces.size() && !library; ++i) library = ::dlopen(kPlaces[i], RTLD_NOW | RTLD_LOCAL);
  if (!library) return Status(StatusCode::kNotFound, "libnvrtc.so.13 is not found");
  Nvrtc nvrtc{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  const bool whole = find(nvrtc.version, "nvrtcVersion") && find(nvrtc.error, "nvrtcGetErrorString") && find(nvrtc.create, "nvrtcCreateProgram") &&
                     find(nvrtc.destroy, "nvrtcDestroyProgram") && find(nvrtc.compile, "nvrtcCompileProgram") &&
                     find(nvrtc.log_size, "nvrtcGetProgramLogSize") && find(nvrtc.log, "nvrtcGetProgramLog") &&
                     find(nvrtc.code_size, "nvrtcGetCUBINSize") && find(nvrtc.code, "nvrtcGetCUBIN") && find(nvrtc.ptx_size, "nvrtcGetPTXSize") &&
                     find(nvrtc.ptx, "nvrtcGetPTX");
  int major = 0, minor = 0;
  if (!whole || nvrtc.version(&major, &minor) != 0 || major < 12)
    return Status(StatusCode::kNotFound, "libnvrtc is too old: got " + std::to_string(major) + "." + std::to_string(minor) + ", need 12 or newer");
  return nvrtc;
}

class NvrtcCompiler final : public KernelCompiler {
 public:
  explicit NvrtcCompiler(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}

  Expected<Blob> compile(const std::string& source, int capability) const override {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(capability, source);
    if (const auto known = images_.find(key); known != images_.end()) return known->second;
    // PTX of the oldest generation, as of the kernels built in; machine code of the target's.
    Text code, ptx;
    INGOT_TRY(run(source, "sm_" + std::to_string(capability), nvrtc_.code_size, nvrtc_.code, code));
    INGOT_TRY(run(source, "compute_80", nvrtc_.ptx_size, nvrtc_.ptx, ptx));
    while (!ptx.empty() && ptx.back() == 0) ptx.pop_back();
    KernelImage image;
    image.capability = capability;
    image.machine_code = std::as_bytes(std::span(code));
    image.ptx = {ptx.data(), ptx.size()};
    return images_.emplace(key, pack_kernel_image(image)).first->second;
  }

 private:
  using Text = std::vector<char>;

  Status fail(int result, const char* what, const std::string& more = {}) const {
    return Status(StatusCode::kInternal, std::string("nvrtc: ") + what + ": " + nvrtc_.error(result) + more);
  }

  Status run(const std::string& source, const std::string& architecture, int (*size)(Program, size_t*), int (*get)(Program, char*), Text& result) const {
    static constexpr std::array<const char*, 6> kNames = {"cstdint", "runtime/cuda/kernels/chain_math.cuh", "runtime/cuda/kernels/lane.cuh",
                                                          "runtime/cuda/chain_params.h", "runtime/ops/exact_math.h", "runtime/ops/pointwise_functions.h"};
    static const std::array<const char*, 6> kTexts = {kIntegers,          ingot_kernel_chain_math, ingot_kernel_lane, ingot_kernel_chain_params,
                                                      ingot_kernel_exact_math, ingot_kernel_functions};
    const std::string target = "--gpu-architecture=" + architecture;
    const std::array<const char*, 3> options = {target.c_str(), "--std=c++20", "--fmad=false"};
    Program program = nullptr;
    if (const int error = nvrtc_.create(&program, source.c_str(), "chain.cu", static_cast<int>(kNames.size()), kTexts.data(), kNames.data()); error != 0)
      return fail(error, "create program");
    Status status;
    if (const int error = nvrtc_.compile(program, static_cast<int>(options.size()), options.data()); error != 0) {
      size_t bytes = 0;
      std::string log;
      if (nvrtc_.log_size(program, &bytes) == 0) log.resize(bytes);
      if (!log.empty()) nvrtc_.log(program, log.data());
      status = fail(error, "compile", ": " + log);
    }
    size_t bytes = 0;
    if (int error = status.ok() ? size(program, &bytes) : 0; status.ok()) {
      result.resize(bytes);
      if (error == 0) error = get(program, result.data());
      if (error != 0) status = fail(error, "get image");
    }
    nvrtc_.destroy(&program);
    return status;
  }

  Nvrtc nvrtc_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, std::string>, Blob> images_;
};

}  // namespace

Expected<const KernelCompiler*> kernel_compiler() {
  static const Expected<Nvrtc>* const library = new Expected<Nvrtc>(load_nvrtc());
  if (!library->ok()) return library->status().clone();
  static const KernelCompiler* const compiler = new NvrtcCompiler(**library);
  return compiler;
}

}  // namespace ingot
