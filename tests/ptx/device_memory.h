// Memory of the pretended device: an allocation table that each access is looked up in. Addresses mean nothing to the
// host, are never given out twice, and have gaps between them, so that what runs past an allocation or comes after its
// end is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ingot::ptx {

constexpr uint64_t kDeviceWindow = 0x2000'0000'0000, kSharedWindow = 0x3000'0000'0000, kLocalWindow = 0x3100'0000'0000,
                   kParamWindow = 0x3200'0000'0000, kWindowBytes = 0x0100'0000'0000;

struct Allocation {
  uint64_t address = 0, size = 0;
  std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> owned;
  std::unique_ptr<uint8_t[]> written;  // one a byte, for reads of what nobody wrote; null for host memory
  bool freed = false, read_only = false, module_owned = false;
};

class DeviceMemory {
 public:
  // Filled with a pattern that is no number anyone expects. `size` > 0.
  uint64_t allocate(uint64_t size, bool module_owned = false, bool read_only = false);
  // Host memory that kernels may use under its own address.
  void add_host(void* data, uint64_t size);
  bool remove(uint64_t address);  // false when no living allocation begins there

  // The allocation that holds the address, living or freed; null when there is none.
  const Allocation* find(uint64_t address) const;
  // Host view of [address, address + size); null when that is not wholly inside one living allocation.
  std::byte* view(uint64_t address, uint64_t size) const;
  void mark_written(uint64_t address, uint64_t size);
  // Why an access of `size` bytes is wrong; empty when it is not.
  std::string problem(uint64_t address, uint64_t size, bool write) const;

  uint64_t bytes_in_use() const { return in_use_; }
  size_t living() const;

 private:
  std::map<uint64_t, Allocation> table_;  // by last byte's successor: upper_bound finds the holder
  uint64_t next_ = kDeviceWindow, in_use_ = 0;
};

}  // namespace ingot::ptx
