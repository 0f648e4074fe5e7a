// Memory: allocations, pinned host memory, copies and fills. Copies from pageable memory take the source at once;
// copies to pageable memory wait for the stream; pinned memory is read and written when the copy runs.
#include <cstdlib>
#include <cstring>

#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {
namespace {

using cuda::DevicePointer;
using cuda::Stream;

constexpr size_t kHostAlignment = 4096;

Result allocate(Driver& d, DevicePointer* address, size_t bytes) {
  if (!address || bytes == 0) return Result::kInvalidValue;
  if (bytes > d.memory_bytes || d.memory.bytes_in_use() > d.memory_bytes - bytes) return Result::kOutOfMemory;
  *address = d.memory.allocate(bytes);
  ++d.stats.device_allocations;
  d.stats.peak_bytes = std::max<uint64_t>(d.stats.peak_bytes, d.memory.bytes_in_use());
  return Result::kSuccess;
}

bool is_allocation(const Driver& d, DevicePointer address) {
  const ptx::Allocation* a = d.memory.find(address);
  return a && a->address == address && !a->freed && a->owned && !a->module_owned;
}

// Device memory on either side is looked up when the copy is asked for, and again when it runs: it may have been freed.
Work copy_work(Driver& d, DevicePointer to, const void* host_from, DevicePointer from, void* host_to, size_t bytes) {
  return [&d, to, host_from, from, host_to, bytes] {
    ++d.stats.copies;
    const std::byte* source = host_from ? static_cast<const std::byte*>(host_from) : d.memory.view(from, bytes);
    std::byte* target = host_to ? static_cast<std::byte*>(host_to) : d.memory.view(to, bytes);
    if (!source || !target) return Result::kIllegalAddress;
    std::memmove(target, source, bytes);
    if (!host_to) {
      // What was not written at the source is not written at the target.
      const ptx::Allocation *a = host_from ? nullptr : d.memory.find(from), *b = d.memory.find(to);
      if (a && a->written && b->written)
        std::memmove(b->written.get() + (to - b->address), a->written.get() + (from - a->address), bytes);
      else
        d.memory.mark_written(to, bytes);
    }
    return Result::kSuccess;
  };
}

Result to_device(Driver& d, DevicePointer to, const void* from, size_t bytes, StreamState& s) {
  if (bytes == 0) return Result::kSuccess;
  if (!from || !d.memory.view(to, bytes)) return Result::kInvalidValue;
  if (d.is_pinned(from, bytes) || s.capture)
    return d.submit(s, NodeKind::kCopy, copy_work(d, to, from, 0, nullptr, bytes));
  const auto staged = std::make_shared<std::vector<std::byte>>(static_cast<const std::byte*>(from),
                                                               static_cast<const std::byte*>(from) + bytes);
  return d.submit(s, NodeKind::kCopy,
                  [staged, work = copy_work(d, to, staged->data(), 0, nullptr, bytes)] { return work(); });
}

Result to_host(Driver& d, void* to, DevicePointer from, size_t bytes, StreamState& s) {
  if (bytes == 0) return Result::kSuccess;
  if (!to || !d.memory.view(from, bytes)) return Result::kInvalidValue;
  const Result r = d.submit(s, NodeKind::kCopy, copy_work(d, 0, nullptr, from, to, bytes));
  if (r != Result::kSuccess || s.capture || d.is_pinned(to, bytes)) return r;
  ++d.stats.synchronisations;
  return d.finish({s.last});
}

Result fill(Driver& d, DevicePointer to, uint32_t value, size_t size, size_t count, StreamState& s) {
  if (count == 0) return Result::kSuccess;
  if (to % size || !d.memory.view(to, size * count)) return Result::kInvalidValue;
  return d.submit(s, NodeKind::kFill, [&d, to, value, size, count] {
    ++d.stats.fills;
    std::byte* target = d.memory.view(to, size * count);
    if (!target) return Result::kIllegalAddress;
    for (size_t k = 0; k < count; ++k) std::memcpy(target + k * size, &value, size);
    d.memory.mark_written(to, size * count);
    return Result::kSuccess;
  });
}

// A call on a stream of the current context.
template <class F>
Result on_stream(Stream stream, F f) {
  return call([&](Driver& d) {
    StreamState* s = d.stream(stream);
    if (!s) return Result::kInvalidHandle;
    return s->context == current_context() ? f(d, *s) : Result::kInvalidContext;
  });
}

// Calls without a stream use the default stream and wait; in a capture they would spoil it.
template <class F>
Result at_once(F f) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess)
      return r == Result::kStreamCaptureUnsupported ? Result::kStreamCaptureImplicit : r;
    StreamState& s = *d.stream(nullptr);
    const Result r = f(d, s);
    if (r != Result::kSuccess) return r;
    ++d.stats.synchronisations;
    return d.finish({s.last});
  });
}

}  // namespace

FAKE_CUDA_API Result cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    return allocate(d, address, bytes);
  });
}

FAKE_CUDA_API Result cuMemFree_v2(DevicePointer address) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    if (address == 0) return Result::kSuccess;
    if (!is_allocation(d, address)) return Result::kInvalidValue;
    ++d.stats.synchronisations;
    const Result r = d.finish_all();
    d.memory.remove(address);
    ++d.stats.device_frees;
    return r;
  });
}

FAKE_CUDA_API Result cuMemAllocAsync(DevicePointer* address, size_t bytes, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) {
    return s.capture ? Result::kStreamCaptureUnsupported : allocate(d, address, bytes);
  });
}

