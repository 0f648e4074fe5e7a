// Modules from PTX text or a fat binary that holds it, functions, and launches.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {
namespace {

using cuda::Function;
using cuda::Module;
using cuda::Stream;

template <class T>
T read_at(const unsigned char* p, size_t offset) {
  T value;
  std::memcpy(&value, p + offset, sizeof value);
  return value;
}

// What fatbinary --compress-mode=size makes is Zstandard, whose library every Debian has; its headers need not be there.
bool decompress(const unsigned char* from, size_t bytes, size_t size, std::string& text) {
  using Decompress = size_t (*)(void*, size_t, const void*, size_t);
  static const auto function = reinterpret_cast<Decompress>(::dlsym(::dlopen("libzstd.so.1", RTLD_NOW), "ZSTD_decompress"));
  if (!function || size > (size_t{1} << 28)) return false;
  text.resize(size);
  return function(text.data(), size, from, bytes) == size;
}

// The PTX in an image: the image itself, or the best entry of a fat binary. Machine code cannot run here.
Result find_ptx(const void* image, int arch, std::string& text, std::string& log) {
  const unsigned char* p = static_cast<const unsigned char*>(image);
  if (read_at<uint32_t>(p, 0) == 0x466243b1)
    p = read_at<const unsigned char*>(p, 8);  // the wrapper that nvcc puts around
  if (read_at<uint32_t>(p, 0) == 0x464c457f) {
    log = "the image is machine code; the stand-in runs PTX only";
    return Result::kNoBinaryForGpu;
  }
  if (read_at<uint32_t>(p, 0) != 0xba55ed50) {
    text.assign(reinterpret_cast<const char*>(p));
    return Result::kSuccess;
  }
  const size_t end = read_at<uint16_t>(p, 6) + read_at<uint64_t>(p, 8);
  int best = 0;
  for (size_t at = read_at<uint16_t>(p, 6); at + 64 <= end;) {
    const uint16_t kind = read_at<uint16_t>(p, at);
    const uint32_t header = read_at<uint32_t>(p, at + 4), compressed = read_at<uint32_t>(p, at + 16);
    const uint64_t size = read_at<uint64_t>(p, at + 8);
    const int entry_arch = static_cast<int>(read_at<uint32_t>(p, at + 28));
    if (header < 64 || size > end - at) break;
    if (kind == 1 && entry_arch <= arch && entry_arch > best) {
      constexpr uint64_t kZstandard = 0x8000;
      if (compressed) {
        if ((read_at<uint64_t>(p, at + 40) & kZstandard) == 0 || compressed > size || !decompress(p + at + header, compressed, read_at<uint64_t>(p, at + 56), text)) {
          log = "the PTX of the fat binary is compressed in a way the stand-in does not know; give fatbinary --compress-mode=size or none";
        } else {
          best = entry_arch;
          text.resize(strnlen(text.data(), text.size()));
          text.erase(0, text.find_first_not_of('\n'));
        }
      } else {
        best = entry_arch;
        const char* begin = reinterpret_cast<const char*>(p + at + header);
        text.assign(begin, strnlen(begin, size));
        // The text begins after padding.
        text.erase(0, text.find_first_not_of('\n'));
      }
    }
    at += header + size;
  }
  if (!best && log.empty()) log = "the fat binary holds no PTX for sm_" + std::to_string(arch) + " or older";
  return best ? Result::kSuccess : Result::kNoBinaryForGpu;
}

Result load(Driver& d, Module* module, const void* image, std::string& log) {
  if (!module || !image) return Result::kInvalidValue;
  if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
  auto m = std::make_unique<ModuleState>();
  m->context = current_context();
  if (const Result r = find_ptx(image, d.model->arch, m->text, log); r != Result::kSuccess) return r;
  try {
    m->module = ptx::parse_module(m->text, d.memory);
  } catch (const ptx::PtxError& e) {
    log = e.what();
    if (!d.quiet) std::fprintf(stderr, "fake_cuda: %s\n", e.what());
    return Result::kInvalidPtx;
  }
  if (m->module->target > d.model->arch) {
    log = "PTX for sm_" + std::to_string(m->module->target) + " on sm_" + std::to_string(d.model->arch);
    return Result::kNoBinaryForGpu;
  }
  *module = d.modules.add(std::move(m));
  return Result::kSuccess;
}

// Registers are ptxas' to say. What the launch bounds allow at most stands in for them.
int register_bound(const ptx::Kernel& k) {
  const uint32_t threads = k.max_threads ? k.max_threads : 1024, blocks = std::max(k.min_blocks, 1u);
  return static_cast<int>(std::min(255u, 65536 / (threads * blocks) / 8 * 8));
}

Result launch(Driver& d, const cuda::LaunchConfig& c, Function function, void** parameters, void** extra) {
  const FunctionState* f = d.functions.find(function);
  StreamState* s = d.stream(c.stream);
  if (!f || !s) return Result::kInvalidHandle;
  if (s->context != current_context() || f->module->context != current_context()) return Result::kInvalidContext;
  const ptx::Kernel& k = *f->kernel;
  const uint64_t threads = uint64_t{c.block_x} * c.block_y * c.block_z;
  if (!c.grid_x || !c.grid_y || !c.grid_z || c.grid_x > 2147483647u || c.grid_y > 65535 || c.grid_z > 65535)
    return Result::kInvalidValue;
  if (threads == 0 || threads > 1024 || c.block_x > 1024 || c.block_y > 1024 || c.block_z > 64)
    return Result::kInvalidValue;
  if (k.max_threads && threads > k.max_threads) return Result::kInvalidValue;
  if (k.required[0] && (c.block_x != k.required[0] || c.block_y != k.required[1] || c.block_z != k.required[2]))
    return Result::kInvalidValue;
  if (c.shared_bytes > static_cast<unsigned>(f->dynamic_limit) ||
      k.static_shared + c.shared_bytes > static_cast<unsigned>(d.model->shared_optin))
    return Result::kInvalidValue;
  for (unsigned n = 0; n < c.attribute_count; ++n) {
    const cuda::LaunchAttribute& a = c.attributes[n];
    if (a.id == cuda::LaunchAttributeId::kClusterSize) {
      for (size_t at : {0, 4, 8}) {
        uint32_t size;
        std::memcpy(&size, a.value + at, 4);
        if (size != 1) return Result::kNotSupported;
      }
    } else if (a.id != cuda::LaunchAttributeId::kIgnore &&
               a.id != cuda::LaunchAttributeId::kProgrammaticSerialization &&
               a.id != cuda::LaunchAttributeId::kPriority) {
      return Result::kNotSupported;
    }
  }
  // Parameters are taken now, by the kernel's own list of offsets and sizes.
  std::vector<std::byte> bytes(k.parameter_bytes);
  if (extra) {
    if (parameters) return Result::kInvalidValue;
    const void* buffer = nullptr;
    size_t size = 0;
    for (void** e = extra; *e; e += 2) {
      if (reinterpret_cast<uintptr_t>(*e) == 1)
        buffer = e[1];
      else if (reinterpret_cast<uintptr_t>(*e) == 2)
        size = *static_cast<size_t*>(e[1]);
      else
        return Result::kInvalidValue;
    }
    if (!buffer || size != bytes.size()) return Result::kInvalidValue;
    std::memcpy(bytes.data(), buffer, size);
  } else if (!k.parameters.empty()) {
    if (!parameters) return Result::kInvalidValue;
    for (size_t n = 0; n < k.parameters.size(); ++n) {
      if (!parameters[n]) return Result::kInvalidValue;
      std::memcpy(bytes.data() + k.parameters[n].offset, parameters[n], k.parameters[n].size);
    }
  }
  if (!s->capture) ++d.stats.direct_launches;
  ptx::LaunchShape shape{{c.grid_x, c.grid_y, c.grid_z}, {c.block_x, c.block_y, c.block_z}, c.shared_bytes};
  return d.submit(
      *s, NodeKind::kKernel,
      [&d, copy = *f, shape, bytes = std::move(bytes)] { return d.run_kernel(copy, shape, bytes); }, f->kernel);
}

}  // namespace

