// Plan ↔ FlatBuffer bytes. Both directions in one file, so that they cannot drift apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

inline constexpr size_t kMaxPlanBytes = size_t{64} << 20;
inline constexpr size_t kMaxSlots = 1 << 17, kMaxSteps = 1 << 17;  // of a plan and all its bodies

// Where each blob of a plan lies in the blob section.
struct BlobRange {
  uint64_t offset = 0, bytes = 0;
  bool halved = false;  // stored as f16; widened to f32 when loaded
};

// `place` lays a blob out in the blob section, once for equal ones. Equal plans give equal bytes.
using PlaceBlob = std::function<BlobRange(std::span<const std::byte> blob)>;
Expected<std::vector<std::byte>> encode_plan(const Plan& plan, const PlaceBlob& place);

// `bytes` come from anywhere and are 8-byte aligned; `blobs` is the blob section, which the blobs of the plan and of its
// bodies will point into, those in `halved` still as f16. Checks the structure only: validate_plan() checks what it means.
Expected<Plan> decode_plan(std::span<const std::byte> bytes, std::span<const std::byte> blobs);

}  // namespace ingot