FAKE_CUDA_API Result cuMemFreeAsync(DevicePointer address, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) {
    if (s.capture) return Result::kStreamCaptureUnsupported;
    if (!is_allocation(d, address)) return Result::kInvalidValue;
    return d.submit(s, NodeKind::kEmpty, [&d, address] {
      ++d.stats.device_frees;
      return d.memory.remove(address) ? Result::kSuccess : Result::kIllegalAddress;
    });
  });
}

FAKE_CUDA_API Result cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return call([&](Driver& d) {
    if (!free_bytes || !total_bytes) return Result::kInvalidValue;
    *total_bytes = d.memory_bytes;
    *free_bytes = d.memory_bytes - d.memory.bytes_in_use();
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    if (!address || bytes == 0 || flags & ~7u) return Result::kInvalidValue;
    *address = std::aligned_alloc(kHostAlignment, (bytes + kHostAlignment - 1) / kHostAlignment * kHostAlignment);
    if (!*address) return Result::kOutOfMemory;
    std::memset(*address, 0xa5, bytes);
    d.host_ranges[reinterpret_cast<uint64_t>(*address)] = bytes;
    d.memory.add_host(*address, bytes);
    ++d.stats.host_allocations;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuMemFreeHost(void* address) {
  return call([&](Driver& d) {
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    if (!address) return Result::kSuccess;
    if (!d.host_ranges.erase(reinterpret_cast<uint64_t>(address))) return Result::kInvalidValue;
    ++d.stats.synchronisations;
    const Result r = d.finish_all();
    d.memory.remove(reinterpret_cast<uint64_t>(address));
    std::free(address);
    return r;
  });
}

FAKE_CUDA_API Result cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  return call([&](Driver& d) {
    if (!address || bytes == 0) return Result::kInvalidValue;
    if (d.is_pinned(address, 1)) return Result::kHostMemoryAlreadyRegistered;
    d.host_ranges[reinterpret_cast<uint64_t>(address)] = bytes;
    d.memory.add_host(address, bytes);
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuMemHostUnregister(void* address) {
  return call([&](Driver& d) {
    if (!d.host_ranges.erase(reinterpret_cast<uint64_t>(address))) return Result::kHostMemoryNotRegistered;
    const Result r = d.finish_all();
    d.memory.remove(reinterpret_cast<uint64_t>(address));
    return r;
  });
}

FAKE_CUDA_API Result cuMemHostGetDevicePointer_v2(DevicePointer* device, void* host, unsigned flags) {
  return call([&](Driver& d) {
    if (!device || flags || !d.is_pinned(host, 1)) return Result::kInvalidValue;
    *device = reinterpret_cast<DevicePointer>(host);
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuPointerGetAttribute(void* data, cuda::PointerAttribute attribute, DevicePointer address) {
  return call([&](Driver& d) {
    const ptx::Allocation* a = d.memory.find(address);
    if (!data || !a || a->freed) return Result::kInvalidValue;
    switch (attribute) {
      case cuda::PointerAttribute::kContext:
        *static_cast<ContextState**>(data) = current_context();
        return Result::kSuccess;
      case cuda::PointerAttribute::kMemoryType:
        *static_cast<cuda::MemoryType*>(data) = a->owned ? cuda::MemoryType::kDevice : cuda::MemoryType::kHost;
        return Result::kSuccess;
      case cuda::PointerAttribute::kDevicePointer:
        *static_cast<DevicePointer*>(data) = address;
        return Result::kSuccess;
      case cuda::PointerAttribute::kHostPointer:
        if (a->owned) return Result::kInvalidValue;
        *static_cast<void**>(data) = reinterpret_cast<void*>(address);
        return Result::kSuccess;
    }
    return Result::kNotSupported;
  });
}

FAKE_CUDA_API Result cuMemcpyHtoD_v2(DevicePointer to, const void* from, size_t bytes) {
  return at_once([&](Driver& d, StreamState& s) { return to_device(d, to, from, bytes, s); });
}
FAKE_CUDA_API Result cuMemcpyDtoH_v2(void* to, DevicePointer from, size_t bytes) {
  return at_once([&](Driver& d, StreamState& s) { return to_host(d, to, from, bytes, s); });
}
FAKE_CUDA_API Result cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t bytes) {
  return at_once([&](Driver& d, StreamState& s) {
    if (!d.memory.view(to, bytes) || !d.memory.view(from, bytes)) return Result::kInvalidValue;
    return d.submit(s, NodeKind::kCopy, copy_work(d, to, nullptr, from, nullptr, bytes));
  });
}
FAKE_CUDA_API Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) { return to_device(d, to, from, bytes, s); });
}
FAKE_CUDA_API Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) { return to_host(d, to, from, bytes, s); });
}
FAKE_CUDA_API Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) {
    if (bytes == 0) return Result::kSuccess;
    if (!d.memory.view(to, bytes) || !d.memory.view(from, bytes)) return Result::kInvalidValue;
    return d.submit(s, NodeKind::kCopy, copy_work(d, to, nullptr, from, nullptr, bytes));
  });
}
FAKE_CUDA_API Result cuMemsetD8_v2(DevicePointer to, unsigned char value, size_t count) {
  return at_once([&](Driver& d, StreamState& s) { return fill(d, to, value, 1, count, s); });
}
FAKE_CUDA_API Result cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) { return fill(d, to, value, 1, count, s); });
}
FAKE_CUDA_API Result cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, Stream stream) {
  return on_stream(stream, [&](Driver& d, StreamState& s) { return fill(d, to, value, 4, count, s); });
}

}  // namespace ingot::fake_cuda