FAKE_CUDA_API Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, cuda::JitOption* options,
                                        void** values) {
  return call([&](Driver& d) {
    if (count && (!options || !values)) return Result::kInvalidValue;
    std::string log;
    const Result r = load(d, module, image, log);
    char* buffer = nullptr;
    size_t size = 0;
    for (unsigned k = 0; k < count; ++k) {
      if (options[k] == cuda::JitOption::kErrorLog) buffer = static_cast<char*>(values[k]);
      if (options[k] == cuda::JitOption::kErrorLogBytes) size = reinterpret_cast<size_t>(values[k]);
    }
    if (buffer && size) {
      std::strncpy(buffer, log.c_str(), size);
      buffer[size - 1] = '\0';
    }
    return r;
  });
}

FAKE_CUDA_API Result cuModuleLoadData(Module* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

FAKE_CUDA_API Result cuModuleUnload(Module module) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    ModuleState* m = d.modules.find(module);
    if (!m) return Result::kInvalidHandle;
    ++d.stats.synchronisations;
    const Result r = d.finish_all();
    std::vector<Function> gone;
    d.functions.each([&](FunctionState& f) {
      if (f.module == m) gone.push_back(reinterpret_cast<Function>(&f));
    });
    for (const Function f : gone) d.functions.remove(f);
    for (const auto& [name, v] : m->module->variables) d.memory.remove(v.address);
    d.modules.remove(module);
    return r;
  });
}

