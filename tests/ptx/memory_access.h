// One lane's access to memory of any space, checked: bounds, alignment, races, reads of what was not written.
#pragma once

#include "ptx/warp.h"

namespace ingot::ptx {

// The space an address lies in, and the address within it.
struct Place {
  Space space;
  uint64_t address;
};
Place place_of(Space space, uint64_t address);

// Ends the block when the access is out of bounds; other findings are recorded and the access is made.
void load(Warp& w, const Instruction& i, int lane, Place at, void* out, uint32_t bytes, bool atomic = false);
void store(Warp& w, const Instruction& i, int lane, Place at, const void* in, uint32_t bytes, bool atomic = false);
// Host view of `bytes` of global memory for reading or writing, after the checks.
std::byte* global_view(Warp& w, const Instruction& i, int lane, uint64_t address, uint32_t bytes, bool write);

// Checks of an access to shared memory.
void check_shared_bounds(Warp& w, const Instruction& i, int lane, uint64_t address, uint32_t bytes);
void report_shared(Warp& w, const Instruction& i, int lane, const SharedFinding& found);

// Counts what one warp's request costs: passes over the 32 banks, sectors of 32 bytes.
void count_shared(Warp& w, const uint64_t* address, uint32_t lanes, uint32_t bytes);
void count_global(Warp& w, const uint64_t* address, uint32_t lanes, uint32_t bytes);

// Base register plus displacement.
inline uint64_t address_of(Warp& w, const Instruction& i, int operand, int lane, int64_t displacement) {
  const uint64_t base = i.r[operand] == kNoRegister ? 0 : w.raw(i, operand, lane);
  return base + static_cast<uint64_t>(displacement);
}

}  // namespace ingot::ptx
