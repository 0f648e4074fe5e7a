// The table is ordered by each allocation's end, so that one upper_bound finds the only candidate.
#include "ptx/device_memory.h"

#include <cstdio>
#include <cstring>

namespace ingot::ptx {
namespace {

constexpr uint64_t kAlignment = 512, kGap = 4096;

std::string hex(uint64_t x) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

}  // namespace

uint64_t DeviceMemory::allocate(uint64_t size, bool module_owned, bool read_only) {
  Allocation a;
  a.address = next_;
  a.size = size;
  a.owned.reset(new std::byte[size]);
  a.data = a.owned.get();
  a.written.reset(new uint8_t[size]());
  a.module_owned = module_owned;
  a.read_only = read_only;
  std::memset(a.data, 0xa5, size);
  next_ += (size + kGap + kAlignment - 1) / kAlignment * kAlignment;
  in_use_ += module_owned ? 0 : size;
  const uint64_t address = a.address;
  table_.emplace(address + size, std::move(a));
  return address;
}

void DeviceMemory::add_host(void* data, uint64_t size) {
  Allocation a;
  a.address = reinterpret_cast<uint64_t>(data);
  a.size = size;
  a.data = static_cast<std::byte*>(data);
  // The host gives addresses out again: what was freed there makes room.
  for (auto it = table_.upper_bound(a.address); it != table_.end() && it->second.address < a.address + size;)
    it = table_.erase(it);
  table_.insert_or_assign(a.address + size, std::move(a));
}

bool DeviceMemory::remove(uint64_t address) {
  const auto it = table_.upper_bound(address);
  if (it == table_.end() || it->second.address != address || it->second.freed) return false;
  Allocation& a = it->second;
  if (a.owned && !a.module_owned) in_use_ -= a.size;
  a.freed = true;
  a.owned.reset();
  a.written.reset();
  a.data = nullptr;
  return true;
}

const Allocation* DeviceMemory::find(uint64_t address) const {
  const auto it = table_.upper_bound(address);
  return it != table_.end() && it->second.address <= address ? &it->second : nullptr;
}

std::byte* DeviceMemory::view(uint64_t address, uint64_t size) const {
  const Allocation* a = find(address);
  if (!a || a->freed || size > a->size || address - a->address > a->size - size) return nullptr;
  return a->data + (address - a->address);
}

void DeviceMemory::mark_written(uint64_t address, uint64_t size) {
  const Allocation* a = find(address);
  if (a && a->written) std::memset(a->written.get() + (address - a->address), 1, size);
}

std::string DeviceMemory::problem(uint64_t address, uint64_t size, bool write) const {
  const Allocation* a = find(address);
  if (a && a->freed)
    return "use of freed memory: address " + hex(address) + ", " + std::to_string(address - a->address) +
           " bytes into " + std::to_string(a->size);
  if (!a || size > a->size || address - a->address > a->size - size) {
    if (a)
      return "out of bounds: " + std::to_string(size) + " bytes at offset " + std::to_string(address - a->address) +
             " of " + std::to_string(a->size);
    const auto after = table_.upper_bound(address);
    std::string text = "out of bounds: address " + hex(address) + " is in no allocation";
    if (after != table_.begin()) {
      const auto before = std::prev(after);
      if (address - before->first < kGap)
        text += "; " + std::to_string(address - before->first) + " bytes past one of " +
                std::to_string(before->second.size);
    }
    return text;
  }
  if (write && a->read_only) return "write to constant memory";
  return {};
}

size_t DeviceMemory::living() const {
  size_t n = 0;
  for (const auto& [end, a] : table_) n += !a.freed && !a.module_owned;
  return n;
}

}  // namespace ingot::ptx
