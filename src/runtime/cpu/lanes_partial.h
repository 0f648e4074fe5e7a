// Reads and writes of fewer than 16 elements go through a buffer, so that nothing outside the tensors is touched.
// For ISA files only: everything has internal linkage.
#pragma once

#include <cstdint>
#include <cstring>

namespace ingot::cpu {
namespace {

template <class Lanes>
auto load_some(const float* p, int64_t n) {
  if (n >= 16) return Lanes::load(p);
  alignas(64) float buffer[16] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n) * sizeof(float));
  return Lanes::load(buffer);
}
template <class Lanes>
void store_some(float* p, typename Lanes::F value, int64_t n) {
  if (n >= 16) return Lanes::store(p, value);
  alignas(64) float buffer[16];
  Lanes::store(buffer, value);
  std::memcpy(p, buffer, static_cast<size_t>(n) * sizeof(float));
}

}  // namespace
}  // namespace ingot::cpu
