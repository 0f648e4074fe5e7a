// Arrays in pretended device memory, and parameters of a launch, for tests.
#pragma once

#include <cstring>
#include <vector>

#include "ptx/interpreter.h"
#include "ptx/parser.h"

namespace ingot::ptx {

template <class T>
uint64_t upload(DeviceMemory& memory, const std::vector<T>& values) {
  const uint64_t bytes = values.size() * sizeof(T), address = memory.allocate(bytes);
  std::memcpy(memory.view(address, bytes), values.data(), bytes);
  memory.mark_written(address, bytes);
  return address;
}

template <class T>
std::vector<T> download(const DeviceMemory& memory, uint64_t address, size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), memory.view(address, count * sizeof(T)), count * sizeof(T));
  return values;
}

// Kernel parameters one after the other, each aligned to its size.
template <class... A>
std::vector<std::byte> pack(A... values) {
  std::vector<std::byte> bytes;
  const auto add = [&](const auto& v) {
    const size_t at = (bytes.size() + sizeof v - 1) / sizeof v * sizeof v;
    bytes.resize(at + sizeof v);
    std::memcpy(bytes.data() + at, &v, sizeof v);
  };
  (add(values), ...);
  return bytes;
}

}  // namespace ingot::ptx