FAKE_CUDA_API Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  return call([&](Driver& d) {
    ModuleState* m = d.modules.find(module);
    if (!function || !name || !m) return m ? Result::kInvalidValue : Result::kInvalidHandle;
    const auto it = m->module->kernels.find(name);
    if (it == m->module->kernels.end()) return Result::kNotFound;
    Function known = nullptr;
    d.functions.each([&](FunctionState& f) {
      if (f.module == m && f.kernel == it->second.get()) known = reinterpret_cast<Function>(&f);
    });
    if (!known) {
      const int limit = std::max(0, (48 << 10) - static_cast<int>(it->second->static_shared));
      known = d.functions.add(std::make_unique<FunctionState>(FunctionState{m, it->second.get(), limit}));
    }
    *function = known;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuModuleGetGlobal_v2(cuda::DevicePointer* address, size_t* bytes, Module module,
                                          const char* name) {
  return call([&](Driver& d) {
    ModuleState* m = d.modules.find(module);
    if (!m || !name) return m ? Result::kInvalidValue : Result::kInvalidHandle;
    const auto it = m->module->variables.find(name);
    if (it == m->module->variables.end()) return Result::kNotFound;
    if (address) *address = it->second.address;
    if (bytes) *bytes = it->second.size;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuFuncGetAttribute(int* value, cuda::FunctionAttribute attribute, Function function) {
  return call([&](Driver& d) {
    const FunctionState* f = d.functions.find(function);
    if (!f || !value) return f ? Result::kInvalidValue : Result::kInvalidHandle;
    switch (attribute) {
      case cuda::FunctionAttribute::kMaxThreadsPerBlock:
        *value = f->kernel->max_threads ? static_cast<int>(f->kernel->max_threads) : 1024;
        break;
      case cuda::FunctionAttribute::kSharedBytes:
        *value = static_cast<int>(f->kernel->static_shared);
        break;
      case cuda::FunctionAttribute::kConstBytes:
        *value = 0;
        break;
      case cuda::FunctionAttribute::kLocalBytes:
        *value = static_cast<int>(f->kernel->local_bytes);
        break;
      case cuda::FunctionAttribute::kRegisters:
        *value = register_bound(*f->kernel);
        break;
      case cuda::FunctionAttribute::kPtxVersion:
        *value = f->module->module->target;
        break;
      case cuda::FunctionAttribute::kBinaryVersion:
        *value = d.model->arch;
        break;
      case cuda::FunctionAttribute::kMaxDynamicSharedBytes:
        *value = f->dynamic_limit;
        break;
      case cuda::FunctionAttribute::kSharedCarveout:
        *value = -1;
        break;
      default:
        return Result::kInvalidValue;
    }
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuFuncSetAttribute(Function function, cuda::FunctionAttribute attribute, int value) {
  return call([&](Driver& d) {
    FunctionState* f = d.functions.find(function);
    if (!f) return Result::kInvalidHandle;
    if (attribute == cuda::FunctionAttribute::kSharedCarveout)
      return value >= -1 && value <= 100 ? Result::kSuccess : Result::kInvalidValue;
    if (attribute != cuda::FunctionAttribute::kMaxDynamicSharedBytes) return Result::kInvalidValue;
    if (value < 0 || static_cast<int64_t>(value) + f->kernel->static_shared > d.model->shared_optin)
      return Result::kInvalidValue;
    f->dynamic_limit = value;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int block_size,
                                                                 size_t shared_bytes) {
  return call([&](Driver& d) {
    const FunctionState* f = d.functions.find(function);
    if (!f || !blocks || block_size < 1) return f ? Result::kInvalidValue : Result::kInvalidHandle;
    const bool fits =
        block_size <= 1024 && (!f->kernel->max_threads || static_cast<unsigned>(block_size) <= f->kernel->max_threads);
    *blocks =
        fits ? active_blocks(*d.model, register_bound(*f->kernel), block_size, f->kernel->static_shared + shared_bytes)
             : 0;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    Stream stream, void** parameters, void** extra) {
  return call([&](Driver& d) {
    return launch(d, {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0}, function,
                  parameters, extra);
  });
}

FAKE_CUDA_API Result cuLaunchKernelEx(const cuda::LaunchConfig* config, Function function, void** parameters,
                                      void** extra) {
  return call(
      [&](Driver& d) { return config ? launch(d, *config, function, parameters, extra) : Result::kInvalidValue; });
}

}  // namespace ingot::fake_cuda
