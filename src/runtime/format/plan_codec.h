// Plan ↔ FlatBuffer bytes. Both directions in one file, so that they cannot drift apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

inline constexpr size_t kMaxPlanBytes = size_t{64} << 20;
inline constexpr size_t kMaxSlots = 1 << 17, kMaxSteps = 1 << 17;

// Where each blob of a plan lies in the blob section.
struct BlobRange {
  uint64_t offset = 0, bytes = 0;
  bool halved = false;  // stored as f16; widened to f32 when loaded
};

// `ranges`: one for each blob of the plan. Equal plans give equal bytes.
Expected<std::vector<std::byte>> encode_plan(const Plan& plan, std::span<const BlobRange> ranges);

// A plan as read. Blobs point into the file, those named in `halved` still as f16.
struct DecodedPlan {
  Plan plan;
  std::vector<uint32_t> halved;
};
// `bytes` come from anywhere and are 8-byte aligned; `blobs` is the blob section, which the plan's blobs will point into.
// Checks the structure only: validate_plan() checks what it means.
Expected<DecodedPlan> decode_plan(std::span<const std::byte> bytes, std::span<const std::byte> blobs);

}  // namespace ingot
