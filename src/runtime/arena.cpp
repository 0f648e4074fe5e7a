// The one place where a context's memory comes from.
#include "runtime/arena.h"

#include <algorithm>
#include <string>

namespace ingot {

Expected<Arena> Arena::allocate(uint64_t bytes) {
  Arena arena;
  // Never empty, so that offsets into it are pointers even where a plan needs no memory.
  const uint64_t wanted = align_up(std::max(bytes, kArenaAlignment));
  if (bytes <= 2 * kMaxArenaBytes)
    arena.memory_.reset(static_cast<std::byte*>(::operator new(wanted, std::align_val_t{kArenaAlignment}, std::nothrow)));
  if (!arena.memory_) return Status(StatusCode::kOutOfMemory, "arena: got no memory, need " + std::to_string(bytes) +
                                                                       " bytes; build with a smaller --profile, or give the program more memory");
  arena.bytes_ = wanted;
  return arena;
}

}  // namespace ingot
